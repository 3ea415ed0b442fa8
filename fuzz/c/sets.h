/* SPDX-License-Identifier: MIT */
/* Parameter sets of all kinds, made of choices. */
#ifndef SETS_H
#define SETS_H

#include "source.h"
#include "tcuq.h"

/* Parameters with all that they point to. Large: keep it static. */
typedef struct {
    tcuq_params_t params;
    tcuq_evidence_t evidence;
    tcuq_instant_t instant;
    tcuq_feedback_t feedback;
    uint8_t lags[TCUQ_MAX_LAG];
    uint16_t lag_weights[TCUQ_MAX_LAG];
    int16_t offset[TCUQ_MAX_CLASSES];
    int8_t centers[TCUQ_MAX_CLASSES * TCUQ_MAX_FEATURES];
} set_t;

/* How many classes and features. */
enum { SET_SMALL, SET_MIDDLE, SET_ANY };

/* Make parameters that section 2 of SPEC.md allows. */
void make_set(set_t *set, source_t *from, int size);

/* The same, where a posterior of two classes and one feature choose nearly every risk, and no step sees the past. */
void make_direct_set(set_t *set, source_t *from);

/* Change a field, a list or a pointer to anything. */
void spoil_set(set_t *set, source_t *from);

#endif
