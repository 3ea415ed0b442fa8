/* SPDX-License-Identifier: MIT */
/* Depthwise convolution: four channels after the other, each four from the first row to the last. A cell is
 * the four channels of one pixel, widened; the window holds the cells of some rows, those of one column
 * beside each other. */
#include "tcuq_nn_inside.h"

/* Keeps a loop from being vectorized. gcc 12.2 for aarch64 at -O3 turns the sums of depthwise_row() into vectors and
 * drops the upper half of every product: other numbers, no warning. No order of lanes and no form of the loop in plain
 * C that was tried avoids that; a loop with an assembler statement, here an empty one, is left as it is. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__aarch64__)
#define ONE_BY_ONE __asm__ volatile("")
#else
#define ONE_BY_ONE ((void)0)
#endif

#define CELL 4

typedef struct {
    const int8_t *in; /* the first of the four channels */
    int32_t lanes;    /* channels, four at most */
    int32_t pitch;    /* bytes of a row of the picture */
    int16_t *cells;
    int32_t slots;                  /* rows of the window */
    int32_t before, inside, after;  /* columns of the window, those inside the picture between the others */
    int16_t outside[CELL];          /* what lies outside */
} rows_t;

/* As many channels as there are, widened. */
ONCE void widen_some(int16_t *to, const int8_t *from, int32_t lanes)
{
    int8_t four[4] = {0, 0, 0, 0};
    int32_t i;
    for (i = 0; i < lanes; i++) {
        four[i] = from[i];
    }
    widen4(to, 2, four);
}

ONCE int16_t *put_outside(int16_t *to, int32_t step, const int16_t *outside, int32_t count)
{
    for (; count > 0; count--, to += step) {
        memcpy(to, outside, CELL * sizeof *to);
    }
    return to;
}

/* Put row `y` of the picture into a slot. */
ONCE void load_row(const tcuq_nn_window *c, const rows_t *w, int32_t slot, int32_t y)
{
    int32_t step = w->slots * CELL, i;
    int16_t *to = w->cells + slot * CELL;
    const int8_t *at;
    if (y < 0 || y >= c->height) {
        put_outside(to, step, w->outside, w->before + w->inside + w->after);
        return;
    }
    to = put_outside(to, step, w->outside, w->before);
    at = w->in + (ptrdiff_t)y * w->pitch;
    if (w->lanes == 4) {
        for (i = w->inside; i > 0; i--, to += step, at += c->channels) {
            widen4(to, 2, at);
        }
    } else {
        for (i = w->inside; i > 0; i--, to += step, at += c->channels) {
            widen_some(to, at, w->lanes);
        }
    }
    put_outside(to, step, w->outside, w->after);
}

#if DSP

/* Move `count` columns of a window of four or three rows down by two; the new rows are `pitch` bytes apart. */
#define SLIDE(kept, cells)                                                                                        \
    ".syntax unified\n"                                                                                           \
    "push {r4-r11, lr}\n"                                                                                         \
    "ldr lr, [sp, #36]\n"                                                                                         \
    "1:\n" kept "ldr r10, [r1]\n"                                                                                 \
    "ldr r12, [r1, r2]\n"                                                                                         \
    "add r1, r1, r3\n"                                                                                            \
    "sxtb16 r8, r10\n"                                                                                            \
    "sxtb16 r9, r10, ror #8\n"                                                                                    \
    "sxtb16 r10, r12\n"                                                                                           \
    "sxtb16 r11, r12, ror #8\n"                                                                                   \
    "stmia r0!, " cells "subs lr, lr, #1\n"                                                                       \
    "bne 1b\n"                                                                                                    \
    "pop {r4-r11, pc}\n"

ASSEMBLER void slide_four(int16_t *to __attribute__((unused)), const int8_t *from __attribute__((unused)),
                          int32_t pitch __attribute__((unused)), int32_t channels __attribute__((unused)),
                          int32_t count __attribute__((unused)))
{
    __asm__(SLIDE("ldrd r4, r5, [r0, #16]\nldrd r6, r7, [r0, #24]\n", "{r4-r11}\n"));
}

