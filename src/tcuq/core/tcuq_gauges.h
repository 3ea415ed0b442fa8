/* SPDX-License-Identifier: MIT */
/* Gauges: a few numbers of a network's int8 input that people know, such as brightness and sharpness. Section 20 of
 * SPEC.md defines every bit. Nothing else calls this file: without a call a linker leaves it out. No memory is kept; a
 * call takes about 350 bytes of stack. */
#ifndef TCUQ_GAUGES_H
#define TCUQ_GAUGES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most gauges of an input, and the most values that an input may have. */
#define TCUQ_MAX_GAUGES 16
#define TCUQ_MAX_INPUT 8388607

/* Each fills the gauges of one input, in 1/256 of their units, and returns how many there are, or TCUQ_ERR_SIZE (-3) for
 * an input without values or with too many. What lies beside one another is what the network gets: channels last. */

/* Gauges of a picture:
 *   brightness: mean
 *   contrast: log2(deviation + 2)
 *   sharpness: log2(mean size of second differences along the width + 2)
 *   vertical_sharpness: log2(mean |d| along the height + 2)
 *   detail: log2(mean |d| along the height of d along the width + 2)
 *   dark: log2(share of values in the two darkest of 32 bins + 1/50)
 *   bright: log2(share of values in the two brightest of 32 bins + 1/50)
 *   center_x: how far to the right the light lies
 *   center_y: how far down the light lies
 *   color: log2(mean |d| of neighboring channels + 2); from two channels on
 *   tint_1: mean of the second channel less that of the first; from two channels on
 *   tint_2: mean of the third channel less that of the second; from three channels on
 *
 * Spectra have the same ones. Values are input[(row * width + column) * channels + channel]. */
int tcuq_picture_gauges(int16_t gauges[TCUQ_MAX_GAUGES], const int8_t *input, uint16_t height, uint16_t width,
                        uint16_t channels);

/* Gauges of a signal:
 *   strength: log2(deviation + 2)
 *   jitter: log2(mean size of second differences + 2)
 *   flat: share of neighbors that are equal
 *   lowest: smallest value; of one axis
 *   highest: largest value; of one axis
 *   offset: mean, of each of the first six axes
 *   change: log2(mean |d| + 2), of each of the first six axes
 *
 * Values are input[step * axes + axis]. */
int tcuq_signal_gauges(int16_t gauges[TCUQ_MAX_GAUGES], const int8_t *input, uint16_t steps, uint16_t axes);

/* Gauges of a table:
 *   mean: mean
 *   spread: log2(deviation + 2)
 *   change: log2(mean |d| + 2)
 *   jitter: log2(mean size of second differences + 2)
 *   lowest: smallest value
 *   highest: largest value
 *   center: how far to the end large values lie
 *
 * A row of it is input[0] to input[count - 1]. */
int tcuq_table_gauges(int16_t gauges[TCUQ_MAX_GAUGES], const int8_t *input, uint16_t count);

#ifdef __cplusplus
}
#endif

#endif
