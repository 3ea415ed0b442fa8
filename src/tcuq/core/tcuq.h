/* SPDX-License-Identifier: MIT */
/* tcuq: a label-free monitor for a frozen classifier, in integers.
 *
 * Call tcuq_step() after every inference. It says whether to trust the prediction
 * (abstain), whether the stream as a whole has changed for the worse (alarm),
 * and why (reason). SPEC.md defines every bit of what it computes.
 *
 * For every input sequence:
 *   - flagged steps: |flagged - level * t| <= the bound of tcuq_debt_bounds();
 *   - abstentions in any n consecutive steps <= burst + budget * n, unless `error_first` asks for more;
 *   - with labels (tcuq_feedback()): wrong ones among labeled accepted steps <= max_error * labeled accepted steps
 *     + the constant of tcuq_error_bound(), or twice that once labels have led a nearly silent device back.
 * Without labels nothing bounds the error rate.
 *
 * The caller owns all memory. No function allocates, prints, recurses or uses
 * floating point. One tcuq_t may be used by one thread at a time.
 */
#ifndef TCUQ_H
#define TCUQ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Layout of tcuq_params_t: a generated header refuses another one. */
#define TCUQ_PARAMS_VERSION 5u
/* Layout of the bytes that tcuq_save() writes. */
#define TCUQ_STATE_VERSION 4u

/* The most that params may ask for: classes, features, steps to look back. */
#define TCUQ_MAX_CLASSES 1000
#define TCUQ_MAX_FEATURES 256
#define TCUQ_MAX_LAG 64

/* Signal numbers. (Macros: the preprocessor compares masks of them.) */
#define TCUQ_DIVERGENCE 0    /* Jensen-Shannon divergence from lagged posteriors */
#define TCUQ_INSTABILITY 1   /* (1 - cosine to lagged features) / 2 */
#define TCUQ_FLIPS 2         /* share of lagged predictions that differ from this one */
#define TCUQ_DOUBT 3         /* low confidence and low margin, mixed */
#define TCUQ_ODDS 4          /* log-odds against the class, from this posterior */
#define TCUQ_DEGRADATION 5   /* slow mean of the evidence for degraded input, or log of the distance from clean
                              * data */
#define TCUQ_MAGNITUDE 6     /* log of the sum of squares of the features */
#define TCUQ_DISTANCE 7      /* log of the squared distance of the features from the center of the class */
#define TCUQ_DISBELIEF 8     /* log-odds against the class, from the belief at the learned persistence */
#define TCUQ_DRIFT 9         /* log of how far the features have moved from those of their classes, on average */
#define TCUQ_SIGNAL_COUNT 10 /* how many signals there are */

/* Masks of signals: of one, and of all. */
#define TCUQ_BIT(signal) (1uL << (signal)) /* long: an int may have 16 bits */
#define TCUQ_ALL_SIGNALS 0x3FFu

/* Signals of the profiles that `tcuq fit` offers, those that compare with single past steps, those that read features,
 * and slow means that need evidence. */
#define TCUQ_PROFILE_PAPER 0x00FuL
#define TCUQ_PROFILE_STANDARD 0x3F0uL
#define TCUQ_LAGGED_SIGNALS 0x007uL
#define TCUQ_FEATURE_SIGNALS 0x2C2uL
#define TCUQ_SLOW_SIGNALS 0x220uL

/* In TCUQ_SIGNALS, beside signals: the device's baseline (tcuq_evidence_t.baseline_inputs), and what labels
 * change (tcuq_feedback(), in tcuq_feedback.c) and the alarm that sees the input (tcuq_sight.c), which are left out
 * unless asked for. */
#define TCUQ_BASELINE 0x10000uL
#define TCUQ_FEEDBACK 0x20000uL
#define TCUQ_SIGHT 0x40000uL
#define TCUQ_EVERYTHING (TCUQ_ALL_SIGNALS | TCUQ_BASELINE | TCUQ_FEEDBACK | TCUQ_SIGHT)

