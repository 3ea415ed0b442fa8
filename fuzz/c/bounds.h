/* SPDX-License-Identifier: MIT */
/* What SPEC.md promises for every sequence of inputs, labels, resets and states, counted in exact integers from what a
 * monitor says. Written from SPEC.md; shares nothing with the core. That every number is right is shown elsewhere, by
 * vectors and random programs: here are the bounds that hold for all of them. */
#ifndef BOUNDS_H
#define BOUNDS_H

#include <stdint.h>

#include "tcuq.h"

typedef struct {
    const tcuq_params_t *params;
    int64_t low, high; /* of the debt, searched for by their definition */
    int64_t opening_debt, opening_credit, opening_error;
    uint32_t opening_steps;
    /* Counted since the bounds were opened. */
    int64_t taken, flagged, abstained; /* abstained: of what the budget pays */
    int64_t debt, debt_low, debt_high; /* what the flags so far make of the debt; reached */
    int64_t spent, spent_low, window;  /* budget_den * abstained - budget_num * taken; its least; most in a window */
    int64_t labels, counted, wrong, led_back; /* labels that were taken; of counted steps, or leading back */
    int64_t owed, owed_low, owed_high, owed_window, paid_high;
    int answered;           /* to the last label */
    int reachable;          /* labels can have led to the state that was opened: the bound on errors holds */
    uint16_t answers[1024]; /* of remembered steps: the answer, and whether it is counted and labeled */
    uint8_t marks[1024];
} bounds_t;

/* Open the bounds of a monitor that is fresh, or that has just loaded a state. Returns NULL, or what is wrong. */
const char *bounds_open(bounds_t *bounds, const tcuq_t *monitor);

/* Check one step, given the error debt before it, and the monitor after it. Returns NULL, or the rule that is broken. */
const char *bounds_step(bounds_t *bounds, const tcuq_t *monitor, int32_t error_debt, const tcuq_step_t *out);

/* Give a label and check what became of it. */
const char *bounds_label(bounds_t *bounds, tcuq_t *monitor, uint32_t step, int32_t label);

/* Whether the last step was accepted and not doubtful. */
int bounds_counted(const bounds_t *bounds);

/* The most that the error debt may be (section 19). */
int64_t bounds_error(const tcuq_params_t *p);

/* The threshold of the coming step: anybody who counts flags knows it. */
int64_t bounds_threshold(const tcuq_params_t *p, int64_t debt);

#endif
