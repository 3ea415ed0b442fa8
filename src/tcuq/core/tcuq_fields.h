/* SPDX-License-Identifier: MIT */
/* The parameters of a monitor, each declared once.
 *
 * tcuq.h makes the structs and the error codes of these rows, tcuq_params.c the checks, tcuq_state.c the
 * fingerprint, tcuq_error.c the messages; Python takes names and ranges from here too. To add a parameter,
 * add a row, raise TCUQ_PARAMS_VERSION and describe it in SPEC.md.
 *
 * There is no include guard: define the macros that you need and include this file; it undefines them.
 *
 *   TCUQ_FIELD(name, type, low, high, bytes)   a number in low..high; `high` is that of the type
 *                                              where a rule has the word. `bytes` are its bytes in the
 *                                              fingerprint (SPEC.md section 12): 4; 2 where two
 *                                              fields share a word; 0 where it has no part in it
 *   TCUQ_LIST(name, type, low, high)           numbers in memory of the caller, each in low..high
 *   TCUQ_TABLE(name, type, low, high)          one number a signal
 *   TCUQ_OPTIONAL(name, type)                  a struct of the caller, or NULL
 *   TCUQ_HEAD_FIELD, _HEAD_LIST, _HEAD_TABLE   the same of tcuq_evidence_t
 *   TCUQ_INSTANT_FIELD, _LIST, _TABLE          the same of tcuq_instant_t
 *   TCUQ_RULE(name, field, expected)           what holds beside the ranges; a message names `field`
 *
 * The order of rows is that of the struct and of the fingerprint. Q0.16 means value * 65536. */
#ifndef TCUQ_FIELD
#define TCUQ_FIELD(name, type, low, high, bytes)
#endif
#ifndef TCUQ_LIST
#define TCUQ_LIST(name, type, low, high)
#endif
#ifndef TCUQ_TABLE
#define TCUQ_TABLE(name, type, low, high)
#endif
#ifndef TCUQ_OPTIONAL
#define TCUQ_OPTIONAL(name, type)
#endif
#ifndef TCUQ_HEAD_FIELD
#define TCUQ_HEAD_FIELD(name, type, low, high)
#endif
#ifndef TCUQ_HEAD_LIST
#define TCUQ_HEAD_LIST(name, type, low, high)
#endif
#ifndef TCUQ_HEAD_TABLE
#define TCUQ_HEAD_TABLE(name, type, low, high)
#endif
#ifndef TCUQ_INSTANT_FIELD
#define TCUQ_INSTANT_FIELD(name, type, low, high)
#endif
#ifndef TCUQ_INSTANT_LIST
#define TCUQ_INSTANT_LIST(name, type, low, high)
#endif
#ifndef TCUQ_INSTANT_TABLE
#define TCUQ_INSTANT_TABLE(name, type, low, high)
#endif
#ifndef TCUQ_RULE
#define TCUQ_RULE(name, field, expected)
#endif

