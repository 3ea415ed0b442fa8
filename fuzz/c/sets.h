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
    tcuq_sight_t sight;
    int32_t sight_mean[TCUQ_MAX_SIGHT];
    uint16_t sight_scale[TCUQ_MAX_SIGHT];
    uint8_t sight_shift[TCUQ_MAX_SIGHT];
    int8_t sight_class_mean[TCUQ_MAX_CLASSES * TCUQ_MAX_SIGHT];
    int16_t sight_matrix[TCUQ_MAX_SIGHT * (TCUQ_MAX_SIGHT + 1) / 2];
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

/* Gauges of an input, made of its bytes: near clean ones, anything, or NULL. Good until the next call. */
const int16_t *gauges_of(const tcuq_params_t *p, const int8_t *probs, const int8_t *features);

/* Change a field, a list or a pointer to anything. */
void spoil_set(set_t *set, source_t *from);

#endif