/* What this build can do. Define it as a mask of TCUQ_BIT()s to leave the code of other signals
 * out; tcuq_init() refuses params that need them. Without a signal beyond those of the paper evidence is left
 * out too, without `disbelief` the learned persistence: a mask that an export gives has what its params need. */
#ifndef TCUQ_SIGNALS
#define TCUQ_SIGNALS (TCUQ_ALL_SIGNALS | TCUQ_BASELINE)
#endif

/* Parameters. Q0.16 means value * 65536, Q16.16 the same with a sign, Q6.9 value * 512. All of it belongs in read-only
 * memory: pointers in it are followed. */

/* Values of tcuq_params_t.anchor: what risk leans on beside the uncertainty. */
#define TCUQ_ANCHOR_CONFIDENCE 0u /* the posterior of the class that the params speak about */
#define TCUQ_ANCHOR_BELIEF 1u     /* the mixed belief in it; needs `instant` */

/* Values of tcuq_params_t.about: what signals, uncertainty and risk speak of. */
#define TCUQ_ABOUT_PREDICTION 0u
#define TCUQ_ABOUT_ANSWER 1u /* needs `instant` */

/* A second head over the signals, for the alarm: how much more likely this step is on degraded input than on
 * clean, as a natural logarithm. The coefficients of `degradation` and `drift` are those of what the alarm sums. */
typedef struct {
    const int16_t *offset;           /* one a class, of the class that the step speaks of, value * 256 */
    uint32_t clip;                   /* one step adds or takes off at most this, Q16.16 */
    uint32_t reach;                  /* feature distance (squared) from the last input at which one counts as entirely
                                      * new */
    uint32_t frozen;                 /* stillness above which the input is frozen, Q16.16; 0: it never is */
    int32_t bias;                    /* of what is summed, Q16.16 */
    uint32_t allowance;              /* taken off at every step, Q16.16 */
    uint32_t baseline_inputs;        /* first new inputs of a device that set its baseline, 0 to 1000; 0: none */
    int32_t baseline_mean;           /* what is summed on clean input, on average, Q16.16 */
    uint32_t baseline_most;          /* most that the baseline takes off, Q16.16 */
    uint32_t bet_base;               /* the bet of a step is bet_base + bet_slope * evidence, Q16.16; 0 without a
                                      * bet */
    uint32_t bet_slope;              /* 0: the evidence itself is summed, Q16.16 */
    int16_t coef[TCUQ_SIGNAL_COUNT]; /* by signal number, Q6.9 */
} tcuq_evidence_t;

/* A second head over the signals, for a stream in which neighboring steps have nothing to do with
 * each other. With it the monitor learns how long classes stay, and goes over to the first head as
 * far as they do. */
typedef struct {
    int32_t bias;                    /* of this head, Q16.16 */
    int16_t coef[TCUQ_SIGNAL_COUNT]; /* by signal number, Q6.9 */
} tcuq_instant_t;

/* A distance from clean data, for the alarm: slow means of numbers of the input (gauges) and of the outputs, with one
 * covariance. Lists have TCUQ_SIGHT_COUNT() entries: gauges in their order, or without gauges the eight sums of the
 * features where the signal distance is used; odds; that distance where it is used; and the distance of the first ones,
 * where there are any. */
