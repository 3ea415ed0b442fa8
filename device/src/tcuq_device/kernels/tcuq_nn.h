/* SPDX-License-Identifier: MIT */
/* Kernels of int8 networks, in integers: convolution, depthwise convolution, dense, add, mean, drop, softmax, clamp.
 *
 * Pictures are (height, width, channels) with channels last, one byte a value. With
 *   scaled(acc, m) = (acc * m + 2^31) >> 32        acc in 32 bits, m in [0, 2^31)
 * a weighted sum becomes sat8(scaled(bias + sum of weight * input, m) + zero). Where a name ends in _twice or
 * _once, in place of scaled(), with sums that stay within 32 bits when they are shifted to the left,
 *   twice(acc, m, shift) = p / 2^max(-shift, 0), half away from zero, p = (acc * 2^max(shift, 0) * m + 2^30) >> 31
 *   once(acc, m, shift) = (acc * m + 2^(30 - shift)) >> (31 - shift)
 * which is what TFLite's reference kernels do. On cores with the DSP extension these files use it; all builds
 * give the same bits.
 *
 * The caller owns all memory; nothing is allocated and nothing is checked: calls and constants are made by a
 * generator that has checked them. `scratch` is aligned to 4 bytes and its contents are lost. Weights are
 * packed, see each type. Inputs and outputs may lie anywhere, and may share memory only where a function
 * says so.
 */
#ifndef TCUQ_NN_H
#define TCUQ_NN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A kernel that moves over a picture.
 *
 * Convolution. Let k count the values under the kernel in the order of memory: row, column, channel. Outputs
 * are taken in pairs a, b and k in fours; a four is two words, whose bytes from the lowest are
 *   a[k] b[k] a[k+2] b[k+2]    and    a[k+1] b[k+1] a[k+3] b[k+3],
 * all fours of a pair after each other, then the next pair. What is missing of a pair or a four is 0.
 * `affine` has four numbers a pair: both biases, both multipliers. To round twice, six: both biases, both
 * factors, both powers. With a multiplier of 2^30 or more and a shift from -31 to -2, the factor of an output is
 * 2 * multiplier - 2^32 and its power 2^(32 + shift). Any others are general: the multiplier itself, and
 * -32 - shift, which is not positive. To round once: biases, multipliers, shifts.
 *
 * Depthwise. Channels are taken in fours. A word is the weights of four channels at one place of the kernel,
 * the first channel lowest; places go down the columns: (row 0, column 0), (row 1, column 0) and so on.
 * `affine` has eight numbers a four: biases, multipliers, or twelve: biases, factors, powers. What is missing
 * of a four is 0.
 */
typedef struct {
    const uint32_t *weights;
    const int32_t *affine;
    const int8_t *pad; /* for each input channel, the value outside the picture */
    int32_t height, width, channels; /* of the input */
    int32_t rows, columns, outputs;  /* of the output */
    int32_t kernel_rows, kernel_columns;
    int32_t down, across; /* strides */
    int32_t tall, wide;   /* dilation: from one row or column under the kernel to the next */
    int32_t top, left;    /* rows and columns outside the picture before the first one inside */
    int32_t zero;         /* of the output */
    int32_t general;      /* whether some output to be rounded twice is general */
} tcuq_nn_window;

/* A matrix: weights and affine as in a convolution, k counting the inputs; it is applied to each row. */
typedef struct {
    const uint32_t *weights;
    const int32_t *affine;
    int32_t rows, inputs, outputs;
    int32_t zero;
} tcuq_nn_matrix;

/* Multipliers of 16 bits with sign; no sum leaves 32 bits; 0 <= shift < 32. */
typedef struct {
    int32_t left, right, offset, shift;
} tcuq_nn_sum;

/* Scratch of the functions below, in bytes, up4() meaning "up to a multiple of 4":
 * convolution, with k the values under the kernel and r those under one row of it
 *   8 * up4(k) + (channels is a multiple of 4 ? 0 : 4 * up4(k)) + (picture is padded ? up4(r) : 0),
 *   with dilation 12 * up4(k);
 * depthwise, with n = (columns - 1) * across + kernel_columns
 *   8 * (n * (kernel is 3 x 3 with strides 1 ? 4 : kernel_rows) + kernel_rows * kernel_columns);
 * dense 2 * up4(inputs). */

/* Convolution, without and with dilation. Output pixels are finished one after the other; all that pixels up to a fourth one read is
 * read before the first of the four is written, so `out` may lie before `in` and run into it as far as that
 * allows. */
void tcuq_nn_conv(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch);
void tcuq_nn_conv_twice(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch);
void tcuq_nn_conv_dilated(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch);
void tcuq_nn_conv_dilated_twice(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch);

/* A kernel of its own for every channel, without dilation. Four channels after the other go through the whole picture, rows being
 * read before what comes of them is written: `out` may be `in` where no row of the output ends, counted in
 * memory, in a row of the input that the kernel has not reached. So it is with an output of the same size and
 * with most smaller ones. */
void tcuq_nn_depthwise(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch);
void tcuq_nn_depthwise_twice(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch);

/* The same with any dilation, and with outputs that are a multiple n of the channels: output o reads channel o / n.
 * Slow. No scratch. */
void tcuq_nn_spread(const tcuq_nn_window *c, const int8_t *in, int8_t *out);
void tcuq_nn_spread_twice(const tcuq_nn_window *c, const int8_t *in, int8_t *out);

/* Product of a matrix and each row: a row is read before it is written. */
void tcuq_nn_dense(const tcuq_nn_matrix *m, const int8_t *in, int8_t *out, int8_t *scratch);
void tcuq_nn_dense_once(const tcuq_nn_matrix *m, const int8_t *in, int8_t *out, int8_t *scratch);

