/* SPDX-License-Identifier: MIT */
#include "game.h"

#include <string.h>

enum { SHORTEST = 256, TRIED = 6 };

static set_t set; /* one game at a time */

/* For direct sets: 1 + the input (posterior * 256 + feature) with the least risk >= this one, and with the largest below
 * it; 0 where there is none. */
static uint32_t at_least[RISKS + 1], less_than[RISKS + 1];

static int8_t probs[TCUQ_MAX_CLASSES], features[TCUQ_MAX_FEATURES];
static int8_t tried_probs[TRIED][TCUQ_MAX_CLASSES], tried_features[TRIED][TCUQ_MAX_FEATURES];

static void begin_set(game_t *g, uint64_t seed, uint64_t number, int64_t longest)
{
    memset(g, 0, sizeof *g);
    g->dice.seed = seed * 0x9E3779B97F4A7C15u + number;
    g->dice.seed = random64(&g->dice.seed) | 1u;
    g->set = &set;
    g->adversary = &adversaries[below(&g->dice, adversary_count)];
    g->direct = number % 8u < 4u;
    if (g->direct) {
        make_direct_set(&set, &g->dice);
        g->steps = longest;
        g->stride = longest < 65536 ? 5u : 1u; /* so that short games need not wait for their tables */
    } else {
        const tcuq_params_t *p = &set.params;
        int64_t work;
        make_set(&set, &g->dice, number % 512u == 511u ? SET_ANY : number % 8u == 7u ? SET_MIDDLE : SET_SMALL);
        /* Inputs are tried out, and large shapes are slow: a game takes about as long as a direct one. */
        work = 4 + p->classes * (p->instant != NULL ? 3 : 1) / 2 + p->features * (1 + p->lag_count) / 8 +
               p->classes * p->lag_count / 4;
        g->steps = longest / (2 * work) < SHORTEST ? SHORTEST : longest / (2 * work);
    }
    g->labeler = set.params.feedback == NULL ? NO_LABELS : (labeler_t)below(&g->dice, LABELERS);
    g->reset_rate = below(&g->dice, 2) * (16u + below(&g->dice, 200));
    g->load_rate = below(&g->dice, 2) * (64u + below(&g->dice, 900));
}

int64_t game_length(uint64_t seed, uint64_t number, int64_t longest)
{
    game_t game;
    begin_set(&game, seed, number, longest);
    return game.steps;
}

static void direct_input(uint32_t input)
{
    probs[0] = (int8_t)((int)(input >> 8) - 128);
    probs[1] = -128;
    features[0] = (int8_t)((int)(input & 255u) - 128);
}

/* No step of a direct set sees the past, so that the risk of every input is known before the game. */
static void fill_tables(game_t *g)
{
    tcuq_t trial = g->monitor;
    tcuq_step_t step;
    uint32_t input, seen = 0;
    int32_t risk;
    memset(less_than, 0, sizeof less_than); /* for now: an input of each risk */
    for (input = 0; input < 65536u; input += g->stride) { /* 255 = 51 * 5: both ends of the feature are there */
        direct_input(input);
        tcuq_step(&trial, probs, features, &step, NULL);
        less_than[step.risk] = input + 1u;
    }
    for (risk = RISKS; risk >= 0; risk--) {
        seen = risk < RISKS && less_than[risk] != 0u ? less_than[risk] : seen;
        at_least[risk] = seen;
    }
    seen = 0;
    for (risk = 0; risk <= RISKS; risk++) {
        uint32_t here = risk < RISKS ? less_than[risk] : 0u;
        less_than[risk] = seen;
        seen = here != 0u ? here : seen;
    }
}

static void choose_direct(game_t *g, wish_t wish, int64_t threshold)
{
    int64_t at = threshold < 0 ? 0 : threshold > RISKS ? RISKS : threshold;
    uint32_t found = 0;
    switch (wish.want) {
    case ABOVE: found = at_least[at]; break;
    case UNDER: found = less_than[at]; break;
    case NEAR: found = at_least[wish.target]; break;
    case LEAST: found = at_least[0]; break;
    case ANY: found = 1u + take(&g->dice, 2); break;
    default: break;
    }
    if (found == 0u) { /* nothing on that side: the extreme of the wish */
        found = wish.want == UNDER ? at_least[0] : less_than[RISKS];
    }
    direct_input(found - 1u);
    if (wish.want == ANY && (found & 1u) != 0u) {
        probs[1] = probs[0];
        probs[0] = -128;
    }
}

