/* SPDX-License-Identifier: MIT */
/* A vote: the share of the last PLAN_LAST predictions, this one among them, that differ from it; PLAN_WEIGHT (Q0.16) of
 * the doubt orders equal votes. */
#include "rule.h"

static uint16_t ring[PLAN_LAST];
static uint32_t head, fill;

int rule_start(void)
{
    head = 0;
    fill = 0;
    return 0;
}

void rule_step(const int8_t *probs, const int8_t *features, decision_t *out)
{
    uint32_t doubt = 256u - rule_top(probs, &out->prediction);
    uint32_t against = 0;
    uint32_t score, i;
    (void)features;
    ring[head] = out->prediction;
    head = head + 1u == PLAN_LAST ? 0u : head + 1u;
    fill += fill < PLAN_LAST ? 1u : 0u;
    for (i = 0; i < fill; i++) {
        against += ring[i] != out->prediction ? 1u : 0u;
    }
    score = (against << 16) / fill + (doubt * PLAN_WEIGHT >> 8);
    out->score = (uint16_t)(score < 65535u ? score : 65535u);
}