ASSEMBLER void slide_three(int16_t *to __attribute__((unused)), const int8_t *from __attribute__((unused)),
                           int32_t pitch __attribute__((unused)), int32_t channels __attribute__((unused)),
                           int32_t count __attribute__((unused)))
{
    __asm__(SLIDE("ldrd r6, r7, [r0, #16]\n", "{r6-r11}\n"));
}

#endif

/* Move the window down by `by` rows; it then begins at row `y` of the picture. */
FOR_EACH_WAY void advance(const tcuq_nn_window *c, const rows_t *w, int32_t by, int32_t y)
{
    int32_t keep = by < w->slots ? w->slots - by : 0, i;
#if DSP
    if ((w->slots == 3 || w->slots == 4) && by == 2 && w->lanes == 4 && w->inside > 0 && y + keep >= 0 &&
        y + keep < c->height) {
        /* Columns outside the picture stay as they are. */
        const int8_t *from = w->in + ((ptrdiff_t)y + keep) * w->pitch;
        int16_t *to = w->cells + w->before * w->slots * CELL;
        int32_t pitch = y + keep + 1 < c->height ? w->pitch : 0;
        if (w->slots == 4) {
            slide_four(to, from, pitch, c->channels, w->inside);
        } else {
            slide_three(to, from, pitch, c->channels, w->inside);
        }
        if (pitch == 0) {
            load_row(c, w, w->slots - 1, c->height);
        }
        return;
    }
#endif
    if (keep > 0) {
        int16_t *to = w->cells;
        for (i = w->before + w->inside + w->after; i > 0; i--, to += w->slots * CELL) {
            int32_t k;
            for (k = 0; k < keep; k++) {
                memcpy(to + k * CELL, to + (k + by) * CELL, CELL * sizeof *to);
            }
        }
    }
    for (i = keep; i < w->slots; i++) {
        load_row(c, w, i, y + i);
    }
}

static inline void add_products(int32_t *sums, const int16_t *x, const int16_t *weights)
{
#if DSP
    uint32_t x0 = word_at(x), x1 = word_at(x + 2), w0 = word_at(weights), w1 = word_at(weights + 2);
    __asm__("smlabb %0, %1, %2, %0" : "+r"(sums[0]) : "r"(x0), "r"(w0));
    __asm__("smlatt %0, %1, %2, %0" : "+r"(sums[2]) : "r"(x0), "r"(w0));
    __asm__("smlabb %0, %1, %2, %0" : "+r"(sums[1]) : "r"(x1), "r"(w1));
    __asm__("smlatt %0, %1, %2, %0" : "+r"(sums[3]) : "r"(x1), "r"(w1));
#else
    sums[0] += x[0] * weights[0];
    sums[2] += x[1] * weights[1];
    sums[1] += x[2] * weights[2];
    sums[3] += x[3] * weights[3];
#endif
}

/* One row of the output, for up to four channels; the kernel begins at slot `line`. */
FOR_EACH_WAY void depthwise_row(int32_t way, const tcuq_nn_window *c, const rows_t *w, const int16_t *taps,
                                const int32_t *affine, int32_t line, int8_t *out)
{
    const int16_t *corner = w->cells + line * CELL;
    /* Cells under the kernel lie beside each other where the window has no other rows. */
    int32_t places = c->kernel_rows * c->kernel_columns, gap = (w->slots - c->kernel_rows) * CELL;
    int32_t run = gap == 0 ? places : c->kernel_rows, column, i;
    for (column = 0; column < c->columns; column++, out += c->outputs) {
        int32_t sums[4] = {affine[0], affine[1], affine[2], affine[3]}, last[4];
        const int16_t *x = corner, *t = taps;
        for (i = places; i > 0; i -= run, x += gap) {
            int32_t k;
            for (k = run; k > 0; k--, x += CELL, t += CELL) {
                ONE_BY_ONE;
                add_products(sums, x, t);
            }
        }
        /* A copy, so that sums, which nobody counts through, stay in registers. */
        for (i = 0; i < 4; i++) {
            last[i] = sums[i];
        }
        for (i = 0; i < w->lanes; i++) {
            out[i] = finished(way, last[i], affine + i, 4, c->zero);
        }
        corner += c->across * w->slots * CELL;
    }
}

