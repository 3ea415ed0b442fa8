/* SPDX-License-Identifier: MIT */
/* tcuq: a label-free monitor for a frozen classifier, in integers.
 *
 * Call tcuq_step() after every inference. It says whether to trust the label
 * (abstain), whether the stream as a whole has changed for the worse (alarm),
 * and why (reason). SPEC.md defines every bit of what it computes.
 *
 * For every input sequence:
 *   - flagged steps: |flagged - level * t| <= the bound of tcuq_debt_bounds();
 *   - abstentions in any n consecutive steps <= burst + budget * n.
 * Nothing here bounds the error rate: that needs labels.
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
#define TCUQ_PARAMS_VERSION 4u
/* Layout of the bytes that tcuq_save() writes. */
#define TCUQ_STATE_VERSION 4u

/* The most that params may ask for: classes, features, steps to look back. */
#define TCUQ_MAX_CLASSES 1000
#define TCUQ_MAX_FEATURES 256
#define TCUQ_MAX_LAG 64

/* Signal numbers. A number is never given to another signal. (Macros, because
 * TCUQ_SIGNALS is tested by the preprocessor, to which an enum is 0.) */
#define TCUQ_DIVERGENCE 0    /* Jensen-Shannon divergence from lagged posteriors */
#define TCUQ_INSTABILITY 1   /* (1 - cosine to lagged features) / 2 */
#define TCUQ_FLIPS 2         /* share of lagged labels that differ from this one */
#define TCUQ_DOUBT 3         /* low confidence and low margin, mixed */
#define TCUQ_ODDS 4          /* log-odds against the class, from this posterior */
#define TCUQ_MEAN_ODDS 5     /* mean of past odds, rate 1/16 */
#define TCUQ_MAGNITUDE 6     /* root mean square of the features / 256 */
#define TCUQ_DISTANCE 7      /* log of the squared distance of the features from the center of the class */
#define TCUQ_DISBELIEF 8     /* log-odds against the class, from the belief at the learned persistence */
#define TCUQ_SIGNAL_COUNT 9  /* how many signals there are */

/* Masks of signals: of one, of the profiles that `tcuq fit` offers, of all. */
#define TCUQ_BIT(signal) (1uL << (signal)) /* long: an int may have 16 bits */
#define TCUQ_PROFILE_PAPER 0x00Fu
#define TCUQ_PROFILE_STANDARD 0x1F0u
#define TCUQ_ALL_SIGNALS 0x1FFu

/* Signals that compare with single past steps, and signals that read features. */
#define TCUQ_LAGGED_SIGNALS \
    (TCUQ_BIT(TCUQ_DIVERGENCE) | TCUQ_BIT(TCUQ_INSTABILITY) | TCUQ_BIT(TCUQ_FLIPS))
#define TCUQ_FEATURE_SIGNALS \
    (TCUQ_BIT(TCUQ_INSTABILITY) | TCUQ_BIT(TCUQ_MAGNITUDE) | TCUQ_BIT(TCUQ_DISTANCE))

/* Signals that this build can compute. Define it as a mask of TCUQ_BIT()s to
 * leave the code of the others out; tcuq_init() refuses params that need them. */
#ifndef TCUQ_SIGNALS
#define TCUQ_SIGNALS TCUQ_ALL_SIGNALS
#endif

/* Whether this build can sum evidence instead of risk, 0 or 1. A build for the signals of
 * the paper alone leaves it out unless asked; tcuq_init() refuses params that need it. */
#ifndef TCUQ_EVIDENCE
#define TCUQ_EVIDENCE (((TCUQ_SIGNALS) & ~TCUQ_PROFILE_PAPER) != 0u)
#endif

/* Whether this build can learn the persistence of a stream, 0 or 1; tcuq_init() refuses params
 * that need it. */
#ifndef TCUQ_PERSISTENCE
#define TCUQ_PERSISTENCE (((TCUQ_SIGNALS) & TCUQ_BIT(TCUQ_DISBELIEF)) != 0u)
#endif

/* In tcuq_step_t.reason: not flagged, or no signal is above its clean mean. */
#define TCUQ_REASON_NONE 255u

/* Values of tcuq_params_t.anchor: what risk leans on beside the uncertainty. */
#define TCUQ_ANCHOR_CONFIDENCE 0u /* the posterior of the class that the params speak about */
#define TCUQ_ANCHOR_BELIEF 1u     /* the mixed belief in it; needs `instant` */

/* Values of tcuq_params_t.about: what signals, uncertainty and risk speak of. */
#define TCUQ_ABOUT_LABEL 0u
#define TCUQ_ABOUT_ANSWER 1u /* needs `instant` */

/* Bits of tcuq_step_t.alarm. */
#define TCUQ_ALARM_RISE 1u /* risk stayed above its clean level, or evidence added up */
#define TCUQ_ALARM_FALL 2u /* risk stayed below it, as when a network collapses */

