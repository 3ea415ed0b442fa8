/* SPDX-License-Identifier: MIT */
/* Parameters: whether they are accepted, and what they promise. Section numbers refer to SPEC.md. */
#include "tcuq_rules.h"

/* One answer for all fields and rules: small, because every firmware carries it. The version is right here:
 * the caller has looked. Some questions are asked twice, so that no answer to the second can change alone. */
static int accepted(const tcuq_params_t *p)
{
    const tcuq_evidence_t *head = head_of(p);
    const tcuq_instant_t *instant = instant_of(p);
#define TCUQ_FIELD(name, type, low, high, bytes) || OUTSIDE(type, p->name, low, high)
#define TCUQ_HEAD_FIELD(name, type, low, high) || (head != NULL && OUTSIDE(type, head->name, low, high))
#define TCUQ_INSTANT_FIELD(name, type, low, high) || (instant != NULL && OUTSIDE(type, instant->name, low, high))
    if (0
#include "tcuq_fields.h"
    ) {
        return 0;
    }
#define RULE(name, condition) && (condition)
    return 1
#include "tcuq_rules.h"
        ;
}

int tcuq_internal_check(const tcuq_params_t *p)
{
    if (p->version != TCUQ_PARAMS_VERSION) {
        return TCUQ_ERR_VERSION;
    }
    if (!accepted(p)) {
        return TCUQ_ERR_PARAMS;
    }
    return build_can(p) ? TCUQ_OK : TCUQ_ERR_SIGNALS;
}

/* The sum after some more bytes: another byte anywhere gives another sum. */
static NOT_INLINE uint32_t add_bytes(uint32_t sum, const void *from, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)from;
    for (; size > 0u; size--) {
        sum = sum * 31u + *bytes++;
    }
    return sum;
}

uint32_t tcuq_internal_sum(const tcuq_params_t *p, uint32_t known)
{
    uint32_t sum = add_bytes(0, p, sizeof *p), lists;
    if (known != 0u && ((sum ^ known) & SUM_PARAMS) != 0u) {
        return ~known;
    }
    sum &= SUM_PARAMS;
    if ((TCUQ_EVIDENCE) || (TCUQ_PERSISTENCE)) {
        uint32_t heads = head_of(p) == NULL ? 0u : add_bytes(0, p->evidence, sizeof *p->evidence);
        heads = instant_of(p) == NULL ? heads : add_bytes(heads, p->instant, sizeof *p->instant);
        sum |= heads << 12 & SUM_HEADS;
        if (known != 0u && ((sum ^ known) & SUM_HEADS) != 0u) {
            return ~known;
        }
    }
    lists = add_bytes(0, p->lags, p->lag_count); /* a change of one weight breaks their own sum */
    if (head_of(p) != NULL) {
        lists = add_bytes(lists, p->evidence->offset, 2u * (size_t)p->classes);
    }
    if (instant_of(p) != NULL && p->instant->class_mix != NULL) {
        lists = add_bytes(lists, p->instant->class_mix, 2u * (size_t)p->classes);
    }
    if (uses(p, TCUQ_BIT(TCUQ_DISTANCE))) {
        lists = add_bytes(lists, p->centers, (size_t)p->classes * p->features);
    }
    return sum | lists << 22;
}

/* Least debt at which the threshold has moved by `distance` (Q0.16), section 9. */
SELDOM static int32_t debt_at(const tcuq_params_t *p, uint32_t distance)
{
    uint32_t need = distance << 8;
    uint32_t shallow = p->slope * (uint32_t)p->knee;
    uint32_t rest;
    if (need <= shallow) {
        return (int32_t)((need + p->slope - 1u) / p->slope);
    }
    rest = need - shallow;
    return p->knee + (int32_t)((rest + p->steep_slope - 1u) / p->steep_slope);
}

SELDOM void tcuq_debt_bounds(const tcuq_params_t *p, int32_t *low, int32_t *high)
{
    int32_t shut = debt_at(p, ONE - p->reference);
    int32_t open = p->reference == 0u ? 0 : debt_at(p, p->reference);
    *high = shut - 1 + p->level_den - p->level_num;
    *low = 1 - open - p->level_num;
}