ONCE void row_scaled(const tcuq_nn_window *c, const rows_t *w, const int16_t *taps, const int32_t *affine, int32_t line,
                     int8_t *out)
{
    depthwise_row(SCALED, c, w, taps, affine, line, out);
}

ONCE void row_twice(const tcuq_nn_window *c, const rows_t *w, const int16_t *taps, const int32_t *affine, int32_t line,
                    int8_t *out)
{
    depthwise_row(ROUNDED_TWICE, c, w, taps, affine, line, out);
}

#if DSP

/* What two_rows() and two_columns() work on; the assembler knows the order. */
typedef struct {
    const int16_t *cells;
    const int16_t *taps;
    const int32_t *affine;
    int32_t zero;
    int8_t *first, *second;
    int32_t step; /* from each output to the next */
    int32_t count;
} two_outputs_t;

#define TAP(sum0, sum1, sum2, sum3)                                                                               \
    "smlabb " sum0 ", r8, r10, " sum0 "\n"                                                                         \
    "smlabb " sum1 ", r9, r11, " sum1 "\n"                                                                         \
    "smlatt " sum2 ", r8, r10, " sum2 "\n"                                                                         \
    "smlatt " sum3 ", r9, r11, " sum3 "\n"
#define FIRST TAP("r0", "r1", "r2", "r3")
#define SECOND TAP("r4", "r5", "r6", "r7")
#define CELL_AT(offset) "ldrd r8, r9, [r12, #" offset "]\n"
#define TAP_AT(offset) "ldrd r10, r11, [lr, #" offset "]\n"
/* Down a column of the kernel for two outputs below each other: every cell and every weight is loaded once. */
#define DOWN(x0, x1, x2, x3, w0, w1, w2)                                                                          \
    CELL_AT(x0) TAP_AT(w0) FIRST CELL_AT(x1) SECOND TAP_AT(w1) FIRST CELL_AT(x2) SECOND TAP_AT(w2) FIRST            \
        CELL_AT(x3) SECOND
/* A 3 x 3 kernel with stride 1 over a window of four rows. */
#define TWO_ROWS                                                                                                  \
    DOWN("0", "8", "16", "24", "0", "8", "16") DOWN("32", "40", "48", "56", "24", "32", "40")                      \
        DOWN("64", "72", "80", "88", "48", "56", "64")
/* Along a row of the kernel for two outputs beside each other that share a column. */
#define ALONG(x0, x1, x2, x3, x4, w0, w1, w2)                                                                     \
    TAP_AT(w0) CELL_AT(x0) FIRST CELL_AT(x2) SECOND TAP_AT(w2) FIRST CELL_AT(x4) SECOND TAP_AT(w1) CELL_AT(x1)      \
        FIRST CELL_AT(x3) SECOND
/* A 3 x 3 kernel over a window of three rows with strides of 2 along them. */
#define TWO_COLUMNS                                                                                               \
    ALONG("0", "24", "48", "72", "96", "0", "24", "48") ALONG("8", "32", "56", "80", "104", "8", "32", "56")       \
        ALONG("16", "40", "64", "88", "112", "16", "40", "64")

/* Two outputs, four channels. The first is written last: with both at one place it is what stays. */
#define EIGHT_SUMS(products)                                                                                                \
    ".syntax unified\n"                                                                                           \
    "push {r4-r11, lr}\n"                                                                                         \
    "ldmia r0, {r1-r8}\n"                                                                                         \
    "push {r1-r8}\n"                                                                                              \
    "mov r12, r1\n"                                                                                               \
    "mov lr, r2\n"                                                                                                \
    "1:\n"                                                                                                        \
    "ldr r8, [sp, #8]\n"                                                                                          \
    "ldmia r8, {r0-r3}\n"                                                                                         \
    "mov r4, r0\n"                                                                                                \
    "mov r5, r1\n"                                                                                                \
    "mov r6, r2\n"                                                                                                \
    "mov r7, r3\n" products "ldrd r10, r11, [sp, #8]\n" /* affine, zero */

