/* SPDX-License-Identifier: MIT */
#ifndef HARNESS_STEP_H
#define HARNESS_STEP_H

#include "tcuq.h"

/* Write every field of what the monitor says, in decimal. */
void harness_step(const tcuq_step_t *step);

#endif