typedef struct {
    uint16_t gauges;          /* numbers of the input beside each posterior, 0 to 16 */
    uint32_t reach;           /* feature distance (squared) from the last input at which one counts as entirely new */
    uint32_t frozen;          /* stillness above which the input is frozen, Q16.16; 0: it never is */
    uint32_t baseline_inputs; /* first new inputs of a device that set its baseline, 0 to 1000; 0: none */
    uint16_t odds_weight;     /* of the slow odds beside the length, value * 256 */
    uint16_t clear_weight;    /* nats of a squared length of 1, value * 16 */
    uint16_t matrix_shift;    /* a number of the matrix is worth 2^-matrix_shift, 0 to 15 */
    uint32_t changed;         /* distance from which on a step says `changed`, Q16.16 */
    int32_t accuracy_bias;    /* log-odds that a step is right, before the rest: what the expected accuracy is a mean
                               * of, Q16.16 */
    int16_t accuracy_odds;    /* of its log-odds, by the uncertainty and by what risk leans on, Q6.9; 0: the
                               * uncertainty alone says how likely it is */
    int16_t accuracy_far;     /* of the signal degradation, which says how far clean data are, Q6.9 */
    int16_t accuracy_both;    /* of the product of both, Q6.9 */
    const int32_t *mean;      /* clean mean of each number in its own unit, value * 16 */
    const uint16_t *scale;    /* a gap of 1/16 is worth scale / 2^shift deviations of 4096, 1 to 1023 */
    const uint8_t *shift;     /* of that scale, 0 to 24 */
    const int8_t *class_mean; /* clean mean of each number, class by class, in deviations, value * 16 */
    const int16_t *matrix;    /* rows of an upper triangle: lengths of the gap to clean data, -32768 to 32767 */
} tcuq_sight_t;

/* Numbers of a step that sight looks at, at most 19. */
#define TCUQ_MAX_SIGHT 19
#define TCUQ_SIGHT_INPUTS(params)                                                                         \
    ((params)->sight->gauges != 0u ? (uint32_t)(params)->sight->gauges                                    \
                                   : 8u * (uint32_t)(((params)->signals >> TCUQ_DISTANCE) & 1u))
#define TCUQ_SIGHT_COUNT(params)                                                                          \
    (TCUQ_SIGHT_INPUTS(params) + (TCUQ_SIGHT_INPUTS(params) != 0u ? 2u : 1u) +                            \
     (uint32_t)(((params)->signals >> TCUQ_DISTANCE) & 1u))

/* What labels that come late may change: the share of wrong answers among accepted steps, the expected accuracy and
 * the limit of the alarm. */
typedef struct {
    uint16_t memory;          /* steps back that a label may be for, 1 to 1024; 2 bytes each */
    uint16_t error_num;       /* largest share of errors among labeled accepted steps: error_num / error_den; 0:
                               * any */
    uint16_t error_den;       /* of that share, 1 to 1000 */
    uint16_t error_reference; /* risk from which on a step is doubtful, at zero error debt, Q0.16 */
    uint16_t error_shut;      /* error debt, in 1 / error_den of an error, from which on every step is doubtful */
    uint16_t error_first;     /* not 0: doubtful steps abstain whatever the budget says; 0: the budget is hard */
    uint16_t wrong_score;     /* a wrong answer: how much more likely on harmful input than on clean, in nats, times
                               * 8192 */
    uint16_t right_score;     /* a right one: how much less likely, in nats, times 8192 */
} tcuq_feedback_t;

