/* SPDX-License-Identifier: MIT */
/* The edges of what the core accepts, in numbers of SPEC.md and not of its headers: the ranges of fields and
 * the rules between them, memory that is too small, counters just inside and just outside their ranges, words
 * for errors, and two classes from one sigmoid. Exit status: 0 when all is as promised, else 1. */
#include <stdio.h>
#include <string.h>

#include "tcuq.h"

static int failed;
static tcuq_params_t p;
static tcuq_evidence_t head;
static tcuq_instant_t instant;
static tcuq_feedback_t labels;
static int with_labels;
static uint16_t shares[1000]; /* as many as there can be classes */
static int8_t centers[16];
static uint8_t lags[64];
static uint16_t weights[64];
static int16_t offset[5];
static uint32_t ring[256];

static void same(const char *what, long long expected, long long got)
{
    if (expected != got) {
        printf("%s: expected %lld, got %lld\n", what, expected, got);
        failed = 1;
    }
}

/* Parameters that are accepted, with both heads. */
static void good(void)
{
    unsigned i;
    memset(&p, 0, sizeof p);
    memset(&head, 0, sizeof head);
    memset(&instant, 0, sizeof instant);
    for (i = 0; i < 64u; i++) {
        lags[i] = (uint8_t)(i + 1u);
        weights[i] = 0;
    }
    weights[0] = 20000;
    weights[1] = 12768;
    for (i = 0; i < 1000u; i++) {
        shares[i] = (uint16_t)(1u + i);
    }
    for (i = 0; i < 4u; i++) {
        offset[i] = (int16_t)(100 - 90 * (int)i);
    }
    p.version = 4;
    p.signals = TCUQ_ALL_SIGNALS;
    p.classes = 4;
    p.features = 4;
    p.lag_count = 2;
    p.lags = lags;
    p.lag_weights = weights;
    p.level_num = 1;
    p.level_den = 10;
    p.reference = 24000;
    p.slope = 40000;
    p.steep_slope = 260000;
    p.knee = 50;
    p.budget_num = 3;
    p.budget_den = 20;
    p.burst = 3;
    p.horizon = 4;
    p.expected_start = 50000;
    p.rise_limit = 200000;
    p.rise_cap = 300000;
    head.offset = offset;
    head.clip = 262144;
    head.coef[4] = 1800;
    head.reach = 4000;
    head.bias = -9000;
    instant.class_mix = shares;
    p.instant = &instant;
    p.evidence = &head;
    p.centers = centers;
    memset(&labels, 0, sizeof labels);
    labels.memory = 3;
    labels.error_den = 1;
    p.feedback = with_labels ? &labels : NULL;
    p.fingerprint = tcuq_fingerprint(&p);
}

