/* SPDX-License-Identifier: MIT */
/* A second opinion on every step: counts what a monitor says, in exact integers, and holds it against the bounds
 * and rules of SPEC.md sections 3, 6 ("Look") to 11 and 19. Written from SPEC.md; shares nothing with the core. */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdint.h>

#include "tcuq.h"

typedef struct {
    const tcuq_params_t *params;
    int64_t low, high; /* of the debt, searched for by their definition */
    /* What the monitor must hold now. */
    int64_t steps, debt, credit, rise, fall, severity, stillness, own, own_seen, accuracy;
    int64_t last[8], slow[8]; /* of the last input; mean gaps of the features */
    unsigned alarm, hold;     /* sides that are raised; steps for which the rise side stays so */
    int past;                 /* `last` holds a value */
    /* What labels need: where it lies in the ring, and what must be there. */
    unsigned place;
    int64_t error, correction, against;
    unsigned next, level;
    uint16_t entries[1024];
    int doubtful; /* the step that is looked at */
    /* Counted since the ledger was opened. */
    int64_t taken, flagged, abstained;
    int64_t opening_debt, opening_credit;
    int64_t spent;      /* budget_den * abstained - budget_num * taken */
    int64_t spent_low;  /* the least of it so far */
    int64_t debt_low, debt_high; /* reached */
    int64_t window;     /* most of spent - spent_low reached */
    int64_t credit_high, rise_high, fall_high, severity_high, stillness_high, own_high;
    int64_t labels, vouched, wrong;   /* labels that were taken; of vouched steps or leading back; wrong ones of these */
    int64_t led_back;                 /* of these, those that led back */
    int64_t opening_error, owed_low;  /* least of den * wrong - num * vouched so far */
    int64_t owed_high, owed_window, paid_high; /* reached */
    int reachable; /* labels can have led to the state that it was opened on: its bound holds */
    double bet_gap;     /* least of a true logarithm - the one summed, Q16.16 */
} ledger_t;

/* Open a ledger on a monitor that is fresh, or that has just loaded a state. Returns NULL, or what is wrong. */
const char *ledger_open(ledger_t *ledger, const tcuq_t *monitor);

/* Check one step and the monitor after it. Returns NULL, or the rule that does not hold. `signals` are those that
 * tcuq_step() gave. */
const char *ledger_step(ledger_t *ledger, const tcuq_t *monitor, const int8_t *probs, const int8_t *features,
                        const tcuq_step_t *out, const uint16_t *signals);

/* Check what tcuq_feedback() answered, and the monitor after it. */
const char *ledger_label(ledger_t *ledger, const tcuq_t *monitor, uint32_t step, int32_t label, int answered);

/* The most that the error debt may be (section 19), and whether a risk would be doubtful now. */
int64_t ledger_error_bound(const tcuq_params_t *p);
int ledger_doubts(const ledger_t *ledger, int64_t risk);

/* To be called with every tcuq_reset(). */
void ledger_reset(ledger_t *ledger);

/* The threshold of the coming step: anybody who counts flags knows it. */
int64_t ledger_threshold(const tcuq_params_t *p, int64_t debt);

#endif