/* A second head over the signals, for the alarm: how much more likely this step is on
 * degraded input than on clean, as a natural logarithm. tcuq_fields.h says what each field is. */
typedef struct {
#define TCUQ_HEAD_FIELD(name, type, low, high) type name;
#define TCUQ_HEAD_LIST(name, type, low, high) const type *name;
#define TCUQ_HEAD_TABLE(name, type, low, high) type name[TCUQ_SIGNAL_COUNT];
#include "tcuq_fields.h"
} tcuq_evidence_t;

/* A second head over the signals, for a stream in which neighboring steps have nothing to do with
 * each other. With it the monitor learns how long classes stay, and goes over to the first head as
 * far as they do. tcuq_fields.h says what each field is. */
typedef struct {
#define TCUQ_INSTANT_FIELD(name, type, low, high) type name;
#define TCUQ_INSTANT_LIST(name, type, low, high) const type *name;
#define TCUQ_INSTANT_TABLE(name, type, low, high) type name[TCUQ_SIGNAL_COUNT];
#include "tcuq_fields.h"
} tcuq_instant_t;

/* Everything that is decided before deployment: tcuq_fields.h has the name, type, range and
 * meaning of each field. Written by `tcuq export`; must outlive the monitor. */
typedef struct {
#define TCUQ_FIELD(name, type, low, high, bytes) type name;
#define TCUQ_LIST(name, type, low, high) const type *name;
#define TCUQ_TABLE(name, type, low, high) type name[TCUQ_SIGNAL_COUNT];
#define TCUQ_OPTIONAL(name, type) const type *name;
#include "tcuq_fields.h"
} tcuq_params_t;

/* Results of the functions that return int: TCUQ_OK, a size, or a negative error. Errors of
 * parameters are one a field (TCUQ_ERR_PARAM_steep_slope), one a field of the evidence
 * (TCUQ_ERR_HEAD_clip), one a field of the instant
 * head (TCUQ_ERR_INSTANT_bias) and one a rule between fields (TCUQ_ERR_RULE_slope_order), named as in
 * tcuq_fields.h; their numbers belong to one TCUQ_PARAMS_VERSION. */
enum tcuq_error {
    TCUQ_ERR_FIRST_PARAM = -128, /* errors of parameters are above this and below TCUQ_ERR_LAST_PARAM */
#define TCUQ_FIELD(name, type, low, high, bytes) TCUQ_ERR_PARAM_##name,
#define TCUQ_HEAD_FIELD(name, type, low, high) TCUQ_ERR_HEAD_##name,
#define TCUQ_INSTANT_FIELD(name, type, low, high) TCUQ_ERR_INSTANT_##name,
#define TCUQ_RULE(name, field, expected) TCUQ_ERR_RULE_##name,
#include "tcuq_fields.h"
    TCUQ_ERR_LAST_PARAM,   /* errors of parameters are below this */
    TCUQ_ERR_OTHER = -6,   /* a state of a monitor with other params */
    TCUQ_ERR_VERSION = -5, /* a state or params of another layout version */
    TCUQ_ERR_STATE = -4,   /* not a state, or damaged (checksum, ranges) */
    TCUQ_ERR_SIZE = -3,    /* a buffer is too small; a state too short for a header */
    TCUQ_ERR_SIGNALS = -2, /* a signal, or evidence, that this build leaves out is asked for */
    TCUQ_ERR_PARAMS = -1,  /* parameters are refused; tcuq_check() says which one */
    TCUQ_OK = 0            /* no error */
};

/* One monitor. Fields are private: save and load instead of copying. */
typedef struct {
    const tcuq_params_t *params;
    uint32_t *ring;
    uint32_t params_sum; /* of the params at tcuq_init(), for tcuq_verify() */
    uint8_t alarm;       /* bytes are before words: Thumb reaches them in shorter instructions there */
    uint8_t head;
    uint8_t fill;
    uint8_t held;
    uint32_t steps;
    int32_t debt;
    int32_t credit;
    uint32_t rise;
    uint32_t fall;
    int32_t severity;
    uint32_t accuracy;
    int32_t last;
    uint32_t novelty;
} tcuq_t;

/* What one step says. */
typedef struct {
    int32_t threshold;    /* compared with risk; may lie outside 0..65535 */
    int32_t severity;     /* slow mean of the evidence, Q16.16: how bad, to rank devices by; 0 without evidence */
    uint16_t label;       /* class with the largest posterior, lowest index on a tie */
    uint16_t answer;      /* class to act on: label, or what the last steps make more likely */
    uint16_t risk;        /* Q0.16 */
    uint16_t uncertainty; /* Q0.16 */
    uint16_t persistence; /* Q0.16: 0 where neighboring steps have nothing to do with each other; 0 without `instant` */
    uint16_t variety;     /* Q0.16: 0 where neighboring steps repeat each other, as on one object; 0 without `instant`,
                           * the most without its `spread` */
    uint16_t expected_accuracy; /* Q0.16, over the last steps; 0 where the params give no `horizon` */
    uint8_t flagged;      /* 1: risk >= threshold */
    uint8_t abstain;      /* 1: do not act on answer; flagged, and the budget allows it */
    uint8_t alarm;        /* TCUQ_ALARM_ bits, 0 when quiet */
    uint8_t warming_up;   /* 1: among the first `warmup` steps */
    uint8_t reason;       /* signal number, or TCUQ_REASON_NONE */
    uint8_t low_mass;     /* 1: posterior sums to less than a half */
} tcuq_step_t;

