/* SPDX-License-Identifier: MIT */
/* Lists for the core, made from schema.toml by tools/schema.py: change that file, not this one. */
#ifndef TCUQ_FIELDS_H
#define TCUQ_FIELDS_H

/* Numbers of tcuq_params_t: of its error, variable that points to it, name, type, lowest, highest,
 * bytes in the fingerprint (SPEC.md section 12), usual value. */
#define TCUQ_PARAM_NUMBERS(X)                                    \
    X(PARAM, p, version, uint16_t, 5, 5, 4, 5)                   \
    X(PARAM, p, signals, uint32_t, 1, 1023, 4, 0)                \
    X(PARAM, p, fingerprint, uint32_t, 0, 4294967295, 0, 0)      \
    X(PARAM, p, classes, uint16_t, 2, 1000, 4, 10)               \
    X(PARAM, p, features, uint16_t, 0, 256, 4, 0)                \
    X(PARAM, p, zero_point, int16_t, -128, 127, 4, 0)            \
    X(PARAM, p, lag_count, uint16_t, 0, 64, 4, 0)                \
    X(PARAM, p, bias, int32_t, -16777216, 16777216, 4, -262144)  \
    X(PARAM, p, doubt_mix, uint32_t, 0, 65536, 4, 32768)         \
    X(PARAM, p, blend, uint32_t, 0, 65536, 4, 45000)             \
    X(PARAM, p, level_num, uint16_t, 1, 65535, 4, 1)             \
    X(PARAM, p, level_den, uint16_t, 2, 1000, 4, 10)             \
    X(PARAM, p, reference, uint16_t, 0, 65535, 2, 24000)         \
    X(PARAM, p, anchor, uint16_t, 0, 65535, 2, 0)                \
    X(PARAM, p, about, uint16_t, 0, 65535, 2, 0)                 \
    X(PARAM, p, horizon, uint16_t, 0, 12, 2, 0)                  \
    X(PARAM, p, expected_start, uint16_t, 0, 65535, 4, 0)        \
    X(PARAM, p, slope, uint32_t, 0, 4294967295, 4, 40000)        \
    X(PARAM, p, steep_slope, uint32_t, 1, 4294967295, 4, 260000) \
    X(PARAM, p, knee, int32_t, 0, 16777216, 4, 50)               \
    X(PARAM, p, budget_num, uint16_t, 0, 65535, 4, 3)            \
    X(PARAM, p, budget_den, uint16_t, 1, 1000, 4, 20)            \
    X(PARAM, p, burst, uint16_t, 1, 10000, 4, 3)                 \
    X(PARAM, p, rise_reference, uint16_t, 0, 65535, 4, 26000)    \
    X(PARAM, p, fall_reference, uint16_t, 0, 65535, 4, 9000)     \
    X(PARAM, p, least_raised, uint16_t, 0, 63, 4, 0)             \
    X(PARAM, p, warmup, uint32_t, 0, 4294967295, 4, 8)           \
    X(PARAM, p, rise_limit, uint32_t, 0, 4294967295, 4, 60000)   \
    X(PARAM, p, rise_cap, uint32_t, 0, 1073741824, 4, 150000)    \
    X(PARAM, p, rise_clear, uint32_t, 0, 1073741824, 4, 0)       \
    X(PARAM, p, fall_limit, uint32_t, 0, 4294967295, 4, 0)       \
    X(PARAM, p, fall_cap, uint32_t, 0, 1073741824, 4, 0)

/* The same of tcuq_evidence_t. */
#define TCUQ_EVIDENCE_NUMBERS(X)                                         \
    X(EVIDENCE, evidence, clip, uint32_t, 1, 524288, 4, 262144)          \
    X(EVIDENCE, evidence, reach, uint32_t, 256, 4294967295, 4, 4000)     \
    X(EVIDENCE, evidence, frozen, uint32_t, 0, 2097152, 4, 0)            \
    X(EVIDENCE, evidence, bias, int32_t, -16777216, 16777216, 4, -9000)  \
    X(EVIDENCE, evidence, allowance, uint32_t, 0, 16777216, 4, 0)        \
    X(EVIDENCE, evidence, baseline_inputs, uint32_t, 0, 1000, 4, 0)      \
    X(EVIDENCE, evidence, baseline_mean, int32_t, -524288, 524288, 4, 0) \
    X(EVIDENCE, evidence, baseline_most, uint32_t, 0, 524288, 4, 0)      \
    X(EVIDENCE, evidence, bet_base, uint32_t, 0, 1048576, 4, 0)          \
    X(EVIDENCE, evidence, bet_slope, uint32_t, 0, 32767, 4, 0)

