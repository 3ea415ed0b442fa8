/* SPDX-License-Identifier: MIT */
/* The parameters of a monitor as lists, one a struct of tcuq.h, and the rules between them.
 *
 * From these lists come the error codes (tcuq.h), the checks (tcuq.c), the fingerprint (tcuq_state.c), the
 * messages (tcuq_error.c) and Python's reading of parameters. To add a parameter, add it to its struct in tcuq.h
 * and to its list here, raise TCUQ_PARAMS_VERSION and describe it in SPEC.md: a build fails where struct and list
 * differ.
 *
 * Give a list a macro for each kind of member, or one of TCUQ_NO_NUMBER, TCUQ_NO_LIST and TCUQ_NO_HEAD:
 *
 *   NUMBER(name, type, low, high, bytes)   a number in low..high. `bytes` are its bytes in the fingerprint (SPEC.md
 *                                          section 12): 4; 2 where two share a word; 0 where it has no part in it
 *   LIST(name, type, low, high)            a pointer to numbers of the caller, each in low..high
 *   TABLE(name, type, low, high)           one number a signal
 *   HEAD(name, type)                       a pointer to a struct of the caller, or NULL
 */
#ifndef TCUQ_FIELDS_H
#define TCUQ_FIELDS_H

#define TCUQ_NO_NUMBER(name, type, low, high, bytes)
#define TCUQ_NO_LIST(name, type, low, high) /* nor a table */
#define TCUQ_NO_HEAD(name, type)

/* tcuq_params_t, in the order of the struct and of the fingerprint. */
#define TCUQ_PARAMS_FIELDS(NUMBER, LIST, TABLE, HEAD)                    \
    NUMBER(version, uint16_t, TCUQ_PARAMS_VERSION, TCUQ_PARAMS_VERSION, 4) \
    NUMBER(signals, uint32_t, 1, TCUQ_ALL_SIGNALS, 4)                    \
    NUMBER(fingerprint, uint32_t, 0, 4294967295, 0)                      \
    NUMBER(classes, uint16_t, 2, TCUQ_MAX_CLASSES, 4)                    \
    NUMBER(features, uint16_t, 0, TCUQ_MAX_FEATURES, 4)                  \
    NUMBER(zero_point, int16_t, -128, 127, 4)                            \
    NUMBER(lag_count, uint16_t, 0, TCUQ_MAX_LAG, 4)                      \
    LIST(lags, uint8_t, 1, TCUQ_MAX_LAG)                                 \
    LIST(lag_weights, uint16_t, 0, 32768)                                \
    NUMBER(bias, int32_t, -16777216, 16777216, 4)                        \
    NUMBER(doubt_mix, uint32_t, 0, 65536, 4)                             \
    NUMBER(blend, uint32_t, 0, 65536, 4)                                 \
    NUMBER(level_num, uint16_t, 1, 65535, 4)                             \
    NUMBER(level_den, uint16_t, 2, 1000, 4)                              \
    NUMBER(reference, uint16_t, 0, 65535, 2)                             \
    NUMBER(anchor, uint16_t, 0, 65535, 2)                                \
    NUMBER(about, uint16_t, 0, 65535, 2)                                 \
    NUMBER(horizon, uint16_t, 0, 12, 2)                                  \
    NUMBER(expected_start, uint16_t, 0, 65535, 4)                        \
    NUMBER(slope, uint32_t, 0, 4294967295, 4)                            \
    NUMBER(steep_slope, uint32_t, 1, 4294967295, 4)                      \
    NUMBER(knee, int32_t, 0, 16777216, 4)                                \
    NUMBER(budget_num, uint16_t, 0, 65535, 4)                            \
    NUMBER(budget_den, uint16_t, 1, 1000, 4)                             \
    NUMBER(burst, uint16_t, 1, 10000, 4)                                 \
    NUMBER(rise_reference, uint16_t, 0, 65535, 4)                        \
    NUMBER(fall_reference, uint16_t, 0, 65535, 4)                        \
    NUMBER(hold, uint16_t, 0, 63, 4)                                     \
    NUMBER(warmup, uint32_t, 0, 4294967295, 4)                           \
    NUMBER(rise_limit, uint32_t, 0, 4294967295, 4)                       \
    NUMBER(rise_cap, uint32_t, 0, 1073741824, 4)                         \
    NUMBER(rise_clear, uint32_t, 0, 1073741824, 4)                       \
    NUMBER(fall_limit, uint32_t, 0, 4294967295, 4)                       \
    NUMBER(fall_cap, uint32_t, 0, 1073741824, 4)                         \
    LIST(centers, int8_t, -128, 127)                                     \
    HEAD(instant, tcuq_instant_t)                                        \
    HEAD(evidence, tcuq_evidence_t)                                      \
    HEAD(feedback, tcuq_feedback_t)                                      \
    TABLE(coef, int16_t, -32768, 32767)                                  \
    TABLE(clean_mean, uint16_t, 0, 65535)

