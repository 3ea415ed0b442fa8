/* SPDX-License-Identifier: MIT */
/* Private to tcuq_state.c: what a sound state holds, and how a damaged one is mended (SPEC.md section 12). */
#ifndef TCUQ_SOUND_H
#define TCUQ_SOUND_H

#include "tcuq_bytes.h"
#include "tcuq_internal.h"

#define STEPS_MAX 0xFFFFFFFFu
#define ACCURACY_MAX 0xFFFFFFu /* Q0.24 */
#define NOVELTY_MAX (32767u * 32767u)

/* Numbers that memory holds may be damaged. What is saved is a copy without the damage, so that it loads;
 * an undamaged number is saved as it is. */

/* number * steps, or 2^31 - 1 where that is less. */
static int32_t times_steps(uint32_t number, uint32_t steps)
{
    return number != 0u && steps > 0x7FFFFFFFu / number ? 0x7FFFFFFF : (int32_t)(number * steps);
}

/* What is over when a debt is counted in whole flags, in 0..level_den - 1: 0 for every debt that the steps
 * can have led to. */
static int32_t debt_rest(const tcuq_params_t *p, int32_t debt, uint32_t steps)
{
    uint32_t den = p->level_den;
    uint32_t rest = debt < 0 ? den - (0u - (uint32_t)debt) % den : (uint32_t)debt % den;
    return (int32_t)((rest + steps % den * p->level_num) % den);
}

/* The debt, or the nearest below that the steps can have led to; one flag more where that is out of bounds. */
static int32_t mended_debt(const tcuq_params_t *p, int32_t debt, uint32_t steps)
{
    int32_t low, high, least, most;
    tcuq_debt_bounds(p, &low, &high);
    debt = debt < low || debt > high ? 0 : debt;
    if (steps != STEPS_MAX) { /* a count that has stopped says no more about the debt */
        least = -times_steps(p->level_num, steps);
        most = times_steps((uint32_t)p->level_den - p->level_num, steps);
        debt -= debt_rest(p, debt, steps);
        debt = debt < least ? least : debt > most ? most : debt;
        debt += debt < low ? p->level_den : 0;
    }
    return debt;
}

/* One side of the alarm; returns whether it is raised. */
static uint32_t mend_side(uint32_t *sum, uint32_t limit, uint32_t cap, uint32_t raised)
{
    *sum = limit == 0u || *sum > 0x7FFFFFFFu ? 0u : *sum < cap ? *sum : cap;
    return *sum == 0u ? 0u : *sum >= limit ? 1u : raised;
}

/* Whether the persistence of the stream is learned. */
static int learns(const tcuq_params_t *p)
{
    return (TCUQ_PERSISTENCE) && p->instant != NULL;
}

/* Size of the largest severity. */
static int32_t worst_of(const tcuq_params_t *p)
{
    return (TCUQ_EVIDENCE) && p->evidence != NULL ? (int32_t)p->evidence->clip : 0;
}

/* Whether the evidence of neighboring steps is compared. */
static int compares(const tcuq_params_t *p)
{
    return (TCUQ_EVIDENCE) && p->evidence != NULL && p->evidence->spread != 0u;
}

/* The counters; ring and params stay. */
static void mend(tcuq_t *m, uint32_t depth)
{
    const tcuq_params_t *p = m->params;
    uint32_t credit = (uint32_t)times_steps(p->budget_num, m->steps);
    uint32_t cap = (uint32_t)p->burst * p->budget_den;
    int32_t worst = worst_of(p);
    uint32_t past, stream;
    credit = credit < cap ? credit : cap;
    m->debt = mended_debt(p, m->debt, m->steps);
    m->credit = (uint32_t)m->credit < credit ? m->credit : (int32_t)credit;
    m->alarm = (uint8_t)(mend_side(&m->rise, p->rise_limit, p->rise_cap, m->alarm & 1u) |
                         mend_side(&m->fall, p->fall_limit, p->fall_cap, m->alarm >> 1 & 1u) << 1);
    m->head = (uint8_t)(m->head < depth ? m->head : 0u);
    m->fill = (uint8_t)(m->fill < depth ? m->fill : depth);
    m->fill = (uint8_t)(m->fill < m->steps ? m->fill : m->steps);
    m->severity = m->severity < -worst ? -worst : m->severity > worst ? worst : m->severity;
    m->accuracy = m->steps == 0u ? (uint32_t)p->expected_start << 8 : p->horizon == 0u ? 0u : m->accuracy & ACCURACY_MAX;
    worst = m->steps != 0u && compares(p) ? worst : 0;
    m->last = m->last < -worst ? -worst : m->last > worst ? worst : m->last;
    m->novelty = worst == 0 ? 0u : m->novelty < NOVELTY_MAX ? m->novelty : NOVELTY_MAX;
    past = (depth != 0u ? m->fill : m->held & HELD_PAST) != 0u && m->steps != 0u ? HELD_PAST : 0u;
    stream = !learns(p) || m->steps == 0u ? 0u : past != 0u ? HELD_STREAM : m->held & HELD_STREAM;
    m->held = (uint8_t)(past | stream);
}