/* The same of tcuq_instant_t. */
#define TCUQ_INSTANT_NUMBERS(X)                                         \
    X(INSTANT, instant, bias, int32_t, -16777216, 16777216, 4, -196608)

/* The same of tcuq_sight_t. */
#define TCUQ_SIGHT_NUMBERS(X)                                        \
    X(SIGHT, sight, gauges, uint16_t, 0, 16, 4, 2)                   \
    X(SIGHT, sight, reach, uint32_t, 256, 4294967295, 4, 4000)       \
    X(SIGHT, sight, frozen, uint32_t, 0, 2097152, 4, 0)              \
    X(SIGHT, sight, baseline_inputs, uint32_t, 0, 1000, 4, 0)        \
    X(SIGHT, sight, odds_weight, uint16_t, 0, 4096, 4, 512)          \
    X(SIGHT, sight, clear_weight, uint16_t, 16, 4095, 4, 320)        \
    X(SIGHT, sight, matrix_shift, uint16_t, 0, 15, 4, 8)             \
    X(SIGHT, sight, changed, uint32_t, 0, 4194304, 4, 40000)         \
    X(SIGHT, sight, accuracy_bias, int32_t, -1048576, 1048576, 4, 0) \
    X(SIGHT, sight, accuracy_odds, int16_t, -32768, 32767, 4, 5678)  \
    X(SIGHT, sight, accuracy_far, int16_t, -32768, 32767, 4, 0)      \
    X(SIGHT, sight, accuracy_both, int16_t, -32768, 32767, 4, 0)

/* The same of tcuq_feedback_t. */
#define TCUQ_FEEDBACK_NUMBERS(X)                                         \
    X(FEEDBACK, feedback, memory, uint16_t, 1, 1024, 4, 3)               \
    X(FEEDBACK, feedback, error_num, uint16_t, 0, 65535, 4, 1)           \
    X(FEEDBACK, feedback, error_den, uint16_t, 1, 1000, 4, 10)           \
    X(FEEDBACK, feedback, error_reference, uint16_t, 0, 65535, 4, 65535) \
    X(FEEDBACK, feedback, error_shut, uint16_t, 0, 32767, 4, 25)         \
    X(FEEDBACK, feedback, error_first, uint16_t, 0, 65535, 4, 0)         \
    X(FEEDBACK, feedback, wrong_score, uint16_t, 0, 65535, 4, 8192)      \
    X(FEEDBACK, feedback, right_score, uint16_t, 0, 65535, 4, 8192)

/* All of them. */
#define TCUQ_NUMBERS(X) \
    TCUQ_PARAM_NUMBERS(X) TCUQ_EVIDENCE_NUMBERS(X) TCUQ_INSTANT_NUMBERS(X) TCUQ_SIGHT_NUMBERS(X) TCUQ_FEEDBACK_NUMBERS(X)

/* Lists: variable, name, type, lowest, highest, of what there is one number each. */
#define TCUQ_LISTS(X)                                  \
    X(p, lags, uint8_t, 1, 64, lag)                    \
    X(p, lag_weights, uint16_t, 0, 32768, lag)         \
    X(p, coef, int16_t, -32768, 32767, signal)         \
    X(p, clean_mean, uint16_t, 0, 65535, signal)       \
    X(evidence, offset, int16_t, -32768, 32767, class) \
    X(evidence, coef, int16_t, -32768, 32767, signal)  \
    X(instant, coef, int16_t, -32768, 32767, signal)   \
    X(sight, mean, int32_t, -1048576, 1048576, number) \
    X(sight, scale, uint16_t, 1, 1023, number)         \
    X(sight, shift, uint8_t, 0, 24, number)            \
    X(sight, matrix, int16_t, -32768, 32767, triangle)