/* tcuq_evidence_t. */
#define TCUQ_EVIDENCE_FIELDS(NUMBER, LIST, TABLE)  \
    LIST(offset, int16_t, -32768, 32767)           \
    NUMBER(clip, uint32_t, 1, 524288, 4)           \
    NUMBER(reach, uint32_t, 256, 4294967295, 4)    \
    NUMBER(still, uint32_t, 0, 2097152, 4)         \
    NUMBER(bias, int32_t, -16777216, 16777216, 4)  \
    NUMBER(allowance, uint32_t, 0, 16777216, 4)    \
    NUMBER(own_looks, uint32_t, 0, 1000, 4)        \
    NUMBER(own_mean, int32_t, -524288, 524288, 4)  \
    NUMBER(own_most, uint32_t, 0, 524288, 4)       \
    NUMBER(bet_base, uint32_t, 0, 1048576, 4)      \
    NUMBER(bet_slope, uint32_t, 0, 32767, 4)       \
    TABLE(coef, int16_t, -32768, 32767)

/* tcuq_instant_t. */
#define TCUQ_INSTANT_FIELDS(NUMBER, LIST, TABLE)   \
    NUMBER(bias, int32_t, -16777216, 16777216, 4)  \
    TABLE(coef, int16_t, -32768, 32767)

/* tcuq_feedback_t. */
#define TCUQ_FEEDBACK_FIELDS(NUMBER, LIST, TABLE)      \
    NUMBER(memory, uint16_t, 1, 1024, 4)               \
    NUMBER(error_num, uint16_t, 0, 65535, 4)           \
    NUMBER(error_den, uint16_t, 1, 1000, 4)            \
    NUMBER(error_reference, uint16_t, 0, 65535, 4)     \
    NUMBER(error_shut, uint16_t, 0, 32767, 4)          \
    NUMBER(error_first, uint16_t, 0, 65535, 4)         \
    NUMBER(wrong_score, uint16_t, 0, 65535, 4)         \
    NUMBER(right_score, uint16_t, 0, 65535, 4)

/* Rules between fields, in the order in which they are checked: X(name, field, condition, expected). A message
 * names `field` and what was `expected` of it. Conditions speak of accepted numbers `p`, in functions of
 * tcuq_internal.h; each relies on those before it. */
