#ifndef APP_H
#define APP_H

#include <stdint.h>

#include "app_monitor.h"
#include "app_network.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An input: APP_INPUT_BYTES bytes, int8. The real value of a byte is (byte - APP_INPUT_ZERO) * APP_INPUT_SCALE. */
#define APP_INPUT_BYTES ((uint32_t)APP_NETWORK_INPUT)
@input@
#define APP_CLASSES APP_MONITOR_CLASSES

/* RAM: the network's working memory, in which the input lies, and what the monitor keeps. */
#define APP_ARENA_BYTES ((uint32_t)APP_NETWORK_ARENA)
#define APP_RING_BYTES APP_MONITOR_RING_BYTES

/* Inputs in flash that the self-check runs and a demonstration may show. */
#define APP_STORED @stored@u

/* The outputs of the network on a stored input differ from those on the computer that made these files. */
#define APP_SELFCHECK_NETWORK (-200)

/* What is said of one input: `answer`, the class to act on; `action`, TCUQ_ACT on it, TCUQ_ASK or TCUQ_HOLD;
 * `alarm`, not 0 while the inputs look worse than those of the development; `risk`, `expected_accuracy` and more,
 * see tcuq_step_t in tcuq.h. */
typedef tcuq_step_t app_answer_t;

/* Check network and monitor on this chip against what the computer that made these files computed. Return 0, or
 * APP_SELFCHECK_NETWORK, or what app_monitor_selfcheck() returns. Call it before app_init(), whose memory it uses. */
int app_selfcheck(void);

/* Begin a stream, at the start and whenever everything is to be forgotten. Return 0, or an error of tcuq_init(). */
int app_init(void);

/* Where the next input may be put, aligned to 4 bytes: saves a copy. A step overwrites it. */
int8_t *app_input(void);

/* Take one input: NULL where it lies at app_input() already, else it is copied there. */
void app_step(const int8_t *input, app_answer_t *answer);

/* After a gap in the stream: forget the last inputs; budget and alarm go on (tcuq_reset() in tcuq.h). */
void app_reset(void);

/* The posterior of the last step: int8, scale 1/256, zero -128. Valid until the next input is put. */
const int8_t *app_probs(void);

/* Stored input number `which`, 0 to APP_STORED - 1. */
const int8_t *app_stored(uint32_t which);

#ifdef __cplusplus
}
#endif

#endif
