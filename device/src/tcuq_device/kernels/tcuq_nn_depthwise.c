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

/* Move `count` columns of a window of four rows down by two, the new rows being at `upper` and `lower`. */
#if DSP

ASSEMBLER void slide(int16_t *to __attribute__((unused)), const int8_t *upper __attribute__((unused)),
                     const int8_t *lower __attribute__((unused)), int32_t channels __attribute__((unused)),
                     int32_t count __attribute__((unused)))
{
    __asm__(".syntax unified\n"
            "push {r4-r10, lr}\n"
            "ldr r10, [sp, #32]\n"
            "1:\n"
            "add r12, r0, #16\n"
            "ldmia r12, {r4-r7}\n"
            "ldr r8, [r1]\n"
            "ldr r9, [r2]\n"
            "stmia r0!, {r4-r7}\n"
            "add r1, r1, r3\n"
            "add r2, r2, r3\n"
            "sxtb16 r4, r8\n"
            "sxtb16 r5, r8, ror #8\n"
            "sxtb16 r6, r9\n"
            "sxtb16 r7, r9, ror #8\n"
            "stmia r0!, {r4-r7}\n"
            "subs r10, r10, #1\n"
            "bne 1b\n"
            "pop {r4-r10, pc}\n");
}

#else

static void slide(int16_t *to, const int8_t *upper, const int8_t *lower, int32_t channels, int32_t count)
{
    for (; count > 0; count--, to += 4 * CELL, upper += channels, lower += channels) {
        memcpy(to, to + 2 * CELL, 2 * CELL * sizeof *to);
        widen4(to + 2 * CELL, 2, upper);
        widen4(to + 3 * CELL, 2, lower);
    }
}

#endif

