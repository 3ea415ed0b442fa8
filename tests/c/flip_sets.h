/* SPDX-License-Identifier: MIT */
/* Params far apart, for programs that flip bits, and how these say what does not hold. */
#ifndef FLIP_SETS_H
#define FLIP_SETS_H

#include "check.h"

enum { CLASSES = 4, FEATURES = 4, LAGS = 3, SETS = 12 };

static const uint8_t lags[LAGS] = {1, 2, 4};
static const uint16_t lag_weights[LAGS] = {16384, 8192, 8192};
static const int16_t offsets[CLASSES] = {-400, 30, 0, 90};
static const int8_t centers[CLASSES * FEATURES] = {9, -4, 77, 0, 40, 40, -40, -40, -100, 3, 7, 120, 5, 5, 5, 5};
static tcuq_evidence_t head, bet, same_looks;
static tcuq_instant_t instant;
static tcuq_feedback_t feedback;

/* Two gauges, odds, and both distances. */
enum { NUMBERS = 5 };
static tcuq_sight_t sight;
static const int32_t sight_mean[NUMBERS] = {0, 0, 480000, 900000, 400000};
static const uint16_t sight_scale[NUMBERS] = {512, 512, 512, 512, 512};
static const uint8_t sight_shift[NUMBERS] = {5, 5, 13, 13, 12};
static const int8_t sight_class_mean[CLASSES * NUMBERS] = {0};
static const int16_t sight_matrix[NUMBERS * (NUMBERS + 1) / 2] = {90, 3, 0, -2, 1, 90, 4, 0, 3, 90, -5, 2, 90, 1, 90};

typedef struct {
    const char *name;
    tcuq_params_t params;
} set_t;

static const char *set_name;
static const char *target_name;
static unsigned target_bit;

static void need(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s, %s bit %u: %s\n", set_name, target_name, target_bit, what);
        exit(1);
    }
}

static tcuq_params_t base(uint32_t signals)
{
    tcuq_params_t p = plain_params(signals, CLASSES, FEATURES);
    unsigned n;
    p.zero_point = 5;
    p.lag_count = LAGS;
    p.lags = lags;
    p.lag_weights = lag_weights;
    p.bias = -2 * 65536;
    p.fall_limit = 20000;
    p.fall_cap = 30000;
    for (n = 0; n < TCUQ_SIGNAL_COUNT; n++) {
        p.coef[n] = (int16_t)(n % 2u == 0u ? 700 : 300);
        p.clean_mean[n] = (uint16_t)(9000u + 500u * n);
    }
    return p;
}

/* Evidence and instant heads: evidence as it is and as a bet. */
static void make_heads(void)
{
    unsigned n;
    head.offset = offsets;
    head.clip = 2u * 65536u;
    head.allowance = 6000u;
    head.reach = 9000u;
    head.bias = -3000;
    instant.bias = -65536;
    for (n = 0; n < TCUQ_SIGNAL_COUNT; n++) {
        head.coef[n] = (int16_t)(n % 3u == 0u ? 400 : -200);
        instant.coef[n] = (int16_t)(n % 2u == 0u ? 200 : 900);
    }
    bet = head;
    bet.bet_base = 60000u;
    bet.bet_slope = 20000u;
    same_looks = head; /* no step is new beside the last */
    same_looks.reach = 1u << 31;
}

/* The standard profile: what a fit of today gives. */
static tcuq_params_t standard(uint32_t signals, const tcuq_instant_t *with, const tcuq_evidence_t *summed)
{
    tcuq_params_t p = base(signals);
    p.lag_count = 0;
    p.about = TCUQ_ABOUT_ANSWER;
    p.instant = with;
    p.evidence = summed;
    p.centers = (signals & TCUQ_BIT(TCUQ_DISTANCE)) != 0u ? centers : NULL;
    p.fall_limit = p.fall_cap = 0;
    p.rise_clear = 9000;
    p.least_raised = 12;
    p.horizon = 5;
    p.expected_start = 60000;
    return p;
}

/* Parameters far apart: usual, all signals with a belief as anchor and evidence, no ring, extreme maps, learned
 * persistence. */
static unsigned sets(set_t *out)
{
    make_heads();
    out[0].name = "paper";
    out[0].params = base(TCUQ_PROFILE_PAPER);
    out[1].name = "every signal";
    out[1].params = base(TCUQ_ALL_SIGNALS);
    out[1].params.anchor = TCUQ_ANCHOR_BELIEF;
    out[1].params.centers = centers;
    out[1].params.instant = &instant;
    out[1].params.evidence = &head;
    out[1].params.fall_limit = out[1].params.fall_cap = 0;
    out[1].params.level_num = 3;
    out[1].params.level_den = 7;
    out[2].name = "no ring";
    out[2].params = base(0x18u);
    out[2].params.lag_count = 0;
    out[2].params.reference = 0;
    out[2].params.rise_limit = out[2].params.rise_cap = 0;
    out[3].name = "flat map, steep wall";
    out[3].params = base(TCUQ_PROFILE_PAPER);
    out[3].params.slope = 0;
    out[3].params.knee = 300;
    out[3].params.steep_slope = 1677721;
    out[3].params.budget_num = 0;
    out[4].name = "gentle map";
    out[4].params = base(TCUQ_BIT(TCUQ_FLIPS) | TCUQ_BIT(TCUQ_DOUBT));
    out[4].params.reference = 60000;
    out[4].params.slope = out[4].params.steep_slope = 5000;
    out[4].params.knee = 0;
    out[4].params.level_num = 990;
    out[4].params.level_den = 1000;
    out[4].params.budget_num = out[4].params.budget_den = 1;
    out[4].params.burst = 10000;
    out[5].name = "standard";
    out[5].params = standard(TCUQ_PROFILE_STANDARD, &instant, &head);
    out[6].name = "standard, bet";
    out[6].params = standard(TCUQ_PROFILE_STANDARD, &instant, &bet);
    out[7].name = "standard, posteriors only";
    out[7].params = standard(0x130u, &instant, &bet);
    out[7].params.features = 0;
    out[7].params.anchor = TCUQ_ANCHOR_BELIEF;
    out[8].name = "standard, inputs that repeat, about the prediction";
    out[8].params = standard(TCUQ_PROFILE_STANDARD, &instant, &same_looks);
    out[8].params.about = TCUQ_ABOUT_PREDICTION;
    out[9].name = "evidence without an instant head";
    out[9].params = base(0x7Au);
    out[9].params.evidence = &head;
    out[9].params.fall_limit = out[9].params.fall_cap = 0;
    out[10].name = "standard, labels";
    out[10].params = standard(TCUQ_PROFILE_STANDARD, &instant, &head);
    TCUQ_FEEDBACK_NUMBERS(SET_USUAL)
    feedback.memory = 7;
    out[10].params.feedback = &feedback;
    out[11].name = "sight";
    out[11].params = standard(0x1B0u, &instant, NULL);
    TCUQ_SIGHT_NUMBERS(SET_USUAL)
    sight.odds_weight = 20;
    sight.mean = sight_mean;
    sight.scale = sight_scale;
    sight.shift = sight_shift;
    sight.class_mean = sight_class_mean;
    sight.matrix = sight_matrix;
    out[11].params.sight = &sight;
    return SETS;
}

#endif
