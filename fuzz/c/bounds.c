/* SPDX-License-Identifier: MIT */
#include "bounds.h"

#include <string.h>

#define NEED(holds, what) \
    do {                  \
        if (!(holds)) {   \
            return what;  \
        }                 \
    } while (0)

enum { COUNTED = 1, LABELED = 2 };

int64_t bounds_threshold(const tcuq_params_t *p, int64_t debt)
{
    int64_t size = debt < 0 ? -debt : debt;
    int64_t near = size < p->knee ? size : p->knee;
    int64_t moved = ((int64_t)p->slope * near + (int64_t)p->steep_slope * (size - near)) >> 8;
    return debt < 0 ? p->reference - moved : p->reference + moved;
}

/* Section 9: the least debt that is shut, or the least size of a debt that is open. */
static int64_t least(const tcuq_params_t *p, int open)
{
    int64_t no = -1, yes = (int64_t)1 << 34;
    while (yes - no > 1) {
        int64_t middle = (no + yes) / 2;
        if (open ? bounds_threshold(p, -middle) <= 0 : bounds_threshold(p, middle) > 65535) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    return yes;
}

int64_t bounds_error(const tcuq_params_t *p)
{
    const tcuq_feedback_t *head = p->feedback;
    return head == NULL ? 0 : (int64_t)head->error_shut - 1 + (int64_t)head->memory * (head->error_den - head->error_num);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

const char *bounds_open(bounds_t *b, const tcuq_t *m)
{
    const tcuq_params_t *p = m->params;
    int32_t low, high;
    memset(b, 0, sizeof *b);
    b->params = p;
    b->low = 1 - least(p, 1) - p->level_num;
    b->high = least(p, 0) - 1 + p->level_den - p->level_num;
    b->debt = b->opening_debt = b->debt_low = b->debt_high = m->debt;
    b->opening_credit = m->credit;
    b->opening_steps = tcuq_steps(m);
    if (p->feedback != NULL) {
        const tcuq_feedback_t *head = p->feedback;
        int64_t out = b->opening_steps < head->memory ? (int64_t)b->opening_steps : head->memory; /* may all be counted */
        b->opening_error = tcuq_error_debt(m);
        b->reachable = b->opening_error + out * (head->error_den - head->error_num) <= bounds_error(p);
        NEED(b->opening_error >= -(int64_t)head->error_shut && b->opening_error <= bounds_error(p),
             "the error debt begins within its bounds");
    }
    NEED(tcuq_error_bound(p) == bounds_error(p), "tcuq_error_bound() is that of section 19");
    tcuq_debt_bounds(p, &low, &high);
    NEED(low == b->low && high == b->high, "tcuq_debt_bounds() are those of section 9");
    NEED(m->debt >= low && m->debt <= high, "the debt begins within its bounds");
    NEED(m->credit >= 0 && m->credit <= (int64_t)p->burst * p->budget_den, "the credit begins within its range");
    return NULL;
}

/* The slot of the step before the coming one, where `ago` is 0. */
static unsigned slot(const bounds_t *b, int64_t ago)
{
    return (unsigned)((b->taken - 1 - ago) % b->params->feedback->memory);
}

int bounds_counted(const bounds_t *b)
{
    return b->taken > 0 && (b->marks[slot(b, 0)] & COUNTED) != 0;
}

/* Sections 9 and 10, with the doubt of section 19. */
const char *bounds_step(bounds_t *b, const tcuq_t *m, int32_t error_debt, const tcuq_step_t *out)
{
    const tcuq_params_t *p = b->params;
    const tcuq_feedback_t *head = p->feedback;
    int64_t cap = (int64_t)p->burst * p->budget_den, threshold = bounds_threshold(p, b->debt);
    int64_t begun = (int64_t)b->opening_steps + b->taken;
    int first = head != NULL && head->error_first != 0u, paid;
    int doubtful = head != NULL && head->error_num > 0u &&
                   (error_debt >= head->error_shut ||
                    (int64_t)out->risk * head->error_shut >= (int64_t)head->error_reference * (head->error_shut - error_debt));
    b->taken++;
    NEED(out->threshold == threshold, "threshold is the map at the debt");
    NEED(out->flagged == (out->risk >= threshold ? 1u : 0u), "a step is flagged when risk >= threshold");
    b->flagged += out->flagged;
    b->debt = b->opening_debt + p->level_den * b->flagged - p->level_num * b->taken;
    NEED(b->debt <= b->high, "flags stay below the upper bound");
    NEED(b->debt >= b->low, "flags stay above the lower bound");
    b->debt_low = -larger(-b->debt_low, -b->debt);
    b->debt_high = larger(b->debt_high, b->debt);

    NEED(out->abstain == 0u || out->flagged != 0u || doubtful, "only a flagged or doubtful step abstains");
    NEED(out->abstain == 1u || !(first && doubtful), "a doubtful step abstains where errors come first");
    paid = out->abstain != 0u && !(first && doubtful);
    NEED(!paid || begun >= (int64_t)p->warmup, "no step of the warm-up abstains but for its errors");
    b->abstained += paid;
    b->spent += (int64_t)p->budget_den * paid - p->budget_num;
    NEED(b->spent - b->spent_low <= cap, "abstentions in any n steps <= burst + budget * n");
    NEED(b->spent <= b->opening_credit, "abstentions from the start <= budget * t");
    b->window = larger(b->window, b->spent - b->spent_low);
    b->spent_low = -larger(-b->spent_low, -b->spent);
    NEED(m->credit >= 0 && m->credit <= cap, "the credit stays within its range");
    NEED(m->rise <= p->rise_cap + (head != NULL ? (p->rise_limit >> 2) * 13u : 0u) && m->fall <= p->fall_cap,
         "alarm sums stay below their caps");
    NEED(p->sight == NULL || m->rise <= p->rise_cap, "a distance stays below its cap");
    NEED(p->evidence == NULL || (m->degradation >= -(int64_t)p->evidence->clip && m->degradation <= (int64_t)p->evidence->clip),
         "degradation stays within -clip..clip");
    if (head != NULL) {
        b->answers[slot(b, 0)] = out->answer;
        b->marks[slot(b, 0)] = out->abstain == 0u && !doubtful ? COUNTED : 0;
    }
    return NULL;
}

const char *bounds_label(bounds_t *b, tcuq_t *m, uint32_t step, int32_t label)
{
    const tcuq_params_t *p = b->params;
    const tcuq_feedback_t *head = p->feedback;
    uint32_t ago = tcuq_steps(m) - 1u - step;
    int64_t before = tcuq_error_debt(m), bound = bounds_error(p), moved;
    int known, counted, wrong;
    b->answered = tcuq_feedback(m, step, label);
    if (b->answered != TCUQ_OK) {
        NEED(head == NULL || tcuq_error_debt(m) == before, "a label that is refused changes nothing");
        return NULL;
    }
    NEED(head != NULL && ago < head->memory, "a label is taken for a remembered step alone");
    b->labels++;
    moved = tcuq_error_debt(m) - before;
    known = (int64_t)ago < b->taken;
    counted = moved != 0; /* of a step before the opening nothing else is known */
    wrong = moved > 0;
    if (known) {
        unsigned at = slot(b, ago);
        NEED((b->marks[at] & LABELED) == 0, "the first label of a step counts");
        b->marks[at] |= LABELED;
        counted = (b->marks[at] & COUNTED) != 0;
        wrong = label != TCUQ_RIGHT && label != (int32_t)b->answers[at];
    }
    if (head->error_num == 0u || !(counted || moved != 0)) {
        return NULL;
    }
    NEED(counted || !wrong, "a label of a step that was withheld leads back alone");
    b->counted++;
    b->led_back += !counted;
    b->wrong += wrong;
    b->owed += (wrong ? head->error_den : 0) - head->error_num;
    b->owed_window = larger(b->owed_window, b->owed - b->owed_low);
    b->owed_low = -larger(-b->owed_low, -b->owed);
    b->owed_high = larger(b->owed_high, b->owed);
    b->paid_high = larger(b->paid_high, b->owed + head->error_num * b->led_back);
    if (b->reachable) {
        NEED(before + moved <= bound, "the error debt stays within its bound");
        NEED(b->opening_error + b->owed <= before + moved, "the error debt is at least den * wrong - num * labeled");
        NEED(b->owed - b->owed_low <= bound + head->error_shut, "errors in any stretch stay below their bound");
        NEED(b->opening_error + b->owed + head->error_num * b->led_back <= 2 * bound,
             "labels that lead back pay for no more than the bound");
    }
    return NULL;
}