/* Everything that is decided before deployment. Written by `tcuq export`; must outlive the monitor. */
typedef struct {
    uint16_t version;                       /* TCUQ_PARAMS_VERSION */
    uint32_t signals;                       /* mask of the signals in use, TCUQ_BIT()s */
    uint32_t fingerprint;                   /* what tcuq_fingerprint() gives for all the rest */
    uint16_t classes;                       /* values of one posterior, 2 to 1000 */
    uint16_t features;                      /* values of one feature vector, 0 to 256; not 0 when a signal reads
                                             * them */
    int16_t zero_point;                     /* of the int8 features, -128 to 127 */
    uint16_t lag_count;                     /* entries of lags and lag_weights; 0 only when no signal looks back */
    const uint8_t *lags;                    /* steps to look back, ascending, 1 to 64 */
    const uint16_t *lag_weights;            /* of each lag in the divergence, sum exactly 32768, value * 32768 */
    int32_t bias;                           /* of the head, Q16.16 */
    uint32_t doubt_mix;                     /* share of confidence in `doubt`, the rest is margin, Q0.16 up to
                                             * 65536 */
    uint32_t blend;                         /* share of uncertainty in risk, the rest is the anchor, Q0.16 up to
                                             * 65536 */
    uint16_t level_num;                     /* share of steps to flag: level_num / level_den */
    uint16_t level_den;                     /* of the level, 2 to 1000 */
    uint16_t reference;                     /* threshold at zero debt, Q0.16 */
    uint16_t anchor;                        /* a TCUQ_ANCHOR_ */
    uint16_t about;                         /* a TCUQ_ABOUT_ */
    uint16_t horizon;                       /* expected accuracy forgets at rate 2^-horizon, 0 to 12; 0: there is
                                             * none */
    uint16_t expected_start;                /* expected accuracy before the first step, Q0.16 */
    uint32_t slope;                         /* threshold per unit of debt near zero, Q0.16 / 256 */
    uint32_t steep_slope;                   /* the same beyond the knee, Q0.16 / 256 */
    int32_t knee;                           /* debt where the steep slope starts */
    uint16_t budget_num;                    /* largest share of abstentions: budget_num / budget_den */
    uint16_t budget_den;                    /* of the budget, 1 to 1000 */
    uint16_t burst;                         /* abstentions that may come at once, 1 to 10000 */
    uint16_t rise_reference;                /* risk above this feeds the rise alarm, Q0.16; not used with evidence */
    uint16_t fall_reference;                /* risk below this feeds the fall alarm, Q0.16 */
    uint16_t least_raised;                  /* steps that a rise alarm stays raised at the least, 0 to 63 */
    uint32_t warmup;                        /* first steps, which abstain only where `error_first` withholds them */
    uint32_t rise_limit;                    /* sum of risk x steps or evidence at which the rise alarm is raised,
                                             * Q16.16; 0: off */
    uint32_t rise_cap;                      /* the sum stops growing here, Q16.16 */
    uint32_t rise_clear;                    /* sum at which a raised rise alarm is cleared, Q16.16 */
    uint32_t fall_limit;                    /* as rise_limit, for the fall alarm, Q16.16; 0 with evidence */
    uint32_t fall_cap;                      /* as rise_cap, Q16.16 */
    const int8_t *centers;                  /* clean mean features, class by class, -128 to 127; NULL without the
                                             * signal `distance` */
    const tcuq_instant_t *instant;          /* head without a past: the persistence is learned; NULL: the persistence
                                             * is not learned */
    const tcuq_evidence_t *evidence;        /* summed by the rise alarm in place of risk; NULL: the rise alarm sums
                                             * risk */
    const tcuq_sight_t *sight;              /* a distance from clean data, which the rise alarm compares in place of
                                             * risk; NULL: the alarm does not look at distances */
    const tcuq_feedback_t *feedback;        /* what labels change; NULL: labels are refused */
    int16_t coef[TCUQ_SIGNAL_COUNT];        /* of the head, by signal number, Q6.9 */
    uint16_t clean_mean[TCUQ_SIGNAL_COUNT]; /* of each signal on clean data: stands in for a missing past, Q0.16 */
} tcuq_params_t;

