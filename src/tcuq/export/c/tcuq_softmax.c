/* SPDX-License-Identifier: MIT */
#include "tcuq_softmax.h"

void tcuq_softmax(const uint16_t *table, const int8_t *logits, size_t classes, int8_t *probs)
{
    int top = logits[0];
    uint32_t sum = 0;
    size_t i;
    for (i = 1; i < classes; i++) {
        if (logits[i] > top) {
            top = logits[i];
        }
    }
    for (i = 0; i < classes; i++) {
        sum += table[top - logits[i]];
    }
    /* At most 65535 * 512 + 1000 * 65535, so 32 bits are enough; the sum has the 65535 of the top. */
    for (i = 0; i < classes; i++) {
        uint32_t share = ((uint32_t)table[top - logits[i]] * 512u + sum) / (2u * sum);
        probs[i] = (int8_t)((int)(share < 255u ? share : 255u) - 128);
    }
}
