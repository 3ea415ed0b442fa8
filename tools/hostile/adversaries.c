/* SPDX-License-Identifier: MIT */
/* Adversaries see all counters and parameters, so they know the coming threshold. */
#include "game.h"

wish_t wish(want_t want)
{
    wish_t made;
    made.want = want;
    made.target = 0;
    return made;
}

static wish_t near_to(int64_t risk)
{
    wish_t made = wish(NEAR);
    made.target = risk < 0 ? 0 : risk >= RISKS ? RISKS - 1 : risk;
    return made;
}

static int64_t cap_of(const game_t *g)
{
    return (int64_t)g->set->params.burst * g->set->params.budget_den;
}

/* Whether an abstention could be paid at the next step. */
static int rich(const game_t *g)
{
    const tcuq_params_t *p = &g->set->params;
    int64_t credit = g->monitor.credit + p->budget_num;
    return (credit < cap_of(g) ? credit : cap_of(g)) >= p->budget_den;
}

static void turn(game_t *g, int64_t stay)
{
    g->phase = !g->phase;
    g->stay = stay;
}

static wish_t alternate(game_t *g)
{
    g->phase = !g->phase;
    return wish(g->phase ? ABOVE : UNDER);
}

static wish_t at_random(game_t *g)
{
    return below(&g->dice, 4) == 0u ? wish((want_t)below(&g->dice, NEAR)) : wish(ANY);
}

/* Save up a whole burst with as few flags as can be, so that the threshold is low; then spend it at once. */
static wish_t hoard(game_t *g)
{
    if (g->phase == 0 && (g->monitor.credit >= cap_of(g) || g->stay > 20000)) {
        turn(g, 0);
    } else if (g->phase != 0 && (!rich(g) || g->stay > 40000)) {
        turn(g, 0);
    }
    g->stay++;
    return wish(g->phase == 0 ? LEAST : MOST);
}

/* Spend every credit as soon as it is there, and no flag more. */
static wish_t greedy(game_t *g)
{
    return wish(rich(g) ? ABOVE : UNDER);
}

/* Silence and attack for as long as chance has it. */
static wish_t bursts(game_t *g)
{
    if (--g->stay <= 0) {
        turn(g, 1 + (take(&g->dice, 2) >> below(&g->dice, 14)));
    }
    return wish(g->phase ? ABOVE : LEAST);
}

/* From one end of the debt to the other; at an end, through all remainders modulo level_den. */
static wish_t pump(game_t *g)
{
    const bounds_t *b = &g->bounds;
    int64_t den = b->params->level_den;
    int there = g->phase ? b->debt > b->high - den : b->debt < b->low + den;
    g->stay += there ? 1 : 0;
    if (g->stay > 3 * den) {
        turn(g, 0);
    }
    return wish(g->phase ? MOST : LEAST);
}

/* The same, with risks that are as close to the threshold as can be. */
static wish_t close_pump(game_t *g)
{
    wish_t made = pump(g);
    made.want = made.want == MOST ? ABOVE : UNDER;
    return made;
}

/* Quiet while nothing can be had, all at once when the warm-up ends, and again where steps stop counting. */
static wish_t warm_start(game_t *g)
{
    uint32_t steps = tcuq_steps(&g->monitor);
    return wish(steps < g->set->params.warmup || steps % 97u >= 60u ? LEAST : ABOVE);
}

/* An alarm sum to one below its limit, then over it, to its cap, back to 1 and to 0. */
static wish_t side(game_t *g, int64_t sum, int64_t limit, int64_t cap, int64_t reference, int sign)
{
    const int64_t goals[5] = {limit - 1, limit, cap, 1, 0};
    if (sum == goals[g->phase] || --g->stay <= 0) {
        g->phase = (g->phase + 1) % 5;
        g->stay = 5000;
    }
    return near_to(reference + sign * (goals[g->phase] - sum));
}

static wish_t raise_alarm(game_t *g)
{
    const tcuq_params_t *p = &g->set->params;
    return side(g, g->monitor.rise, p->rise_limit, p->rise_cap, p->rise_reference, 1);
}

static wish_t fall_alarm(game_t *g)
{
    const tcuq_params_t *p = &g->set->params;
    return side(g, g->monitor.fall, p->fall_limit, p->fall_cap, p->fall_reference, -1);
}

const adversary_t adversaries[] = {
    {"just above", NULL, ABOVE},      {"just under", NULL, UNDER},       {"largest", NULL, MOST},
    {"smallest", NULL, LEAST},        {"alternate", alternate, ANY},     {"random", at_random, ANY},
    {"hoard and spend", hoard, ANY},  {"greedy", greedy, ANY},           {"bursts", bursts, ANY},
    {"pump", pump, ANY},              {"close pump", close_pump, ANY},   {"warm start", warm_start, ANY},
    {"rise alarm", raise_alarm, ANY}, {"fall alarm", fall_alarm, ANY},
};
const unsigned adversary_count = sizeof adversaries / sizeof adversaries[0];
