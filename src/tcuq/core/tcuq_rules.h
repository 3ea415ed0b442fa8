/* SPDX-License-Identifier: MIT */
/* When parameters are accepted, written once: tcuq_params.c asks whether, tcuq_error.c which one is not.
 *
 * There is no include guard: each of them includes the functions here, and the rules between fields as
 * often as it defines RULE(name, condition). A rule relies on those before it. */
#ifndef TCUQ_RULES_H
#define TCUQ_RULES_H

#include "tcuq_internal.h"

/* Largest product of a slope and a debt, so that a threshold fits 32 bits. */
#define MAP_LIMIT 16777216u

/* Whether a number is outside low..high. Both sides count from `low`, modulo 2^32, so one comparison
 * serves signed numbers too. */
static inline int outside(uint32_t value, uint32_t low, uint32_t high)
{
    return value - low > high - low;
}

static inline int below(uint32_t value, uint32_t low)
{
    return value < low;
}

/* The same of a number of a type, which may end the range itself. Where it does at both ends, from 0 on, nothing
 * is outside and the compiler knows; a rule between fields has the word on some of these. */
#define OUTSIDE(type, value, low, high)                                \
    ((type)(high) == (type)-1 ? below((uint32_t)(value), (uint32_t)(low)) \
                              : outside((uint32_t)(value), (uint32_t)(low), (uint32_t)(high)))

/* The head, where there is one and this build can use it. */
static inline const tcuq_evidence_t *head_of(const tcuq_params_t *p)
{
    return (TCUQ_EVIDENCE) ? p->evidence : NULL;
}

static inline const tcuq_instant_t *instant_of(const tcuq_params_t *p)
{
    return (TCUQ_PERSISTENCE) ? p->instant : NULL;
}

static inline int shares_given(const tcuq_params_t *p)
{
    const tcuq_instant_t *head = instant_of(p);
    uint32_t i;
    if (head != NULL && head->class_mix != NULL) {
        for (i = 0; i < p->classes; i++) {
            if (head->class_mix[i] == 0u) {
                return 0;
            }
        }
    }
    return 1;
}

/* What a bet multiplies by at either clip stays in the range of the logarithm. */
static inline int bet_fits(const tcuq_evidence_t *head)
{
    uint32_t most = head->bet_slope * (head->clip >> 8) >> 8;
    if (head->bet_slope == 0u) {
        return head->bet_base == 0u;
    }
    return head->bet_base >= most + 257u && head->bet_base + most < 1048576u;
}

static inline int lags_ascend(const tcuq_params_t *p)
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

/* The first lag that fills after a reset must carry weight to divide by. */
static inline int weights_sum(const tcuq_params_t *p)
{
    uint32_t sum = 0, i;
    for (i = 0; i < p->lag_count; i++) {
        sum += p->lag_weights[i];
    }
    return p->lag_count == 0u || (sum == 32768u && p->lag_weights[0] != 0u);
}

/* Whether this build can do what is asked. */
static inline int build_can(const tcuq_params_t *p)
{
    return used(p) == p->signals && head_of(p) == p->evidence && instant_of(p) == p->instant;
}

#endif

#ifdef RULE
/* Signals have what they read. */
RULE(features_used, p->features != 0u || !uses(p, TCUQ_FEATURE_SIGNALS))
RULE(lags_used, p->lag_count != 0u || !uses(p, TCUQ_LAGGED_SIGNALS))
RULE(lags_given, p->lag_count == 0u || (p->lags != NULL && p->lag_weights != NULL))
/* The last lag is the largest: it is the depth of the ring. */
RULE(lags_ascend, lags_ascend(p))
RULE(lag_weights_sum, weights_sum(p))
/* A level of 1 would flag every step, and the debt would never come back. */
RULE(level_below_one, p->level_num < p->level_den)
/* One step moves the debt by less than level_den, and the threshold by steep_slope times that. */
RULE(steep_slope_fits, p->steep_slope <= MAP_LIMIT / p->level_den)
/* The map bends away from the reference, so the bounds of the debt are where it is steep. */
RULE(slope_order, p->slope <= p->steep_slope)
/* The shallow part of the map fits 32 bits. */
RULE(knee_fits, p->slope == 0u || (uint32_t)p->knee <= MAP_LIMIT / p->slope)
/* Nobody can abstain more often than always. */
RULE(budget_up_to_one, p->budget_num <= p->budget_den)
/* The belief is there to lean on. */
RULE(anchor_used, p->anchor <= (uint32_t)(instant_of(p) != NULL))
/* There is an answer beside the label. */
RULE(about_used, p->about <= (uint32_t)(instant_of(p) != NULL))
RULE(disbelief_used, instant_of(p) != NULL || !uses(p, TCUQ_BIT(TCUQ_DISBELIEF)))
/* Shorter ones are noise, longer ones would come too late. */
RULE(horizon_fits, p->horizon == 0u || p->horizon >= 4u)
RULE(start_used, p->horizon != 0u || p->expected_start == 0u)
RULE(centers_given, (p->centers != NULL) == uses(p, TCUQ_BIT(TCUQ_DISTANCE)))
/* A correction divides by them. */
RULE(class_mix_given, shares_given(p))
/* A sum can reach its limit; a side that is off sums nothing. */
RULE(rise_order, (p->rise_limit != 0u ? p->rise_cap >= p->rise_limit : p->rise_cap == 0u))
RULE(fall_order, (p->fall_limit != 0u ? p->fall_cap >= p->fall_limit : p->fall_cap == 0u))
/* The head has its table. */
RULE(evidence_given, head_of(p) == NULL || head_of(p)->offset != NULL)
/* A bet never loses all, and its logarithm fits. */
RULE(bet_fits, head_of(p) == NULL || bet_fits(head_of(p)))
/* Novelty is divided by a sixteenth of it. */
RULE(spread_fits, head_of(p) == NULL || head_of(p)->spread == 0u || head_of(p)->spread >= 16u)
/* The fall side sums risk, which evidence takes the place of. */
RULE(evidence_alone, head_of(p) == NULL || p->fall_limit == 0u)
#undef RULE
#endif
