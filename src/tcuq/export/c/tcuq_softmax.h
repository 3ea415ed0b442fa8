/* SPDX-License-Identifier: MIT */
/* Posteriors from int8 logits, for a runtime that has no softmax of its own. */
#ifndef TCUQ_SOFTMAX_H
#define TCUQ_SOFTMAX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Entries of a table: one for every distance between two int8 values. */
#define TCUQ_SOFTMAX_ENTRIES 256

/* Write what tcuq_step() takes: posteriors of scale 1/256 and zero point -128.
 * `table` has 65535 * exp(-scale * distance), rounded; `logits` has `classes` values,
 * 1..1000, of that scale and any zero point. `probs` may be `logits`. */
void tcuq_softmax(const uint16_t *table, const int8_t *logits, size_t classes, int8_t *probs);

#ifdef __cplusplus
}
#endif

#endif
