#include "tcuq.h"

void told(uint32_t step, int32_t label);

static tcuq_t watch;

void told(uint32_t step, int32_t label)
{
/* the block */
}