/* Return TCUQ_OK when every field is in range and the rules between fields hold, else the
 * first error: TCUQ_ERR_VERSION, that of a field or a rule, or TCUQ_ERR_SIGNALS. To be called
 * when tcuq_init() refuses; like the texts below it is in tcuq_error.c, which costs nothing
 * where nobody calls it. */
int tcuq_check(const tcuq_params_t *params);

/* Say in words what an error means, as "NAME: expected TEXT". The name is that of the refused
 * parameter where there is one. Both return "" for what is no error. */
const char *tcuq_error_name(int error);
const char *tcuq_error_text(int error);

/* Return the bytes of ring memory that these params need (a multiple of 4), at
 * least 4. Meaningful only for params that pass tcuq_check(). */
size_t tcuq_ring_size(const tcuq_params_t *params);

/* Start a monitor. `ring` has `ring_bytes` bytes and, like `params`, stays with
 * it. Return TCUQ_OK, TCUQ_ERR_PARAMS, _SIGNALS, _VERSION or _SIZE. */
int tcuq_init(tcuq_t *monitor, const tcuq_params_t *params, uint32_t *ring, size_t ring_bytes);

/* Take one inference: `probs` as an int8 softmax leaves them (scale 1/256, zero
 * point -128), `features` in the scale of the params, or NULL when no signal
 * reads them. `signals` is NULL or TCUQ_SIGNAL_COUNT words that receive the
 * signals in Q0.16 (0 where unused). Nothing is checked here. */
void tcuq_step(tcuq_t *monitor, const int8_t *probs, const int8_t *features, tcuq_step_t *out,
               uint16_t *signals);

/* After a gap in the stream: forget past posteriors, features and beliefs. Threshold, budget,
 * alarm and warm-up go on, or the rates would not hold; so does what was learned of the stream:
 * its persistence, variety and mix of classes, severity and expected accuracy. */
void tcuq_reset(tcuq_t *monitor);

/* Return the exact number of bytes that tcuq_save() writes. */
size_t tcuq_state_size(const tcuq_params_t *params);

/* Write the state, the same bytes on every machine. Return their number (at most
 * 32767 where int has 16 bits), or TCUQ_ERR_SIZE. A number that memory errors have put out of
 * range is written mended, so that the state loads; the monitor is not changed. */
int tcuq_save(const tcuq_t *monitor, uint8_t *bytes, size_t size);

/* Take over a saved state; the monitor must be initialized with the same params.
 * Return TCUQ_OK, or an error that leaves the monitor as it was. */
int tcuq_load(tcuq_t *monitor, const uint8_t *bytes, size_t size);

/* Look for memory errors, at any time: TCUQ_OK; TCUQ_ERR_STATE when a pointer is NULL or a
 * counter out of range; TCUQ_ERR_OTHER when the params are not those of tcuq_init(), whatever is
 * wrong with them: nothing that is damaged is followed. Steps go on whatever it says, except after NULL: SPEC.md section 12 says
 * what comes back by itself, and when. In tcuq_state.c, so costs nothing where nobody calls it. */
int tcuq_verify(const tcuq_t *monitor);

/* Return the CRC-32 that ties a saved state or a log to these params, the same on every machine. */
uint32_t tcuq_fingerprint(const tcuq_params_t *params);

/* The debt, level_den * flagged - level_num * steps, never leaves [low, high],
 * so |flag rate - level| <= max(-low, high) / level_den / t at every step t. */
void tcuq_debt_bounds(const tcuq_params_t *params, int32_t *low, int32_t *high);

/* Posterior of two classes from one int8 sigmoid output (class 1). */
void tcuq_two_classes(int8_t sigmoid, int8_t probs[2]);

/* Deprecated: call tcuq_step() on each row. The same as `count` such calls; `features` and
 * `signals` may be NULL. */
static inline void tcuq_run(tcuq_t *monitor, const int8_t *probs, const int8_t *features,
                            size_t count, tcuq_step_t *out, uint16_t *signals)
{
    for (; count > 0u; count--) {
        tcuq_step(monitor, probs, features, out++, signals);
        probs += monitor->params->classes;
        if (features != NULL) {
            features += monitor->params->features;
        }
        if (signals != NULL) {
            signals += TCUQ_SIGNAL_COUNT;
        }
    }
}

#ifdef __cplusplus
}
#endif

#endif