/* Results of the functions that return int: TCUQ_OK, a size, or a negative error. */
enum tcuq_error {
    TCUQ_OK = 0,                 /* no error */
    TCUQ_ERR_PARAMS = -1,        /* parameters are refused; tcuq_check() says which one */
    TCUQ_ERR_SIGNALS = -2,       /* a signal, or a head, that this build leaves out is asked for */
    TCUQ_ERR_SIZE = -3,          /* a buffer is too small; a state too short for a header */
    TCUQ_ERR_STATE = -4,         /* not a state, or damaged (checksum, ranges) */
    TCUQ_ERR_VERSION = -5,       /* a state or params of another layout version */
    TCUQ_ERR_OTHER = -6,         /* a state of a monitor with other params; params that have changed */
    TCUQ_ERR_STEP = -7,          /* a label of a step that was not taken, or is not remembered */
    TCUQ_ERR_LABEL = -8,         /* a label that is no class, TCUQ_RIGHT or TCUQ_WRONG */
    TCUQ_ERR_LABELED = -9,       /* a label of a step that has one */
    TCUQ_ERR_LAST_PARAM = -33,   /* errors of parameters and rules are below this, */
    TCUQ_ERR_FIRST_PARAM = -128, /* and above this; their numbers belong to one TCUQ_PARAMS_VERSION */
    TCUQ_ERR_PARAM_version = -127, TCUQ_ERR_PARAM_signals = -126, TCUQ_ERR_PARAM_fingerprint = -125,
    TCUQ_ERR_PARAM_classes = -124, TCUQ_ERR_PARAM_features = -123, TCUQ_ERR_PARAM_zero_point = -122,
    TCUQ_ERR_PARAM_lag_count = -121, TCUQ_ERR_PARAM_bias = -120, TCUQ_ERR_PARAM_doubt_mix = -119,
    TCUQ_ERR_PARAM_blend = -118, TCUQ_ERR_PARAM_level_num = -117, TCUQ_ERR_PARAM_level_den = -116,
    TCUQ_ERR_PARAM_reference = -115, TCUQ_ERR_PARAM_anchor = -114, TCUQ_ERR_PARAM_about = -113,
    TCUQ_ERR_PARAM_horizon = -112, TCUQ_ERR_PARAM_expected_start = -111, TCUQ_ERR_PARAM_slope = -110,
    TCUQ_ERR_PARAM_steep_slope = -109, TCUQ_ERR_PARAM_knee = -108, TCUQ_ERR_PARAM_budget_num = -107,
    TCUQ_ERR_PARAM_budget_den = -106, TCUQ_ERR_PARAM_burst = -105, TCUQ_ERR_PARAM_rise_reference = -104,
    TCUQ_ERR_PARAM_fall_reference = -103, TCUQ_ERR_PARAM_least_raised = -102, TCUQ_ERR_PARAM_warmup = -101,
    TCUQ_ERR_PARAM_rise_limit = -100, TCUQ_ERR_PARAM_rise_cap = -99, TCUQ_ERR_PARAM_rise_clear = -98,
    TCUQ_ERR_PARAM_fall_limit = -97, TCUQ_ERR_PARAM_fall_cap = -96, TCUQ_ERR_EVIDENCE_clip = -95,
    TCUQ_ERR_EVIDENCE_reach = -94, TCUQ_ERR_EVIDENCE_frozen = -93, TCUQ_ERR_EVIDENCE_bias = -92,
    TCUQ_ERR_EVIDENCE_allowance = -91, TCUQ_ERR_EVIDENCE_baseline_inputs = -90, TCUQ_ERR_EVIDENCE_baseline_mean = -89,
    TCUQ_ERR_EVIDENCE_baseline_most = -88, TCUQ_ERR_EVIDENCE_bet_base = -87, TCUQ_ERR_EVIDENCE_bet_slope = -86,
    TCUQ_ERR_INSTANT_bias = -85, TCUQ_ERR_SIGHT_gauges = -84, TCUQ_ERR_SIGHT_reach = -83, TCUQ_ERR_SIGHT_frozen = -82,
    TCUQ_ERR_SIGHT_baseline_inputs = -81, TCUQ_ERR_SIGHT_odds_weight = -80, TCUQ_ERR_SIGHT_clear_weight = -79,
    TCUQ_ERR_SIGHT_matrix_shift = -78, TCUQ_ERR_SIGHT_changed = -77, TCUQ_ERR_SIGHT_accuracy_bias = -76,
    TCUQ_ERR_SIGHT_accuracy_odds = -75, TCUQ_ERR_SIGHT_accuracy_far = -74, TCUQ_ERR_SIGHT_accuracy_both = -73,
    TCUQ_ERR_FEEDBACK_memory = -72, TCUQ_ERR_FEEDBACK_error_num = -71, TCUQ_ERR_FEEDBACK_error_den = -70,
    TCUQ_ERR_FEEDBACK_error_reference = -69, TCUQ_ERR_FEEDBACK_error_shut = -68, TCUQ_ERR_FEEDBACK_error_first = -67,
    TCUQ_ERR_FEEDBACK_wrong_score = -66, TCUQ_ERR_FEEDBACK_right_score = -65, TCUQ_ERR_RULE_features_used = -64,
    TCUQ_ERR_RULE_lags_used = -63, TCUQ_ERR_RULE_lags_given = -62, TCUQ_ERR_RULE_lags_ascend = -61,
    TCUQ_ERR_RULE_lag_weights_sum = -60, TCUQ_ERR_RULE_level_below_one = -59, TCUQ_ERR_RULE_steep_slope_fits = -58,
    TCUQ_ERR_RULE_slope_order = -57, TCUQ_ERR_RULE_knee_fits = -56, TCUQ_ERR_RULE_budget_up_to_one = -55,
    TCUQ_ERR_RULE_anchor_used = -54, TCUQ_ERR_RULE_about_used = -53, TCUQ_ERR_RULE_disbelief_used = -52,
    TCUQ_ERR_RULE_horizon_fits = -51, TCUQ_ERR_RULE_start_used = -50, TCUQ_ERR_RULE_centers_given = -49,
    TCUQ_ERR_RULE_rise_order = -48, TCUQ_ERR_RULE_fall_order = -47, TCUQ_ERR_RULE_clear_order = -46,
    TCUQ_ERR_RULE_evidence_given = -45, TCUQ_ERR_RULE_bet_fits = -44, TCUQ_ERR_RULE_baseline_used = -43,
    TCUQ_ERR_RULE_novelty_used = -42, TCUQ_ERR_RULE_slow_used = -41, TCUQ_ERR_RULE_drift_used = -40,
    TCUQ_ERR_RULE_evidence_alone = -39, TCUQ_ERR_RULE_sight_given = -38, TCUQ_ERR_RULE_sight_fits = -37,
    TCUQ_ERR_RULE_sight_alone = -36, TCUQ_ERR_RULE_sight_limit = -35, TCUQ_ERR_RULE_feedback_fits = -34
};

