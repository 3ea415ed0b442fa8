/* SPDX-License-Identifier: MIT */
/* Labels that come late (SPEC.md section 19): part of a build whose TCUQ_SIGNALS has TCUQ_FEEDBACK. */
#include "tcuq_internal.h"

#if ((TCUQ_SIGNALS) & TCUQ_FEEDBACK) != 0

#define UNCERTAIN_BITS 3u   /* that an entry leaves out of a certainty, beside those of the answer */
#define CORRECTION_SHIFT 5u /* the expected accuracy follows labels at 1/32 */
#define CASE_END 24576      /* 3 nats * 8192: labels have decided against an alarm, or for one */

/* A number with a sign. */
static int32_t signed_at(const int8_t *numbers, uint32_t index)
{
    return (int16_t)number_at(numbers, index);
}

uint32_t *tcuq_internal_feedback(const tcuq_t *m)
{
    const tcuq_params_t *p = m->params;
    uint32_t *debt;
    layout_t at;
    tcuq_internal_layout(&at, p);
    debt = m->ring + at.feedback;
    if (*debt + p->feedback->error_shut > p->feedback->error_shut + (uint32_t)tcuq_error_bound(p)) {
        *debt = 0; /* no label led here: start anew */
    }
    if (number_at(feedback_numbers(debt), NEXT) >= p->feedback->memory) {
        number_put(feedback_numbers(debt), NEXT, 0);
    }
    return debt;
}

int32_t tcuq_error_bound(const tcuq_params_t *p)
{
    const tcuq_feedback_t *head = feedback_head(p);
    return head == NULL ? 0 : head->error_shut - 1 + head->memory * (head->error_den - head->error_num);
}

COLD int32_t tcuq_error_debt(const tcuq_t *m)
{
    return feedback_head(m->params) == NULL ? 0 : (int32_t)*tcuq_internal_feedback(m);
}

int tcuq_internal_doubtful(const tcuq_params_t *p, int32_t debt, uint32_t risk)
{
    const tcuq_feedback_t *head = p->feedback;
    int32_t left = head->error_shut - debt;
    /* risk >= reference * (1 - debt / shut), without a division */
    return head->error_num != 0u && (left <= 0 || risk * head->error_shut >= (uint32_t)head->error_reference * (uint32_t)left);
}

void tcuq_internal_remember(const tcuq_params_t *p, int8_t *numbers, tcuq_step_t *out, int doubtful, uint8_t alarm_before)
{
    uint32_t next = number_at(numbers, NEXT), bits = answer_bits(p);
    uint32_t entry = (Q16_MAX - (uint32_t)out->uncertainty) >> (UNCERTAIN_BITS + bits) << bits | out->answer;
    entry |= out->abstain == 0u && !doubtful ? STEP_VOUCHED : 0u;
    entry |= (out->alarm & TCUQ_ALARM_RISE) != 0u ? STEP_ALARM : 0u;
    number_put(numbers, ENTRIES + next, entry);
    number_put(numbers, NEXT, next + 1u < p->feedback->memory ? next + 1u : 0u);
    number_put(numbers, LEVEL, number_at(numbers, LEVEL) & 15u);
    if (((out->alarm ^ alarm_before) & TCUQ_ALARM_RISE) != 0u) {
        number_put(numbers, CASE, 0); /* another one */
    }
    if (p->horizon != 0u) {
        int32_t expected = out->expected_accuracy + 2 * signed_at(numbers, CORRECTION);
        out->expected_accuracy = saturate(expected > 0 ? (uint32_t)expected : 0u);
    }
}

/* Labels that speak against the alarm as it is: enough of them withdraw it, and move its limit. */
static void judge(tcuq_t *m, int8_t *numbers, int32_t score)
{
    int32_t sum = signed_at(numbers, CASE) + score;
    int32_t level = level_of(numbers);
    int on = (m->alarm & TCUQ_ALARM_RISE) != 0u;
    sum = on == (sum > 0) ? 0 : sum;
    if (sum <= -CASE_END) { /* a false alarm */
        level = level + 2 < (int32_t)LEVEL_RISE ? level + 2 : (int32_t)LEVEL_RISE;
        m->alarm &= TCUQ_ALARM_FALL;
        m->rise = 0;
        sum = 0;
    } else if (sum >= CASE_END) { /* a harmful shift that it missed */
        level -= level > -(int32_t)LEVEL_FALL ? 1 : 0;
        sum = 0;
    }
    number_put(numbers, LEVEL, (uint32_t)level & 15u);
    number_put(numbers, CASE, (uint32_t)sum);
}

int tcuq_feedback(tcuq_t *m, uint32_t ago, int32_t label)
{
    const tcuq_params_t *p = m->params;
    const tcuq_feedback_t *head = feedback_head(p);
    uint32_t index, entry, certainty, bits = answer_bits(p);
    uint32_t *debt;
    int8_t *numbers;
    int right;
    if (head == NULL || label < TCUQ_WRONG || label >= (int32_t)p->classes) {
        return TCUQ_ERR_PARAMS;
    }
    if (ago >= head->memory || ago >= m->steps) {
        return TCUQ_ERR_SIZE;
    }
    debt = tcuq_internal_feedback(m);
    numbers = feedback_numbers(debt);
    index = number_at(numbers, NEXT) + head->memory - 1u - ago;
    index += ENTRIES - (index < head->memory ? 0u : head->memory);
    entry = number_at(numbers, index);
    if ((entry & STEP_KNOWN) != 0u) {
        return 0;
    }
    number_put(numbers, index, entry | STEP_KNOWN);
    right = label < 0 ? label == TCUQ_RIGHT : (uint32_t)label == (entry & ((1u << bits) - 1u));
    if (right && 4 * (int32_t)*debt >= 3 * (int32_t)head->error_shut &&
        ((entry & (STEP_ALARM - 1u)) | ((1u << bits) - 1u)) >= STEP_ALARM - (head->error_reference >> 5)) {
        entry |= STEP_VOUCHED; /* a way back: it was sure, and right */
    }
    if ((entry & STEP_VOUCHED) != 0u && head->error_num != 0u) { /* else nothing would bound it */
        int32_t sum = (int32_t)*debt + (right ? 0 : head->error_den) - head->error_num;
        *debt = (uint32_t)(sum < -(int32_t)head->error_shut ? -(int32_t)head->error_shut : sum);
    }
    certainty = ((entry & (STEP_ALARM - 1u)) >> bits << bits) + (1u << bits >> 1); /* the middle of what it can tell */
    number_put(numbers, CORRECTION,
               (uint32_t)moved(signed_at(numbers, CORRECTION), (right ? 32768 : 0) - (int32_t)(certainty << 2), CORRECTION_SHIFT));
    if (((entry & STEP_ALARM) != 0u) == ((m->alarm & TCUQ_ALARM_RISE) != 0u)) {
        judge(m, numbers, right ? -(int32_t)head->right_score : (int32_t)head->wrong_score);
    }
    return 1;
}

#endif
