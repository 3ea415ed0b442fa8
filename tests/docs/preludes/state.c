#include "kws.h"
#include "tcuq_frame.h"

void uart_write(const uint8_t *bytes, size_t size);
void send_state(void);

static tcuq_frame_t frame;
static uint8_t state[KWS_STATE_BYTES];

void send_state(void)
{
/* the block */
}
