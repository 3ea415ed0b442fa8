/* SPDX-License-Identifier: MIT */
/* Parameters that are refused: how to make them, and when they are (section 2 of SPEC.md). */
#include <string.h>

#include "sets.h"
#include "tcuq_fields.h"

#define PLACE(error, of, name, type, low, high, bytes) error##_##name,
enum {
    TCUQ_NUMBERS(PLACE)
    LIST_LAGS,
    LIST_WEIGHTS,
    LIST_CENTERS,
    LIST_OFFSET,
    NO_EVIDENCE,
    NO_INSTANT,
    NO_FEEDBACK,
    A_LAG,
    A_WEIGHT,
    PLACES
};

void spoil_set(set_t *set, source_t *from)
{
    tcuq_params_t *p = &set->params;
    tcuq_evidence_t *evidence = &set->evidence;
    tcuq_instant_t *instant = &set->instant;
    tcuq_feedback_t *feedback = &set->feedback;
    switch (below(from, PLACES)) {
#define SPOIL(error, of, name, type, low, high, bytes) \
    case error##_##name: of->name = (type)edge(from, (int64_t)(low)-2, (int64_t)(high) + 2); break;
        TCUQ_NUMBERS(SPOIL)
    case LIST_LAGS: p->lags = NULL; break;
    case LIST_WEIGHTS: p->lag_weights = NULL; break;
    case LIST_CENTERS: p->centers = p->centers == NULL ? set->centers : NULL; break;
    case LIST_OFFSET: set->evidence.offset = NULL; break;
    case NO_EVIDENCE: p->evidence = p->evidence == NULL ? &set->evidence : NULL; break;
    case NO_INSTANT: p->instant = p->instant == NULL ? &set->instant : NULL; break;
    case NO_FEEDBACK: p->feedback = p->feedback == NULL ? &set->feedback : NULL; break;
    case A_LAG: set->lags[below(from, TCUQ_MAX_LAG)] = (uint8_t)take(from, 1); break;
    default: set->lag_weights[below(from, 4)] = (uint16_t)take(from, 2); break;
    }
}

static int within(int64_t value, int64_t low, int64_t high)
{
    return value >= low && value <= high;
}

static int evidence_allowed(const tcuq_evidence_t *head)
{
    int64_t m = (int64_t)head->bet_slope * (head->clip >> 8) >> 8;
    int plain = head->bet_base == 0u && head->bet_slope == 0u;
    return within(head->clip, 1, 1 << 19) && head->reach >= 256u && within(head->bias, -256 * 65536, 256 * 65536) &&
           within(head->allowance, 0, 1 << 24) && head->offset != NULL && head->still <= 1u << 21 &&
           head->own_looks <= 1000u && within(head->own_mean, -(1 << 19), 1 << 19) && head->own_most <= 1u << 19 &&
           (head->own_looks == 0u ? head->own_mean == 0 && head->own_most == 0u : plain) &&
           (plain || (within(head->bet_slope, 1, 32767) && (int64_t)head->bet_base - m - 1 >= 256 &&
                      (int64_t)head->bet_base + m < 1 << 20));
}

static int feedback_allowed(const tcuq_feedback_t *head, uint32_t rise_cap)
{
    return ((TCUQ_SIGNALS) & TCUQ_FEEDBACK) != 0u && within(head->memory, 1, 1024) && within(head->error_den, 1, 1000) &&
           head->error_num < head->error_den && head->error_shut <= 32767u && rise_cap <= 1u << 28;
}

static int lags_allowed(const tcuq_params_t *p)
{
    unsigned last = 0, sum = 0, i;
    if (p->lag_count == 0u) {
        return (p->signals & 7u) == 0u;
    }
    if (p->lag_count > 64u || p->lags == NULL || p->lag_weights == NULL || p->lag_weights[0] == 0u) {
        return 0;
    }
    for (i = 0; i < p->lag_count; i++) {
        if (!within(p->lags[i], (int64_t)last + 1, 64)) {
            return 0;
        }
        last = p->lags[i];
        sum += p->lag_weights[i];
    }
    return sum == 32768u;
}

static int side_allowed(uint32_t limit, uint32_t cap)
{
    return limit == 0u ? cap == 0u : within(cap, limit, 1 << 30);
}

int set_allowed(const tcuq_params_t *p)
{
    int features_read = (p->signals & ((1u << 1) | (1u << 6) | (1u << 7) | (1u << 9))) != 0u;
    int slow = (p->signals & ((1u << 5) | (1u << 9))) != 0u, compared = (p->signals & ((1u << 4) | (1u << 7))) != 0u;
    return p->version == 5u &&
           within(p->signals, 1, (1u << TCUQ_SIGNAL_COUNT) - 1u) && within(p->classes, 2, 1000) &&
           within(p->features, features_read ? 1 : 0, 256) && within(p->zero_point, -128, 127) && lags_allowed(p) &&
           within(p->bias, -256 * 65536, 256 * 65536) && p->doubt_mix <= 65536u && p->blend <= 65536u &&
           within(p->level_den, 2, 1000) &&
           within(p->level_num, 1, (int64_t)p->level_den - 1) && p->anchor <= (p->instant != NULL ? 1u : 0u) &&
           p->about <= (p->instant != NULL ? 1u : 0u) && (p->horizon == 0u || within(p->horizon, 4, 12)) &&
           (p->horizon != 0u || p->expected_start == 0u) && within(p->steep_slope, 1, (1 << 24) / p->level_den) &&
           p->slope <= p->steep_slope && within(p->knee, 0, 1 << 24) &&
           (int64_t)p->slope * p->knee <= 1 << 24 && within(p->budget_den, 1, 1000) &&
           p->budget_num <= p->budget_den && within(p->burst, 1, 10000) && side_allowed(p->rise_limit, p->rise_cap) &&
           p->hold <= 63u && (p->rise_limit == 0u ? p->rise_clear == 0u : p->rise_clear < p->rise_limit) &&
           side_allowed(p->fall_limit, p->fall_cap) && (p->centers != NULL) == (p->signals >> 7 & 1u) &&
           ((p->signals >> 8 & 1u) == 0u || p->instant != NULL) &&
           (p->instant == NULL || within(p->instant->bias, -256 * 65536, 256 * 65536)) &&
           (p->feedback == NULL || feedback_allowed(p->feedback, p->rise_cap)) &&
           ((p->signals >> 9 & 1u) == 0u || (p->signals >> 7 & 1u) != 0u) &&
           (p->evidence == NULL ? !slow : evidence_allowed(p->evidence) && p->fall_limit == 0u && compared);
}