/* The label of an entry of the ring. */
static uint32_t mended_label(const tcuq_params_t *p, const layout_t *at, uint32_t label, const int8_t *entry)
{
    if (at->post_bytes != 0u) {
        return tcuq_internal_label(entry, p);
    }
    return label < p->classes ? label : 0u;
}

/* A mean as a sound state has it: zero while it holds no value, else in its range. */
static uint32_t mended_mean(const tcuq_t *m, const layout_t *at, uint32_t word, uint32_t value)
{
    int32_t most = 65535 * 256L;
    int32_t mean = (int32_t)value;
    if ((m->held & (word < at->seen ? HELD_PAST : HELD_STREAM)) == 0u) {
        return 0;
    }
    if (learns(m->params) && word == last_word(at)) {
        return value >> 9 < m->params->classes && (value & 511u) <= 256u ? value : 0u;
    }
    return (uint32_t)(mean < 0 ? 0 : mean > most ? most : mean);
}

/* What the numbers so far leave for the next ones. */
typedef struct {
    uint32_t left;  /* of the sum of a belief, or of the class mix */
    uint32_t least; /* of the deficits, which is 0 in a sound state */
} sums_t;

/* A number as a sound state has it: beliefs of each rate and the class mix have sums, deficits a least one. */
static uint32_t mended_number(const tcuq_t *m, uint32_t index, uint32_t value, sums_t *sums)
{
    uint32_t classes = m->params->classes;
    uint32_t mix_begin = 4u * classes;
    if ((m->held & (index < mix_begin ? HELD_PAST : HELD_STREAM)) == 0u) {
        return 0;
    }
    if (index >= mix_begin + classes) {
        return value - sums->least;
    }
    if (index % classes == 0u) {
        sums->left = index < mix_begin ? ONE : ONE + 16u * classes; /* rounding adds to the class mix */
    }
    value = value < sums->left ? value : sums->left;
    sums->left -= value;
    return value;
}

/* The least deficit: of the numbers of a state, or of those in memory where it is NULL. */
static uint32_t least_of(const tcuq_t *m, const layout_t *at, const uint8_t *state)
{
    uint32_t least = learns(m->params) ? Q16_MAX : 0u;
    uint32_t i;
    for (i = learns(m->params) ? at->numbers - 6u : at->numbers; i < at->numbers; i++) {
        uint32_t value = state != NULL ? get16(state + 2u * i) : number_at(numbers_in(m, at), i);
        least = value < least ? value : least;
    }
    return least;
}

static int side_ok(uint32_t sum, uint32_t limit, uint32_t cap, uint32_t raised)
{
    /* Between 0 and the limit a side stays as it was, so only the ends tell. */
    if (raised != 0u ? sum == 0u : limit != 0u && sum >= limit) {
        return 0;
    }
    return sum <= cap;
}

/* What is learned of the stream has held a value since the first step. */
static int held_ok(const tcuq_t *m)
{
    uint32_t most = learns(m->params) ? HELD_PAST | HELD_STREAM : HELD_PAST;
    return m->held <= (m->steps != 0u ? most : 0u) && (m->held != HELD_PAST || !learns(m->params));
}

/* Ranges, and what holds between counters at every step. */
static int counters_ok(const tcuq_t *m, uint32_t depth)
{
    const tcuq_params_t *p = m->params;
    int32_t last = m->steps != 0u && compares(p) ? worst_of(p) : 0;
    int32_t low, high;
    tcuq_debt_bounds(p, &low, &high);
    return m->debt >= low && m->debt <= high &&
           m->credit >= 0 && m->credit <= (int32_t)p->burst * p->budget_den &&
           m->alarm <= (TCUQ_ALARM_RISE | TCUQ_ALARM_FALL) &&
           side_ok(m->rise, p->rise_limit, p->rise_cap, m->alarm & TCUQ_ALARM_RISE) &&
           side_ok(m->fall, p->fall_limit, p->fall_cap, m->alarm & TCUQ_ALARM_FALL) &&
           m->severity >= -worst_of(p) && m->severity <= worst_of(p) &&
           m->accuracy <= (p->horizon != 0u ? ACCURACY_MAX : 0u) &&
           m->last >= -last && m->last <= last && m->novelty <= (last != 0 ? NOVELTY_MAX : 0u) &&
           m->fill <= depth && m->fill <= m->steps && held_ok(m) &&
           (depth == 0u || (m->fill != 0u) == ((m->held & HELD_PAST) != 0u));
}

/* Whether the steps can have led to the debt and the credit. */
static int steps_agree(const tcuq_t *m)
{
    const tcuq_params_t *p = m->params;
    return m->credit <= times_steps(p->budget_num, m->steps) &&
           (m->steps != 0u || m->accuracy == (uint32_t)p->expected_start << 8) &&
           (m->steps == STEPS_MAX ||
            (debt_rest(p, m->debt, m->steps) == 0 && m->debt >= -times_steps(p->level_num, m->steps) &&
             m->debt <= times_steps((uint32_t)p->level_den - p->level_num, m->steps)));
}

#endif