#define TCUQ_RULES(X)                                                                                              \
    X(features_used, features, p->features != 0u || !uses(p, TCUQ_FEATURE_SIGNALS),                                \
      "1 to 256 when a signal reads features")                                                                     \
    X(lags_used, lags, p->lag_count != 0u || !uses(p, TCUQ_LAGGED_SIGNALS), "at least one when a signal looks back") \
    X(lags_given, lags, p->lag_count == 0u || (p->lags != NULL && p->lag_weights != NULL),                         \
      "memory for lags and lag_weights")                                                                           \
    /* The last lag is the largest: it is the depth of the ring. */                                                \
    X(lags_ascend, lags, lags_ascend(p), "ascending numbers from 1 to 64")                                         \
    X(lag_weights_sum, lag_weights, weights_sum(p), "a sum of 32768, and a first weight above 0")                  \
    /* A level of 1 would flag every step, and the debt would never come back. */                                  \
    X(level_below_one, level_num, p->level_num < p->level_den, "less than level_den")                              \
    /* One step moves the debt by less than level_den, and the threshold by steep_slope times that. */             \
    X(steep_slope_fits, steep_slope, p->steep_slope <= MAP_LIMIT / p->level_den, "at most 16777216 / level_den")   \
    /* The map bends away from the reference, so the bounds of the debt are where it is steep. */                  \
    X(slope_order, slope, p->slope <= p->steep_slope, "at most steep_slope")                                       \
    X(knee_fits, knee, p->slope == 0u || (uint32_t)p->knee <= MAP_LIMIT / p->slope, "at most 16777216 / slope")    \
    X(budget_up_to_one, budget_num, p->budget_num <= p->budget_den, "at most budget_den")                          \
    X(anchor_used, anchor, p->anchor <= (instant_head(p) != NULL ? 1u : 0u), "0, or 1 with an instant head")       \
    X(about_used, about, p->about <= (instant_head(p) != NULL ? 1u : 0u), "0, or 1 with an instant head")          \
    X(disbelief_used, signals, instant_head(p) != NULL || !uses(p, TCUQ_BIT(TCUQ_DISBELIEF)),                      \
      "disbelief only with an instant head")                                                                       \
    /* Shorter ones are noise, longer ones would come too late. */                                                 \
    X(horizon_fits, horizon, p->horizon == 0u || p->horizon >= 4u, "0, or 4 to 12")                                \
    X(start_used, expected_start, p->horizon != 0u || p->expected_start == 0u, "0 without a horizon")              \
    X(centers_given, centers, (p->centers != NULL) == uses(p, TCUQ_BIT(TCUQ_DISTANCE)),                            \
      "given exactly when the signal distance is used")                                                            \
    X(rise_order, rise_cap, p->rise_limit != 0u ? p->rise_cap >= p->rise_limit : p->rise_cap == 0u,                \
      "at least rise_limit; 0 when rise_limit is 0")                                                               \
    X(fall_order, fall_cap, p->fall_limit != 0u ? p->fall_cap >= p->fall_limit : p->fall_cap == 0u,                \
      "at least fall_limit; 0 when fall_limit is 0")                                                               \
    X(clear_order, rise_clear, p->rise_limit != 0u ? p->rise_clear < p->rise_limit : p->rise_clear == 0u,          \
      "less than rise_limit; 0 when rise_limit is 0")                                                              \
    X(evidence_given, evidence, evidence_head(p) == NULL || evidence_head(p)->offset != NULL, "memory for offset") \
    X(bet_fits, evidence, evidence_head(p) == NULL || bet_fits(evidence_head(p)),                                  \
      "bet_base and bet_slope 0, or factors from 128 to 2^20 at both clips")                                       \
    /* A bet stays fair only where nothing but clean data moves it. */                                             \
    X(own_used, evidence, evidence_head(p) == NULL || own_fits(evidence_head(p)),                                  \
      "an own reference only without a bet; own_mean and own_most 0 without own_looks")                            \
    /* A look compares features in blocks, or odds. */                                                             \
    X(look_used, evidence, evidence_head(p) == NULL || uses(p, TCUQ_BIT(TCUQ_ODDS) | TCUQ_BIT(TCUQ_DISTANCE)),      \
      "given only where the signal odds or distance is used")                                                      \
    X(slow_used, signals, evidence_head(p) != NULL || !uses(p, TCUQ_SLOW_SIGNALS),                                 \
      "severity and drift only with evidence")                                                                     \
    X(drift_used, signals, uses(p, TCUQ_BIT(TCUQ_DISTANCE)) || !uses(p, TCUQ_BIT(TCUQ_DRIFT)),                     \
      "drift only with the signal distance")                                                                       \
    /* The fall side sums risk, which evidence takes the place of. */                                              \
    X(evidence_alone, fall_limit, evidence_head(p) == NULL || p->fall_limit == 0u,                                 \
      "0 with evidence, which has a rise side only")                                                               \
    X(feedback_fits, feedback, feedback_fits(p), "error_num less than error_den, and a rise_cap up to 2^28")

#endif
