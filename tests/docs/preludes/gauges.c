#include "tcuq.h"
#include "tcuq_gauges.h"

void run_network(void);
void on_inference(const int8_t *input, const int8_t *posteriors, const int8_t *features);

static tcuq_t watch;
static tcuq_step_t step;

void on_inference(const int8_t *input, const int8_t *posteriors, const int8_t *features)
{
/* the block */
}
