/* SPDX-License-Identifier: MIT */
/* Params with both heads that the core accepts, in memory that a driver can change. Sizes and the version are those of
 * SPEC.md and not of the headers. */
#ifndef GOOD_PARAMS_H
#define GOOD_PARAMS_H

#include "check.h"

static tcuq_params_t p;
static tcuq_evidence_t evidence;
static tcuq_instant_t instant;
static tcuq_feedback_t feedback;
static int8_t centers[16];
static uint8_t lags[64];
static uint16_t weights[64];
static int16_t offset[5];

static inline void good(void)
{
    unsigned i;
    memset(&evidence, 0, sizeof evidence);
    memset(&instant, 0, sizeof instant);
    memset(&feedback, 0, sizeof feedback);
    memset(weights, 0, sizeof weights);
    for (i = 0; i < 64u; i++) {
        lags[i] = (uint8_t)(i + 1u);
    }
    weights[0] = 20000;
    weights[1] = 12768;
    for (i = 0; i < 4u; i++) {
        offset[i] = (int16_t)(100 - 90 * (int)i);
    }
    TCUQ_EVIDENCE_NUMBERS(SET_USUAL)
    TCUQ_INSTANT_NUMBERS(SET_USUAL)
    p = plain_params(TCUQ_ALL_SIGNALS, 4, 4);
    p.version = 5;
    p.lag_count = 2;
    p.lags = lags;
    p.lag_weights = weights;
    p.horizon = 4;
    evidence.offset = offset;
    evidence.coef[4] = 1800;
    p.instant = &instant;
    p.evidence = &evidence;
    p.centers = centers;
    p.fingerprint = tcuq_fingerprint(&p);
}

/* The same, with labels. */
static inline void labeled(void)
{
    good();
    TCUQ_FEEDBACK_NUMBERS(SET_USUAL)
    p.feedback = &feedback;
}

#endif
