/* SPDX-License-Identifier: MIT */
/* The bound of section 19 on errors among labels, by CBMC, for a memory of three steps and all other numbers that
 * tcuq_check() accepts.
 *
 * Let U be the remembered steps that are counted and have no label, E the error debt, S = error_shut. What holds
 * at the start, after every step and after every label is
 *
 *   -S <= E   and   E + (error_den - error_num) * U <= S - 1 + memory * (error_den - error_num)
 *
 * and, since U >= 0, the bound of tcuq_error_bound(). With R the labels that led back and are not paid back, a label of
 * a counted step adds at least error_den * wrong - error_num to E and to E + error_num * R, and no other label takes
 * anything off the latter: so error_num * R, which stays within the bound too, is all that such labels pay for. */
#define TCUQ_SIGNALS 0x20008uL
#define __builtin_assume_aligned(pointer, bytes) (pointer)
#define __builtin_memcpy memcpy
#include "prove.h"

#include "tcuq_internal.h"

enum { MEMORY = 3, WORDS = 5, GUARD = 0x5AFEC0DE };

/* The ring is these words, between two others. */
static uint32_t ring[WORDS + 2];

/* In place of the layout, which state.c proves: the words of labels begin at one place. */
void tcuq_internal_layout(layout_t *at, const tcuq_params_t *p)
{
    at->feedback = 1;
    at->mean_words = at->feedback + feedback_words(p);
}

#include "tcuq_feedback.c"
#include "tcuq.c"

static tcuq_params_t p;
static tcuq_feedback_t head;
static tcuq_t m;
static tcuq_step_t out;

static int32_t open_steps(void)
{
    int32_t count = 0;
    uint32_t i;
    for (i = 0; i < MEMORY; i++) {
        count += (number_at(feedback_numbers(ring + 1), ENTRIES + i) & (STEP_KNOWN | STEP_COUNTED)) == STEP_COUNTED ? 1 : 0;
    }
    return count;
}

/* What tcuq_check() asks, and any memory. */
static void any_labels(void)
{
    uint32_t i;
    head.memory = MEMORY;
    head.error_num = nondet_u16();
    head.error_den = nondet_u16();
    head.error_reference = nondet_u16();
    head.error_shut = nondet_u16();
    head.error_first = nondet_u16();
    head.wrong_score = nondet_u16();
    head.right_score = nondet_u16();
    ASSUME(head.error_den >= 1u && head.error_den <= 1000u && head.error_num < head.error_den && head.error_shut <= 32767u);
    p.classes = nondet_u16();
    ASSUME(p.classes >= 2u && p.classes <= TCUQ_MAX_CLASSES);
    p.feedback = &head;
    m.params = &p;
    m.ring = ring;
    m.steps = nondet_u32();
    m.alarm = nondet_u8();
    m.rise = nondet_u32();
    for (i = 1; i <= WORDS; i++) {
        ring[i] = nondet_u32();
    }
    ring[0] = ring[WORDS + 1] = GUARD;
}

static int32_t debt(void)
{
    return (int32_t)ring[1];
}

/* error_num * R. */
static int32_t lent(void)
{
    return (int32_t)(number_at(feedback_numbers(ring + 1), QUARTERS) / RECOVERED) * head.error_num;
}

static int holds(void)
{
    int64_t step = head.error_den - head.error_num;
    return debt() >= -(int32_t)head.error_shut &&
           debt() + step * open_steps() <= head.error_shut - 1 + MEMORY * step;
}

static int untouched(void)
{
    return ring[0] == GUARD && ring[WORDS + 1] == GUARD && number_at(feedback_numbers(ring + 1), NEXT) < MEMORY;
}

