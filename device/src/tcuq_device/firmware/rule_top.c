/* SPDX-License-Identifier: MIT */
#include "rule.h"

uint32_t rule_top(const int8_t *probs, uint16_t *prediction)
{
    int32_t top = probs[0];
    uint32_t at = 0;
    uint32_t i;
    for (i = 1; i < PLAN_CLASSES; i++) {
        if (probs[i] > top) {
            top = probs[i];
            at = i;
        }
    }
    *prediction = (uint16_t)at;
    return (uint32_t)(top + 128);
}
