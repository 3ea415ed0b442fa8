/* SPDX-License-Identifier: MIT */
/* Flips every bit of what labels need, before a step and before a label (SPEC.md, section 12). Nothing leads out of
 * memory, the error debt is in its range at once, and after `memory` steps the state is saved again and the bound of
 * section 19 holds. Needs a build with TCUQ_FEEDBACK. Exit status: 0 when all came back, else 1. */
#include "check.h"

enum { WARM = 30, AFTER = 60 };

static tcuq_feedback_t feedback;
static tcuq_params_t p;
static tcuq_t m;
static uint32_t *ring;
static unsigned flipped;
static int counted[WARM + AFTER];
static int steps;
static long wrong, labels;

static uint32_t below(uint32_t limit)
{
    return draw() % limit;
}

static void need(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%u classes, memory %u, bit %u: %s\n", p.classes, feedback.memory, flipped, what);
        exit(1);
    }
}

static void step(void)
{
    static int8_t probs[TCUQ_MAX_CLASSES];
    tcuq_step_t out;
    memset(probs, -128, sizeof probs);
    probs[below(p.classes)] = (int8_t)(127 - (int)below(below(4) == 0u ? 200 : 8));
    tcuq_step(&m, probs, NULL, &out, NULL);
    counted[steps++] = out.abstain == 0u;
}

static void label(void)
{
    uint32_t which = tcuq_steps(&m) - 1u - below(feedback.memory + 1u);
    int32_t what = below(3) == 0u ? TCUQ_WRONG : TCUQ_RIGHT;
    int taken = tcuq_feedback(&m, which, what);
    int32_t debt = tcuq_error_debt(&m);
    need(taken == TCUQ_OK || taken == TCUQ_ERR_LABELED || taken == TCUQ_ERR_STEP, "result of feedback");
    need(debt >= -(int32_t)feedback.error_shut && debt <= tcuq_error_bound(&p), "error debt out of range");
    if (taken == TCUQ_OK && counted[which - tcuq_steps(&m) + (uint32_t)steps]) {
        labels++;
        wrong += what == TCUQ_WRONG;
    }
}

static void trial(unsigned bit, int before_label)
{
    size_t size = tcuq_state_size(&p);
    uint8_t *state = malloc(size);
    int i;
    flipped = bit;
    steps = 0;
    need(state != NULL && tcuq_init(&m, &p, ring, tcuq_ring_size(&p)) == TCUQ_OK, "init");
    for (i = 0; i < WARM; i++) {
        step();
        label();
    }
    ring[bit / 32u] ^= (uint32_t)1 << bit % 32u;
    i = tcuq_save(&m, state, size);
    need(i == (int)size || i == TCUQ_ERR_STATE, "save");
    if (before_label) {
        label();
    }
    for (i = 0; i < AFTER; i++) {
        if (i == (int)feedback.memory) {
            need(tcuq_save(&m, state, size) == (int)size, "not saved again");
            need(tcuq_load(&m, state, size) == TCUQ_OK && tcuq_verify(&m) == TCUQ_OK, "not loaded again");
            wrong = labels = 0; /* the bound holds for any stretch */
        }
        step();
        label();
        label();
        need(i < (int)feedback.memory || feedback.error_den * wrong - feedback.error_num * labels <=
                                         tcuq_error_bound(&p) + feedback.error_shut, "bound");
    }
    free(state);
}

int main(void)
{
    static const uint16_t memories[3] = {1, 4, 7}, classes[3] = {4, 64, 70};
    unsigned i, bit, count = 0;
    for (i = 0; i < 3u; i++) {
        TCUQ_FEEDBACK_NUMBERS(SET_USUAL)
        feedback.memory = memories[i];
        feedback.error_den = 4;
        feedback.error_reference = 40000;
        feedback.error_shut = 9;
        feedback.error_first = 1;
        p = plain_params(TCUQ_BIT(TCUQ_DOUBT), classes[i], 0);
        p.reference = 20000;
        p.steep_slope = 9000;
        p.bias = 0;
        p.blend = 0;
        p.warmup = 0;
        p.slope = 0;
        p.knee = 0;
        p.budget_num = p.budget_den = p.burst = 1;
        p.rise_reference = 5000;
        p.horizon = 4;
        p.feedback = &feedback;
        p.fingerprint = tcuq_fingerprint(&p);
        ring = malloc(tcuq_ring_size(&p)); /* the exact size: a sanitizer sees the first byte beyond it */
        for (bit = 0; bit < 8u * tcuq_ring_size(&p); bit++, count++) {
            trial(bit, 0);
            trial(bit, 1);
        }
        free(ring);
    }
    printf("%u bits, all came back\n", count);
    return 0;
}
