/* SPDX-License-Identifier: MIT */
/* Labels that come late (SPEC.md section 19): part of a build whose TCUQ_SIGNALS has TCUQ_FEEDBACK. */
#include "tcuq_internal.h"

#if ((TCUQ_SIGNALS) & TCUQ_FEEDBACK) != 0

#define QUARTERS_MOST (QUARTERS_FALL + QUARTERS_RISE)
#define CORRECTION_SHIFT 5u /* the expected accuracy follows labels at 1/32 */
#define MOST_RECOVERED 4095 /* in the bits above the quarters */
#define CASE_END 24576      /* 3 nats * 8192: labels have decided against an alarm, or for one */

uint32_t *tcuq_internal_feedback(const tcuq_t *m, const layout_t *at)
{
    const tcuq_feedback_t *head = m->params->feedback;
    uint32_t *debt = m->ring + at->feedback;
    int8_t *numbers = feedback_numbers(debt);
    if (*debt + head->error_shut > (uint32_t)error_bound_of(head) + head->error_shut) {
        *debt = 0; /* no label led here: start over */
    }
    if (number_at(numbers, NEXT) >= head->memory) {
        number_put(numbers, NEXT, 0);
    }
    return debt;
}

int32_t tcuq_error_bound(const tcuq_params_t *p)
{
    return feedback_head(p) == NULL ? 0 : error_bound_of(feedback_head(p));
}

COLD int32_t tcuq_error_debt(const tcuq_t *m)
{
    layout_t at;
    tcuq_internal_layout(&at, m->params);
    return feedback_head(m->params) == NULL ? 0 : (int32_t)*tcuq_internal_feedback(m, &at);
}

/* What a label changes: `entry` is that of its step, with a certainty in the middle of what it can have been. */
static NOT_INLINE void learn(tcuq_t *m, const layout_t *at, uint32_t *debt, uint32_t entry, int32_t wrong)
{
    const tcuq_feedback_t *head = m->params->feedback;
    int8_t *numbers = feedback_numbers(debt);
    int32_t was = signed_at(numbers, CORRECTION), shut = (int32_t)head->error_shut, sum;
    int raised = (m->alarm & TCUQ_ALARM_RISE) != 0u;
    const tcuq_evidence_t *evidence = evidence_head(m->params);
    uint32_t quarters, least = evidence != NULL && evidence->bet_slope != 0u ? QUARTERS_FALL : 0u; /* what a bet proves stands */
    number_put(numbers, CORRECTION,
               (uint32_t)moved(was, 32768 - 32768 * wrong - 4 * (int32_t)(entry & (STEP_ALARM - 1u)), CORRECTION_SHIFT));
    if ((entry & STEP_COUNTED) != 0u && head->error_num != 0u) { /* else nothing would bound it */
        sum = (int32_t)*debt + wrong * head->error_den - head->error_num;
        if ((int32_t)*debt == -shut && sum < -shut && number_at(numbers, QUARTERS) >= RECOVERED) {
            number_put(numbers, QUARTERS, number_at(numbers, QUARTERS) - RECOVERED); /* all of this label pays back */
        }
        *debt = (uint32_t)(sum > -shut ? sum : -shut);
    }
    if (((entry & STEP_ALARM) != 0u) != raised) {
        return;
    }
    /* Labels that speak against the alarm as it is: enough of them withdraw it, and move its limit. */
    sum = signed_at(numbers, CASE) + (wrong != 0 ? (int32_t)head->wrong_score : -(int32_t)head->right_score);
    quarters = quarters_above(numbers);
    if (raised) {
        sum = sum < 0 ? sum : 0;
        if (sum <= -CASE_END) { /* a false alarm */
            m->alarm &= TCUQ_ALARM_FALL;
            m->rise = 0;
            if (sight_head(m->params) != NULL) {
                tcuq_internal_afresh(m, at);
            }
            quarters = quarters + 2u < QUARTERS_MOST ? quarters + 2u : QUARTERS_MOST;
            sum = 0;
        }
    } else {
        sum = sum > 0 ? sum : 0;
        if (sum >= CASE_END) { /* a harmful shift that it missed */
            quarters -= quarters > least ? 1u : 0u;
            sum = 0;
        }
    }
    number_put(numbers, QUARTERS, (number_at(numbers, QUARTERS) & ~15u) | ((quarters - QUARTERS_FALL) & 15u));
    number_put(numbers, CASE, (uint32_t)sum);
}

