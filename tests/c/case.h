/* SPDX-License-Identifier: MIT */
/* The parameters of a case and where they lie, read number by number. Define CASE_CLASSES, the most classes of a case,
 * before it is included, and number() in the file that does: it gives the next number of the input. */
#ifndef CASE_H
#define CASE_H

#include "tcuq.h"

/* What a step gives, in the order of vector files. */
#define STEP_FIELDS(X)             \
    X(threshold, int32_t)          \
    X(severity, int32_t)           \
    X(prediction, uint16_t)        \
    X(answer, uint16_t)            \
    X(risk, uint16_t)              \
    X(uncertainty, uint16_t)       \
    X(persistence, uint16_t)       \
    X(look, uint16_t)              \
    X(expected_accuracy, uint16_t) \
    X(flagged, uint8_t)            \
    X(abstain, uint8_t)            \
    X(alarm, uint8_t)              \
    X(warming_up, uint8_t)         \
    X(reason, uint8_t)             \
    X(low_mass, uint8_t)

#ifdef CASE_CLASSES

static tcuq_params_t params;
static uint8_t lags[TCUQ_MAX_LAG];
static uint16_t lag_weights[TCUQ_MAX_LAG];
static tcuq_evidence_t evidence;
static int16_t offsets[CASE_CLASSES];
static tcuq_instant_t instant;
static tcuq_feedback_t feedback;

static long long number(void);

#define READ_NUMBERS(target, type, count)                        \
    do {                                                         \
        uint32_t each;                                           \
        for (each = 0; each < (count); each++) {                 \
            (target)[each] = (type)number();                     \
        }                                                        \
    } while (0)
#define READ_EVIDENCE(name, type, low, high, bytes) evidence.name = (type)number();
#define READ_FEEDBACK(name, type, low, high, bytes) feedback.name = (type)number();

static void read_evidence(void)
{
    TCUQ_EVIDENCE_FIELDS(READ_EVIDENCE, TCUQ_NO_LIST, TCUQ_NO_LIST)
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

static void read_feedback(void)
{
    TCUQ_FEEDBACK_FIELDS(READ_FEEDBACK, TCUQ_NO_LIST, TCUQ_NO_LIST)
    params.feedback = &feedback;
}

#endif
#endif