#define EIGHT_BYTES(further)                                                                                               \
    EACH(ALL_SUMS, "ssat r\\i, #8, r\\i")                                                                         \
    "bfi r0, r1, #8, #8\n"                                                                                        \
    "bfi r4, r5, #8, #8\n"                                                                                        \
    "bfi r0, r2, #16, #8\n"                                                                                       \
    "bfi r4, r6, #16, #8\n"                                                                                       \
    "bfi r0, r3, #24, #8\n"                                                                                       \
    "bfi r4, r7, #24, #8\n"                                                                                       \
    "ldrd r8, r9, [sp, #16]\n"   /* first, second */                                                               \
    "ldrd r10, r11, [sp, #24]\n" /* step, count */                                                                \
    "str r4, [r9]\n"                                                                                              \
    "str r0, [r8]\n"                                                                                              \
    "add r8, r8, r10\n"                                                                                           \
    "add r9, r9, r10\n"                                                                                           \
    "strd r8, r9, [sp, #16]\n"                                                                                    \
    "add r12, r12, #" further "\n"                                                                                         \
    "subs r11, r11, #1\n"                                                                                         \
    "str r11, [sp, #28]\n"                                                                                        \
    "bne.w 1b\n"                                                                                                  \
    "add sp, sp, #32\n"                                                                                           \
    "pop {r4-r11, pc}\n"

/* Sums times numbers of `affine`, two channels after the other, plus the zero. */
#define TIMES(first, second)                                                                                      \
    "ldrd r8, r9, [r10, #" first "]\n" EACH("0, 4", "smmlar r\\i, r\\i, r8, r11")                                   \
        EACH("1, 5", "smmlar r\\i, r\\i, r9, r11") "ldrd r8, r9, [r10, #" second "]\n"                              \
        EACH("2, 6", "smmlar r\\i, r\\i, r8, r11") EACH("3, 7", "smmlar r\\i, r\\i, r9, r11")

/* As twice_scaled() does it. */
#define TWICE                                                                                                     \
    "ldrd r8, r9, [r10, #16]\n" EACH("0, 4", "smmlar r\\i, r\\i, r8, r\\i")                                         \
        EACH("1, 5", "smmlar r\\i, r\\i, r9, r\\i") "ldrd r8, r9, [r10, #24]\n"                                     \
        EACH("2, 6", "smmlar r\\i, r\\i, r8, r\\i") EACH("3, 7", "smmlar r\\i, r\\i, r9, r\\i")                     \
        EACH(ALL_SUMS, "add r\\i, r\\i, r\\i, asr #31") TIMES("32", "40")

ASSEMBLER void two_rows_scaled(const two_outputs_t *r __attribute__((unused)))
{
    __asm__(EIGHT_SUMS(TWO_ROWS) TIMES("16", "24") EIGHT_BYTES("32"));
}

ASSEMBLER void two_rows_twice(const two_outputs_t *r __attribute__((unused)))
{
    __asm__(EIGHT_SUMS(TWO_ROWS) TWICE EIGHT_BYTES("32"));
}

ASSEMBLER void two_columns_scaled(const two_outputs_t *r __attribute__((unused)))
{
    __asm__(EIGHT_SUMS(TWO_COLUMNS) TIMES("16", "24") EIGHT_BYTES("96"));
}

ASSEMBLER void two_columns_twice(const two_outputs_t *r __attribute__((unused)))
{
    __asm__(EIGHT_SUMS(TWO_COLUMNS) TWICE EIGHT_BYTES("96"));
}

FOR_EACH_WAY void two_rows(int32_t way, const two_outputs_t *r)
{
    if (way == SCALED) {
        two_rows_scaled(r);
    } else {
        two_rows_twice(r);
    }
}