static void make_try(game_t *g, unsigned number)
{
    const tcuq_params_t *p = &g->set->params;
    int8_t *posterior = tried_probs[number], *vector = tried_features[number];
    unsigned at = below(&g->dice, p->classes), kind = below(&g->dice, 4), c;
    uint64_t seed = random64(&g->dice.seed);
    memset(posterior, number == 0u || number >= 3u ? -128 : number == 1u ? 127 : (int)(256u / p->classes) - 128, p->classes);
    if (number == 0u) { /* the class of the past, which most signals like */
        posterior[g->step.answer] = 127;
    } else if (number == 3u) {
        posterior[at] = (int8_t)((int)(seed >> 56) - 128);
    } else if (number == 4u) {
        posterior[at] = (int8_t)((int)(seed >> 56) - 128);
        posterior[(at + 1u) % p->classes] = (int8_t)(127 - (int)(seed >> 56));
    }
    for (c = 0; c < p->features; c++) {
        vector[c] = (int8_t)(kind == 0u ? p->zero_point : kind == 1u ? 127 : kind == 2u ? -128 : (int)(random64(&seed) >> 56) - 128);
    }
}

/* Try some inputs on a copy of the monitor, and take the one that serves the wish best. */
static void choose_tried(game_t *g, wish_t wish, int64_t threshold)
{
    const tcuq_params_t *p = &g->set->params;
    int64_t best = 0;
    unsigned chosen = 0, i;
    for (i = 0; i < TRIED; i++) {
        make_try(g, i);
        if (wish.want == ANY) {
            chosen = below(&g->dice, 3) == 0u ? chosen : i;
        }
    }
    for (i = 0; i < TRIED && wish.want != ANY; i++) {
        tcuq_t copy = g->monitor;
        tcuq_step_t step;
        int64_t risk, value;
        memcpy(g->other.bytes, g->ring.bytes, g->ring.size);
        copy.ring = (uint32_t *)(void *)g->other.bytes;
        tcuq_step_gauges(&copy, tried_probs[i], tried_features[i], gauges_of(p, tried_probs[i], tried_features[i]), &step, NULL);
        risk = step.risk;
        switch (wish.want) { /* the smaller, the better */
        case ABOVE: value = risk >= threshold ? risk : 3 * RISKS - risk; break;
        case UNDER: value = risk < threshold ? -risk : 3 * RISKS + risk; break;
        case MOST: value = -risk; break;
        case LEAST: value = risk; break;
        default: value = risk > wish.target ? risk - wish.target : wish.target - risk; break;
        }
        if (i == 0u || value < best) {
            best = value;
            chosen = i;
        }
    }
    memcpy(probs, tried_probs[chosen], p->classes);
    memcpy(features, tried_features[chosen], p->features);
}

/* Go on as another monitor that loads what this one saves. */
static const char *pass_on(game_t *g)
{
    tcuq_t next;
    guarded_t swap = g->ring;
    if (tcuq_save(&g->monitor, g->state.bytes, g->state.size) != (int)g->state.size) {
        return "a state has its size";
    }
    if (tcuq_init(&next, &g->set->params, (uint32_t *)(void *)g->other.bytes, g->other.size) != TCUQ_OK ||
        tcuq_load(&next, g->state.bytes, g->state.size) != TCUQ_OK) {
        return "a saved state loads";
    }
    if (tcuq_verify(&next) != TCUQ_OK) {
        return "a loaded monitor is sound";
    }
    g->monitor = next;
    g->ring = g->other;
    g->other = swap;
    g->loads++;
    return NULL;
}

void game_begin(game_t *g, uint64_t seed, uint64_t number, int64_t longest)
{
    begin_set(g, seed, number, longest);
    g->ring = guarded(tcuq_ring_size(&set.params));
    g->other = guarded(g->ring.size);
    g->state = guarded(tcuq_state_size(&set.params));
}

/* Moments that hurt most: at either end of the debt or the credit, around the end of the warm-up. */
static int worst_moment(const game_t *g)
{
    const bounds_t *b = &g->bounds;
    const tcuq_params_t *p = b->params;
    int64_t credit = g->monitor.credit;
    return b->debt > b->high - p->level_den || b->debt < b->low + p->level_den || credit < p->budget_den ||
           credit >= (int64_t)p->burst * p->budget_den || tcuq_steps(&g->monitor) == p->warmup;
}

static const char *disturb(game_t *g)
{
    if (g->reset_rate != 0u && below(&g->dice, g->reset_rate) == 0u) {
        tcuq_reset(&g->monitor);
        g->resets++;
    }
    return g->load_rate != 0u && below(&g->dice, g->load_rate) == 0u ? pass_on(g) : NULL;
}

