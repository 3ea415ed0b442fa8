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

static void read_feedback(void)
{
    TCUQ_FEEDBACK_NUMBERS(READ_NUMBER)
    params.feedback = &feedback;
}

#endif
#endif
