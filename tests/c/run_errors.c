/* SPDX-License-Identifier: MIT */
/* Breaks every range and every rule of the parameters, one at a time, and prints what the core says of
 * it: "CODE NAME: expected TEXT". Exit status: 0 when each refusal is the right one, else 1. */
#include <stdio.h>
#include <string.h>

#include "tcuq.h"

static int failed;
static tcuq_params_t p;
static tcuq_evidence_t head;
static tcuq_instant_t instant;
static tcuq_feedback_t labels;
static uint16_t shares[TCUQ_MAX_CLASSES];
static const int8_t centers[8];
static uint8_t lags[TCUQ_MAX_LAG];
static uint16_t weights[TCUQ_MAX_LAG];
static const int16_t offset[2] = {0, 0};

/* Parameters that are accepted. */
static void good(void)
{
    unsigned n;
    memset(&p, 0, sizeof p);
    memset(&head, 0, sizeof head);
    memset(&instant, 0, sizeof instant);
    memset(&labels, 0, sizeof labels);
    labels.memory = 1;
    labels.error_den = 1;
    for (n = 0; n < TCUQ_MAX_CLASSES; n++) {
        shares[n] = 1;
    }
    lags[0] = 1;
    lags[1] = 2;
    weights[0] = weights[1] = 16384;
    p.version = TCUQ_PARAMS_VERSION;
    p.signals = TCUQ_ALL_SIGNALS;
    p.classes = 2;
    p.features = 4;
    p.lag_count = 2;
    p.lags = lags;
    p.lag_weights = weights;
    p.level_num = 1;
    p.level_den = 2;
    p.slope = 1;
    p.steep_slope = 2;
    p.knee = 100;
    p.budget_num = 1;
    p.budget_den = 2;
    p.burst = 8;
    head.offset = offset;
    head.clip = 1;
    head.reach = 256;
    p.evidence = &head;
    instant.class_mix = shares;
    p.instant = &instant;
    p.centers = centers;
    p.feedback = ((TCUQ_SIGNALS) & TCUQ_FEEDBACK) != 0u ? &labels : NULL;
}

/* Parameters that have nothing that they need not have: posteriors alone, no lags, no head, a flat map. */
static void lean(void)
{
    good();
    p.signals = TCUQ_BIT(TCUQ_DOUBT);
    p.features = 0;
    p.lag_count = 0;
    p.centers = NULL;
    p.instant = NULL;
    p.evidence = NULL;
    p.feedback = NULL;
    p.slope = 0;
}

/* And with what else may be there: evidence that is bet on, a horizon, both alarms off. */
static void rich(void)
{
    good();
    head.bet_slope = 1;
    head.bet_base = 257;
    p.horizon = 4;
    p.expected_start = 9;
    instant.class_mix = NULL;
}

/* What tcuq_init() says of the same: it has checks of its own, in one expression. */
static int in_short(int error)
{
    return error > TCUQ_ERR_FIRST_PARAM && error < TCUQ_ERR_LAST_PARAM ? TCUQ_ERR_PARAMS : error;
}

static void expect(const char *what, int expected)
{
    static uint32_t ring[400];
    tcuq_t monitor;
    int got = tcuq_check(&p), started = tcuq_init(&monitor, &p, ring, sizeof ring);
    if (got != expected) {
        printf("%s gives %d, not %d\n", what, got, expected);
        failed = 1;
    } else if (started != in_short(expected)) {
        printf("tcuq_init() gives %d for %s, not %d\n", started, what, in_short(expected));
        failed = 1;
    } else if (got != TCUQ_OK) {
        printf("%d %s: expected %s\n", got, tcuq_error_name(got), tcuq_error_text(got));
    }
}

