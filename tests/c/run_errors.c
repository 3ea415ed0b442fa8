/* SPDX-License-Identifier: MIT */
/* Breaks every range of the schema and every rule of the parameters, one at a time, and prints what the core says of it: "CODE NAME: expected TEXT". The ends of ranges and the nearest that a rule lets pass
 * are accepted. Exit status: 0 when each answer is the right one, else 1. */
#include "good_params.h"
#include "tcuq_fields.h"

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
                expect(#target, (error) == TCUQ_ERR_PARAM_version ? TCUQ_ERR_VERSION : (error));       \
            } else {                                                                                   \
                same(#target, 0, each < 2u && tcuq_check(&p) == (error));                              \
            }                                                                                          \
        }                                                                                              \
    } while (0)
#define RANGE(error, of, name, type, low, high, bytes, usual) RANGE_OF(good, of.name, type, low, high, TCUQ_ERR_##error##_##name);

static void ranges(void)
{
    TCUQ_PARAM_NUMBERS(RANGE)
    TCUQ_EVIDENCE_NUMBERS(RANGE)
    TCUQ_INSTANT_NUMBERS(RANGE)
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
    KEPT(p.expected_start = 65535);
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
    BROKEN(novelty_used, (p.signals = 0x168, p.centers = NULL));
    BROKEN(slow_used, (p.evidence = NULL, p.signals = 0x30, p.centers = NULL));
    BROKEN(slow_used, (p.evidence = NULL, p.signals = 0x280));
    BROKEN(drift_used, (p.signals = 0x210, p.centers = NULL));
    BROKEN(evidence_given, evidence.offset = NULL);
    BROKEN(evidence_alone, (p.fall_limit = 1, p.fall_cap = 1));
    /* A factor of at least 257 at the lower clip, below 2^20 at the upper one; the clip counts in 1/256. */
    KEPT((evidence.clip = 65536, evidence.bet_slope = 1000, evidence.bet_base = 1257));
    BROKEN(bet_fits, (evidence.clip = 65536, evidence.bet_slope = 1000, evidence.bet_base = 1256));
    KEPT((evidence.clip = 65536, evidence.bet_slope = 1000, evidence.bet_base = 1047575));
    BROKEN(bet_fits, (evidence.clip = 65536, evidence.bet_slope = 1000, evidence.bet_base = 1047576));
    BROKEN(bet_fits, evidence.bet_base = 1);
    BROKEN(bet_fits, evidence.bet_slope = 1);
    KEPT((evidence.clip = 524288, evidence.bet_slope = 128, evidence.bet_base = 2000));
    BROKEN(baseline_used, (evidence.baseline_inputs = 1, evidence.bet_slope = 1, evidence.bet_base = 65536));
    BROKEN(baseline_used, evidence.baseline_mean = -1);
    BROKEN(baseline_used, evidence.baseline_most = 1);
    CASE(good, p.version = 6, TCUQ_ERR_VERSION);
    CASE(good, p.version = 4, TCUQ_ERR_VERSION);
    CASE(good, (p.version = 4, p.burst = 0), TCUQ_ERR_VERSION);
}

#if ((TCUQ_SIGNALS) & TCUQ_SIGHT) != 0
#define SIGHT_RANGE(error, of, name, type, low, high, bytes, usual) \
    RANGE_OF(seeing, of.name, type, low, high, TCUQ_ERR_##error##_##name);
#define UNSEEN(name, change) CASE(seeing, change, TCUQ_ERR_RULE_##name)

static void sight_rules(void)
{
    TCUQ_SIGHT_NUMBERS(SIGHT_RANGE)
    CASE(seeing, (void)0, TCUQ_OK);
    CASE(seeing, (sight.gauges = 16), TCUQ_OK);
    CASE(seeing, (sight.gauges = 0, p.signals = 0x10, p.centers = NULL, p.instant = NULL), TCUQ_OK);
    UNSEEN(slow_used, p.signals |= 0x200);
    UNSEEN(evidence_alone, (p.fall_limit = 1, p.fall_cap = 1));
    UNSEEN(sight_given, sight.mean = NULL);
    UNSEEN(sight_given, sight.scale = NULL);
    UNSEEN(sight_given, sight.shift = NULL);
    UNSEEN(sight_given, sight.class_mean = NULL);
    UNSEEN(sight_given, sight.matrix = NULL);
    CASE(seeing, (sight_mean[0] = -1048576, sight_mean[4] = 1048576, sight_scale[0] = 1, sight_scale[4] = 1023, sight_shift[4] = 24), TCUQ_OK);
    CASE(seeing, (sight_mean[5] = 1048577, sight_scale[5] = 0, sight_shift[5] = 25), TCUQ_OK); /* no number of these params */
    UNSEEN(sight_fits, sight_mean[0] = -1048577);
    UNSEEN(sight_fits, sight_mean[4] = 1048577);
    UNSEEN(sight_fits, sight_scale[4] = 0);
    UNSEEN(sight_fits, sight_scale[0] = 1024);
    UNSEEN(sight_fits, sight_shift[4] = 25);
    UNSEEN(sight_alone, p.evidence = &evidence);
    UNSEEN(sight_alone, p.signals = 0x1EF);
    CASE(seeing, (p.rise_limit = p.rise_cap = 40000), TCUQ_OK);
    UNSEEN(sight_limit, (p.rise_limit = p.rise_cap = 39999));
    CASE(seeing, (p.rise_limit = 16384, sight.changed = 0), TCUQ_OK);
    UNSEEN(sight_limit, (p.rise_limit = 16383, sight.changed = 0));
    CASE(seeing, p.rise_cap = 4194304, TCUQ_OK);
    UNSEEN(sight_limit, p.rise_cap = 4194305);
    UNSEEN(sight_limit, (p.rise_limit = 0, p.rise_cap = 0, sight.changed = 0));
}
#endif

#if ((TCUQ_SIGNALS) & TCUQ_FEEDBACK) != 0
#define LABEL_RANGE(error, of, name, type, low, high, bytes, usual) \
    RANGE_OF(labeled, of.name, type, low, high, TCUQ_ERR_##error##_##name);

static void label_rules(void)
{
    TCUQ_FEEDBACK_NUMBERS(LABEL_RANGE)
    CASE(labeled, (feedback.memory = 1, feedback.error_num = 0, feedback.error_den = 1, feedback.error_shut = 0), TCUQ_OK);
    CASE(labeled, (feedback.memory = 1024, feedback.error_num = 999, feedback.error_den = 1000, feedback.error_shut = 32767), TCUQ_OK);
    CASE(labeled, feedback.error_num = 10, TCUQ_ERR_RULE_feedback_fits);
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
    p.horizon = 0;
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
    CASE(lean, p.signals |= TCUQ_BIT(TCUQ_DEGRADATION), TCUQ_ERR_RULE_slow_used);
}

int main(void)
{
    ranges();
    rules();
#if ((TCUQ_SIGNALS) & TCUQ_SIGHT) != 0
    sight_rules();
#endif
#if ((TCUQ_SIGNALS) & TCUQ_FEEDBACK) != 0
    label_rules();
#endif
    lean_rules();
    return failed;
}
