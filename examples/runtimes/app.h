/* SPDX-License-Identifier: MIT */
/* What is yours: fill the input of the network, or return 0 when there is none; and do something with an answer. */
#ifndef APP_H
#define APP_H

#include "tcuq.h"

#ifdef __cplusplus
extern "C" {
#endif
int read_input(void *input, size_t bytes);
/* step->abstain: do not act on step->answer. step->alarm: inputs have become worse. */
void act_on(const tcuq_step_t *step);
#ifdef __cplusplus
}
#endif

#endif
