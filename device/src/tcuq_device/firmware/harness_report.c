/* SPDX-License-Identifier: MIT */
#include "harness.h"
#include "harness_step.h"
#include "rule.h"

/* FNV-1a over the bytes. */
static uint32_t digest(const int8_t *bytes, uint32_t count)
{
    uint32_t hash = 2166136261u;
    uint32_t i;
    for (i = 0; i < count; i++) {
        hash = (hash ^ (uint8_t)bytes[i]) * 16777619u;
    }
    return hash;
}

void report(const int8_t *probs, const int8_t *features, const decision_t *decision, uint32_t depth)
{
    harness_text("step");
    harness_number((int32_t)depth);
    harness_text(" ");
    harness_hex((const uint8_t *)probs, PLAN_CLASSES);
    if (features == NULL) {
        harness_text(" -");
    } else {
        uint32_t hash = digest(features, PLAN_FEATURES);
        uint8_t bytes[4];
        bytes[0] = (uint8_t)(hash >> 24);
        bytes[1] = (uint8_t)(hash >> 16);
        bytes[2] = (uint8_t)(hash >> 8);
        bytes[3] = (uint8_t)hash;
        harness_text(" ");
        harness_hex(bytes, 4);
    }
#if PLAN_MONITORS
    harness_step(decision);
#else
    harness_number(decision->prediction);
    harness_number(decision->score);
#endif
    harness_text("\n");
}
