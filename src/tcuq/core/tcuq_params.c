/* SPDX-License-Identifier: MIT */
/* Parameters: which are accepted, and what they promise. Section numbers refer to SPEC.md. */
#include "tcuq_internal.h"

/* Largest product of a slope and a debt, so that a threshold fits 32 bits. */
#define MAP_LIMIT 16777216u

/* A range around 0 is told by its upper end alone: its lower end need not fit 16 bits. */
#define AROUND_0(low, high) ((int32_t)(low) == -(int32_t)(high))
#define TCUQ_FIELD(name, type, low, high, bytes) \
    {(uint32_t)(high), AROUND_0(low, high) ? 0 : (int32_t)(low), AROUND_0(low, high), \
     (type)-1 < (type)1 && sizeof(type) == 2u, sizeof(type), bytes, offsetof(tcuq_params_t, name)},
typedef char tcuq_internal_offsets_fit[sizeof(tcuq_params_t) <= 256u ? 1 : -1];
const field_t tcuq_internal_fields[FIELD_COUNT] = {
#include "tcuq_fields.h"
};

uint32_t tcuq_internal_bits(const tcuq_params_t *p, const field_t *field)
{
    const uint8_t *at = (const uint8_t *)p + field->offset;
    uint32_t wide;
    uint16_t narrow;
    if (field->size == sizeof wide) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

/* Whether a number is outside low..high. Both sides count from `low`, modulo 2^32, so one comparison
 * serves signed numbers too. */
static int outside(uint32_t value, uint32_t low, uint32_t high)
{
    return value - low > high - low;
}

static int check_ranges(const tcuq_params_t *p)
{
    int i;
    for (i = 0; i < FIELD_COUNT; i++) {
        const field_t *field = &tcuq_internal_fields[i];
        uint32_t value = tcuq_internal_bits(p, field);
        uint32_t low = field->around_0 ? 0u - field->high : (uint32_t)field->low;
        if (field->is_int16) {
            value = (uint32_t)(int16_t)value;
        }
        if (outside(value, low, field->high)) {
            return TCUQ_ERR_FIRST_PARAM + 1 + i;
        }
    }
    return TCUQ_OK;
}

static int check_head_ranges(const tcuq_evidence_t *head)
{
#define TCUQ_HEAD_FIELD(name, type, low, high)                              \
    if (outside((uint32_t)head->name, (uint32_t)(low), (uint32_t)(high))) { \
        return TCUQ_ERR_HEAD_##name;                                        \
    }
#include "tcuq_fields.h"
    return TCUQ_OK;
}

static int lags_ascend(const tcuq_params_t *p)
{
    uint32_t last = 0, i;
    for (i = 0; i < p->lag_count; i++) {
        if (p->lags[i] <= last) {
            return 0;
        }
        last = p->lags[i];
    }
    return last <= TCUQ_MAX_LAG;
}

static uint32_t sum_of_weights(const tcuq_params_t *p)
{
    uint32_t sum = 0, i;
    for (i = 0; i < p->lag_count; i++) {
        sum += p->lag_weights[i];
    }
    return sum;
}

#define REQUIRE(rule, condition)     \
    if (!(condition)) {              \
        return TCUQ_ERR_RULE_##rule; \
    }

/* Rules between fields whose ranges hold, each with its reason. */
static int check_rules(const tcuq_params_t *p)
{
    /* Signals have what they read. */
    REQUIRE(features_used, p->features != 0u || !uses(p, TCUQ_FEATURE_SIGNALS))
    REQUIRE(lags_used, p->lag_count != 0u || !uses(p, TCUQ_LAGGED_SIGNALS))
    if (p->lag_count != 0u) {
        REQUIRE(lags_given, p->lags != NULL && p->lag_weights != NULL)
        /* The last lag is the largest: it is the depth of the ring. */
        REQUIRE(lags_ascend, lags_ascend(p))
        /* The first lag that fills after a reset must carry weight to divide by. */
        REQUIRE(lag_weights_sum, sum_of_weights(p) == 32768u && p->lag_weights[0] != 0u)
    }
    /* A level of 1 would flag every step, and the debt would never come back. */
    REQUIRE(level_below_one, p->level_num < p->level_den)
    /* One step moves the debt by less than level_den, and the threshold by steep_slope times that. */
    REQUIRE(steep_slope_fits, p->steep_slope <= MAP_LIMIT / p->level_den)
    /* The map bends away from the reference, so the bounds of the debt are where it is steep. */
    REQUIRE(slope_order, p->slope <= p->steep_slope)
    /* The shallow part of the map fits 32 bits. */
    REQUIRE(knee_fits, p->slope == 0u || (uint32_t)p->knee <= MAP_LIMIT / p->slope)
    /* Nobody can abstain more often than always. */
    REQUIRE(budget_up_to_one, p->budget_num <= p->budget_den)
    /* The belief is there to lean on. */
    REQUIRE(anchor_used, p->anchor == TCUQ_ANCHOR_CONFIDENCE || uses(p, TCUQ_BIT(TCUQ_DISBELIEF_FAST)))
    /* A sum can reach its limit; a side that is off sums nothing. */
    REQUIRE(rise_order, p->rise_limit != 0u ? p->rise_cap >= p->rise_limit : p->rise_cap == 0u)
    REQUIRE(fall_order, p->fall_limit != 0u ? p->fall_cap >= p->fall_limit : p->fall_cap == 0u)
    if ((TCUQ_EVIDENCE) && p->evidence != NULL) {
        REQUIRE(evidence_given, p->evidence->offset != NULL)
        /* The fall side sums risk, which evidence takes the place of. */
        REQUIRE(evidence_alone, p->fall_limit == 0u)
        return check_head_ranges(p->evidence);
    }
    return TCUQ_OK;
}

int tcuq_check(const tcuq_params_t *p)
{
    int error;
    if (p->version != TCUQ_PARAMS_VERSION) {
        return TCUQ_ERR_VERSION;
    }
    error = check_ranges(p);
    if (error != TCUQ_OK) {
        return error;
    }
    if (used(p) != p->signals || (!(TCUQ_EVIDENCE) && p->evidence != NULL)) {
        return TCUQ_ERR_SIGNALS;
    }
    return check_rules(p);
}

/* Least debt at which the threshold has moved by `distance` (Q0.16), section 9. */
static int32_t debt_at(const tcuq_params_t *p, uint32_t distance)
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

void tcuq_debt_bounds(const tcuq_params_t *p, int32_t *low, int32_t *high)
{
    int32_t shut = debt_at(p, ONE - p->reference);
    int32_t open = p->reference == 0u ? 0 : debt_at(p, p->reference);
    *high = shut - 1 + p->level_den - p->level_num;
    *low = 1 - open - p->level_num;
}