/* Fields of tcuq_params_t. */
TCUQ_FIELD(version, uint16_t, TCUQ_PARAMS_VERSION, TCUQ_PARAMS_VERSION, 4) /* of this layout */
TCUQ_FIELD(signals, uint32_t, 1, TCUQ_ALL_SIGNALS, 4)     /* mask of TCUQ_BIT()s in use */
TCUQ_FIELD(classes, uint16_t, 2, TCUQ_MAX_CLASSES, 4)     /* values of one posterior */
TCUQ_FIELD(features, uint16_t, 0, TCUQ_MAX_FEATURES, 4)   /* not 0 when a signal reads features */
TCUQ_FIELD(zero_point, int16_t, -128, 127, 4)             /* of the features */
TCUQ_FIELD(lag_count, uint16_t, 0, TCUQ_MAX_LAG, 4)       /* 0 only when no signal looks back */
TCUQ_LIST(lags, uint8_t, 1, TCUQ_MAX_LAG)                 /* steps to look back, ascending */
TCUQ_LIST(lag_weights, uint16_t, 0, 32768)                /* Q0.15, sum exactly 32768 */
TCUQ_FIELD(bias, int32_t, -16777216, 16777216, 4)         /* Q16.16 */
TCUQ_FIELD(doubt_mix, uint32_t, 0, 65536, 4)              /* Q0.16: share of confidence in doubt */
TCUQ_FIELD(blend, uint32_t, 0, 65536, 4)                  /* Q0.16: share of uncertainty in risk */
TCUQ_FIELD(level_num, uint16_t, 1, 65535, 4)                /* level = level_num / level_den, below 1 */
TCUQ_FIELD(level_den, uint16_t, 2, 1000, 4)               /* of that many steps, level_num are to be flagged */
TCUQ_FIELD(reference, uint16_t, 0, 65535, 2)              /* threshold at zero debt, Q0.16 */
TCUQ_FIELD(anchor, uint16_t, 0, 65535, 2)                 /* a TCUQ_ANCHOR_ */
TCUQ_FIELD(about, uint16_t, 0, 65535, 2)                  /* a TCUQ_ABOUT_ */
TCUQ_FIELD(horizon, uint16_t, 0, 12, 2)                   /* expected accuracy forgets at rate 2^-horizon; 0: off */
TCUQ_FIELD(expected_start, uint16_t, 0, 65535, 4)         /* expected accuracy before the first step, Q0.16 */
TCUQ_FIELD(slope, uint32_t, 0, 4294967295, 4)             /* threshold per unit of debt near zero, Q0.16 / 256 */
TCUQ_FIELD(steep_slope, uint32_t, 1, 4294967295, 4)       /* the same beyond the knee */
TCUQ_FIELD(knee, int32_t, 0, 16777216, 4)                 /* debt where the steep slope starts */
TCUQ_FIELD(budget_num, uint16_t, 0, 65535, 4)              /* budget = budget_num / budget_den, up to 1 */
TCUQ_FIELD(budget_den, uint16_t, 1, 1000, 4)              /* of that many steps, budget_num may abstain */
TCUQ_FIELD(burst, uint16_t, 1, 10000, 4)                  /* abstentions that may come at once */
TCUQ_FIELD(rise_reference, uint16_t, 0, 65535, 4)         /* risk above this feeds the rise alarm, Q0.16 */
TCUQ_FIELD(fall_reference, uint16_t, 0, 65535, 4)         /* risk below this feeds the fall alarm, Q0.16 */
TCUQ_FIELD(reserved, uint16_t, 0, 0, 0)                   /* fills a word */
TCUQ_FIELD(warmup, uint32_t, 0, 4294967295, 4)            /* steps that never abstain */
TCUQ_FIELD(rise_limit, uint32_t, 0, 4294967295, 4)        /* the alarm is raised here; 0: this side is off */
TCUQ_FIELD(rise_cap, uint32_t, 0, 1073741824, 4)          /* the sum stops growing here */
TCUQ_FIELD(fall_limit, uint32_t, 0, 4294967295, 4)        /* as rise_limit, for the fall alarm */
TCUQ_FIELD(fall_cap, uint32_t, 0, 1073741824, 4)          /* as rise_cap */
TCUQ_LIST(centers, int8_t, -128, 127)                     /* clean mean features, class by class; or NULL */
TCUQ_OPTIONAL(instant, tcuq_instant_t)                    /* head without a past; the persistence is learned */
TCUQ_OPTIONAL(evidence, tcuq_evidence_t)                  /* summed by the rise alarm in place of risk */
TCUQ_TABLE(coef, int16_t, -32768, 32767)                  /* Q6.9 */
TCUQ_TABLE(clean_mean, uint16_t, 0, 65535)                /* Q0.16, stands in for a missing past */