/* One label, and what the bounds say of it. */
static const char *say(game_t *g, uint32_t ago, int32_t label)
{
    return bounds_label(&g->bounds, &g->monitor, tcuq_steps(&g->monitor) - 1u - ago, label);
}

/* Labels of all remembered steps, the oldest first: the next step would forget it. */
static const char *say_all(game_t *g, int32_t label)
{
    const char *broken = NULL;
    uint32_t ago;
    for (ago = set.params.feedback->memory; ago > 0u && broken == NULL; ago--) {
        broken = say(g, ago - 1u, label);
    }
    return broken;
}

/* Let the adversary label what it likes. */
static const char *label(game_t *g)
{
    const tcuq_feedback_t *head = set.params.feedback;
    int64_t wrong = tcuq_error_debt(&g->monitor) + head->error_den - head->error_num;
    int counted = bounds_counted(&g->bounds);
    switch (g->labeler) {
    case SOME_LABELS:
        return below(&g->dice, 3) == 0u ? NULL
                                        : say(g, below(&g->dice, head->memory), (int32_t)below(&g->dice, set.params.classes + 2u) - 2);
    case AT_ONCE: return say(g, 0, TCUQ_WRONG);
    case LED_BACK: /* whatever was accepted was wrong, whatever was withheld was right */
        return say(g, 0, counted ? TCUQ_WRONG : TCUQ_RIGHT);
    case KEPT_BACK:
    case BY_TURNS:
        /* Right ones pay the debt off; then silence while steps are counted, and all of them were wrong. */
        if (g->label_phase == 0) {
            if (wrong < head->error_shut && counted && g->labeler == KEPT_BACK) {
                return say(g, 0, TCUQ_WRONG); /* as close to shut as can be, and open */
            }
            if (++g->label_stay >= 2 * (int64_t)head->memory) {
                g->label_phase = 1;
                g->label_stay = 0;
            }
            return g->labeler == BY_TURNS ? say(g, 0, TCUQ_RIGHT) : NULL;
        }
        if (++g->label_stay >= head->memory) {
            g->label_phase = 0;
            g->label_stay = 0;
            return say_all(g, TCUQ_WRONG);
        }
        return NULL;
    default: return NULL;
    }
}

static void reach(int64_t *most, int64_t value)
{
    *most = value > *most ? value : *most;
}

const char *game_play(game_t *g)
{
    const tcuq_params_t *p = &set.params;
    const char *broken;
    int reads = (p->signals & TCUQ_FEATURE_SIGNALS) != 0u, watched = g->reset_rate != 0u || g->load_rate != 0u;
    int64_t t;
    if (tcuq_init(&g->monitor, p, (uint32_t *)(void *)g->ring.bytes, g->ring.size) != TCUQ_OK) {
        return "allowed parameters are accepted";
    }
    if (g->direct) {
        fill_tables(g); /* in the ring of the monitor, which starts over */
        (void)tcuq_init(&g->monitor, p, (uint32_t *)(void *)g->ring.bytes, g->ring.size);
    }
    broken = bounds_open(&g->bounds, &g->monitor);
    for (t = 0; t < g->steps && broken == NULL; t++) {
        wish_t wished = g->adversary->decide != NULL ? g->adversary->decide(g) : wish(g->adversary->always);
        int64_t threshold = bounds_threshold(p, g->bounds.debt);
        int32_t error_debt = tcuq_error_debt(&g->monitor);
        if (g->direct) {
            choose_direct(g, wished, threshold);
        } else {
            choose_tried(g, wished, threshold);
        }
        tcuq_step_gauges(&g->monitor, probs, reads ? features : NULL, gauges_of(p, probs, features), &g->step, NULL);
        broken = bounds_step(&g->bounds, &g->monitor, error_debt, &g->step);
        reach(&g->credit_high, g->monitor.credit);
        reach(&g->rise_high, g->monitor.rise);
        reach(&g->fall_high, g->monitor.fall);
        reach(&g->degradation_high, g->monitor.degradation < 0 ? -(int64_t)g->monitor.degradation : g->monitor.degradation);
        broken = broken == NULL && g->labeler != NO_LABELS ? label(g) : broken;
        if (broken == NULL && watched && worst_moment(g)) {
            broken = disturb(g);
        }
    }
    if (broken == NULL && (tcuq_verify(&g->monitor) != TCUQ_OK || pass_on(g) != NULL)) {
        broken = "a monitor is sound at the end";
    }
    return broken == NULL && (!guards_hold(&g->ring) || !guards_hold(&g->other) || !guards_hold(&g->state))
               ? "no write out of bounds"
               : broken;
}

void game_end(game_t *g)
{
    release(&g->ring);
    release(&g->other);
    release(&g->state);
}
