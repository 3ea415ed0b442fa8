/* SPDX-License-Identifier: MIT */
/* What no vector and no stream can show: errors in words, refused starts, what tcuq_verify() finds, and single
 * numbers of the ring that a memory error has put out of range (SPEC.md section 12).
 *
 *     run_corners
 *
 * Works in a build of any signals. Exit status: 0 when all holds, else 1. */
#include "check.h"

/* What follows from TCUQ_SIGNALS. */
#define HAS_EVIDENCE (((TCUQ_SIGNALS) & ~TCUQ_PROFILE_PAPER) != 0u)
#define HAS_PERSISTENCE (((TCUQ_SIGNALS) & TCUQ_BIT(TCUQ_DISBELIEF)) != 0u)

/* Signals of this build that need no head. */
#define STEADY ((TCUQ_SIGNALS) & TCUQ_ALL_SIGNALS & ~(TCUQ_BIT(TCUQ_DISBELIEF) | TCUQ_SLOW_SIGNALS))

enum { CLASSES = 10, FEATURES = 4, WORDS = 2000 };

static const uint8_t lags[2] = {1, 3};
static const uint16_t lag_weights[2] = {16384, 16384};
static const int8_t centers[CLASSES * FEATURES];
static const int16_t offsets[CLASSES];
static tcuq_evidence_t head;
static tcuq_instant_t instant;
static tcuq_sight_t sight;
static const tcuq_feedback_t labels = {1, 0, 1, 0, 0, 0, 0, 0};
static uint32_t ring[WORDS];

static tcuq_params_t params_of(uint32_t signals)
{
    tcuq_params_t p = plain_params(signals, CLASSES, FEATURES);
    p.lag_count = (signals & TCUQ_LAGGED_SIGNALS) != 0u ? 2u : 0u;
    p.lags = lags;
    p.lag_weights = lag_weights;
    p.centers = (signals & TCUQ_BIT(TCUQ_DISTANCE)) != 0u ? centers : NULL;
    return p;
}

/* Whether this build can tell how new an input is, which evidence needs. */
static int compares(void)
{
    return ((TCUQ_SIGNALS) & (TCUQ_BIT(TCUQ_ODDS) | TCUQ_BIT(TCUQ_DISTANCE))) != 0u;
}

/* What one build can do: all that it has, with the heads that it has. */
static tcuq_params_t whole(void)
{
    tcuq_params_t p = params_of((TCUQ_SIGNALS) & TCUQ_ALL_SIGNALS);
    memset(&head, 0, sizeof head);
    memset(&instant, 0, sizeof instant);
    head.offset = offsets;
    head.clip = 65536;
    head.reach = 3000;
    p.horizon = 5;
    p.rise_limit = 1000;
    p.rise_cap = 2000;
    p.evidence = compares() ? &head : NULL;
    if (p.evidence == NULL) {
        p.signals &= ~(uint32_t)TCUQ_SLOW_SIGNALS;
    }
    p.instant = HAS_PERSISTENCE ? &instant : NULL;
    return p;
}

static int has(uint32_t signals)
{
    return ((TCUQ_SIGNALS) & signals) == signals;
}