/* Say in words what an error means, as "NAME: expected TEXT". The name is that of the refused
 * parameter where there is one. Both return "" for what is no error. */
const char *tcuq_error_name(int error);
const char *tcuq_error_text(int error);

/* Return TCUQ_OK when every field is in range and the rules between fields hold, else the
 * first error: TCUQ_ERR_VERSION, that of a field or a rule, or TCUQ_ERR_SIGNALS. To be called
 * when tcuq_init() refuses; like the texts below it is in tcuq_error.c, which costs nothing
 * where nobody calls it. */
int tcuq_check(const tcuq_params_t *params);

/* Return the CRC-32 that ties a saved state or a log to these params, the same on every machine: what
 * tcuq_params_t.fingerprint must hold. `tcuq export` writes it; params made by hand need it for
 * tcuq_save(), tcuq_load() and tcuq_verify(). */
uint32_t tcuq_fingerprint(const tcuq_params_t *params);

/* The debt, level_den * flagged - level_num * steps, never leaves [low, high],
 * so |flag rate - level| <= max(-low, high) / level_den / t at every step t. */
void tcuq_debt_bounds(const tcuq_params_t *params, int32_t *low, int32_t *high);

/* One monitor. Fields are private: save and load instead of copying. */
typedef struct {
    const tcuq_params_t *params;
    uint32_t *ring;
    uint8_t alarm;          /* TCUQ_ALARM_ bits, and 4 * steps for which it still stays raised */
    uint8_t slot;           /* slot of the ring that is written next */
    uint8_t fill;           /* filled entries of the ring, at most its depth */
    uint8_t filled;         /* bit 0 when the last input and beliefs hold a value, bit 1 when class mix and deficits
                             * do */
    uint32_t steps;         /* taken so far */
    int32_t debt;           /* level_den * flagged - level_num * steps */
    int32_t credit;         /* abstentions that may come, in 1 / budget_den */
    uint32_t rise;          /* sum of the rise alarm, or the distance with `sight` */
    uint32_t fall;          /* sum of the fall alarm */
    int32_t degradation;    /* slow mean of the evidence, Q16.16 */
    uint32_t stillness;     /* mean doublings that the input is short of a new one, Q16.16; forgotten at a reset */
    uint32_t baseline;      /* a sum over new inputs until `baseline_seen` is complete, then the baseline, Q16.16 */
    uint32_t baseline_seen; /* new inputs of the baseline, in 1/256 */
    uint32_t accuracy;      /* expected accuracy, Q0.24 */
} tcuq_t;