/* A label of any step, from any state that holds: it holds again, and the debt has counted the label. */
void prove_label(void)
{
    int32_t before, owed, label = nondet_i32();
    uint32_t step = nondet_u32(), ago, entry = nondet_u32(), at;
    int answered, wrong;
    any_labels();
    ASSUME(head.error_num > 0u && holds() && untouched() && lent() <= tcuq_error_bound(&p));
    before = debt();
    owed = debt() + lent();
    ago = m.steps - 1u - step;
    at = (number_at(feedback_numbers(ring + 1), NEXT) + MEMORY - 1u - ago % MEMORY) % MEMORY;
    entry = number_at(feedback_numbers(ring + 1), ENTRIES + at);
    answered = tcuq_feedback(&m, step, label);
    PROVE(holds() && untouched() && debt() <= tcuq_error_bound(&p) && lent() <= tcuq_error_bound(&p));
    PROVE(answered == TCUQ_OK || (debt() == before && debt() + lent() == owed));
    if (answered == TCUQ_OK) {
        wrong = label != TCUQ_RIGHT && label != (int32_t)(entry & answer_mask(&p));
        PROVE(ago < MEMORY && step < m.steps && (entry & STEP_KNOWN) == 0u);
        PROVE((entry & STEP_COUNTED) != 0u ? debt() >= before + (wrong ? head.error_den : 0) - head.error_num
                                           : debt() == before || /* the way back */
                                                 (!wrong && 4 * before >= 3 * (int32_t)head.error_shut &&
                                                  debt() < before && debt() >= before - head.error_num));
        PROVE(debt() + lent() >= owed + ((entry & STEP_COUNTED) == 0u ? 0 : (wrong ? head.error_den : 0) - head.error_num));
    }
    END;
}

/* A step of any risk, from any state that holds: it holds again, since no step is counted at a debt from
 * error_shut on. Where errors come first every accepted step is counted. */
void prove_vouch(void)
{
    inference_t now;
    layout_t at;
    int doubtful;
    any_labels();
    tcuq_internal_layout(&at, &p);
    ASSUME(head.error_num > 0u && holds() && untouched());
    p.budget_num = nondet_u16();
    p.budget_den = nondet_u16();
    p.burst = 1;
    p.warmup = nondet_u32();
    ASSUME(p.budget_den >= 1u && p.budget_den <= 1000u && p.budget_num <= p.budget_den);
    m.credit = nondet_i32();
    ASSUME(m.credit >= 0 && m.credit <= p.budget_den);
    out.risk = nondet_u16();
    out.flagged = nondet_bool();
    out.uncertainty = nondet_u16();
    out.alarm = nondet_u8();
    out.answer = nondet_u16();
    ASSUME(out.answer < p.classes);
    doubtful = doubtful_at(&head, (int32_t)*tcuq_internal_feedback(&m, &at), out.risk);
    PROVE(debt() < head.error_shut || doubtful);
    spend(&m, &out, doubtful);
    remember(&p, &now, feedback_numbers(ring + 1), &out, doubtful);
    PROVE(holds() && untouched());
    PROVE(head.error_first == 0u || out.abstain != 0u || !doubtful);
    END;
}

/* Any memory at all: nothing is read or written elsewhere, the debt comes back, and so does the place. */
void prove_damaged_labels(void)
{
    inference_t now;
    layout_t at;
    any_labels();
    tcuq_internal_layout(&at, &p);
    (void)tcuq_feedback(&m, nondet_u32(), nondet_i32());
    PROVE(ring[0] == GUARD && ring[WORDS + 1] == GUARD);
    (void)tcuq_internal_feedback(&m, &at);
    PROVE(untouched() && debt() >= -(int32_t)head.error_shut && debt() <= tcuq_error_bound(&p));
    out.answer = nondet_u16();
    out.uncertainty = nondet_u16();
    remember(&p, &now, feedback_numbers(ring + 1), &out, nondet_bool());
    PROVE(untouched());
    END;
}

/* The products of a doubt fit 32 bits, and so does the bound for every memory. */
void prove_doubt(void)
{
    int32_t left;
    any_labels();
    head.memory = nondet_u16();
    ASSUME(head.memory >= 1u && head.memory <= 1024u);
    left = nondet_i32();
    ASSUME(left >= 0 && left <= 2 * (int32_t)head.error_shut);
    PROVE((uint64_t)head.error_reference * (uint64_t)left <= 0xFFFFFFFFu);
    PROVE(tcuq_error_bound(&p) >= -1 && tcuq_error_bound(&p) <= 32766 + 1024 * 1000);
    END;
}
