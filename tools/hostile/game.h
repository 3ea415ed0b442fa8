/* SPDX-License-Identifier: MIT */
/* One game: a monitor with one parameter set against one adversary. */
#ifndef GAME_H
#define GAME_H

#include "bounds.h"
#include "guarded.h"
#include "sets.h"
#include "source.h"
#include "tcuq.h"

#define RISKS 65536

/* What an adversary asks of the next step: a risk on one side of the coming threshold, and as close to it as can be had;
 * the largest or least; the one closest to a number; or any. */
typedef enum { ABOVE, UNDER, MOST, LEAST, NEAR, ANY } want_t;

typedef struct {
    want_t want;
    int64_t target; /* of NEAR */
} wish_t;

struct game;

typedef struct {
    const char *name;
    wish_t (*decide)(struct game *game); /* NULL: always the same */
    want_t always;
} adversary_t;

wish_t wish(want_t want);

/* How labels come: never; wrong or right at random, of any remembered step; each step wrong at once; kept back until
 * `memory` steps are out, or until the debt is as high as it may be with every step still counted, and then all
 * wrong; the same by turns with a stretch of right ones. */
typedef enum { NO_LABELS, SOME_LABELS, AT_ONCE, KEPT_BACK, BY_TURNS, LED_BACK, LABELERS } labeler_t;

typedef struct game {
    set_t *set;
    source_t dice;
    tcuq_t monitor;
    guarded_t ring, other, state; /* `other` is memory for the monitor that goes on from a saved state */
    bounds_t bounds;
    const adversary_t *adversary;
    labeler_t labeler;
    int label_phase;
    int64_t label_stay;
    int direct;          /* inputs are looked up in the tables below; else they are tried out on a copy */
    uint32_t stride;     /* between inputs in these tables */
    int phase;           /* of the adversary */
    int64_t stay;        /* steps that it stays in this phase */
    unsigned reset_rate; /* one in so many worst moments; 0: never */
    unsigned load_rate;
    int64_t steps;       /* to take */
    int64_t resets, loads;
    int64_t credit_high, rise_high, fall_high, degradation_high; /* reached */
    tcuq_step_t step;
} game_t;

extern const adversary_t adversaries[];
extern const unsigned adversary_count;

/* Set a game up, without running it: everything follows from the three numbers. `longest` are the steps of a game that
 * is quick to play. */
void game_begin(game_t *game, uint64_t seed, uint64_t number, int64_t longest);

/* How many steps it will take. */
int64_t game_length(uint64_t seed, uint64_t number, int64_t longest);

/* Play to the end. Returns NULL, or the rule that was broken. */
const char *game_play(game_t *game);

void game_end(game_t *game);

#endif