/* Whether a number just outside a range is refused by that error, and the end of the range by no such error. */
#define RANGE(target, type, low, high, error)                                                    \
    do {                                                                                         \
        static const long long ends[4] = {(low), (high), (long long)(low) - 1, (long long)(high) + 1}; \
        unsigned each;                                                                           \
        for (each = 0; each < 4u; each++) {                                                      \
            good();                                                                              \
            target = (type)ends[each];                                                           \
            if ((long long)target == ends[each]) {                                               \
                same(#target, each >= 2u, tcuq_check(&p) == (error));                            \
            }                                                                                    \
        }                                                                                        \
    } while (0)

/* The same, with labels. */
static void labeled(void)
{
    good();
    labels.memory = 3;
    labels.error_num = 1;
    labels.error_den = 10;
    labels.error_reference = 65535;
    labels.error_shut = 25;
    labels.error_first = 0;
    labels.wrong_score = 8192;
    labels.right_score = 8192;
    p.feedback = &labels;
}

static void ranges(void)
{
    RANGE(p.signals, uint32_t, 1, TCUQ_ALL_SIGNALS, TCUQ_ERR_PARAM_signals);
    RANGE(p.classes, uint16_t, 2, 1000, TCUQ_ERR_PARAM_classes);
    RANGE(p.features, uint16_t, 0, 256, TCUQ_ERR_PARAM_features);
    RANGE(p.zero_point, int16_t, -128, 127, TCUQ_ERR_PARAM_zero_point);
    RANGE(p.lag_count, uint16_t, 0, 64, TCUQ_ERR_PARAM_lag_count);
    RANGE(p.bias, int32_t, -16777216, 16777216, TCUQ_ERR_PARAM_bias);
    RANGE(p.doubt_mix, uint32_t, 0, 65536, TCUQ_ERR_PARAM_doubt_mix);
    RANGE(p.blend, uint32_t, 0, 65536, TCUQ_ERR_PARAM_blend);
    RANGE(p.level_num, uint16_t, 1, 65535, TCUQ_ERR_PARAM_level_num);
    RANGE(p.level_den, uint16_t, 2, 1000, TCUQ_ERR_PARAM_level_den);
    RANGE(p.reference, uint16_t, 0, 65535, TCUQ_ERR_PARAM_reference);
    RANGE(p.anchor, uint16_t, 0, 65535, TCUQ_ERR_PARAM_anchor);
    RANGE(p.about, uint16_t, 0, 65535, TCUQ_ERR_PARAM_about);
    RANGE(p.horizon, uint16_t, 0, 12, TCUQ_ERR_PARAM_horizon);
    RANGE(p.expected_start, uint16_t, 0, 65535, TCUQ_ERR_PARAM_expected_start);
    RANGE(p.slope, uint32_t, 0, 4294967295, TCUQ_ERR_PARAM_slope);
    RANGE(p.steep_slope, uint32_t, 1, 4294967295, TCUQ_ERR_PARAM_steep_slope);
    RANGE(p.knee, int32_t, 0, 16777216, TCUQ_ERR_PARAM_knee);
    RANGE(p.budget_num, uint16_t, 0, 65535, TCUQ_ERR_PARAM_budget_num);
    RANGE(p.budget_den, uint16_t, 1, 1000, TCUQ_ERR_PARAM_budget_den);
    RANGE(p.burst, uint16_t, 1, 10000, TCUQ_ERR_PARAM_burst);
    RANGE(p.rise_reference, uint16_t, 0, 65535, TCUQ_ERR_PARAM_rise_reference);
    RANGE(p.fall_reference, uint16_t, 0, 65535, TCUQ_ERR_PARAM_fall_reference);
    RANGE(p.hold, uint16_t, 0, 63, TCUQ_ERR_PARAM_hold);
    RANGE(p.warmup, uint32_t, 0, 4294967295, TCUQ_ERR_PARAM_warmup);
    RANGE(p.rise_limit, uint32_t, 0, 4294967295, TCUQ_ERR_PARAM_rise_limit);
    RANGE(p.rise_cap, uint32_t, 0, 1073741824, TCUQ_ERR_PARAM_rise_cap);
    RANGE(p.rise_clear, uint32_t, 0, 1073741824, TCUQ_ERR_PARAM_rise_clear);
    RANGE(p.fall_limit, uint32_t, 0, 4294967295, TCUQ_ERR_PARAM_fall_limit);
    RANGE(p.fall_cap, uint32_t, 0, 1073741824, TCUQ_ERR_PARAM_fall_cap);
    RANGE(head.clip, uint32_t, 1, 524288, TCUQ_ERR_EVIDENCE_clip);
    RANGE(head.reach, uint32_t, 256, 4294967295, TCUQ_ERR_EVIDENCE_reach);
    RANGE(head.still, uint32_t, 0, 2097152, TCUQ_ERR_EVIDENCE_still);
    RANGE(head.bias, int32_t, -16777216, 16777216, TCUQ_ERR_EVIDENCE_bias);
    RANGE(head.allowance, uint32_t, 0, 16777216, TCUQ_ERR_EVIDENCE_allowance);
    RANGE(head.own_looks, uint32_t, 0, 1000, TCUQ_ERR_EVIDENCE_own_looks);
    RANGE(head.own_mean, int32_t, -524288, 524288, TCUQ_ERR_EVIDENCE_own_mean);
    RANGE(head.own_most, uint32_t, 0, 524288, TCUQ_ERR_EVIDENCE_own_most);
    RANGE(head.bet_base, uint32_t, 0, 1048576, TCUQ_ERR_EVIDENCE_bet_base);
    RANGE(head.bet_slope, uint32_t, 0, 32767, TCUQ_ERR_EVIDENCE_bet_slope);
    RANGE(instant.bias, int32_t, -16777216, 16777216, TCUQ_ERR_INSTANT_bias);
#if ((TCUQ_SIGNALS) & TCUQ_FEEDBACK) != 0
    with_labels = 1;
    RANGE(labels.memory, uint16_t, 1, 1024, TCUQ_ERR_FEEDBACK_memory);
    RANGE(labels.error_num, uint16_t, 0, 65535, TCUQ_ERR_FEEDBACK_error_num);
    RANGE(labels.error_den, uint16_t, 1, 1000, TCUQ_ERR_FEEDBACK_error_den);
    RANGE(labels.error_reference, uint16_t, 0, 65535, TCUQ_ERR_FEEDBACK_error_reference);
    RANGE(labels.error_shut, uint16_t, 0, 32767, TCUQ_ERR_FEEDBACK_error_shut);
    RANGE(labels.error_first, uint16_t, 0, 65535, TCUQ_ERR_FEEDBACK_error_first);
    RANGE(labels.wrong_score, uint16_t, 0, 65535, TCUQ_ERR_FEEDBACK_wrong_score);
    RANGE(labels.right_score, uint16_t, 0, 65535, TCUQ_ERR_FEEDBACK_right_score);
    with_labels = 0;
#endif
}

/* A change of good parameters, and what is said of it. */
#define CHANGE(expected, change)                  \
    do {                                          \
        good();                                   \
        change;                                   \
        same(#change, expected, tcuq_check(&p));  \
    } while (0)
#define BROKEN(name, change) CHANGE(TCUQ_ERR_RULE_##name, change)
#define KEPT(change) CHANGE(TCUQ_OK, change)

/* Each rule just kept and just broken, by each of its parts. */
static void rules(void)
{
    KEPT((void)0);
    KEPT((p.features = 0, p.signals = 0x130, p.centers = NULL));
    BROKEN(features_used, (p.features = 0, p.signals = 0x50, p.centers = NULL));
    BROKEN(features_used, (p.features = 0, p.signals = 0x2, p.centers = NULL));
    BROKEN(features_used, (p.features = 0, p.signals = 0x80));
    BROKEN(features_used, (p.features = 0, p.signals = 0x200));
    KEPT((p.lag_count = 0, p.lags = NULL, p.lag_weights = NULL, p.signals = 0x3F8));
    BROKEN(lags_used, (p.lag_count = 0, p.signals = 0x1, p.centers = NULL));
    BROKEN(lags_used, (p.lag_count = 0, p.signals = 0x2, p.centers = NULL));
    BROKEN(lags_used, (p.lag_count = 0, p.signals = 0x4, p.centers = NULL));
    BROKEN(lags_given, p.lags = NULL);
    BROKEN(lags_given, p.lag_weights = NULL);
    KEPT((p.lag_count = 1, lags[0] = 64, weights[0] = 32768));
    BROKEN(lags_ascend, (p.lag_count = 1, lags[0] = 65, weights[0] = 32768));
    BROKEN(lags_ascend, (p.lag_count = 1, lags[0] = 0, weights[0] = 32768));
    BROKEN(lags_ascend, lags[0] = 2);
    BROKEN(lags_ascend, lags[0] = 3);
    KEPT((p.lag_count = 64, lags[63] = 64));
    KEPT((weights[0] = 1, weights[1] = 32767));
    KEPT((weights[0] = 32768, weights[1] = 0));
    BROKEN(lag_weights_sum, (weights[0] = 0, weights[1] = 32768));
    BROKEN(lag_weights_sum, weights[1] = 12767);
    BROKEN(lag_weights_sum, weights[1] = 12769);
    KEPT((p.level_num = 9, p.steep_slope = 1677721));
    BROKEN(level_below_one, p.level_num = 10);
    BROKEN(level_below_one, p.level_num = 11);
    BROKEN(steep_slope_fits, p.steep_slope = 1677722);
    KEPT((p.level_den = 97, p.steep_slope = 172960)); /* 97 divides 2^24 + 1 */
    BROKEN(steep_slope_fits, (p.level_den = 97, p.steep_slope = 172961));
    KEPT(p.slope = p.steep_slope);
    BROKEN(slope_order, p.slope = p.steep_slope + 1u);
    KEPT((p.slope = 0, p.knee = 16777216));
    KEPT((p.slope = 3, p.knee = 5592405));
    BROKEN(knee_fits, (p.slope = 3, p.knee = 5592406));
    KEPT(p.budget_num = 20);
    BROKEN(budget_up_to_one, p.budget_num = 21);
    KEPT(p.anchor = 1);
    BROKEN(anchor_used, p.anchor = 2);
    BROKEN(anchor_used, (p.anchor = 1, p.instant = NULL, p.signals = 0x10, p.centers = NULL));
    KEPT((p.anchor = 1, p.signals = 0x10, p.centers = NULL));
    KEPT(p.about = 1);
    BROKEN(about_used, p.about = 2);
    BROKEN(about_used, (p.about = 1, p.instant = NULL, p.signals = 0x10, p.centers = NULL));
    KEPT((p.instant = NULL, p.signals = 0x2FF));
    BROKEN(disbelief_used, p.instant = NULL);
    KEPT((p.horizon = 0, p.expected_start = 0));
    BROKEN(horizon_fits, p.horizon = 3);
    BROKEN(horizon_fits, p.horizon = 1);
    BROKEN(start_used, (p.horizon = 0, p.expected_start = 1));
    KEPT(p.expected_start = 0);
    BROKEN(centers_given, p.centers = NULL);
    BROKEN(centers_given, p.signals = 0x37F);
    KEPT(instant.class_mix = NULL);
    BROKEN(class_mix_given, shares[0] = 0);
    BROKEN(class_mix_given, shares[3] = 0);
    KEPT(p.rise_cap = p.rise_limit);
    BROKEN(rise_order, p.rise_cap = p.rise_limit - 1u);
    KEPT((p.rise_limit = 0, p.rise_cap = 0));
    BROKEN(rise_order, p.rise_limit = 0);
    KEPT((p.signals = 0x1DF, p.evidence = NULL, p.fall_limit = 7, p.fall_cap = 7));
    BROKEN(fall_order, (p.evidence = NULL, p.fall_limit = 7, p.fall_cap = 6));
    BROKEN(fall_order, (p.evidence = NULL, p.fall_cap = 1));
    KEPT(p.rise_clear = p.rise_limit - 1u);
    BROKEN(clear_order, p.rise_clear = p.rise_limit);
    BROKEN(clear_order, (p.rise_limit = 0, p.rise_cap = 0, p.rise_clear = 1));
    KEPT((p.signals = 0x10, p.centers = NULL));
    KEPT(p.signals = 0x80);
    BROKEN(look_used, (p.signals = 0x168, p.centers = NULL));
    BROKEN(slow_used, (p.evidence = NULL, p.signals = 0x30, p.centers = NULL));
    BROKEN(slow_used, (p.evidence = NULL, p.signals = 0x280));
    BROKEN(drift_used, (p.signals = 0x210, p.centers = NULL));
    BROKEN(evidence_given, head.offset = NULL);
    BROKEN(evidence_alone, (p.fall_limit = 1, p.fall_cap = 1));
    /* A factor of at least 257 at the lower clip, below 2^20 at the upper one; the clip counts in 1/256. */
    KEPT((head.clip = 65536, head.bet_slope = 1000, head.bet_base = 1257));
    BROKEN(bet_fits, (head.clip = 65536, head.bet_slope = 1000, head.bet_base = 1256));
    KEPT((head.clip = 65536, head.bet_slope = 1000, head.bet_base = 1047575));
    BROKEN(bet_fits, (head.clip = 65536, head.bet_slope = 1000, head.bet_base = 1047576));
    BROKEN(bet_fits, head.bet_base = 1);
    BROKEN(bet_fits, head.bet_slope = 1);
    KEPT((head.clip = 524288, head.bet_slope = 128, head.bet_base = 2000));
    KEPT((labeled(), labels.memory = 1, labels.error_num = 0, labels.error_den = 1, labels.error_shut = 0));
    KEPT((labeled(), labels.memory = 1024, labels.error_num = 999, labels.error_den = 1000, labels.error_shut = 32767));
    CHANGE(TCUQ_ERR_FEEDBACK_memory, (labeled(), labels.memory = 0));
    CHANGE(TCUQ_ERR_FEEDBACK_memory, (labeled(), labels.memory = 1025));
    CHANGE(TCUQ_ERR_FEEDBACK_error_den, (labeled(), labels.error_den = 0));
    CHANGE(TCUQ_ERR_FEEDBACK_error_den, (labeled(), labels.error_den = 1001));
    CHANGE(TCUQ_ERR_FEEDBACK_error_shut, (labeled(), labels.error_shut = 32768));
    BROKEN(feedback_fits, (labeled(), labels.error_num = 10));
    KEPT((labeled(), p.rise_cap = 268435456));
    BROKEN(feedback_fits, (labeled(), p.rise_cap = 268435457));
    CHANGE(TCUQ_ERR_VERSION, p.version = 3);
    CHANGE(TCUQ_ERR_VERSION, p.version = 5);
    CHANGE(TCUQ_ERR_VERSION, (p.version = 5, p.burst = 0));
}

static void words(void)
{
    static const struct {
        int error;
        const char *name, *text;
    } said[] = {
        {TCUQ_OK, "", ""},
        {1, "", ""},
        {-128, "", ""},
        {TCUQ_ERR_SIGNALS, "signals", "only what this build has (TCUQ_SIGNALS)"},
        {TCUQ_ERR_SIZE, "size", "a larger buffer, or a state of tcuq_state_size() bytes"},
        {TCUQ_ERR_VERSION, "version", "the layout of this tcuq.h: fit or export again"},
        {TCUQ_ERR_STATE, "state", "undamaged bytes of tcuq_save()"},
        {TCUQ_ERR_OTHER, "state", "one saved with the same parameters"},
        {TCUQ_ERR_PARAM_burst, "burst", "1 to 10000"},
        {TCUQ_ERR_EVIDENCE_clip, "evidence clip", "1 to 524288"},
        {TCUQ_ERR_INSTANT_bias, "instant bias", "-16777216 to 16777216"},
        {TCUQ_ERR_RULE_slope_order, "slope", "at most steep_slope"},
    };
    unsigned i;
    for (i = 0; i < sizeof said / sizeof said[0]; i++) {
        same(said[i].name, 0, strcmp(said[i].name, tcuq_error_name(said[i].error)));
        same(said[i].text, 0, strcmp(said[i].text, tcuq_error_text(said[i].error)));
    }
}

static void memory(void)
{
    tcuq_t m;
    size_t size;
    good();
    size = tcuq_ring_size(&p);
    same("ring of this size", TCUQ_OK, tcuq_init(&m, &p, ring, size));
    same("ring that is larger", TCUQ_OK, tcuq_init(&m, &p, ring, size + 1u));
    same("ring that is smaller", TCUQ_ERR_SIZE, tcuq_init(&m, &p, ring, size - 1u));
    same("no ring", TCUQ_ERR_SIZE, tcuq_init(&m, &p, NULL, size));
    p.burst = 0;
    same("params that are refused", TCUQ_ERR_PARAMS, tcuq_init(&m, &p, ring, size));
    p.version = 2;
    same("params of another version", TCUQ_ERR_VERSION, tcuq_init(&m, &p, ring, size));
}

static void sigmoids(void)
{
    int value;
    for (value = -128; value < 128; value++) {
        int8_t probs[2] = {99, 99};
        tcuq_two_classes((int8_t)value, probs);
        same("class 1 of a sigmoid", value, probs[1]);
        same("class 0 of a sigmoid", value == -128 ? 127 : -value, probs[0]);
    }
}

/* A counter just inside and just outside what tcuq_verify() lets pass. */
#define VERIFIED(expected, change)                          \
    do {                                                    \
        tcuq_t m = sound;                                   \
        change;                                             \
        same(#change, expected, tcuq_verify(&m));           \
    } while (0)
#define PASSES(change) VERIFIED(TCUQ_OK, change)
#define FAILS(change) VERIFIED(TCUQ_ERR_STATE, change)

/* A monitor after some steps; each of them leaves it sound, also where the ring is about to turn. */
static tcuq_t stepped(unsigned steps)
{
    tcuq_t m;
    unsigned i;
    memset(ring, 0xA5, sizeof ring);
    p.fingerprint = tcuq_fingerprint(&p);
    same("init", TCUQ_OK, tcuq_init(&m, &p, ring, sizeof ring));
    for (i = 0; i < steps; i++) {
        int8_t probs[4] = {-128, -118, -108, -38}, features[4] = {4, -9, 77, 1};
        tcuq_step_t out;
        probs[i / 3u % 4u] = (int8_t)(i % 5u);
        features[i % 4u] = (int8_t)(i * 7u % 100u);
        tcuq_step(&m, probs, features, &out, NULL);
        same("verify after a step", TCUQ_OK, tcuq_verify(&m));
    }
    return m;
}

static void counters(void)
{
    int32_t low, high;
    tcuq_t sound;
    good();
    sound = stepped(7);
    tcuq_debt_bounds(&p, &low, &high);
    PASSES(m.debt = low);
    FAILS(m.debt = low - 1);
    PASSES(m.debt = high);
    FAILS(m.debt = high + 1);
    PASSES(m.credit = 0);
    FAILS(m.credit = -1);
    PASSES(m.credit = 60);
    FAILS(m.credit = 61);
    FAILS(m.alarm = 4);
    PASSES((m.rise = 300000, m.alarm = 1));
    FAILS((m.rise = 300001, m.alarm = 1));
    FAILS((m.rise = 200000, m.alarm = 0));
    PASSES((m.rise = 199999, m.alarm = 0));
    PASSES((m.rise = 1, m.alarm = 1));
    FAILS((m.rise = 0, m.alarm = 1));
    FAILS((m.rise = 0, m.alarm = 2));
    FAILS((m.fall = 1, m.alarm = 0));
    PASSES(m.severity = 262144);
    FAILS(m.severity = 262145);
    PASSES(m.severity = -262144);
    FAILS(m.severity = -262145);
    PASSES(m.stillness = 2097152);
    FAILS(m.stillness = 2097153);
    PASSES((m.own = 5, m.own_seen = 5)); /* nobody reads them */
    PASSES(m.accuracy = 0xFFFFFF);
    FAILS(m.accuracy = 0x1000000);
    PASSES(m.head = 0);
    PASSES(m.head = 2);
    FAILS(m.head = 3);
    FAILS(m.fill = 3);
    FAILS(m.fill = 0);
    FAILS(m.held = 2);
    FAILS(m.held = 1);
    FAILS(m.held = 0);
    FAILS(m.held = 4);
    PASSES((m.held = 2, m.fill = 0));
    FAILS((m.steps = 1, m.fill = 2));
    PASSES((m.steps = 1, m.fill = 1));
    FAILS((m.steps = 0, m.fill = 0, m.held = 2));
    PASSES((m.steps = 0, m.fill = 0, m.held = 0));
    FAILS(m.ring = NULL);
    FAILS(m.params = NULL);
    p.fingerprint ^= 1u;
    VERIFIED(TCUQ_ERR_OTHER, (void)0);
    p.fingerprint ^= 1u;
    same("no monitor", TCUQ_ERR_STATE, tcuq_verify(NULL));
}

/* A raised side above what clears it, or with any sum where it may be held. */
static void holds(void)
{
    tcuq_t sound;
    good();
    p.rise_clear = 5000;
    sound = stepped(3);
    PASSES((m.rise = 5001, m.alarm = 1));
    FAILS((m.rise = 5000, m.alarm = 1));
    FAILS((m.rise = 5001, m.alarm = 1 + 4));
    p.hold = 63;
    sound = stepped(3);
    PASSES((m.rise = 0, m.alarm = 1));
    PASSES((m.rise = 0, m.alarm = 1 + 4 * 63));
    FAILS((m.rise = 0, m.alarm = 4));
    FAILS((m.rise = 300001, m.alarm = 1 + 4));
    p.hold = 5;
    sound = stepped(3);
    PASSES((m.rise = 0, m.alarm = 1 + 4 * 5));
    FAILS((m.rise = 0, m.alarm = 1 + 4 * 6));
    FAILS((m.rise = 0, m.alarm = 3));
    p.rise_limit = p.rise_cap = p.rise_clear = 0; /* off: never raised */
    sound = stepped(3);
    PASSES(m.rise = 0);
    FAILS((m.rise = 0, m.alarm = 1));
    FAILS((m.rise = 0, m.alarm = 1 + 4));
}

/* Words of the ring just inside and just outside what is saved: those of the last input, then, behind four shares
 * that were seen, mean gaps of features. */
static void saved_words(void)
{
    static const struct {
        unsigned first, count;
        uint32_t low, high;
    } words[] = {{0, 8, 0u - 32768u, 32767}, {8, 4, 0, 65535u * 256u}, {12, 8, 0u - 2097152u, 2097152}};
    static uint8_t state[1000];
    unsigned i, j, k;
    tcuq_t m;
    good();
    m = stepped(5);
    for (i = 0; i < 3u; i++) {
        for (j = 0; j < words[i].count; j++) {
            uint32_t *word = &ring[words[i].first + j], kept = *word, ends[4];
            ends[0] = words[i].low;
            ends[1] = words[i].high;
            ends[2] = words[i].low - 1u;
            ends[3] = words[i].high + 1u;
            for (k = 0; k < 4u; k++) {
                *word = ends[k];
                same("save of a word at its end", k < 2u, tcuq_save(&m, state, sizeof state) > 0);
            }
            *word = kept;
        }
    }
}

/* One of the 16-bit numbers that labels need, behind eight words of the last input, four shares and eight gaps. */
static void set_number(unsigned at, unsigned value)
{
    uint16_t kept = (uint16_t)value;
    memcpy((uint8_t *)&ring[21] + 2u * at, &kept, sizeof kept);
}

/* What labels need, just inside and just outside what is saved: 3 * 9 + 24 is the most that the error debt may be. */
static void saved_labels(void)
{
    static const struct {
        int32_t value;
        int sound;
    } debts[] = {{-25, 1}, {-26, 0}, {51, 1}, {52, 0}};
    static const struct {
        unsigned at, value;
        int sound;
    } numbers[] = {{2, 2, 1}, {2, 3, 0}, {3, 15, 1}, {3, 16, 0}, {4, 3, 1}, {4, 4, 0}, {6, 0xFFC3, 1}, {6, 0xFFC4, 0}, {7, 1, 1}};
    static uint8_t state[1000];
    unsigned i;
    for (i = 0; i < 4u; i++) {
        tcuq_t m;
        labeled();
        same("error bound", 51, tcuq_error_bound(&p));
        m = stepped(5);
        ring[20] = (uint32_t)debts[i].value;
        same("save of an error debt", debts[i].sound, tcuq_save(&m, state, sizeof state) > 0);
        same("the error debt", debts[i].sound ? debts[i].value : 0, tcuq_error_debt(&m));
        same("save after that", 1, tcuq_save(&m, state, sizeof state) > 0);
    }
    for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        tcuq_t m;
        labeled();
        m = stepped(5);
        set_number(numbers[i].at, numbers[i].value);
        same("save of what labels need", numbers[i].sound, tcuq_save(&m, state, sizeof state) > 0);
        m = stepped(2); /* fewer than are remembered */
        set_number(2, 1);
        same("save of a place that steps did not lead to", 0, tcuq_save(&m, state, sizeof state) > 0);
        set_number(2, 2);
        set_number(6, 1);
        same("save of an entry that no step has filled", 0, tcuq_save(&m, state, sizeof state) > 0);
    }
}

/* What tcuq_feedback() answers, and what labels do to the debt, an alarm and its level. */
static void answers(void)
{
    tcuq_t m;
    unsigned i;
    good();
    m = stepped(5);
    same("a label without feedback", TCUQ_ERR_PARAMS, tcuq_feedback(&m, 0, 0));
    same("the error debt without feedback", 0, tcuq_error_debt(&m));
    same("the bound without feedback", 0, tcuq_error_bound(&p));
    labeled();
    m = stepped(2);
    same("no such class", TCUQ_ERR_PARAMS, tcuq_feedback(&m, 0, 4));
    same("no such word", TCUQ_ERR_PARAMS, tcuq_feedback(&m, 0, -3));
    same("the least label", TCUQ_ERR_PARAMS, tcuq_feedback(&m, 9, INT32_MIN));
    same("the most label", TCUQ_ERR_PARAMS, tcuq_feedback(&m, 9, INT32_MAX));
    same("before the first step", TCUQ_ERR_SIZE, tcuq_feedback(&m, 2, 0));
    same("the first step", 1, tcuq_feedback(&m, 1, TCUQ_WRONG));
    same("again", 0, tcuq_feedback(&m, 1, TCUQ_RIGHT));
    m = stepped(5);
    same("long ago", TCUQ_ERR_SIZE, tcuq_feedback(&m, 3, 0));
    for (i = 3; i > 0u; i--) {
        same("a label", 1, tcuq_feedback(&m, i - 1u, TCUQ_WRONG));
    }
    same("three errors", 27, tcuq_error_debt(&m));
    labels.error_num = 0;
    m = stepped(3);
    (void)tcuq_feedback(&m, 0, TCUQ_WRONG);
    same("no debt where any share is allowed", 0, tcuq_error_debt(&m));
    labeled();
    labels.wrong_score = 1;
    m = stepped(5);
    m.alarm = 0;
    set_number(1, 0);
    set_number(4, 0x8000); /* the least that has a label */
    set_number(5, 0);
    set_number(6, 0);
    same("the label of an empty entry", 0, tcuq_feedback(&m, 1, 1));
    same("another entry", 1, tcuq_feedback(&m, 0, 1));
    same("the least case", 1, ring[21] >> 16);
    labeled();
    labels.wrong_score = 24575;
    m = stepped(5);
    m.alarm = 0;
    set_number(1, 0);
    set_number(3, 15);
    for (i = 0; i < 3u; i++) {
        set_number(4u + i, 0x4000);
    }
    (void)tcuq_feedback(&m, 0, 1);
    same("not yet", 15, ring[22] >> 16);
    (void)tcuq_feedback(&m, 1, 1);
    same("a shift that was missed", 14, ring[22] >> 16);
    set_number(1, 24575);
    (void)tcuq_feedback(&m, 2, 1);
    same("as low as it goes", 14, ring[22] >> 16);
    for (i = 0; i < 3u; i++) {
        set_number(4u + i, 0x6000);
    }
    m.alarm = 1;
    m.rise = 70000;
    set_number(1, (unsigned)-16384);
    set_number(3, 12);
    (void)tcuq_feedback(&m, 0, 0);
    same("a false alarm is withdrawn", 0, m.alarm);
    same("with its sum", 0, m.rise);
    same("and its limit is the most", 13, ring[22] >> 16);
    (void)tcuq_feedback(&m, 1, 0);
    same("a step of the alarm that was says nothing of none", 0, ring[21] >> 16);
}

/* What nobody reads may be anything: no horizon, no heads, no ring. */
static void own_reference(void)
{
    tcuq_t sound;
    good();
    head.own_looks = 100;
    head.own_most = 3000;
    sound = stepped(7);
    PASSES((m.own_seen = 25599, m.own = 4096u * 25599u));
    FAILS((m.own_seen = 25599, m.own = 4096u * 25599u + 1u));
    PASSES((m.own_seen = 25599, m.own = 0u - 4096u * 25599u));
    FAILS((m.own_seen = 25599, m.own = 0u - 4096u * 25599u - 1u));
    PASSES((m.own_seen = 25600, m.own = 3000));
    FAILS((m.own_seen = 25600, m.own = 3001));
    FAILS((m.own_seen = 25600, m.own = 0xFFFFFFFFu));
    FAILS((m.own_seen = 25601, m.own = 0));
}

static void unread(void)
{
    tcuq_t sound;
    good();
    p.horizon = p.expected_start = 0;
    p.evidence = NULL;
    p.instant = NULL;
    p.centers = NULL;
    p.signals = 0x18;
    p.fall_limit = 5000;
    p.fall_cap = 9000;
    sound = stepped(5);
    PASSES(m.accuracy = 0xFFFFFFFFu);
    PASSES((m.severity = -5, m.stillness = 0xFFFFFFFFu));
    PASSES((m.head = 200, m.fill = 200));
    PASSES((m.fall = 9000, m.alarm = 2));
    FAILS((m.fall = 9001, m.alarm = 2));
    FAILS((m.fall = 5000, m.alarm = 0));
    PASSES((m.fall = 4999, m.alarm = 2));
    PASSES(m.held = 0);
    FAILS(m.held = 2);
    FAILS(m.held = 3);
}

/* Any byte of what params point to is a part of their fingerprint. */
static void sums(void)
{
    uint8_t *places[5];
    size_t sizes[5];
    unsigned i, j;
    tcuq_t m;
    good();
    m = stepped(1);
    places[0] = lags;
    sizes[0] = 2;
    places[1] = (uint8_t *)offset;
    sizes[1] = 8;
    places[2] = (uint8_t *)shares;
    sizes[2] = 8;
    places[3] = (uint8_t *)centers;
    sizes[3] = sizeof centers;
    places[4] = (uint8_t *)&head.coef;
    sizes[4] = sizeof head.coef;
    for (i = 0; i < 5u; i++) {
        for (j = 0; j < sizes[i]; j++) {
            places[i][j] ^= 16u;
            same("verify with a changed byte", 0, tcuq_verify(&m) == TCUQ_OK);
            places[i][j] ^= 16u;
        }
    }
    same("verify", TCUQ_OK, tcuq_verify(&m));
    shares[4] ^= 1u; /* of no class */
    offset[4] ^= 1;
    same("verify with a changed byte behind a list", TCUQ_OK, tcuq_verify(&m));
    shares[0] = 2; /* two bytes change their places: the sum of all stays */
    shares[1] = 1;
    same("verify with swapped shares", TCUQ_ERR_OTHER, tcuq_verify(&m));
    shares[0] = 1;
    shares[1] = 2;
    same("verify", TCUQ_OK, tcuq_verify(&m));
    instant.coef[8] ^= 1;
    same("verify", TCUQ_ERR_OTHER, tcuq_verify(&m));
}

typedef struct {
    tcuq_step_t out;
    uint16_t signals[TCUQ_SIGNAL_COUNT];
} said_t;

static void step(tcuq_t *m, unsigned number, said_t *said)
{
    int8_t probs[4] = {-128, -118, -108, -38}, features[4] = {4, -9, 77, 1};
    probs[number / 3u % 4u] = (int8_t)(number % 7u);
    features[number % 4u] = (int8_t)(number * 7u % 100u);
    memset(said, 0, sizeof *said); /* its padding too */
    tcuq_step(m, probs, features, &said->out, said->signals);
}

/* Nothing depends on what memory held before: neither the ring of a new monitor nor one that loads. */
static void fresh_and_used(void)
{
    static uint32_t other[256];
    static uint8_t state[1000], again[1000], mine[1000];
    said_t out, expected;
    tcuq_t one, two;
    size_t size;
    unsigned i;
    good();
    p.lag_count = 4;
    weights[0] = 32768;
    weights[1] = 0;
    size = tcuq_state_size(&p);
    for (i = 0; i < 256u; i++) {
        ring[i] = 0;
        other[i] = i * 2654435761u;
    }
    same("init", TCUQ_OK, tcuq_init(&one, &p, ring, sizeof ring));
    same("init", TCUQ_OK, tcuq_init(&two, &p, other, sizeof other));
    for (i = 0; i < 40u; i++) {
        step(&one, i, &expected);
        step(&two, i, &out);
        same("a step in memory that was not cleared", 0, memcmp(&out, &expected, sizeof out));
        if (i == 3u || i == 9u) {
            same("save", (long long)size, tcuq_save(&one, state, sizeof state));
            same("save", (long long)size, tcuq_save(&two, again, sizeof again));
            same("a state in memory that was not cleared", 0, memcmp(state, again, size));
        }
        if (i == 20u) {
            tcuq_reset(&one);
            tcuq_reset(&two);
        }
    }
    for (i = 0; i < 7u; i++) { /* from every position in the ring */
        unsigned j;
        same("load into a used monitor", TCUQ_OK, tcuq_load(&one, state, size));
        same("init", TCUQ_OK, tcuq_init(&two, &p, other, sizeof other));
        same("load into a new monitor", TCUQ_OK, tcuq_load(&two, state, size));
        for (j = 0; j < 5u + i; j++) {
            step(&one, i + j, &expected);
            step(&two, i + j, &out);
            same("a step after a load", 0, memcmp(&out, &expected, sizeof out));
        }
        (void)tcuq_save(&one, mine, sizeof mine);
        (void)tcuq_save(&two, again, sizeof again);
        same("a state after a load", 0, memcmp(mine, again, size));
    }
    same("63 bytes of a state", TCUQ_ERR_SIZE, tcuq_load(&one, state, 63));
    same("64 bytes of a state", TCUQ_ERR_STATE, tcuq_load(&one, state, 64));
    same("a state and a byte", TCUQ_ERR_STATE, tcuq_load(&one, state, size + 1u));
}

int main(void)
{
    ranges();
    rules();
    words();
    memory();
    sigmoids();
    counters();
    holds();
    saved_words();
    saved_labels();
    answers();
    own_reference();
    unread();
    sums();
    fresh_and_used();
    if (!failed) {
        printf("all limits hold\n");
    }
    return failed;
}