/* Return the bytes of ring memory that these params need (a multiple of 4), at
 * least 4. Meaningful only for params that pass tcuq_check(). */
size_t tcuq_ring_size(const tcuq_params_t *params);

/* Start a monitor. `ring` has `ring_bytes` bytes and, like `params`, stays with
 * it. Return TCUQ_OK, TCUQ_ERR_PARAMS, _SIGNALS, _VERSION or _SIZE. */
int tcuq_init(tcuq_t *monitor, const tcuq_params_t *params, uint32_t *ring, size_t ring_bytes);

/* Bits of tcuq_step_t.alarm. */
#define TCUQ_ALARM_RISE 1u /* risk stayed above that of clean data, evidence added up, or clean data is far */
#define TCUQ_ALARM_FALL 2u /* risk stayed below it, as when a network collapses */

/* In tcuq_step_t.reason: none, since the step is not flagged or no signal is above its clean mean; and no signal, but
 * the step was withheld because labels have shown too many errors (tcuq_feedback_t), also during warm-up. */
#define TCUQ_REASON_NONE 255u
#define TCUQ_REASON_ERROR 254u

/* Values of tcuq_step_t.action. */
#define TCUQ_ACT 0u  /* on the answer */
#define TCUQ_ASK 1u  /* not on this answer: ask somebody, wait, or look again */
#define TCUQ_HOLD 2u /* not on any answer until the alarm is off */

/* In tcuq_step_t.moved: the number fell, the input stands still, nothing moved. */
#define TCUQ_MOVED_DOWN 128u
#define TCUQ_MOVED_FROZEN 254u
#define TCUQ_MOVED_NONE 255u

/* What one step says. */
typedef struct {
    int32_t threshold;          /* compared with risk; may lie outside 0..65535 */
    int32_t degradation;        /* slow mean of the evidence, or the distance over its limit with `sight`: how bad, to
                                 * rank devices by, Q16.16; 0 without both */
    uint16_t prediction;        /* class with the largest posterior, lowest index on a tie */
    uint16_t answer;            /* class to act on: prediction, or what the last steps make more likely where the
                                 * params are about it */
    uint16_t risk;              /* what steps are ranked by, the head and the anchor together, Q0.16 */
    uint16_t uncertainty;       /* that of the head alone, Q0.16 */
    uint16_t persistence;       /* 0 where neighboring steps have nothing to do with each other, Q0.16; 0 without
                                 * `instant` */
    uint16_t novelty;           /* how new this input is beside the last one, 1/8 at the least, Q0.16; 0 without
                                 * evidence or sight */
    uint16_t expected_accuracy; /* over the last steps, Q0.16; 0 where the params give no `horizon` */
    uint8_t flagged;            /* 1: risk >= threshold */
    uint8_t abstain;            /* 1: do not act on answer; flagged, and the budget allows it, or withheld for its
                                 * error */
    uint8_t alarm;              /* TCUQ_ALARM_ bits, 0 when quiet */
    uint8_t warming_up;         /* 1: among the first `warmup` steps */
    uint8_t reason;             /* signal number, TCUQ_REASON_ERROR or TCUQ_REASON_NONE */
    uint8_t low_mass;           /* 1: posterior sums to less than a half */
    uint8_t action;             /* a TCUQ_ACTION_: what to do with the answer */
    uint8_t changed;            /* 1: the input or the outputs are not like the clean log, harmful or not; 0 without
                                 * `sight` */
    uint8_t moved;              /* number that moved most while `changed`: gauges in their order, or sums of features
                                 * where there are none, then outputs; 128 more where it fell; TCUQ_MOVED_FROZEN; or
                                 * TCUQ_MOVED_NONE */
} tcuq_step_t;

/* Take one inference: `probs` as an int8 softmax leaves them (scale 1/256, zero
 * point -128), `features` in the scale of the params, or NULL when no signal
 * reads them. `signals` is NULL or TCUQ_SIGNAL_COUNT words that receive the
 * signals in Q0.16 (0 where unused). Nothing is checked here. */