/* Move the window down by `by` rows; it then begins at row `y` of the picture. */
FOR_EACH_WAY void advance(const tcuq_nn_window *c, const rows_t *w, int32_t by, int32_t y)
{
    int32_t keep = by < w->slots ? w->slots - by : 0, i;
    if (w->slots == 4 && by == 2 && w->lanes == 4 && w->inside > 0 && y + 2 >= 0 && y + 3 < c->height) {
        /* Columns outside the picture stay as they are. */
        const int8_t *upper = w->in + ((ptrdiff_t)y + 2) * w->pitch;
        slide(w->cells + w->before * 4 * CELL, upper, upper + w->pitch, c->channels, w->inside);
        return;
    }
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

/* What two_rows() works on; the assembler knows the order. */
typedef struct {
    const int16_t *cells;
    const int16_t *taps;
    const int32_t *affine;
    int32_t zero;
    int8_t *upper, *lower;
    int32_t step;
    int32_t count;
} two_rows_t;

#define TAP(sum0, sum1, sum2, sum3)                                                                               \
    "smlabb " sum0 ", r8, r10, " sum0 "\n"                                                                         \
    "smlabb " sum1 ", r9, r11, " sum1 "\n"                                                                         \
    "smlatt " sum2 ", r8, r10, " sum2 "\n"                                                                         \
    "smlatt " sum3 ", r9, r11, " sum3 "\n"
#define UPPER TAP("r0", "r1", "r2", "r3")
#define LOWER TAP("r4", "r5", "r6", "r7")
#define CELL_AT(offset) "ldrd r8, r9, [r12, #" offset "]\n"
#define TAP_AT(offset) "ldrd r10, r11, [lr, #" offset "]\n"
/* Down a column of the kernel for two outputs below each other: every cell and every weight is loaded once. */
#define DOWN(x0, x1, x2, x3, w0, w1, w2)                                                                          \
    CELL_AT(x0) TAP_AT(w0) UPPER CELL_AT(x1) LOWER TAP_AT(w1) UPPER CELL_AT(x2) LOWER TAP_AT(w2) UPPER CELL_AT(x3) \
        LOWER

/* A 3 x 3 kernel with stride 1 over a window of four rows: two rows of the output, four channels. `upper` is
 * written last: with both rows at one place it is what stays. */
#define EIGHT_SUMS                                                                                                \
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
    "mov r7, r3\n" DOWN("0", "8", "16", "24", "0", "8", "16") DOWN("32", "40", "48", "56", "24", "32", "40")       \
        DOWN("64", "72", "80", "88", "48", "56", "64") "ldrd r10, r11, [sp, #8]\n" /* affine, zero */

#define EIGHT_BYTES                                                                                               \
    "ssat r0, #8, r0\n"                                                                                           \
    "ssat r1, #8, r1\n"                                                                                           \
    "ssat r2, #8, r2\n"                                                                                           \
    "ssat r3, #8, r3\n"                                                                                           \
    "ssat r4, #8, r4\n"                                                                                           \
    "ssat r5, #8, r5\n"                                                                                           \
    "ssat r6, #8, r6\n"                                                                                           \
    "ssat r7, #8, r7\n"                                                                                           \
    "bfi r0, r1, #8, #8\n"                                                                                        \
    "bfi r4, r5, #8, #8\n"                                                                                        \
    "bfi r0, r2, #16, #8\n"                                                                                       \
    "bfi r4, r6, #16, #8\n"                                                                                       \
    "bfi r0, r3, #24, #8\n"                                                                                       \
    "bfi r4, r7, #24, #8\n"                                                                                       \
    "ldrd r8, r9, [sp, #16]\n"   /* upper, lower */                                                               \
    "ldrd r10, r11, [sp, #24]\n" /* step, count */                                                                \
    "str r4, [r9]\n"                                                                                              \
    "str r0, [r8]\n"                                                                                              \
    "add r8, r8, r10\n"                                                                                           \
    "add r9, r9, r10\n"                                                                                           \
    "strd r8, r9, [sp, #16]\n"                                                                                    \
    "add r12, r12, #32\n"                                                                                         \
    "subs r11, r11, #1\n"                                                                                         \
    "str r11, [sp, #28]\n"                                                                                        \
    "bne.w 1b\n"                                                                                                  \
    "add sp, sp, #32\n"                                                                                           \
    "pop {r4-r11, pc}\n"

/* Sums times numbers of `affine`, two channels after the other, plus the zero. */
#define TIMES(first, second)                                                                                      \
    "ldrd r8, r9, [r10, #" first "]\n"                                                                            \
    "smmlar r0, r0, r8, r11\n"                                                                                    \
    "smmlar r4, r4, r8, r11\n"                                                                                    \
    "smmlar r1, r1, r9, r11\n"                                                                                    \
    "smmlar r5, r5, r9, r11\n"                                                                                    \
    "ldrd r8, r9, [r10, #" second "]\n"                                                                           \
    "smmlar r2, r2, r8, r11\n"                                                                                    \
    "smmlar r6, r6, r8, r11\n"                                                                                    \
    "smmlar r3, r3, r9, r11\n"                                                                                    \
    "smmlar r7, r7, r9, r11\n"

ASSEMBLER void two_rows_scaled(const two_rows_t *r __attribute__((unused)))
{
    __asm__(EIGHT_SUMS);
    __asm__(TIMES("16", "24"));
    __asm__(EIGHT_BYTES);
}

/* As twice_scaled() does it. */
ASSEMBLER void two_rows_twice(const two_rows_t *r __attribute__((unused)))
{
    __asm__(EIGHT_SUMS);
    __asm__("ldrd r8, r9, [r10, #16]\n"
            "smmlar r0, r0, r8, r0\n"
            "smmlar r4, r4, r8, r4\n"
            "smmlar r1, r1, r9, r1\n"
            "smmlar r5, r5, r9, r5\n"
            "ldrd r8, r9, [r10, #24]\n"
            "smmlar r2, r2, r8, r2\n"
            "smmlar r6, r6, r8, r6\n"
            "smmlar r3, r3, r9, r3\n"
            "smmlar r7, r7, r9, r7\n"
            "add r0, r0, r0, asr #31\n"
            "add r1, r1, r1, asr #31\n"
            "add r2, r2, r2, asr #31\n"
            "add r3, r3, r3, asr #31\n"
            "add r4, r4, r4, asr #31\n"
            "add r5, r5, r5, asr #31\n"
            "add r6, r6, r6, asr #31\n"
            "add r7, r7, r7, asr #31\n");
    __asm__(TIMES("32", "40"));
    __asm__(EIGHT_BYTES);
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
    if (w->slots == 4 && c->kernel_rows == 3 && w->lanes == 4 && is_fast(way, affine)) {
        two_rows_t r;
        r.cells = w->cells;
        r.taps = taps;
        r.affine = affine;
        r.zero = c->zero;
        r.upper = out;
        r.lower = lines == 2 ? out + c->columns * c->outputs : out;
        r.step = c->outputs;
        r.count = c->columns;
        if (way == SCALED) {
            two_rows_scaled(&r);
        } else {
            two_rows_twice(&r);
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
