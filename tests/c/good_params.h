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
static tcuq_sight_t sight;
static int32_t sight_mean[TCUQ_MAX_SIGHT];
static uint16_t sight_scale[TCUQ_MAX_SIGHT];
static uint8_t sight_shift[TCUQ_MAX_SIGHT];
static int8_t sight_class_mean[4 * TCUQ_MAX_SIGHT];
static int16_t sight_matrix[190];
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

/* The same, with sight in place of evidence: two gauges, odds, both distances. */
static inline void seeing(void)
{
    unsigned i;
    good();
    TCUQ_SIGHT_NUMBERS(SET_USUAL)
    for (i = 0; i < TCUQ_MAX_SIGHT; i++) {
        sight_mean[i] = 1000 * (int32_t)i;
        sight_scale[i] = 700;
        sight_shift[i] = 10;
    }
    for (i = 0; i < 190u; i++) {
        sight_matrix[i] = (int16_t)(i % 6u == 0u ? 300 : -20);
    }
    sight.mean = sight_mean;
    sight.scale = sight_scale;
    sight.shift = sight_shift;
    sight.class_mean = sight_class_mean;
    sight.matrix = sight_matrix;
    p.signals = 0x1FF;
    p.evidence = NULL;
    p.sight = &sight;
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
