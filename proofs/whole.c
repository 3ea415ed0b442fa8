/* SPDX-License-Identifier: MIT */
/* Steps and a reset of a monitor of one shape, for Frama-C's Eva: all numbers of the params that
 * tcuq_check() can accept, all inputs, and a memory in which every counter and every byte of the ring may
 * have any value. README.md says what follows from it.
 *
 * The shape is given when compiling: CLASSES, FEATURES, LAGS, MASK, and 0 or 1 for EVIDENCE and INSTANT. */
#include <stdlib.h>

#include "__fc_builtin.h"
#include "tcuq_internal.h"

#define UNKNOWN(object) Frama_C_make_unknown((char *)&(object), sizeof(object))

/* A number of the range that a field may have: unsigned ones go up to 2^32 - 1. */
#define SIGNED(type) ((type)-1 < (type)0)
#define PICK(type, low, high)                                                 \
    (SIGNED(type) ? (type)Frama_C_interval((int)(low), (int)(high))           \
                  : (type)Frama_C_unsigned_int_interval((unsigned)(low), (unsigned)(high)))

static uint8_t lags[] = LAGS;
static uint16_t weights[sizeof lags];
static int16_t offsets[CLASSES];
static int8_t centers[CLASSES * FEATURES + 1];
static int8_t probs[CLASSES];
static int8_t features[FEATURES + 1];
static uint16_t signals[TCUQ_SIGNAL_COUNT];
static tcuq_evidence_t evidence;
static tcuq_instant_t instant;
static tcuq_params_t p;
static tcuq_t m;
static tcuq_step_t out;

static void any_params(void)
{
#define PICK_NUMBER(error, of, name, type, low, high, bytes, usual) of.name = PICK(type, low, high);
    TCUQ_PARAM_NUMBERS(PICK_NUMBER)
    TCUQ_EVIDENCE_NUMBERS(PICK_NUMBER)
    TCUQ_INSTANT_NUMBERS(PICK_NUMBER)
    UNKNOWN(p.coef);
    UNKNOWN(p.clean_mean);
    UNKNOWN(evidence.coef);
    UNKNOWN(instant.coef);
    UNKNOWN(offsets);
    UNKNOWN(centers);
    UNKNOWN(weights);
    p.signals = MASK;
    p.classes = CLASSES;
    p.features = FEATURES;
    p.lag_count = sizeof lags;
    p.lags = lags;
    p.lag_weights = weights;
    p.centers = ((MASK)&TCUQ_BIT(TCUQ_DISTANCE)) != 0u ? centers : NULL;
    p.evidence = EVIDENCE ? &evidence : NULL;
    evidence.offset = offsets;
    p.instant = INSTANT ? &instant : NULL;
    /* What rules between fields add to the ranges, as far as the proof needs it: each is a consequence of
     * a rule, so these params are at least all that tcuq_check() accepts. */
    p.level_num = PICK(uint16_t, 1, 999);               /* level_below_one */
    p.budget_num = PICK(uint16_t, 0, 1000);             /* budget_up_to_one */
    p.steep_slope = PICK(uint32_t, 1, 16777216 / 2);    /* steep_slope_fits */
    p.slope = PICK(uint32_t, 0, 16777216 / 2);          /* slope_order */
    p.anchor = PICK(uint16_t, 0, 1);                    /* anchor_used */
    p.about = PICK(uint16_t, 0, INSTANT);               /* about_used */
}

int main(void)
{
    size_t size;
    uint32_t *ring;
    int32_t low, high;
    any_params();
    size = tcuq_ring_size(&p);
    ring = malloc(size);
    if (ring == NULL) {
        return 0;
    }
    Frama_C_make_unknown((char *)ring, size);
    UNKNOWN(probs);
    UNKNOWN(features);
    UNKNOWN(m);
    m.params = &p;
    m.ring = ring;
    tcuq_step(&m, probs, features, &out, signals);
    (void)tcuq_fingerprint(&p);
    tcuq_debt_bounds(&p, &low, &high);
    tcuq_reset(&m);
    tcuq_step(&m, probs, features, &out, NULL);
    return 0;
}