/* Just outside a range, where the type can hold that. */
#define BREAK(target, type, value, error)                  \
    good();                                                \
    if ((long long)(type)(value) == (long long)(value)) {  \
        target = (type)(value);                            \
        expect(#target " = " #value, error);               \
    }

/* The bound itself, which is in the range: a rule may refuse it, the range does not. */
#define KEEP(target, type, value, error)                                       \
    good();                                                                    \
    target = (type)(value);                                                    \
    if (tcuq_check(&p) == (int)(error)) {                                      \
        printf("%s = %lld is refused\n", #target, (long long)(value));         \
        failed = 1;                                                            \
    }

#define CASE(base, change, error) \
    base();                       \
    change;                       \
    expect(#base ": " #change, error);

#define RULE(name, change) CASE(good, change, TCUQ_ERR_RULE_##name)

int main(void)
{
    const char *name;
    const char *text;
    good();
    expect("good", TCUQ_OK);
    p.version++;
    expect("another version", TCUQ_ERR_VERSION);
#define PARAM_ENDS(name, type, low, high, bytes)                                      \
    if (strcmp(#name, "version") != 0) {                                              \
        BREAK(p.name, type, (long long)(low) - 1, TCUQ_ERR_PARAM_##name)              \
        BREAK(p.name, type, (long long)(high) + 1, TCUQ_ERR_PARAM_##name)             \
        KEEP(p.name, type, low, TCUQ_ERR_PARAM_##name)                                \
        KEEP(p.name, type, high, TCUQ_ERR_PARAM_##name)                               \
    }
#define EVIDENCE_ENDS(name, type, low, high, bytes)                                        \
    BREAK(head.name, type, (long long)(low) - 1, TCUQ_ERR_EVIDENCE_##name)                \
    BREAK(head.name, type, (long long)(high) + 1, TCUQ_ERR_EVIDENCE_##name)               \
    KEEP(head.name, type, low, TCUQ_ERR_EVIDENCE_##name)                                  \
    KEEP(head.name, type, high, TCUQ_ERR_EVIDENCE_##name)
#define INSTANT_ENDS(name, type, low, high, bytes)                                     \
    BREAK(instant.name, type, (long long)(low) - 1, TCUQ_ERR_INSTANT_##name)          \
    BREAK(instant.name, type, (long long)(high) + 1, TCUQ_ERR_INSTANT_##name)         \
    KEEP(instant.name, type, low, TCUQ_ERR_INSTANT_##name)                            \
    KEEP(instant.name, type, high, TCUQ_ERR_INSTANT_##name)
    TCUQ_PARAMS_FIELDS(PARAM_ENDS, TCUQ_NO_LIST, TCUQ_NO_LIST, TCUQ_NO_HEAD)
    TCUQ_EVIDENCE_FIELDS(EVIDENCE_ENDS, TCUQ_NO_LIST, TCUQ_NO_LIST)
    TCUQ_INSTANT_FIELDS(INSTANT_ENDS, TCUQ_NO_LIST, TCUQ_NO_LIST)
#if ((TCUQ_SIGNALS) & TCUQ_FEEDBACK) != 0
#define FEEDBACK_ENDS(name, type, low, high, bytes)                                   \
    BREAK(labels.name, type, (long long)(low) - 1, TCUQ_ERR_FEEDBACK_##name)          \
    BREAK(labels.name, type, (long long)(high) + 1, TCUQ_ERR_FEEDBACK_##name)         \
    KEEP(labels.name, type, low, TCUQ_ERR_FEEDBACK_##name)                            \
    KEEP(labels.name, type, high, TCUQ_ERR_FEEDBACK_##name)
    TCUQ_FEEDBACK_FIELDS(FEEDBACK_ENDS, TCUQ_NO_LIST, TCUQ_NO_LIST)
    RULE(feedback_fits, labels.error_num = 1)
    RULE(feedback_fits, (p.rise_limit = 1, p.rise_cap = 268435457))
    CASE(good, (p.rise_limit = 1, p.rise_cap = 268435456), TCUQ_OK)
    CASE(lean, (p.rise_limit = 1, p.rise_cap = 268435457), TCUQ_OK)
    CASE(good, (labels.error_num = 999, labels.error_den = 1000), TCUQ_OK)
#endif
    RULE(features_used, p.features = 0)
    RULE(lags_used, p.lag_count = 0)
    RULE(lags_given, p.lags = NULL)
    RULE(lags_given, p.lag_weights = NULL)
    RULE(lags_ascend, lags[1] = 1)
    RULE(lags_ascend, lags[0] = 0)
    RULE(lags_ascend, lags[1] = 65)
    RULE(lag_weights_sum, weights[1] = 1)
    RULE(lag_weights_sum, (weights[0] = 0, weights[1] = 32768))
    RULE(level_below_one, p.level_num = 2)
    RULE(steep_slope_fits, (p.level_den = 3, p.steep_slope = 5592406))
    RULE(slope_order, p.slope = 3)
    RULE(knee_fits, (p.slope = 2, p.knee = 8388609))
    RULE(budget_up_to_one, p.budget_num = 3)
    RULE(anchor_used, p.anchor = 2)
    RULE(anchor_used, (p.anchor = 1, p.signals = 8, p.centers = NULL, p.instant = NULL))
    RULE(about_used, p.about = 2)
    RULE(about_used, (p.about = 1, p.instant = NULL))
    RULE(disbelief_used, p.instant = NULL)
    RULE(horizon_fits, p.horizon = 3)
    RULE(start_used, p.expected_start = 1)
    RULE(centers_given, p.centers = NULL)
    RULE(centers_given, p.signals = 8)
    RULE(class_mix_given, shares[1] = 0)
    RULE(rise_order, (p.rise_limit = 2, p.rise_cap = 1))
    RULE(rise_order, p.rise_cap = 1)
    RULE(fall_order, (p.fall_limit = 2, p.fall_cap = 1))
    RULE(fall_order, p.fall_cap = 1)
    RULE(clear_order, (p.rise_limit = p.rise_cap = p.rise_clear = 2))
    RULE(clear_order, p.rise_clear = 1)
    RULE(evidence_given, head.offset = NULL)
    RULE(bet_fits, head.bet_base = 1)
    RULE(bet_fits, head.bet_slope = 1)
    RULE(bet_fits, (head.bet_slope = 1, head.bet_base = 256))
    RULE(bet_fits, (head.bet_slope = 1, head.bet_base = 1048576))
    RULE(own_used, (head.own_looks = 1, head.bet_slope = 1, head.bet_base = 65536))
    RULE(own_used, head.own_mean = -1)
    RULE(own_used, head.own_most = 1)
    RULE(look_used, (p.signals = TCUQ_BIT(TCUQ_DOUBT), p.centers = NULL))
    RULE(slow_used, p.evidence = NULL)
    RULE(slow_used, (p.evidence = NULL, p.signals = TCUQ_BIT(TCUQ_SEVERITY), p.centers = NULL))
    RULE(drift_used, (p.signals &= ~(uint32_t)TCUQ_BIT(TCUQ_DISTANCE), p.centers = NULL))
    RULE(evidence_alone, (p.fall_limit = 1, p.fall_cap = 1))
    /* A change that is refused, and the nearest that is not, from each kind of parameters. */
    CASE(lean, (void)0, TCUQ_OK)
    CASE(rich, (void)0, TCUQ_OK)
    CASE(lean, p.signals |= TCUQ_BIT(TCUQ_MAGNITUDE), TCUQ_ERR_RULE_features_used)
    CASE(lean, p.signals |= TCUQ_BIT(TCUQ_FLIPS), TCUQ_ERR_RULE_lags_used)
    CASE(lean, p.lag_count = 2, TCUQ_OK)
    CASE(lean, (p.lag_count = 2, p.lags = NULL), TCUQ_ERR_RULE_lags_given)
    CASE(lean, (p.lag_count = 2, p.lag_weights = NULL), TCUQ_ERR_RULE_lags_given)
    CASE(lean, p.knee = 16777216, TCUQ_OK)
    CASE(lean, (p.slope = 1, p.knee = 16777216), TCUQ_OK)
    CASE(lean, (p.slope = 2, p.knee = 8388608), TCUQ_OK)
    CASE(lean, (p.slope = 2, p.knee = 8388609), TCUQ_ERR_RULE_knee_fits)
    CASE(lean, p.signals |= TCUQ_BIT(TCUQ_DISBELIEF), TCUQ_ERR_RULE_disbelief_used)
    CASE(lean, (p.signals |= TCUQ_BIT(TCUQ_DISBELIEF), p.instant = &instant), TCUQ_OK)
    CASE(lean, p.anchor = 1, TCUQ_ERR_RULE_anchor_used)
    CASE(lean, (p.anchor = 1, p.instant = &instant), TCUQ_OK)
    CASE(lean, p.horizon = 3, TCUQ_ERR_RULE_horizon_fits)
    CASE(lean, p.horizon = 4, TCUQ_OK)
    CASE(lean, p.expected_start = 1, TCUQ_ERR_RULE_start_used)
    CASE(lean, (p.rise_limit = p.rise_cap = 2, p.fall_limit = p.fall_cap = 2), TCUQ_OK)
    CASE(lean, p.rise_cap = 1, TCUQ_ERR_RULE_rise_order)
    CASE(rich, p.lag_weights = NULL, TCUQ_ERR_RULE_lags_given)
    CASE(rich, head.offset = NULL, TCUQ_ERR_RULE_evidence_given)
    CASE(rich, head.bet_base = 256, TCUQ_ERR_RULE_bet_fits)
    CASE(rich, head.bet_base = 1048575, TCUQ_OK)
    CASE(rich, head.bet_base = 1048576, TCUQ_ERR_RULE_bet_fits)
    CASE(rich, (head.clip = 524288, head.bet_slope = 128, head.bet_base = 1280), TCUQ_ERR_RULE_bet_fits)
    CASE(rich, (head.clip = 524288, head.bet_slope = 128, head.bet_base = 1281), TCUQ_OK)
    CASE(rich, (head.clip = 524288, head.bet_slope = 128, head.bet_base = 1047551), TCUQ_OK)
    CASE(rich, (head.clip = 524288, head.bet_slope = 128, head.bet_base = 1047552), TCUQ_ERR_RULE_bet_fits)
    CASE(rich, head.bet_slope = 0, TCUQ_ERR_RULE_bet_fits)
    CASE(rich, head.bet_slope = head.bet_base = 0, TCUQ_OK)
    CASE(rich, (p.rise_limit = p.rise_cap = 2, p.rise_clear = 1), TCUQ_OK)
    CASE(rich, (p.signals = TCUQ_BIT(TCUQ_ODDS) | TCUQ_BIT(TCUQ_SEVERITY), p.centers = NULL), TCUQ_OK)
    CASE(rich, p.signals = TCUQ_BIT(TCUQ_DISTANCE) | TCUQ_BIT(TCUQ_DRIFT), TCUQ_OK)
    CASE(lean, p.signals |= TCUQ_BIT(TCUQ_SEVERITY), TCUQ_ERR_RULE_slow_used)
    CASE(rich, (p.fall_limit = p.fall_cap = 1), TCUQ_ERR_RULE_evidence_alone)
    CASE(rich, (p.rise_limit = p.rise_cap = 1), TCUQ_OK)
    /* What init and load say, without which field it is. */
    name = tcuq_error_name(TCUQ_ERR_PARAMS);
    text = tcuq_error_text(TCUQ_ERR_PARAMS);
    if (name == NULL || strcmp(name, "params") != 0 || text == NULL || strstr(text, "tcuq_check()") == NULL) {
        printf("the text of TCUQ_ERR_PARAMS is missing\n");
        failed = 1;
    }
    return failed;
}
