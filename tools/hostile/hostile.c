/* SPDX-License-Identifier: MIT */
/* Plays games of adversaries against monitors and prints what came of them as JSON.
 *
 *     hostile SEED LONGEST STEPS JOB JOBS      of all games that take so many steps together, each JOBS-th from JOB on
 *
 * A game follows from SEED, its number and the steps of the longest games alone, whoever plays it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "game.h"

enum { SHOWN = 8 };

/* How close to each bound anybody came, 1 being the bound itself. */
enum { DEBT_HIGH, DEBT_LOW, WINDOW, BUDGET, CREDIT, RISE, FALL, DEGRADATION, ERRORS, STRETCH, PAID, BOUNDS };
static const char *const names[BOUNDS] = {"debt, upper bound", "debt, lower bound", "abstentions in any window",
                                          "abstentions from the start", "credit", "rise sum",
                                          "fall sum", "degradation", "errors among labels", "errors in any stretch",
                                          "errors with labels that lead back"};

typedef struct {
    double best[BOUNDS];
    uint64_t reached[BOUNDS]; /* games that came within 0.1 % */
    int64_t steps, flagged, abstained, resets, loads, labels, wrong;
    uint64_t broken;
} tally_t;

static void compare(tally_t *tally, int which, int64_t value, int64_t bound)
{
    double ratio = bound == 0 ? 0.0 : (double)value / (double)bound;
    tally->best[which] = ratio > tally->best[which] ? ratio : tally->best[which];
    tally->reached[which] += ratio >= 0.999 ? 1u : 0u;
}

static void count(tally_t *tally, const game_t *g)
{
    const bounds_t *b = &g->bounds;
    const tcuq_params_t *p = &g->set->params;
    int64_t cap = (int64_t)p->burst * p->budget_den;
    tally->steps += b->taken;
    tally->flagged += b->flagged;
    tally->abstained += b->abstained;
    tally->resets += g->resets;
    tally->loads += g->loads;
    compare(tally, DEBT_HIGH, b->debt_high, b->high);
    compare(tally, DEBT_LOW, b->debt_low, b->low);
    compare(tally, WINDOW, b->window, cap);
    compare(tally, BUDGET, p->budget_den * b->abstained, p->budget_num * b->taken + b->opening_credit);
    compare(tally, CREDIT, g->credit_high, cap);
    compare(tally, RISE, g->rise_high, p->rise_cap + (p->feedback != NULL ? (int64_t)(p->rise_limit >> 2) * 13 : 0));
    compare(tally, FALL, g->fall_high, p->fall_cap);
    compare(tally, DEGRADATION, g->degradation_high, p->evidence == NULL ? 0 : p->evidence->clip);
    tally->labels += b->labels;
    tally->wrong += b->wrong;
    if (p->feedback != NULL && p->feedback->error_num != 0u) {
        compare(tally, ERRORS, b->owed_high, bounds_error(p));
        compare(tally, STRETCH, b->owed_window, bounds_error(p) + p->feedback->error_shut);
        compare(tally, PAID, b->paid_high, 2 * bounds_error(p));
    }
}

static void play(uint64_t seed, int64_t longest, uint64_t first, uint64_t games, uint64_t jobs)
{
    static tally_t tally;
    static game_t game;
    uint64_t number, played = 0;
    int which;
    printf("{\"violations\": [");
    for (number = first; number < games; number += jobs, played++) {
        const char *broken;
        game_begin(&game, seed, number, longest);
        broken = game_play(&game);
        count(&tally, &game);
        if (broken != NULL && ++tally.broken <= SHOWN) {
            printf("%s\"game %" PRIu64 " (%s), step %" PRId64 ": %s\"", tally.broken > 1u ? ", " : "", number,
                   game.adversary->name, game.bounds.taken, broken);
        }
        game_end(&game);
    }
    printf("], \"broken\": %" PRIu64 ", \"games\": %" PRIu64 ", \"adversaries\": %u, \"steps\": %" PRId64
           ", \"flagged\": %" PRId64 ", \"abstained\": %" PRId64 ", \"resets\": %" PRId64 ", \"loads\": %" PRId64
           ", \"labels\": %" PRId64 ", \"wrong\": %" PRId64
           ", \"bounds\": {",
           tally.broken, played, adversary_count, tally.steps, tally.flagged, tally.abstained, tally.resets, tally.loads,
           tally.labels, tally.wrong);
    for (which = 0; which < BOUNDS; which++) {
        printf("%s\"%s\": [%.9g, %" PRIu64 "]", which > 0 ? ", " : "", names[which], tally.best[which],
               tally.reached[which]);
    }
    printf("}}\n");
}

int main(int count_of_words, char **words)
{
    uint64_t seed, steps, games = 0;
    int64_t longest;
    if (count_of_words != 6) {
        fprintf(stderr, "hostile SEED LONGEST STEPS JOB JOBS\n");
        return 2;
    }
    seed = strtoull(words[1], NULL, 10);
    longest = strtoll(words[2], NULL, 10);
    for (steps = strtoull(words[3], NULL, 10); steps > 0u; games++) {
        uint64_t length = (uint64_t)game_length(seed, games, longest);
        steps -= length < steps ? length : steps;
    }
    play(seed, longest, strtoull(words[4], NULL, 10), games, strtoull(words[5], NULL, 10));
    return 0;
}
