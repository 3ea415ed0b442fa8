/* SPDX-License-Identifier: MIT */
/* tcuq with the exported parameters `monitor`. */
#include "monitor.h"
#include "rule.h"

static tcuq_t state;
static uint32_t ring[MONITOR_RING_BYTES / 4u];

int rule_start(void)
{
    return tcuq_init(&state, &monitor, ring, sizeof ring);
}

void rule_step(const int8_t *probs, const int8_t *features, decision_t *out)
{
    tcuq_step(&state, probs, features, out, NULL);
}