/* Rules: name, parameter, condition of accepted numbers `p`, what is expected. */
#define TCUQ_RULES(X)                                                                                                                                    \
    X(features_used, features, p->features != 0u || !uses(p, TCUQ_FEATURE_SIGNALS),                                                                      \
      "1 to 256 when a signal reads features")                                                                                                           \
    X(lags_used, lags, p->lag_count != 0u || !uses(p, TCUQ_LAGGED_SIGNALS),                                                                              \
      "at least one when a signal looks back")                                                                                                           \
    X(lags_given, lags, p->lag_count == 0u || (p->lags != NULL && p->lag_weights != NULL),                                                               \
      "memory for lags and lag_weights")                                                                                                                 \
    X(lags_ascend, lags, lags_ascend(p), "ascending numbers from 1 to 64")                                                                               \
    X(lag_weights_sum, lag_weights, weights_sum(p), "a sum of 32768, and a first weight above 0")                                                        \
    X(level_below_one, level_num, p->level_num < p->level_den, "less than level_den")                                                                    \
    X(steep_slope_fits, steep_slope, p->steep_slope <= MAP_LIMIT / p->level_den, "at most 16777216 / level_den")                                         \
    X(slope_order, slope, p->slope <= p->steep_slope, "at most steep_slope")                                                                             \
    X(knee_fits, knee, p->slope == 0u || (uint32_t)p->knee <= MAP_LIMIT / p->slope, "at most 16777216 / slope")                                          \
    X(budget_up_to_one, budget_num, p->budget_num <= p->budget_den, "at most budget_den")                                                                \
    X(anchor_used, anchor, p->anchor <= (instant_head(p) != NULL ? 1u : 0u), "0, or 1 with an instant head")                                             \
    X(about_used, about, p->about <= (instant_head(p) != NULL ? 1u : 0u), "0, or 1 with an instant head")                                                \
    X(disbelief_used, signals, instant_head(p) != NULL || !uses(p, TCUQ_BIT(TCUQ_DISBELIEF)),                                                            \
      "disbelief only with an instant head")                                                                                                             \
    X(horizon_fits, horizon, p->horizon == 0u || p->horizon >= 4u, "0, or 4 to 12")                                                                      \
    X(start_used, expected_start, p->horizon != 0u || p->expected_start == 0u, "0 without a horizon")                                                    \
    X(centers_given, centers, (p->centers != NULL) == uses(p, TCUQ_BIT(TCUQ_DISTANCE)),                                                                  \
      "given exactly when the signal distance is used")                                                                                                  \
    X(rise_order, rise_cap, p->rise_limit != 0u ? p->rise_cap >= p->rise_limit : p->rise_cap == 0u,                                                      \
      "at least rise_limit; 0 when rise_limit is 0")                                                                                                     \
    X(fall_order, fall_cap, p->fall_limit != 0u ? p->fall_cap >= p->fall_limit : p->fall_cap == 0u,                                                      \
      "at least fall_limit; 0 when fall_limit is 0")                                                                                                     \
    X(clear_order, rise_clear, p->rise_limit != 0u ? p->rise_clear < p->rise_limit : p->rise_clear == 0u,                                                \
      "less than rise_limit; 0 when rise_limit is 0")                                                                                                    \
    X(evidence_given, evidence, evidence_head(p) == NULL || evidence_head(p)->offset != NULL, "memory for offset")                                       \
    X(bet_fits, evidence, evidence_head(p) == NULL || bet_fits(evidence_head(p)),                                                                        \
      "bet_base and bet_slope 0, or factors from 128 to 2^20 at both clips")                                                                             \
    X(baseline_used, evidence, evidence_head(p) == NULL || baseline_fits(evidence_head(p)),                                                              \
      "a baseline only without a bet; baseline_mean and baseline_most 0 without baseline_inputs")                                                        \
    X(novelty_used, evidence, evidence_head(p) == NULL || uses(p, TCUQ_BIT(TCUQ_ODDS) | TCUQ_BIT(TCUQ_DISTANCE)),                                        \
      "given only where the signal odds or distance is used")                                                                                            \
    X(slow_used, signals, evidence_head(p) != NULL || !uses(p, sight_head(p) != NULL ? TCUQ_BIT(TCUQ_DRIFT) : TCUQ_SLOW_SIGNALS),                        \
      "degradation only with evidence or sight, drift only with evidence")                                                                               \
    X(drift_used, signals, uses(p, TCUQ_BIT(TCUQ_DISTANCE)) || !uses(p, TCUQ_BIT(TCUQ_DRIFT)),                                                           \
      "drift only with the signal distance")                                                                                                             \
    X(evidence_alone, fall_limit, !asks_novelty(p) || p->fall_limit == 0u,                                                                               \
      "0 with evidence or sight, which have a rise side only")                                                                                           \
    X(sight_given, sight, sight_head(p) == NULL || sight_given(sight_head(p)),                                                                           \
      "memory for mean, scale, shift, class_mean and matrix")                                                                                            \
    X(sight_fits, sight, sight_head(p) == NULL || sight_fits(p),                                                                                         \
      "mean within 2^20, scale 1 to 1023 and shift up to 24")                                                                                            \
    X(sight_alone, sight, sight_head(p) == NULL || (evidence_head(p) == NULL && uses(p, TCUQ_BIT(TCUQ_ODDS))),                                           \
      "given only without evidence, and where the signal odds is used")                                                                                  \
    X(sight_limit, rise_limit, sight_head(p) == NULL || (p->rise_limit >= 16384u && p->rise_limit >= sight_head(p)->changed && p->rise_cap <= 4194304u), \
      "at least 16384 and `changed` with sight, and a rise_cap up to 2^22")                                                                              \
    X(feedback_fits, feedback, feedback_fits(p), "error_num less than error_den, and a rise_cap up to 2^28")