static void error_words(void)
{
    static const struct {
        int error;
        const char *name, *text;
    } rows[] = {
        {TCUQ_ERR_SIGNALS, "signals", "only what this build has (TCUQ_SIGNALS)"},
        {TCUQ_ERR_SIZE, "size", "a larger buffer, or a state of tcuq_state_size() bytes"},
        {TCUQ_ERR_VERSION, "version", "the layout of this tcuq.h: fit or export again"},
        {TCUQ_ERR_STATE, "state", "undamaged bytes of tcuq_save()"},
        {TCUQ_ERR_OTHER, "state", "one saved with the same parameters"},
        {TCUQ_ERR_STEP, "step", "one of the last steps, as many as `memory`, numbered from 0"},
        {TCUQ_ERR_LABEL, "label", "a class, TCUQ_RIGHT or TCUQ_WRONG"},
        {TCUQ_ERR_LABELED, "step", "one without a label"},
        {TCUQ_ERR_PARAM_warmup, "warmup", "0 to 4294967295"},
        {TCUQ_ERR_EVIDENCE_clip, "evidence clip", "1 to 524288"},
        {TCUQ_ERR_INSTANT_bias, "instant bias", "-16777216 to 16777216"},
        {TCUQ_ERR_RULE_slope_order, "slope", "at most steep_slope"},
    };
    unsigned row;
    int code;
    for (code = -200; code <= 10; code++) {
        /* The numbers between the last parameter and TCUQ_ERR_LABELED are nobody's. */
        int known = (code > TCUQ_ERR_FIRST_PARAM && code < TCUQ_ERR_LAST_PARAM) ||
                    (code >= TCUQ_ERR_LABELED && code < TCUQ_OK);
        NEED((tcuq_error_name(code)[0] != '\0') == known);
        NEED((tcuq_error_text(code)[0] != '\0') == known);
    }
    for (row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        NEED(strcmp(rows[row].name, tcuq_error_name(rows[row].error)) == 0);
        NEED(strcmp(rows[row].text, tcuq_error_text(rows[row].error)) == 0);
    }
    NEED(strcmp(tcuq_error_name(TCUQ_ERR_PARAMS), "params") == 0);
    NEED(strstr(tcuq_error_text(TCUQ_ERR_PARAMS), "tcuq_check()") != NULL);
}

static void starts(void)
{
    tcuq_params_t p = whole();
    size_t bytes = tcuq_ring_size(&p);
    tcuq_t m, before;
    memset(&m, 0x5A, sizeof m);
    before = m;
    NEED(bytes <= sizeof ring);
    NEED(tcuq_init(&m, &p, NULL, bytes) == TCUQ_ERR_SIZE);
    NEED(tcuq_init(&m, &p, ring, bytes - 1u) == TCUQ_ERR_SIZE);
    p.burst = 0;
    NEED(tcuq_init(&m, &p, ring, bytes) == TCUQ_ERR_PARAMS);
    NEED(tcuq_check(&p) == TCUQ_ERR_PARAM_burst);
    p.burst = 3;
    p.version++;
    NEED(tcuq_init(&m, &p, ring, bytes) == TCUQ_ERR_VERSION);
    NEED(tcuq_check(&p) == TCUQ_ERR_VERSION);
    NEED(memcmp(&m, &before, sizeof m) == 0); /* a refused start changes nothing */
    p.version--;
    NEED(tcuq_init(&m, &p, ring, bytes + 1u) == TCUQ_OK);
    NEED(tcuq_init(&m, &p, ring, bytes) == TCUQ_OK);
    NEED(tcuq_save(&m, (uint8_t *)&before, 8) == TCUQ_ERR_SIZE);
}

/* Params that pass in a full build are refused for what this one lacks, and for nothing else. */
static void lacks(void)
{
    tcuq_params_t p = params_of(TCUQ_ALL_SIGNALS);
    tcuq_t m;
    int expected = has(TCUQ_ALL_SIGNALS) && HAS_PERSISTENCE ? TCUQ_OK : TCUQ_ERR_SIGNALS;
    (void)whole();
    p.instant = &instant;
    p.evidence = &head;
    NEED(tcuq_check(&p) == expected);
    p = params_of(STEADY);
    NEED(tcuq_check(&p) == TCUQ_OK);
    if (!has(TCUQ_SIGHT)) {
        p.sight = &sight;
        NEED(tcuq_check(&p) == TCUQ_ERR_SIGNALS);
        p.sight = NULL;
    }
    p.evidence = &head;
    expected = !HAS_EVIDENCE ? TCUQ_ERR_SIGNALS : compares() ? TCUQ_OK : TCUQ_ERR_RULE_novelty_used;
    NEED(tcuq_check(&p) == expected);
    NEED(tcuq_init(&m, &p, ring, sizeof ring) == (compares() ? TCUQ_OK : HAS_EVIDENCE ? TCUQ_ERR_PARAMS : TCUQ_ERR_SIGNALS));
    if (compares()) {
        head.baseline_inputs = 1;
        NEED(tcuq_check(&p) == (has(TCUQ_BASELINE) ? TCUQ_OK : TCUQ_ERR_SIGNALS));
        head.baseline_inputs = 0;
        p.feedback = &labels;
        NEED(tcuq_check(&p) == (has(TCUQ_FEEDBACK) ? TCUQ_OK : TCUQ_ERR_SIGNALS));
        p.feedback = NULL;
    }
    p.evidence = NULL;
    p.instant = &instant;
    expected = HAS_PERSISTENCE ? TCUQ_OK : TCUQ_ERR_SIGNALS;
    NEED(tcuq_check(&p) == expected);
    /* A rule that only a lacking part breaks is not the one that is named. */
    p.anchor = TCUQ_ANCHOR_BELIEF;
    NEED(tcuq_check(&p) == expected);
    p = params_of(TCUQ_ALL_SIGNALS);
    p.burst = 0;
    NEED(tcuq_check(&p) == TCUQ_ERR_PARAM_burst); /* a range comes first */
}

