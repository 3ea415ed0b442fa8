/* SPDX-License-Identifier: MIT */
/* Depthwise convolution in its general form: several outputs a channel, dilation. Rare, so plain. */
#include "tcuq_nn_inside.h"

/* sums + weights * input at one place, for the four outputs from `first` on; `x` are all channels of a pixel. */
static void add_place(int32_t *sums, uint32_t weights, const int8_t *x, int32_t first, int32_t lanes, int32_t each)
{
    int32_t i;
    for (i = 0; i < lanes; i++) {
        sums[i] += (int8_t)(weights >> 8 * i) * x[(first + i) / each];
    }
}

/* All outputs of the pixel whose kernel has its corner at (y, x). */
FOR_EACH_WAY void spread_pixel(int32_t way, const tcuq_nn_window *c, const int8_t *in, int32_t y, int32_t x,
                               int8_t *out)
{
    const uint32_t *weights = c->weights;
    const int32_t *affine = c->affine;
    int32_t each = c->outputs / c->channels, first, i, j;
    for (first = 0; first < c->outputs; first += 4, affine += 4 * numbers(way)) {
        int32_t sums[4] = {affine[0], affine[1], affine[2], affine[3]}, lanes = least(4, c->outputs - first);
        for (j = 0; j < c->kernel_columns; j++) {
            for (i = 0; i < c->kernel_rows; i++) {
                int32_t row = y + i * c->tall, column = x + j * c->wide;
                int inside = row >= 0 && row < c->height && column >= 0 && column < c->width;
                const int8_t *at = inside ? in + ((ptrdiff_t)row * c->width + column) * c->channels : c->pad;
                add_place(sums, *weights++, at, first, lanes, each);
            }
        }
        for (i = 0; i < lanes; i++) {
            out[first + i] = finished(way, sums[i], affine + i, 4, c->zero);
        }
    }
}

FOR_EACH_WAY void spread(int32_t way, const tcuq_nn_window *c, const int8_t *in, int8_t *out)
{
    int32_t row, column;
    for (row = 0; row < c->rows; row++) {
        for (column = 0; column < c->columns; column++, out += c->outputs) {
            spread_pixel(way, c, in, row * c->down - c->top, column * c->across - c->left, out);
        }
    }
}

void tcuq_nn_spread(const tcuq_nn_window *c, const int8_t *in, int8_t *out)
{
    spread(SCALED, c, in, out);
}

void tcuq_nn_spread_twice(const tcuq_nn_window *c, const int8_t *in, int8_t *out)
{
    spread(ROUNDED_TWICE, c, in, out);
}