/* Other errors, from -1 down: what each is about, what is expected. */
#define TCUQ_ERRORS(X)                                                       \
    X("params", "what tcuq_check() accepts; it says which one is refused")   \
    X("signals", "only what this build has (TCUQ_SIGNALS)")                  \
    X("size", "a larger buffer, or a state of tcuq_state_size() bytes")      \
    X("state", "undamaged bytes of tcuq_save()")                             \
    X("version", "the layout of this tcuq.h: fit or export again")           \
    X("state", "one saved with the same parameters")                         \
    X("step", "one of the last steps, as many as `memory`, numbered from 0") \
    X("label", "a class, TCUQ_RIGHT or TCUQ_WRONG")                          \
    X("step", "one without a label")

/* Counters that are saved as words: name, type, offset. */
#define TCUQ_COUNTER_WORDS(X)                                                                              \
    X(steps, uint32_t, 20) X(debt, int32_t, 24) X(credit, int32_t, 28) X(rise, uint32_t, 32)               \
    X(fall, uint32_t, 36) X(degradation, int32_t, 40) X(stillness, uint32_t, 44) X(baseline, uint32_t, 48) \
    X(baseline_seen, uint32_t, 52) X(accuracy, uint32_t, 56)

/* Counters that are saved as bytes: name, type, offset. */
#define TCUQ_COUNTER_BYTES(X)                                         \
    X(alarm, uint8_t, 60) X(fill, uint8_t, 61) X(filled, uint8_t, 62)

/* tcuq_step_t, in the order of vector files: name, type. */
#define TCUQ_STEP_FIELDS(X)                                                                               \
    X(threshold, int32_t) X(degradation, int32_t) X(prediction, uint16_t) X(answer, uint16_t)             \
    X(risk, uint16_t) X(uncertainty, uint16_t) X(persistence, uint16_t) X(novelty, uint16_t)              \
    X(expected_accuracy, uint16_t) X(flagged, uint8_t) X(abstain, uint8_t) X(alarm, uint8_t)              \
    X(warming_up, uint8_t) X(reason, uint8_t) X(low_mass, uint8_t) X(action, uint8_t) X(changed, uint8_t) \
    X(moved, uint8_t)

/* Signals by number. */
#define TCUQ_SIGNAL_NAMES(X)                                                                       \
    X(divergence) X(instability) X(flips) X(doubt) X(odds) X(degradation) X(magnitude) X(distance) \
    X(disbelief) X(drift)

#endif