/* Each counter out of its range, one at a time, in a monitor that has taken steps. */
static void verify_counters(const tcuq_t *sound)
{
    const tcuq_params_t *p = sound->params;
    tcuq_t m = *sound;
    NEED(tcuq_verify(&m) == TCUQ_OK);
#define WRONG(field, value)                      \
    m = *sound;                                  \
    m.field = (value);                           \
    NEED(tcuq_verify(&m) == TCUQ_ERR_STATE)
    WRONG(debt, 1 << 20);
    WRONG(debt, -(1 << 20));
    WRONG(credit, -1);
    WRONG(credit, 61);
    WRONG(alarm, 4);
    WRONG(rise, p->rise_cap + 1u);
    WRONG(fall, p->fall_cap + 1u);
    WRONG(filled, 4);
    if (p->horizon != 0u) {
        WRONG(accuracy, 1u << 24);
    }
    if (p->evidence != NULL) {
        WRONG(degradation, (int32_t)head.clip + 1);
        WRONG(degradation, -(int32_t)head.clip - 1);
    }
    if (p->lag_count != 0u) {
        WRONG(slot, 4);
        WRONG(fill, 4);
        m = *sound;
        m.slot = 3; /* the slot after the last: the next step starts over */
        NEED(tcuq_verify(&m) == TCUQ_OK);
    }
#undef WRONG
}

static void verify_says(tcuq_params_t p)
{
    static const int8_t probs[CLASSES] = {100, -120, -120, -128, -128, -128, -128, -128, -128, -128};
    static const int8_t features[FEATURES] = {9, -4, 77, 0};
    tcuq_step_t out;
    tcuq_t m;
    unsigned t;
    p.fingerprint = tcuq_fingerprint(&p);
    NEED(tcuq_init(&m, &p, ring, sizeof ring) == TCUQ_OK);
    NEED(tcuq_verify(&m) == TCUQ_OK);
    for (t = 0; t < 5u; t++) {
        tcuq_step(&m, probs, features, &out, NULL);
    }
    verify_counters(&m);
    NEED(tcuq_verify(NULL) == TCUQ_ERR_STATE);
    m.params = NULL;
    NEED(tcuq_verify(&m) == TCUQ_ERR_STATE);
    m.params = &p;
    m.ring = NULL;
    NEED(tcuq_verify(&m) == TCUQ_ERR_STATE);
    m.ring = ring;
    p.burst++;
    NEED(tcuq_verify(&m) == TCUQ_ERR_OTHER);
    p.burst = 0;
    NEED(tcuq_verify(&m) == TCUQ_ERR_OTHER);
    p.burst = 3;
    NEED(tcuq_verify(&m) == TCUQ_OK);
    if (p.evidence != NULL) {
        head.clip ^= 4u;
        NEED(tcuq_verify(&m) == TCUQ_ERR_OTHER);
        head.clip ^= 4u;
    }
    if (p.instant != NULL) {
        instant.bias ^= 4;
        NEED(tcuq_verify(&m) == TCUQ_ERR_OTHER);
        instant.bias ^= 4;
    }
    if (p.lag_count != 0u) {
        uint16_t weights[2];
        memcpy(weights, lag_weights, sizeof weights);
        p.lag_weights = weights;
        NEED(tcuq_init(&m, &p, ring, sizeof ring) == TCUQ_OK);
        weights[1] ^= 4u;
        NEED(tcuq_verify(&m) == TCUQ_ERR_OTHER);
        weights[1] ^= 4u;
        NEED(tcuq_verify(&m) == TCUQ_OK);
    }
}

