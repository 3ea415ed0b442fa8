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

#if PLAN_GAUGES
static int16_t gauges[TCUQ_MAX_GAUGES];

void rule_look(void)
{
    network_gauges(gauges);
}
#else
static const int16_t *const gauges = NULL;
#endif

void rule_step(const int8_t *probs, const int8_t *features, decision_t *out)
{
    tcuq_step_gauges(&state, probs, features, gauges, out, NULL);
}