/* Fields of tcuq_evidence_t. */
TCUQ_HEAD_LIST(offset, int16_t, -32768, 32767)            /* one a class, of the label answered; value * 256 */
TCUQ_HEAD_FIELD(clip, uint32_t, 1, 16777216)              /* one step adds at most this, Q16.16 */
TCUQ_HEAD_FIELD(allowance, uint32_t, 0, 16777216)         /* taken off at every step, Q16.16 */
TCUQ_HEAD_FIELD(bet_base, uint32_t, 0, 1048576)           /* Q16.16; a bet on the evidence, or 0 */
TCUQ_HEAD_FIELD(bet_slope, uint32_t, 0, 32767)            /* Q16.16; 0: the evidence itself is summed */
TCUQ_HEAD_FIELD(spread, uint32_t, 0, 16777216)            /* Q16.16; squared step of clean evidence, or 0 */
TCUQ_HEAD_TABLE(coef, int16_t, -32768, 32767)             /* Q6.9 */

/* Fields of tcuq_instant_t. */
TCUQ_INSTANT_FIELD(bias, int32_t, -16777216, 16777216)    /* Q16.16 */
TCUQ_INSTANT_FIELD(spread, uint32_t, 0, 262144)           /* Q16.16; how unlike neighboring steps were, or 0 */
TCUQ_INSTANT_LIST(class_mix, uint16_t, 1, 65535)          /* Q0.16, one a class, or NULL: shares in development */
TCUQ_INSTANT_TABLE(coef, int16_t, -32768, 32767)          /* Q6.9 */

/* Rules between fields, in the order in which they are checked. */
TCUQ_RULE(features_used, features, "1 to 256 when a signal reads features")
TCUQ_RULE(lags_used, lags, "at least one when a signal looks back")
TCUQ_RULE(lags_given, lags, "memory for lags and lag_weights")
TCUQ_RULE(lags_ascend, lags, "ascending numbers from 1 to 64")
TCUQ_RULE(lag_weights_sum, lag_weights, "a sum of 32768, and a first weight above 0")
TCUQ_RULE(level_below_one, level_num, "less than level_den")
TCUQ_RULE(steep_slope_fits, steep_slope, "at most 16777216 / level_den")
TCUQ_RULE(slope_order, slope, "at most steep_slope")
TCUQ_RULE(knee_fits, knee, "at most 16777216 / slope")
TCUQ_RULE(budget_up_to_one, budget_num, "at most budget_den")
TCUQ_RULE(anchor_used, anchor, "0, or 1 with an instant head")
TCUQ_RULE(about_used, about, "0, or 1 with an instant head")
TCUQ_RULE(disbelief_used, signals, "disbelief only with an instant head")
TCUQ_RULE(horizon_fits, horizon, "0, or 4 to 12")
TCUQ_RULE(start_used, expected_start, "0 without a horizon")
TCUQ_RULE(centers_given, centers, "given exactly when the signal distance is used")
TCUQ_RULE(class_mix_given, instant, "shares of at least 1 in class_mix")
TCUQ_RULE(rise_order, rise_cap, "at least rise_limit; 0 when rise_limit is 0")
TCUQ_RULE(fall_order, fall_cap, "at least fall_limit; 0 when fall_limit is 0")
TCUQ_RULE(evidence_given, evidence, "memory for offset")
TCUQ_RULE(bet_fits, evidence, "bet_base and bet_slope 0, or factors from 128 to 2^20 at both clips")
TCUQ_RULE(spread_fits, evidence, "a spread of 0, or at least 16")
TCUQ_RULE(evidence_alone, fall_limit, "0 with evidence, which has a rise side only")

#undef TCUQ_FIELD
#undef TCUQ_LIST
#undef TCUQ_TABLE
#undef TCUQ_OPTIONAL
#undef TCUQ_HEAD_FIELD
#undef TCUQ_HEAD_LIST
#undef TCUQ_HEAD_TABLE
#undef TCUQ_INSTANT_FIELD
#undef TCUQ_INSTANT_LIST
#undef TCUQ_INSTANT_TABLE
#undef TCUQ_RULE