static void two_classes(void)
{
    int value;
    for (value = -128; value < 128; value++) {
        int8_t probs[2];
        int against = 256 - (value + 128); /* 256 itself cannot be said */
        tcuq_two_classes((int8_t)value, probs);
        NEED(probs[1] == value);
        NEED(probs[0] + 128 == (against < 255 ? against : 255));
    }
}

/* A prediction of no class in the ring: the state is not saved until it is forgotten. */
static void damaged_prediction(void)
{
    static const int8_t probs[CLASSES] = {-128, -128, 100, -128, -128, -128, -128, -128, -128, -128};
    tcuq_params_t p = params_of(TCUQ_BIT(TCUQ_FLIPS));
    uint8_t state[200];
    size_t size = tcuq_state_size(&p);
    tcuq_step_t out;
    tcuq_t m;
    unsigned t;
    NEED(size <= sizeof state);
    NEED(tcuq_init(&m, &p, ring, sizeof ring) == TCUQ_OK);
    tcuq_step(&m, probs, NULL, &out, NULL);
    NEED(tcuq_save(&m, state, size) == (int)size);
    NEED(state[64] == 2 && state[65] == 0);
    memset(ring, 0xFF, tcuq_ring_size(&p));
    NEED(tcuq_save(&m, state, size) == TCUQ_ERR_STATE);
    for (t = 0; t < 3u; t++) {
        tcuq_step(&m, probs, NULL, &out, NULL);
    }
    NEED(tcuq_save(&m, state, size) == (int)size);
    NEED(tcuq_load(&m, state, size) == TCUQ_OK);
}

/* Beliefs whose sum of joints comes round to exactly 2^32, which is 0: T counts as 1. Six classes have a
 * likelihood of 16 * 1021, the others of 16; a prior is old - old / 4 + 6553 / 4. */
static void damaged_beliefs(void)
{
    static const int8_t probs[CLASSES] = {127, 127, 127, 127, 127, 127, -128, -128, -128, -128};
    tcuq_params_t p = params_of(TCUQ_BIT(TCUQ_DISBELIEF));
    uint32_t joints = 0, i;
    uint16_t signals[TCUQ_SIGNAL_COUNT], old[CLASSES];
    tcuq_step_t out;
    tcuq_t m;
    memset(&instant, 0, sizeof instant);
    p.instant = &instant;
    NEED(tcuq_init(&m, &p, ring, sizeof ring) == TCUQ_OK);
    tcuq_step(&m, probs, NULL, &out, signals);
    for (i = 0; i < CLASSES; i++) {
        uint32_t prior = i < 5u ? 43818u : i == 5u ? 43815u : 1638u, value = 0;
        if (i == CLASSES - 1u) {
            prior = 0x10000000u - joints; /* joints are counted in sixteens */
        }
        while (value - (value >> 2) + 1638u != prior && value < 65536u) {
            value++;
        }
        NEED(value < 65536u);
        old[i] = (uint16_t)value;
        joints += prior * (i < 6u ? 1021u : 1u);
    }
    NEED(joints == 0x10000000u);
    memcpy((uint8_t *)ring + sizeof old, old, sizeof old); /* the second belief */
    tcuq_step(&m, probs, NULL, &out, signals);
    NEED(out.prediction == 0u);
    /* Back by itself: the same step again and again gives what a monitor without the error gives. */
    for (i = 0; i < 100u; i++) {
        tcuq_step(&m, probs, NULL, &out, signals);
    }
    NEED(signals[TCUQ_DISBELIEF] >= 32768u && signals[TCUQ_DISBELIEF] < 45000u);
}

int main(void)
{
    error_words();
    starts();
    lacks();
    verify_says(whole());
    verify_says(params_of(STEADY));
    two_classes();
    if (has(TCUQ_BIT(TCUQ_FLIPS))) {
        damaged_prediction();
    }
    if (has(TCUQ_BIT(TCUQ_DISBELIEF))) {
        damaged_beliefs();
    }
    printf("%u checks, all held\n", held);
    return 0;
}