/* Whether a right label of a step that was withheld pays for speaking again: the device is nearly silent, was sure
 * of this step, and such labels have not yet paid for as much as the bound. */
static int leads_back(const tcuq_params_t *p, uint32_t *debt, uint32_t entry)
{
    const tcuq_feedback_t *head = p->feedback;
    int8_t *numbers = feedback_numbers(debt);
    int32_t recovered = (int32_t)(number_at(numbers, QUARTERS) / RECOVERED) + 1;
    if (head->error_num == 0u || 4 * (int32_t)*debt < 3 * (int32_t)head->error_shut ||
        ((entry | answer_mask(p)) & (STEP_ALARM - 1u)) < STEP_ALARM - (head->error_reference >> 5) ||
        recovered > MOST_RECOVERED || recovered * head->error_num > error_bound_of(head)) {
        return 0;
    }
    number_put(numbers, QUARTERS, number_at(numbers, QUARTERS) + RECOVERED);
    return 1;
}

uint32_t tcuq_steps(const tcuq_t *m)
{
    return m->steps;
}

int tcuq_feedback(tcuq_t *m, uint32_t step, int32_t label)
{
    const tcuq_feedback_t *head = feedback_head(m->params);
    uint32_t ago = m->steps - 1u - step, mask = answer_mask(m->params), entry, index;
    uint32_t *debt;
    int8_t *numbers;
    layout_t at;
    int right;
    if (head == NULL) {
        return TCUQ_ERR_PARAMS;
    }
    if (outside((uint32_t)label, (uint32_t)TCUQ_RIGHT, m->params->classes - 1u)) {
        return TCUQ_ERR_LABEL;
    }
    if (step >= m->steps || ago >= head->memory || m->steps == 0xFFFFFFFFu) {
        return TCUQ_ERR_STEP;
    }
    tcuq_internal_layout(&at, m->params);
    debt = tcuq_internal_feedback(m, &at);
    numbers = feedback_numbers(debt);
    index = number_at(numbers, NEXT);
    index += index > ago ? 0u : head->memory;
    index += ENTRIES - 1u - ago;
    entry = number_at(numbers, index);
    if (entry >= STEP_KNOWN) {
        return TCUQ_ERR_LABELED;
    }
    number_put(numbers, index, entry ^ STEP_KNOWN);
    right = label == TCUQ_RIGHT || label == (int32_t)(entry & mask);
    if (right && (entry & STEP_COUNTED) == 0u && leads_back(m->params, debt, entry)) {
        entry |= STEP_COUNTED; /* confident and correct: so that a device that fell silent can recover */
    }
    learn(m, &at, debt, (entry | mask) - (mask >> 1), right ? 0 : 1);
    return TCUQ_OK;
}

/* Of the entries, in the order of the ring, those that no step has filled are 0; so is everything before a step. */
COLD int tcuq_internal_labels_valid(const tcuq_params_t *p, uint32_t steps, const uint8_t *bytes)
{
    const tcuq_feedback_t *head = p->feedback;
    uint32_t filled = steps < head->memory ? steps : head->memory, next = get16(bytes + 2u * NEXT), zeros = 0, i;
    if (get32(bytes) + head->error_shut > (uint32_t)error_bound_of(head) + head->error_shut ||
        (filled < head->memory ? next != filled : next >= head->memory)) {
        return 0;
    }
    for (i = steps == 0u ? 0u : ENTRIES; i < 2u * feedback_words(p); i++) {
        if (i < ENTRIES + filled && i >= ENTRIES) {
            if ((get16(bytes + 2u * i) & answer_mask(p)) >= p->classes) {
                return 0;
            }
        } else {
            zeros |= get16(bytes + 2u * i);
        }
    }
    return zeros == 0u;
}

#endif
