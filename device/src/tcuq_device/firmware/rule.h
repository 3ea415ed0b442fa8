/* SPDX-License-Identifier: MIT */
/* What is made of a posterior at every step: a rule defines rule_start() and rule_step(). plan.h, written by build.py,
 * has its constants and sizes; PLAN_MONITORS says whether a decision is all that the monitor says. */
#ifndef RULE_H
#define RULE_H

#include <stdint.h>

#include "plan.h"
#include "tcuq.h"

#if PLAN_MONITORS
typedef tcuq_step_t decision_t;
#else
typedef struct {
    uint16_t prediction; /* class with the largest posterior, lowest index on a tie */
    uint16_t score;      /* large where the prediction is doubtful, Q0.16 */
} decision_t;
#endif

/* Where the next input goes, PLAN_INPUT bytes aligned to 4. A run may overwrite it. Written by build.py. */
int8_t *network_input(void);

/* The network or networks: `probs` and `features` stay valid until the next input. `features` is NULL where there
 * are none. */
void network_run(const int8_t **probs, const int8_t **features);

#if PLAN_GAUGES
#include "tcuq_gauges.h"

/* The gauges of the next input, before a run may overwrite it; and what the rule does with them. Written by build.py. */
void network_gauges(int16_t gauges[TCUQ_MAX_GAUGES]);
void rule_look(void);
#endif

/* Begin; return 0 when all is well. */
int rule_start(void);

/* Take one inference. */
void rule_step(const int8_t *probs, const int8_t *features, decision_t *out);

/* Largest posterior as 0..255; `prediction` receives its class. */
uint32_t rule_top(const int8_t *probs, uint16_t *prediction);

/* Write a line: the bytes of the stack in use, the posterior in hexadecimal, a digest of the features ("-" without),
 * then every field of the decision. */
void report(const int8_t *probs, const int8_t *features, const decision_t *decision, uint32_t depth);

#endif