FOR_EACH_WAY void two_columns(int32_t way, const two_outputs_t *r)
{
    if (way == SCALED) {
        two_columns_scaled(r);
    } else {
        two_columns_twice(r);
    }
}

/* Whether no output of a four is general. */
static inline int is_fast(int32_t way, const int32_t *affine)
{
    return way == SCALED || (affine[8] > 0 && affine[9] > 0 && affine[10] > 0 && affine[11] > 0);
}

#endif

FOR_EACH_WAY void depthwise_rows(int32_t way, const tcuq_nn_window *c, const rows_t *w, const int16_t *taps,
                                 const int32_t *affine, int32_t lines, int8_t *out)
{
    int32_t i;
#if DSP
    if (c->kernel_rows == 3 && c->kernel_columns == 3 && (w->slots == 4 || c->across == 2) && w->lanes == 4 &&
        is_fast(way, affine)) {
        two_outputs_t r = {w->cells, taps, affine, c->zero, out, out, c->outputs, c->columns};
        if (w->slots == 4) {
            r.second += lines == 2 ? c->columns * c->outputs : 0;
            two_rows(way, &r);
            return;
        }
        r.second += c->outputs;
        r.step *= 2;
        r.count /= 2;
        if (r.count > 0) {
            two_columns(way, &r);
        }
        if ((c->columns & 1) != 0) {
            /* The last output has no partner, which would read on into the weights. */
            r.cells += (c->columns - 1) * 2 * w->slots * CELL;
            r.first += (c->columns - 1) * c->outputs;
            r.second = r.first;
            r.count = 1;
            two_columns(way, &r);
        }
        return;
    }
#endif
    for (i = 0; i < lines; i++) {
        int8_t *to = out + i * c->columns * c->outputs;
        if (way == SCALED) {
            row_scaled(c, w, taps, affine, i, to);
        } else {
            row_twice(c, w, taps, affine, i, to);
        }
    }
}

/* Widen the weights of four channels. */
static void load_taps(int16_t *taps, const uint32_t *weights, int32_t places)
{
    for (; places > 0; places--, taps += CELL) {
        uint32_t word = *weights++;
        int8_t four[4];
        int32_t k;
        for (k = 0; k < 4; k++) {
            four[k] = (int8_t)(word >> 8 * k);
        }
        widen4(taps, 2, four);
    }
}

FOR_EACH_WAY void depthwise(int32_t way, const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch)
{
    int32_t two = c->kernel_rows == 3 && c->kernel_columns == 3 && c->down == 1 && c->across == 1;
    int32_t span = (c->columns - 1) * c->across + c->kernel_columns, places = c->kernel_rows * c->kernel_columns;
    int32_t channel;
    const uint32_t *weights = c->weights;
    const int32_t *affine = c->affine;
    rows_t w;
    int16_t *taps;
    w.pitch = c->width * c->channels;
    w.cells = (int16_t *)(void *)scratch;
    w.slots = two ? 4 : c->kernel_rows;
    w.before = least(c->left, span);
    w.inside = least(c->width, span - w.before);
    w.after = span - w.before - w.inside;
    taps = w.cells + span * w.slots * CELL;
    for (channel = 0; channel < c->channels; channel += 4, affine += 4 * numbers(way), weights += places) {
        int32_t row = 0, by = w.slots, y = -c->top;
        int8_t *to = out + channel;
        w.in = in + channel;
        w.lanes = least(4, c->channels - channel);
        widen_some(w.outside, c->pad + channel, w.lanes);
        load_taps(taps, weights, places);
        while (row < c->rows) {
            int32_t lines = two && c->rows - row > 1 ? 2 : 1;
            advance(c, &w, by, y);
            depthwise_rows(way, c, &w, taps, affine, lines, to);
            to += lines * c->columns * c->outputs;
            row += lines;
            by = lines * c->down;
            y += by;
        }
    }
}

void tcuq_nn_depthwise(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch)
{
    depthwise(SCALED, c, in, out, scratch);
}

void tcuq_nn_depthwise_twice(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch)
{
    depthwise(ROUNDED_TWICE, c, in, out, scratch);
}
