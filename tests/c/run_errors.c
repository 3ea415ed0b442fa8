/* SPDX-License-Identifier: MIT */
/* Breaks every range and every rule of the parameters, one at a time, in numbers of SPEC.md and not of the headers, and
 * prints what the core says of it: "CODE NAME: expected TEXT". The ends of ranges and the nearest that a rule lets pass
 * are accepted. Exit status: 0 when each answer is the right one, else 1. */
#include "good_params.h"

/* What tcuq_init() says of the same: it has checks of its own, in one expression. */
static int in_short(int error)
{
    return error > TCUQ_ERR_FIRST_PARAM && error < TCUQ_ERR_LAST_PARAM ? TCUQ_ERR_PARAMS : error;
}

static void expect(const char *what, int expected)
{
    static uint32_t ring[2000];
    tcuq_t monitor;
    int got = tcuq_check(&p);
    same(what, expected, got);
    same(what, in_short(expected), tcuq_init(&monitor, &p, ring, sizeof ring));
    if (got != TCUQ_OK) {
        printf("%d %s: expected %s\n", got, tcuq_error_name(got), tcuq_error_text(got));
    }
}

/* A number just outside a range is refused by that error, the end of the range by no such error. */
#define RANGE_OF(base, target, type, low, high, error)                                                 \
    do {                                                                                               \
        static const long long ends[4] = {(low), (high), (long long)(low) - 1, (long long)(high) + 1}; \
        unsigned each;                                                                                 \
        for (each = 0; each < 4u; each++) {                                                            \
            base();                                                                                    \
            target = (type)ends[each];                                                                 \
            if ((long long)target == ends[each] && each >= 2u) {                                       \
                expect(#target, error);                                                                \
            } else {                                                                                   \
                same(#target, 0, each < 2u && tcuq_check(&p) == (error));                              \
            }                                                                                          \
        }                                                                                              \
    } while (0)
#define RANGE(target, type, low, high, error) RANGE_OF(good, target, type, low, high, error)

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
}

/* A change of params, and what is said of it. */
#define CASE(base, change, expected)         \
    do {                                     \
        base();                              \
        change;                              \
        expect(#base ": " #change, expected); \
    } while (0)
#define BROKEN(name, change) CASE(good, change, TCUQ_ERR_RULE_##name)
#define KEPT(change) CASE(good, change, TCUQ_OK)

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
    BROKEN(own_used, (head.own_looks = 1, head.bet_slope = 1, head.bet_base = 65536));
    BROKEN(own_used, head.own_mean = -1);
    BROKEN(own_used, head.own_most = 1);
    CASE(good, p.version = 6, TCUQ_ERR_VERSION);
    CASE(good, p.version = 4, TCUQ_ERR_VERSION);
    CASE(good, (p.version = 4, p.burst = 0), TCUQ_ERR_VERSION);
}

#if ((TCUQ_SIGNALS) & TCUQ_FEEDBACK) != 0
#define LABEL_RANGE(target, type, low, high, error) RANGE_OF(labeled, target, type, low, high, error)

static void label_rules(void)
{
    LABEL_RANGE(labels.memory, uint16_t, 1, 1024, TCUQ_ERR_FEEDBACK_memory);
    LABEL_RANGE(labels.error_num, uint16_t, 0, 65535, TCUQ_ERR_FEEDBACK_error_num);
    LABEL_RANGE(labels.error_den, uint16_t, 1, 1000, TCUQ_ERR_FEEDBACK_error_den);
    LABEL_RANGE(labels.error_reference, uint16_t, 0, 65535, TCUQ_ERR_FEEDBACK_error_reference);
    LABEL_RANGE(labels.error_shut, uint16_t, 0, 32767, TCUQ_ERR_FEEDBACK_error_shut);
    LABEL_RANGE(labels.error_first, uint16_t, 0, 65535, TCUQ_ERR_FEEDBACK_error_first);
    LABEL_RANGE(labels.wrong_score, uint16_t, 0, 65535, TCUQ_ERR_FEEDBACK_wrong_score);
    LABEL_RANGE(labels.right_score, uint16_t, 0, 65535, TCUQ_ERR_FEEDBACK_right_score);
    CASE(labeled, (labels.memory = 1, labels.error_num = 0, labels.error_den = 1, labels.error_shut = 0), TCUQ_OK);
    CASE(labeled, (labels.memory = 1024, labels.error_num = 999, labels.error_den = 1000, labels.error_shut = 32767), TCUQ_OK);
    CASE(labeled, labels.error_num = 10, TCUQ_ERR_RULE_feedback_fits);
    CASE(labeled, (p.rise_cap = 268435456), TCUQ_OK);
    CASE(labeled, p.rise_cap = 268435457, TCUQ_ERR_RULE_feedback_fits);
}
#endif

/* Params that have nothing that they need not have: posteriors alone, no lags, no head, a flat map. */
static void lean(void)
{
    good();
    p.signals = TCUQ_BIT(TCUQ_DOUBT);
    p.features = 0;
    p.lag_count = 0;
    p.centers = NULL;
    p.instant = NULL;
    p.evidence = NULL;
    p.slope = 0;
    p.horizon = p.expected_start = 0;
    p.rise_limit = p.rise_cap = 0;
}

static void lean_rules(void)
{
    CASE(lean, (p.rise_limit = 1, p.rise_cap = 268435457), TCUQ_OK);
    CASE(lean, (void)0, TCUQ_OK);
    CASE(lean, p.signals |= TCUQ_BIT(TCUQ_MAGNITUDE), TCUQ_ERR_RULE_features_used);
    CASE(lean, p.signals |= TCUQ_BIT(TCUQ_FLIPS), TCUQ_ERR_RULE_lags_used);
    CASE(lean, p.lag_count = 2, TCUQ_OK);
    CASE(lean, (p.lag_count = 2, p.lags = NULL), TCUQ_ERR_RULE_lags_given);
    CASE(lean, (p.lag_count = 2, p.lag_weights = NULL), TCUQ_ERR_RULE_lags_given);
    CASE(lean, p.knee = 16777216, TCUQ_OK);
    CASE(lean, (p.slope = 1, p.knee = 16777216), TCUQ_OK);
    CASE(lean, (p.slope = 2, p.knee = 8388608), TCUQ_OK);
    CASE(lean, (p.slope = 2, p.knee = 8388609), TCUQ_ERR_RULE_knee_fits);
    CASE(lean, p.signals |= TCUQ_BIT(TCUQ_DISBELIEF), TCUQ_ERR_RULE_disbelief_used);
    CASE(lean, (p.signals |= TCUQ_BIT(TCUQ_DISBELIEF), p.instant = &instant), TCUQ_OK);
    CASE(lean, p.anchor = 1, TCUQ_ERR_RULE_anchor_used);
    CASE(lean, (p.anchor = 1, p.instant = &instant), TCUQ_OK);
    CASE(lean, p.horizon = 3, TCUQ_ERR_RULE_horizon_fits);
    CASE(lean, p.horizon = 4, TCUQ_OK);
    CASE(lean, p.expected_start = 1, TCUQ_ERR_RULE_start_used);
    CASE(lean, (p.rise_limit = p.rise_cap = 2, p.fall_limit = p.fall_cap = 2), TCUQ_OK);
    CASE(lean, p.rise_cap = 1, TCUQ_ERR_RULE_rise_order);
    CASE(lean, p.signals |= TCUQ_BIT(TCUQ_SEVERITY), TCUQ_ERR_RULE_slow_used);
}

int main(void)
{
    ranges();
    rules();
#if ((TCUQ_SIGNALS) & TCUQ_FEEDBACK) != 0
    label_rules();
#endif
    lean_rules();
    return failed;
}
