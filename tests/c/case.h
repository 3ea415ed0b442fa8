/* SPDX-License-Identifier: MIT */
/* The parameters of a case and where they lie, read number by number. Define CASE_CLASSES, the most classes of a case,
 * before it is included, and number() in the file that does: it gives the next number of the input. */
#ifndef CASE_H
#define CASE_H

#include "tcuq.h"
#include "tcuq_fields.h"

#ifdef CASE_CLASSES

static tcuq_params_t params;
static uint8_t lags[TCUQ_MAX_LAG];
static uint16_t lag_weights[TCUQ_MAX_LAG];
static tcuq_evidence_t evidence;
static int16_t offsets[CASE_CLASSES];
static tcuq_instant_t instant;
static tcuq_sight_t sight;
static int32_t sight_means[TCUQ_MAX_SIGHT];
static uint16_t sight_scales[TCUQ_MAX_SIGHT];
static uint8_t sight_shifts[TCUQ_MAX_SIGHT];
static int8_t sight_class_means[CASE_CLASSES * TCUQ_MAX_SIGHT];
static int16_t sight_matrix[TCUQ_MAX_SIGHT * (TCUQ_MAX_SIGHT + 1) / 2];
static tcuq_feedback_t feedback;

static long long number(void);

#define READ_NUMBERS(target, type, count)                        \
    do {                                                         \
        uint32_t each;                                           \
        for (each = 0; each < (count); each++) {                 \
            (target)[each] = (type)number();                     \
        }                                                        \
    } while (0)
#define READ_NUMBER(error, of, name, type, low, high, bytes, usual) of.name = (type)number();

static void read_evidence(void)
{
    TCUQ_EVIDENCE_NUMBERS(READ_NUMBER)
    READ_NUMBERS(evidence.coef, int16_t, TCUQ_SIGNAL_COUNT);
    READ_NUMBERS(offsets, int16_t, params.classes);
    evidence.offset = offsets;
    params.evidence = &evidence;
}

static void read_instant(void)
{
    instant.bias = (int32_t)number();
    READ_NUMBERS(instant.coef, int16_t, TCUQ_SIGNAL_COUNT);
    params.instant = &instant;
}

static void read_sight(void)
{
    uint32_t count;
    TCUQ_SIGHT_NUMBERS(READ_NUMBER)
    params.sight = &sight;
    count = TCUQ_SIGHT_COUNT(&params);
    count = count < TCUQ_MAX_SIGHT ? count : TCUQ_MAX_SIGHT; /* the line is then too long */
    READ_NUMBERS(sight_means, int32_t, count);
    READ_NUMBERS(sight_scales, uint16_t, count);
    READ_NUMBERS(sight_shifts, uint8_t, count);
    READ_NUMBERS(sight_class_means, int8_t, params.classes * count);
    READ_NUMBERS(sight_matrix, int16_t, count * (count + 1u) / 2u);
    sight.mean = sight_means;
    sight.scale = sight_scales;
    sight.shift = sight_shifts;
    sight.class_mean = sight_class_means;
    sight.matrix = sight_matrix;
}

static void read_feedback(void)
{
    TCUQ_FEEDBACK_NUMBERS(READ_NUMBER)
    params.feedback = &feedback;
}

#endif
#endif
