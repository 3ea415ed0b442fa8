/* SPDX-License-Identifier: MIT */
/* Labels that come late (SPEC.md section 19): part of a build whose TCUQ_SIGNALS has TCUQ_FEEDBACK. */
#include "tcuq_internal.h"

#if ((TCUQ_SIGNALS) & TCUQ_FEEDBACK) != 0

#define UNCERTAIN_BITS 3u   /* that an entry leaves out of a certainty, beside those of the answer */
#define LEVEL_MOST (LEVEL_FALL + LEVEL_RISE)
#define CORRECTION_SHIFT 5u /* the expected accuracy follows labels at 1/32 */
#define CASE_END 24576      /* 3 nats * 8192: labels have decided against an alarm, or for one */

/* A number with a sign. */
static int32_t signed_at(const int8_t *numbers, uint32_t index)
{
    return (int16_t)number_at(numbers, index);
}

uint32_t *tcuq_internal_feedback(const tcuq_t *m)
{
    const tcuq_feedback_t *head = m->params->feedback;
    uint32_t *debt;
    int8_t *numbers;
    layout_t at;
    tcuq_internal_layout(&at, m->params);
    debt = m->ring + at.feedback;
    numbers = feedback_numbers(debt);
    if (*debt + head->error_shut > (uint32_t)error_bound_of(head) + head->error_shut) {
        *debt = 0; /* no label led here: start anew */
    }
    if (number_at(numbers, NEXT) >= head->memory) {
        number_put(numbers, NEXT, 0);
    }
    number_put(numbers, LEVEL, number_at(numbers, LEVEL) & 15u);
    return debt;
}

int32_t tcuq_error_bound(const tcuq_params_t *p)
{
    return feedback_head(p) == NULL ? 0 : error_bound_of(feedback_head(p));
}

COLD int32_t tcuq_error_debt(const tcuq_t *m)
{
    return feedback_head(m->params) == NULL ? 0 : (int32_t)*tcuq_internal_feedback(m);
}

void tcuq_internal_remember(const tcuq_params_t *p, int8_t *numbers, tcuq_step_t *out, int doubtful)
{
    uint32_t next = number_at(numbers, NEXT);
    uint32_t entry = (out->alarm & TCUQ_ALARM_RISE) != 0u ? STEP_ALARM : 0u;
    entry |= out->abstain == 0u && !doubtful ? STEP_VOUCHED : 0u;
    entry |= (Q16_MAX - (uint32_t)out->uncertainty) >> UNCERTAIN_BITS & ~answer_mask(p);
    number_put(numbers, ENTRIES + next, entry | out->answer);
    next++;
    number_put(numbers, NEXT, next < p->feedback->memory ? next : 0u);
    if (p->horizon != 0u) {
        int32_t expected = out->expected_accuracy + 2 * signed_at(numbers, CORRECTION);
        expected = expected > 0 ? expected : 0;
        out->expected_accuracy = (uint16_t)(expected < 65535 ? expected : 65535);
    }
}

/* Labels that speak against the alarm as it is: enough of them withdraw it, and move its limit. */
static void judge(tcuq_t *m, int8_t *numbers, int32_t score)
{
    int32_t sum = signed_at(numbers, CASE) + score;
    uint32_t level = level_above(numbers);
    int on = (m->alarm & TCUQ_ALARM_RISE) != 0u;
    if (on == (sum > 0)) {
        sum = 0;
    } else if (sum <= -CASE_END) { /* a false alarm */
        level = level + 2u < LEVEL_MOST ? level + 2u : LEVEL_MOST;
        m->alarm &= TCUQ_ALARM_FALL;
        m->rise = 0;
        sum = 0;
    } else if (sum >= CASE_END) { /* a harmful shift that it missed */
        level -= level != 0u ? 1u : 0u;
        sum = 0;
    }
    number_put(numbers, LEVEL, (level - LEVEL_FALL) & 15u);
    number_put(numbers, CASE, (uint32_t)sum);
}

int tcuq_feedback(tcuq_t *m, uint32_t ago, int32_t label)
{
    const tcuq_params_t *p = m->params;
    const tcuq_feedback_t *head = feedback_head(p);
    uint32_t entry, index, mask = answer_mask(p);
    uint32_t *debt;
    int8_t *numbers;
    int32_t sum, wrong, certainty;
    if (head == NULL || outside((uint32_t)label, (uint32_t)TCUQ_WRONG, p->classes - 1u)) {
        return TCUQ_ERR_PARAMS;
    }
    if (ago >= head->memory || ago >= m->steps) {
        return TCUQ_ERR_SIZE;
    }
    debt = tcuq_internal_feedback(m);
    numbers = feedback_numbers(debt);
    index = number_at(numbers, NEXT);
    index += index > ago ? 0u : head->memory;
    index += ENTRIES - 1u - ago;
    entry = number_at(numbers, index);
    if ((entry & STEP_KNOWN) != 0u) {
        return 0;
    }
    number_put(numbers, index, entry | STEP_KNOWN);
    wrong = label != (label < 0 ? TCUQ_RIGHT : (int32_t)(entry & mask)) ? 1 : 0;
    if ((entry & STEP_VOUCHED) != 0u) {
        sum = (int32_t)*debt + wrong * head->error_den - head->error_num;
        *debt = (uint32_t)(sum < -(int32_t)head->error_shut ? -(int32_t)head->error_shut : sum);
    }
    certainty = (int32_t)((entry & (STEP_ALARM - 1u)) | mask) - (int32_t)(mask >> 1); /* the middle of what it can be */
    number_put(numbers, CORRECTION,
               (uint32_t)moved(signed_at(numbers, CORRECTION), 32768 - 32768 * wrong - 4 * certainty, CORRECTION_SHIFT));
    if (((entry / STEP_ALARM ^ m->alarm) & TCUQ_ALARM_RISE) == 0u) {
        judge(m, numbers, wrong != 0 ? (int32_t)head->wrong_score : -(int32_t)head->right_score);
    }
    return 1;
}

#endif