/* out = sat8((a * left + b * right + offset) >> shift). `out` may be `a` or `b`, or begin before them. */
void tcuq_nn_add(const tcuq_nn_sum *s, const int8_t *a, const int8_t *b, int8_t *out, int32_t count);

/* out = sat8(scaled(sum over pixels + bias, multiplier) + zero), for each channel. */
void tcuq_nn_mean(const int8_t *in, int8_t *out, int32_t pixels, int32_t channels, int32_t bias,
                  int32_t multiplier, int32_t zero);

/* Dropout. A value is set to `zero` when its byte of *random is below `threshold`, and otherwise becomes
 * sat8(((value - zero) * multiplier + 2^14 >> 15) + zero). *random, never 0, is stepped before every four
 * values, whose bytes it holds from the lowest. `out` may be `in`. */
void tcuq_nn_drop(const int8_t *in, int8_t *out, int32_t count, int32_t threshold, int32_t multiplier,
                  int32_t zero, uint32_t *random);

/* With e = table[largest value - value] and s their sum: out = min((e * 512 + s) / (2 * s), 255) - 128.
 * The table has 256 entries, the first 65535; at most 32000 values. `out` may be `in`. */
void tcuq_nn_softmax(const int8_t *in, int8_t *out, int32_t count, const uint16_t *table);

/* Confine values, where they are, to [low, high] within [-128, 127]. */
void tcuq_nn_clamp(int8_t *values, int32_t count, int32_t low, int32_t high);

/* How two tensors are read beside each other: `lengths` of the target in three dimensions, and how many values
 * apart the next one lies in each; 0 where a tensor is repeated. The last distance is 0 or 1. */
typedef struct {
    int32_t lengths[3], first[3], second[3];
} tcuq_nn_pairs;

/* twice(acc, m, shift), the way in which TFLite's reference kernels rescale, has two roundings: the upper half of
 * 2 * acc * 2^max(shift, 0) * m, half upwards, then its shift right by max(-shift, 0), half away from zero. */

/* Twice what every byte stands for, at one scale: the byte b at right[b & 255] and, where `left` is there, the byte a
 * at left[a & 255]; where it is NULL, a stands for a * factor. No sum leaves 31 bits. */
typedef struct {
    const int32_t *left, *right;
    int32_t factor, multiplier, shift, zero;
} tcuq_nn_tables;

/* Zeros of both tensors and of the target. */
typedef struct {
    int32_t first, second, multiplier, shift, zero;
} tcuq_nn_product;

/* out = sat8(twice((left[a] + right[b]) / 2, multiplier, shift) + zero). `out` may be a tensor that is not repeated,
 * or begin before it. */
void tcuq_nn_table_add(const tcuq_nn_tables *t, const tcuq_nn_pairs *p, const int8_t *a, const int8_t *b,
                       int8_t *out);

/* out = sat8(twice((a - first) * (b - second), multiplier, shift) + zero), placed like a table_add. */
void tcuq_nn_mul(const tcuq_nn_product *m, const tcuq_nn_pairs *p, const int8_t *a, const int8_t *b, int8_t *out);

/* The source is read as (outer, count, inner, tail). */
typedef struct {
    int32_t outer, count, inner, tail;
    int32_t bias, multiplier, shift, zero;
} tcuq_nn_means;

/* out = sat8(twice(sum over count and tail + bias, multiplier, shift) + zero), (outer, inner). */
void tcuq_nn_mean_twice(const tcuq_nn_means *m, const int8_t *in, int8_t *out);

/* A window that moves over a picture. What lies outside does not count; some of it always lies inside. */
typedef struct {
    int32_t height, width, channels;
    int32_t rows, columns; /* of the output */
    int32_t window_rows, window_columns, stride_rows, stride_columns;
    int32_t top, left;
} tcuq_nn_pool;

/* The mean of a window, half away from zero, or its largest value. Pixels are written one after the other, and a
 * channel after its window was read: `out` may lie before `in` and run into it as far as that allows. */
void tcuq_nn_pool_mean(const tcuq_nn_pool *p, const int8_t *in, int8_t *out);
void tcuq_nn_pool_max(const tcuq_nn_pool *p, const int8_t *in, int8_t *out);

/* out = table[in & 255]. `out` may be `in`, or begin before it. */
void tcuq_nn_table(const int8_t *in, int8_t *out, int32_t count, const int8_t *table);

/* Lengths of the source in three dimensions, and what is added before and after. */
typedef struct {
    int32_t lengths[3], before[3], after[3];
    int32_t value;
} tcuq_nn_frame;

void tcuq_nn_pad(const tcuq_nn_frame *f, const int8_t *in, int8_t *out);

/* Lengths of the target in six dimensions, and how many values apart the next one lies in the source; distances may
 * be negative, or 0. The source is read from `offset` on. */
typedef struct {
    int32_t lengths[6], strides[6];
    int32_t offset;
} tcuq_nn_strides;

void tcuq_nn_strided(const tcuq_nn_strides *s, const int8_t *in, int8_t *out);

/* Copy rows of so many bytes; those of `out` begin `apart` bytes after each other. */
void tcuq_nn_rows(const int8_t *in, int8_t *out, int32_t rows, int32_t bytes, int32_t apart);

/* Posteriors of rows as TFLite takes them, from a table of exponentials by distance from the largest logit of the row:
 * 256 entries with 31 bits behind the point, the first 2^31 - 1, not negative, 0 for what does not count. At most
 * 4095 columns. `out` may be `in`, or begin before it. */
void tcuq_nn_fixed_softmax(const int8_t *in, int8_t *out, int32_t rows, int32_t columns, const int32_t *table);

#ifdef __cplusplus
}
#endif

#endif
