/* SPDX-License-Identifier: MIT */
/* A fixed projection of wide int8 features to the few that a monitor reads. */
#ifndef TCUQ_PROJECTION_H
#define TCUQ_PROJECTION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Written by `tcuq export`, which makes sure that no sum leaves 32 bits. */
typedef struct {
    const int8_t *matrix; /* a row of `inputs` values for every output */
    const int32_t *bias;  /* one an output: offset, both zero points and the half of the rounding */
    const uint8_t *shift; /* one an output, 0..24 */
    uint16_t inputs;      /* wide features */
    uint16_t outputs;     /* features that the monitor reads */
} tcuq_projection_t;

/* Write features[k] = (bias[k] + sum of matrix[k][i] * wide[i]) / 2^shift[k], rounded down and
 * confined to int8. `features` must not overlap `wide`. */
void tcuq_project(const tcuq_projection_t *projection, const int8_t *wide, int8_t *features);

#ifdef __cplusplus
}
#endif

#endif