void tcuq_step(tcuq_t *monitor, const int8_t *probs, const int8_t *features, tcuq_step_t *out,
               uint16_t *signals);

/* The same with the gauges of the input, as many as the params say, in 1/256 of their units (tcuq_gauges.h), or NULL
 * where the input was not seen: it then counts as a clean one. */
void tcuq_step_gauges(tcuq_t *monitor, const int8_t *probs, const int8_t *features, const int16_t *gauges,
                      tcuq_step_t *out, uint16_t *signals);

/* Posterior of two classes from one int8 sigmoid output (class 1). */
void tcuq_two_classes(int8_t sigmoid, int8_t probs[2]);

/* After a gap in the stream: forget past posteriors, features and beliefs. Threshold, budget,
 * alarm and warm-up go on, or the rates would not hold; so does what was learned of the stream:
 * its persistence and mix of classes, degradation, drift, baseline and expected accuracy. */
void tcuq_reset(tcuq_t *monitor);

/* What tcuq_feedback() takes beside a class: no class is right, or the answer was wrong; and the answer was right. */
#define TCUQ_WRONG (-1)
#define TCUQ_RIGHT (-2)

/* Return how many steps the monitor has taken, resets and saved states included: the number of the next step.
 * In builds with TCUQ_FEEDBACK, like the functions below. */
uint32_t tcuq_steps(const tcuq_t *monitor);

/* Say what was true of a step, by its number from 0 on (the last one is tcuq_steps() - 1): a class, TCUQ_RIGHT or
 * TCUQ_WRONG, of its answer. Labels may come in any order, or never; the first one for a step counts. Return TCUQ_OK;
 * TCUQ_ERR_PARAMS where the params have no `feedback`, TCUQ_ERR_LABEL for a class that there is not, TCUQ_ERR_STEP
 * for a step that is not among the last `memory` ones, TCUQ_ERR_LABELED where it had a label. Numbers end at
 * 2^32 - 2, and labels with them. */
int tcuq_feedback(tcuq_t *monitor, uint32_t step, int32_t label);

/* The error debt never leaves [-error_shut, what this returns], so that of n labeled accepted steps at most
 * max_error * n + what this returns / error_den are wrong. Where the device has fallen nearly silent, right labels of
 * steps that were withheld though sure lower the debt as well: they may add as much again, and no more. The constant
 * grows by error_den - error_num with every step of `memory`: so many answers may be out when the first label comes.
 * Of steps without a label it says nothing. With `error_first` 0 it speaks of the steps that were not doubtful. */
int32_t tcuq_error_bound(const tcuq_params_t *params);

/* The error debt now. */
int32_t tcuq_error_debt(const tcuq_t *monitor);

/* Return the exact number of bytes that tcuq_save() writes. */
size_t tcuq_state_size(const tcuq_params_t *params);

/* Write the state, the same bytes on every machine. Return their number (at most 32767 where int has
 * 16 bits), TCUQ_ERR_SIZE, or TCUQ_ERR_STATE when memory errors have put a number out of range: what
 * is in `bytes` is then no state. Steps go on; try again later, or start over. */
int tcuq_save(const tcuq_t *monitor, uint8_t *bytes, size_t size);

/* Take over a saved state; the monitor must be initialized with the same params.
 * Return TCUQ_OK, or an error that leaves the monitor as it was. */
int tcuq_load(tcuq_t *monitor, const uint8_t *bytes, size_t size);

/* Look for memory errors, at any time: TCUQ_OK; TCUQ_ERR_STATE when a pointer is NULL or a
 * counter out of range; TCUQ_ERR_OTHER when the params do not have their fingerprint. It follows the pointers
 * of the params, which is why they belong in read-only memory. Steps go on whatever it says, except after NULL:
 * SPEC.md section 12 says what comes back by itself, and when. */
int tcuq_verify(const tcuq_t *monitor);

#ifdef __cplusplus
}
#endif

#endif
