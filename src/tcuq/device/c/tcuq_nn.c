/* SPDX-License-Identifier: MIT */
/* Kernels of int8 networks. The header says what they compute; here is how.
 *
 * Bytes are widened to 16 bits in pairs: four bytes b0 b1 b2 b3 become (b0, b2) and (b1, b3), which is what
 * one SXTB16 each gives. Weights are packed so that the same instruction puts them beside their inputs.
 */
#include "tcuq_nn.h"

#include <stddef.h>
#include <string.h>

/* Define TCUQ_NN_PLAIN to leave the DSP extension alone where there is one. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__) && !defined(__ARM_BIG_ENDIAN) && !defined(TCUQ_NN_PLAIN)
#define DSP 1
#else
#define DSP 0
#endif

/* Columns that a convolution works on side by side. */
#define BLOCK 4

static int32_t up4(int32_t n)
{
    return (n + 3) & ~3;
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

#if DSP

/* Hides a function's inside from the optimiser, which cannot see which registers its assembler uses. Aligned
 * for ADR, which counts from a multiple of 4. */
#ifdef __clang__
#define ASSEMBLER static __attribute__((naked, noinline, used, aligned(4)))
#else
#define ASSEMBLER static __attribute__((naked, noipa, used, aligned(4)))
#endif

static inline uint32_t word_at(const void *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static inline void put_word(void *p, uint32_t word)
{
    memcpy(p, &word, sizeof word);
}

/* (b0, b2) */
static inline uint32_t evens(uint32_t word)
{
    uint32_t pair;
    __asm__("sxtb16 %0, %1" : "=r"(pair) : "r"(word));
    return pair;
}

/* (b1, b3) */
static inline uint32_t odds(uint32_t word)
{
    uint32_t pair;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word));
    return pair;
}

static inline int32_t two_products(uint32_t x, uint32_t y, int32_t sum)
{
    int32_t total;
    __asm__("smlad %0, %1, %2, %3" : "=r"(total) : "r"(x), "r"(y), "r"(sum));
    return total;
}

static inline int32_t sat8(int32_t value)
{
    int32_t kept;
    __asm__("ssat %0, #8, %1" : "=r"(kept) : "r"(value));
    return kept;
}

/* SMMLAR adds in the upper half, so that the zero comes for free. */
static inline int8_t requantise(int32_t sum, int32_t multiplier, int32_t zero)
{
    int32_t value;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(value) : "r"(sum), "r"(multiplier), "r"(zero));
    return (int8_t)sat8(value);
}

/* Four bytes, widened, to `to` and `step` numbers on. */
static inline void widen4(int16_t *to, int32_t step, const int8_t *from)
{
    uint32_t word = word_at(from);
    put_word(to, evens(word));
    put_word(to + step, odds(word));
}

/* sum + the products of a pair at `x` with the weights of a pair's first or second output. */
static inline int32_t first_output(uint32_t weights, const int16_t *x, int32_t sum)
{
    return two_products(evens(weights), word_at(x), sum);
}

static inline int32_t second_output(uint32_t weights, const int16_t *x, int32_t sum)
{
    return two_products(odds(weights), word_at(x), sum);
}

#else

static inline int32_t sat8(int32_t value)
{
    return value < -128 ? -128 : value > 127 ? 127 : value;
}

static inline int8_t requantise(int32_t sum, int32_t multiplier, int32_t zero)
{
    int64_t product = (int64_t)sum * multiplier + ((int64_t)1 << 31);
    return (int8_t)sat8((int32_t)(product >> 32) + zero);
}

static inline void widen4(int16_t *to, int32_t step, const int8_t *from)
{
    to[0] = from[0];
    to[1] = from[2];
    to[step] = from[1];
    to[step + 1] = from[3];
}

static inline int32_t first_output(uint32_t weights, const int16_t *x, int32_t sum)
{
    return sum + (int8_t)weights * x[0] + (int8_t)(weights >> 16) * x[1];
}

static inline int32_t second_output(uint32_t weights, const int16_t *x, int32_t sum)
{
    return sum + (int8_t)(weights >> 8) * x[0] + (int8_t)(weights >> 24) * x[1];
}

#endif

/* Widen `count` bytes, a multiple of four; pairs lie `step` numbers apart. */
static inline int16_t *widen(int16_t *to, int32_t step, const int8_t *from, int32_t count)
{
    for (; count >= 16; count -= 16, from += 16, to += 8 * step) {
        widen4(to, step, from);
        widen4(to + 2 * step, step, from + 4);
        widen4(to + 4 * step, step, from + 8);
        widen4(to + 6 * step, step, from + 12);
    }
    for (; count > 0; count -= 4, from += 4, to += 2 * step) {
        widen4(to, step, from);
    }
    return to;
}

static int8_t *copy(int8_t *to, const int8_t *from, int32_t count)
{
    for (; count >= 4; count -= 4, from += 4, to += 4) {
        memcpy(to, from, 4);
    }
    for (; count > 0; count--) {
        *to++ = *from++;
    }
    return to;
}

/* Convolution and dense. */

/* A pair of outputs after the other, for one column: `words` weights a pair. */
static void one_column(const uint32_t *weights, const int32_t *affine, const int16_t *column, int32_t words,
                       int32_t outputs, int32_t zero, int8_t *out)
{
    int32_t o, j;
    for (o = 0; o < outputs; o += 2, affine += 4) {
        int32_t a = affine[0], b = affine[1];
        const int16_t *x = column;
        for (j = 0; j < words; j++, x += 2) {
            uint32_t pair = *weights++;
            a = first_output(pair, x, a);
            b = second_output(pair, x, b);
        }
        out[o] = requantise(a, affine[2], zero);
        if (o + 1 < outputs) {
            out[o + 1] = requantise(b, affine[3], zero);
        }
    }
}

/* What four_columns() works on; the assembler knows the order. */
typedef struct {
    int8_t *out[BLOCK];
    const int32_t *affine;
    const int16_t *columns; /* pairs of the four columns beside each other */
    int32_t skip;           /* places of the unrolled loop to jump over at first */
    int32_t bytes;          /* of weights, a pair of outputs */
    int32_t zero;
    int32_t pairs;       /* of outputs, at least 1 */
    const uint32_t *end; /* for the assembler's use */
    const uint32_t *weights;
} block_t;

/* Words of weights that a turn of the assembler's loop takes. */
#define UNROLL 8

#if DSP

typedef char block_has_twelve_words[sizeof(block_t) == 48 ? 1 : -1];

/* Two outputs by four columns: eight sums in r0 to r7, nothing else left but two registers each for weights
 * and inputs and the two pointers; all the rest lies on the stack. 13 instructions for 16 products, all of
 * 4 bytes, so that the first turn can begin in the middle. */
ASSEMBLER void four_columns(const block_t *b __attribute__((unused)))
{
    __asm__(".syntax unified\n"
            "push {r4-r11, lr}\n"
            "ldmia r0, {r1-r12}\n"
            "adr.w r0, 2f\n"
            "mov r11, #52\n"
            "mla r7, r7, r11, r0\n"
            "mov lr, r12\n"
            "push {r1-r12}\n"
            "1:\n"
            "ldrd r11, r12, [sp, #16]\n" /* affine, columns */
            "ldrd r9, r8, [sp, #24]\n"   /* entry, bytes */
            "add r8, r8, lr\n"
            "str r8, [sp, #40]\n"
            "ldrd r0, r4, [r11]\n"
            "mov r1, r0\n"
            "mov r2, r0\n"
            "mov r3, r0\n"
            "mov r5, r4\n"
            "mov r6, r4\n"
            "mov r7, r4\n"
            "mov pc, r9\n"
            "2:\n"
            ".rept 8\n"
            "ldr.w r9, [lr], #4\n"
            "ldrd r10, r11, [r12], #8\n"
            "sxtb16 r8, r9\n"
            "sxtb16 r9, r9, ror #8\n"
            "smlad r0, r8, r10, r0\n"
            "smlad r4, r9, r10, r4\n"
            "smlad r1, r8, r11, r1\n"
            "smlad r5, r9, r11, r5\n"
            "ldrd r10, r11, [r12], #8\n"
            "smlad r2, r8, r10, r2\n"
            "smlad r6, r9, r10, r6\n"
            "smlad r3, r8, r11, r3\n"
            "smlad r7, r9, r11, r7\n"
            ".endr\n"
            "ldr r8, [sp, #40]\n"
            "cmp lr, r8\n"
            "bne.w 2b\n"
            "ldr r12, [sp, #16]\n"
            "ldr r10, [sp, #32]\n"
            "ldrd r8, r9, [r12, #8]\n"
            "add r12, r12, #16\n"
            "str r12, [sp, #16]\n"
            "smmlar r0, r0, r8, r10\n"
            "smmlar r1, r1, r8, r10\n"
            "smmlar r2, r2, r8, r10\n"
            "smmlar r3, r3, r8, r10\n"
            "smmlar r4, r4, r9, r10\n"
            "smmlar r5, r5, r9, r10\n"
            "smmlar r6, r6, r9, r10\n"
            "smmlar r7, r7, r9, r10\n"
            "ssat r0, #8, r0\n"
            "ssat r1, #8, r1\n"
            "ssat r2, #8, r2\n"
            "ssat r3, #8, r3\n"
            "ssat r4, #8, r4\n"
            "ssat r5, #8, r5\n"
            "ssat r6, #8, r6\n"
            "ssat r7, #8, r7\n"
            "ldrd r8, r9, [sp]\n"
            "ldrd r10, r11, [sp, #8]\n"
            "strb r0, [r8], #1\n"
            "strb r4, [r8], #1\n"
            "strb r1, [r9], #1\n"
            "strb r5, [r9], #1\n"
            "strb r2, [r10], #1\n"
            "strb r6, [r10], #1\n"
            "strb r3, [r11], #1\n"
            "strb r7, [r11], #1\n"
            "strd r8, r9, [sp]\n"
            "strd r10, r11, [sp, #8]\n"
            "ldr r8, [sp, #36]\n"
            "subs r8, r8, #1\n"
            "str r8, [sp, #36]\n"
            "bne.w 1b\n"
            "add sp, sp, #48\n"
            "pop {r4-r11, pc}\n");
}

#else

static void four_columns(const block_t *b)
{
    const uint32_t *weights = b->weights;
    const int32_t *affine = b->affine;
    int32_t words = b->bytes / 4, pair, j, i;
    for (pair = 0; pair < b->pairs; pair++, affine += 4) {
        int32_t a[BLOCK], c[BLOCK];
        const int16_t *x = b->columns;
        for (i = 0; i < BLOCK; i++) {
            a[i] = affine[0];
            c[i] = affine[1];
        }
        for (j = 0; j < words; j++, x += 2 * BLOCK) {
            uint32_t word = *weights++;
            for (i = 0; i < BLOCK; i++) {
                a[i] = first_output(word, x + 2 * i, a[i]);
                c[i] = second_output(word, x + 2 * i, c[i]);
            }
        }
        for (i = 0; i < BLOCK; i++) {
            b->out[i][2 * pair] = requantise(a[i], affine[2], b->zero);
            b->out[i][2 * pair + 1] = requantise(c[i], affine[3], b->zero);
        }
    }
}

#endif

/* All outputs of four pixels; `b` holds what does not change. */
static void four_pixels(block_t *b, const tcuq_nn_window *c, int8_t *out)
{
    int32_t i;
    for (i = 0; i < BLOCK; i++) {
        b->out[i] = out + i * c->outputs;
    }
    b->weights = c->weights;
    b->affine = c->affine;
    b->pairs = c->outputs / 2;
    if (b->pairs > 0) {
        four_columns(b);
    }
    if ((c->outputs & 1) != 0) {
        /* The last output has no partner, whose place belongs to the next pixel. */
        int8_t last[BLOCK][2];
        for (i = 0; i < BLOCK; i++) {
            b->out[i] = last[i];
        }
        b->weights = c->weights + c->outputs / 2 * (b->bytes / 4);
        b->affine = c->affine + c->outputs / 2 * 4;
        b->pairs = 1;
        four_columns(b);
        for (i = 0; i < BLOCK; i++) {
            out[(i + 1) * c->outputs - 1] = last[i][0];
        }
    }
}

/* Scratch of a convolution. */
typedef struct {
    int16_t *columns;
    int8_t *bytes;   /* one column before it is widened, or NULL */
    int8_t *outside; /* what a row of the kernel sees outside the picture, or NULL */
    int32_t values;  /* under the kernel, up to a multiple of four */
} scratch_t;

static int is_padded(const tcuq_nn_window *c)
{
    return c->top > 0 || c->left > 0 || (c->rows - 1) * c->stride + c->kernel_rows - c->top > c->height ||
           (c->columns - 1) * c->stride + c->kernel_columns - c->left > c->width;
}

static scratch_t divide(const tcuq_nn_window *c, int8_t *scratch)
{
    scratch_t s;
    int32_t row = c->kernel_columns * c->channels, values = c->kernel_rows * row, i;
    s.values = up4(values);
    s.columns = (int16_t *)(void *)scratch;
    s.bytes = NULL;
    s.outside = NULL;
    scratch += 2 * BLOCK * s.values;
    if ((c->channels & 3) != 0) {
        s.bytes = scratch;
        scratch += s.values;
        for (i = values; i < s.values; i++) {
            s.bytes[i] = 0;
        }
    }
    if (is_padded(c)) {
        s.outside = scratch;
        for (i = 0; i < row; i += c->channels) {
            memcpy(scratch + i, c->pad, (size_t)c->channels);
        }
    }
    return s;
}

/* Widen what the kernel sees with its corner at (y, x). Always inlined, so that `step` is a constant. */
static inline void fill(const tcuq_nn_window *c, const scratch_t *s, const int8_t *in, int16_t *to, int32_t step,
                        int32_t y, int32_t x)
{
    int32_t row = c->kernel_columns * c->channels, pitch = c->width * c->channels, k;
    int32_t right = x + c->kernel_columns - c->width;
    int32_t before = x < 0 ? least(-x, c->kernel_columns) * c->channels : 0;
    int32_t after = right > 0 ? least(right * c->channels, row - before) : 0;
    int32_t inside = row - before - after;
    int8_t *bytes = s->bytes;
    /* Where the row begins, as a number: it may lie before the picture, where a pointer may not. */
    ptrdiff_t at = (ptrdiff_t)y * pitch + (ptrdiff_t)x * c->channels;
    for (k = 0; k < c->kernel_rows; k++, at += pitch) {
        int32_t left = before, middle = inside, rest = after;
        if (y + k < 0 || y + k >= c->height) {
            left = row;
            middle = 0;
            rest = 0;
        }
        if (bytes != NULL) {
            bytes = left > 0 ? copy(bytes, s->outside, left) : bytes;
            bytes = middle > 0 ? copy(bytes, in + (at + left), middle) : bytes;
            bytes = rest > 0 ? copy(bytes, s->outside, rest) : bytes;
        } else {
            to = left > 0 ? widen(to, step, s->outside, left) : to;
            to = middle > 0 ? widen(to, step, in + (at + left), middle) : to;
            to = rest > 0 ? widen(to, step, s->outside, rest) : to;
        }
    }
    if (bytes != NULL) {
        widen(to, step, s->bytes, s->values);
    }
}

static void fill_one_of_four(const tcuq_nn_window *c, const scratch_t *s, const int8_t *in, int16_t *to, int32_t y,
                             int32_t x)
{
    fill(c, s, in, to, 2 * BLOCK, y, x);
}

static void fill_alone(const tcuq_nn_window *c, const scratch_t *s, const int8_t *in, int32_t y, int32_t x)
{
    fill(c, s, in, s->columns, 2, y, x);
}

void tcuq_nn_conv(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch)
{
    scratch_t s = divide(c, scratch);
    int32_t words = s.values / 2, pixels = c->rows * c->columns, done, i;
    int32_t y = -c->top, x = -c->left, line_end = c->columns * c->stride - c->left;
    block_t b;
    memset(&b, 0, sizeof b);
    b.columns = s.columns;
    b.skip = (UNROLL - words % UNROLL) % UNROLL;
    b.bytes = 4 * words;
    b.zero = c->zero;
    for (done = 0; done < pixels;) {
        int32_t many = pixels - done >= BLOCK ? BLOCK : 1;
        for (i = 0; i < many; i++) {
            if (many == BLOCK) {
                fill_one_of_four(c, &s, in, s.columns + 2 * i, y, x);
            } else {
                fill_alone(c, &s, in, y, x);
            }
            x += c->stride;
            if (x == line_end) {
                x = -c->left;
                y += c->stride;
            }
        }
        if (many == BLOCK) {
            four_pixels(&b, c, out);
        } else {
            one_column(c->weights, c->affine, s.columns, words, c->outputs, c->zero, out);
        }
        out += many * c->outputs;
        done += many;
    }
}

void tcuq_nn_dense(const tcuq_nn_matrix *m, const int8_t *in, int8_t *out, int8_t *scratch)
{
    int16_t *column = (int16_t *)(void *)scratch;
    int32_t whole = m->inputs & ~3, i;
    int16_t *to = widen(column, 2, in, whole);
    if (whole < m->inputs) {
        int8_t last[4] = {0, 0, 0, 0};
        for (i = whole; i < m->inputs; i++) {
            last[i - whole] = in[i];
        }
        widen4(to, 2, last);
    }
    one_column(m->weights, m->affine, column, up4(m->inputs) / 2, m->outputs, m->zero, out);
}

/* Depthwise convolution: four channels after the other, each four from the first row to the last. A cell is
 * the four channels of one pixel, widened; the window holds the cells of some rows, those of one column
 * beside each other. */
#define CELL 4

typedef struct {
    int16_t *cells;
    int32_t slots; /* rows */
    int32_t span;  /* columns */
} rows_t;

static void widen_some(int16_t *to, const int8_t *from, int32_t lanes)
{
    int8_t four[4] = {0, 0, 0, 0};
    int32_t i;
    for (i = 0; i < lanes; i++) {
        four[i] = from[i];
    }
    widen4(to, 2, four);
}

/* Put row `y` of the picture, beginning at channel `channel`, into a slot. */
static void load_row(const tcuq_nn_window *c, const rows_t *w, const int8_t *in, int32_t slot, int32_t y,
                     int32_t channel, const int16_t *outside)
{
    int32_t step = w->slots * CELL, lanes = least(4, c->channels - channel), i = 0;
    int16_t *to = w->cells + slot * CELL;
    if (y >= 0 && y < c->height) {
        int32_t from = least(c->left, w->span), end = least(c->left + c->width, w->span);
        const int8_t *at = in + (ptrdiff_t)y * c->width * c->channels + channel;
        for (; i < from; i++, to += step) {
            memcpy(to, outside, CELL * sizeof *to);
        }
        if (lanes == 4) {
            for (; i < end; i++, to += step, at += c->channels) {
                widen4(to, 2, at);
            }
        } else {
            for (; i < end; i++, to += step, at += c->channels) {
                widen_some(to, at, lanes);
            }
        }
    }
    for (; i < w->span; i++, to += step) {
        memcpy(to, outside, CELL * sizeof *to);
    }
}

/* Move the window down by `by` rows; it then begins at row `y` of the picture. */
static void advance(const tcuq_nn_window *c, const rows_t *w, const int8_t *in, int32_t by, int32_t y,
                    int32_t channel, const int16_t *outside)
{
    int32_t keep = by < w->slots ? w->slots - by : 0, i;
    if (keep > 0) {
        int16_t *to = w->cells;
        for (i = 0; i < w->span; i++, to += w->slots * CELL) {
            int32_t k;
            for (k = 0; k < keep; k++) {
                memcpy(to + k * CELL, to + (k + by) * CELL, CELL * sizeof *to);
            }
        }
    }
    for (i = keep; i < w->slots; i++) {
        load_row(c, w, in, i, y + i, channel, outside);
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
static void depthwise_row(const tcuq_nn_window *c, const rows_t *w, const int16_t *taps, const int32_t *affine,
                          int32_t line, int32_t lanes, int8_t *out)
{
    const int16_t *corner = w->cells + line * CELL;
    int32_t column, i;
    for (column = 0; column < c->columns; column++, out += c->outputs) {
        int32_t sums[4] = {affine[0], affine[1], affine[2], affine[3]};
        const int16_t *x = corner, *t = taps;
        for (i = 0; i < c->kernel_columns; i++, x += (w->slots - c->kernel_rows) * CELL) {
            int32_t k;
            for (k = 0; k < c->kernel_rows; k++, x += CELL, t += CELL) {
                add_products(sums, x, t);
            }
        }
        for (i = 0; i < lanes; i++) {
            out[i] = requantise(sums[i], affine[4 + i], c->zero);
        }
        corner += c->stride * w->slots * CELL;
    }
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

/* A 3 x 3 kernel with stride 1 over a window of four rows: two rows of the output, four channels. */
ASSEMBLER void two_rows(const two_rows_t *r __attribute__((unused)))
{
    __asm__(".syntax unified\n"
            "push {r4-r11, lr}\n"
            "ldmia r0, {r1-r8}\n"
            "push {r1-r8}\n"
            "mov r12, r1\n"
            "mov lr, r2\n"
            "1:\n"
            "ldr r8, [sp, #8]\n"
            "ldmia r8, {r0-r3}\n"
            "mov r4, r0\n"
            "mov r5, r1\n"
            "mov r6, r2\n"
            "mov r7, r3\n");
    __asm__(DOWN("0", "8", "16", "24", "0", "8", "16"));
    __asm__(DOWN("32", "40", "48", "56", "24", "32", "40"));
    __asm__(DOWN("64", "72", "80", "88", "48", "56", "64"));
    __asm__("ldrd r10, r11, [sp, #8]\n" /* affine, zero */
            "ldrd r8, r9, [r10, #16]\n"
            "smmlar r0, r0, r8, r11\n"
            "smmlar r4, r4, r8, r11\n"
            "smmlar r1, r1, r9, r11\n"
            "smmlar r5, r5, r9, r11\n"
            "ldrd r8, r9, [r10, #24]\n"
            "smmlar r2, r2, r8, r11\n"
            "smmlar r6, r6, r8, r11\n"
            "smmlar r3, r3, r9, r11\n"
            "smmlar r7, r7, r9, r11\n"
            "ssat r0, #8, r0\n"
            "ssat r1, #8, r1\n"
            "ssat r2, #8, r2\n"
            "ssat r3, #8, r3\n"
            "ssat r4, #8, r4\n"
            "ssat r5, #8, r5\n"
            "ssat r6, #8, r6\n"
            "ssat r7, #8, r7\n"
            "bfi r0, r1, #8, #8\n"
            "bfi r4, r5, #8, #8\n"
            "bfi r0, r2, #16, #8\n"
            "bfi r4, r6, #16, #8\n"
            "bfi r0, r3, #24, #8\n"
            "bfi r4, r7, #24, #8\n"
            "ldrd r8, r9, [sp, #16]\n"   /* upper, lower */
            "ldrd r10, r11, [sp, #24]\n" /* step, count */
            "str r0, [r8]\n"
            "str r4, [r9]\n"
            "add r8, r8, r10\n"
            "add r9, r9, r10\n"
            "strd r8, r9, [sp, #16]\n"
            "add r12, r12, #32\n"
            "subs r11, r11, #1\n"
            "str r11, [sp, #28]\n"
            "bne.w 1b\n"
            "add sp, sp, #32\n"
            "pop {r4-r11, pc}\n");
}

#endif

static void depthwise_rows(const tcuq_nn_window *c, const rows_t *w, const int16_t *taps, const int32_t *affine,
                           int32_t lines, int32_t lanes, int8_t *out)
{
    int32_t i;
#if DSP
    if (lines == 2 && lanes == 4) {
        two_rows_t r;
        r.cells = w->cells;
        r.taps = taps;
        r.affine = affine;
        r.zero = c->zero;
        r.upper = out;
        r.lower = out + c->columns * c->outputs;
        r.step = c->outputs;
        r.count = c->columns;
        two_rows(&r);
        return;
    }
#endif
    for (i = 0; i < lines; i++) {
        depthwise_row(c, w, taps, affine, i, lanes, out + i * c->columns * c->outputs);
    }
}

void tcuq_nn_depthwise(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch)
{
    int32_t two = c->kernel_rows == 3 && c->kernel_columns == 3 && c->stride == 1;
    int32_t places = c->kernel_rows * c->kernel_columns, channel;
    const uint32_t *weights = c->weights;
    const int32_t *affine = c->affine;
    rows_t w;
    int16_t *taps;
    w.cells = (int16_t *)(void *)scratch;
    w.slots = two ? 4 : c->kernel_rows;
    w.span = (c->columns - 1) * c->stride + c->kernel_columns;
    taps = w.cells + w.span * w.slots * CELL;
    for (channel = 0; channel < c->channels; channel += 4, affine += 8) {
        int32_t lanes = least(4, c->channels - channel), row = 0, by = w.slots, y = -c->top, i;
        int16_t outside[CELL];
        widen_some(outside, c->pad + channel, lanes);
        for (i = 0; i < places; i++) {
            uint32_t word = *weights++;
            int8_t four[4];
            int32_t k;
            for (k = 0; k < 4; k++) {
                four[k] = (int8_t)(word >> 8 * k);
            }
            widen4(taps + i * CELL, 2, four);
        }
        while (row < c->rows) {
            int32_t lines = two && c->rows - row > 1 ? 2 : 1;
            advance(c, &w, in, by, y, channel, outside);
            depthwise_rows(c, &w, taps, affine, lines, lanes, out + (ptrdiff_t)row * c->columns * c->outputs + channel);
            row += lines;
            by = lines * c->stride;
            y += by;
        }
    }
}

/* The rest. */

void tcuq_nn_add(const tcuq_nn_sum *s, const int8_t *a, const int8_t *b, int8_t *out, int32_t count)
{
    int32_t i = 0;
#if DSP
    uint32_t both = ((uint32_t)s->left & 0xFFFFu) | (uint32_t)s->right << 16;
    for (; i + 4 <= count; i += 4) {
        uint32_t x = word_at(a + i), y = word_at(b + i), x0 = evens(x), x1 = odds(x), y0 = evens(y), y1 = odds(y);
        uint32_t pair;
        int32_t r0, r1, r2, r3;
        __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(pair) : "r"(x0), "r"(y0));
        r0 = sat8(two_products(pair, both, s->offset) >> s->shift);
        __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(pair) : "r"(x1), "r"(y1));
        r1 = sat8(two_products(pair, both, s->offset) >> s->shift);
        __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(pair) : "r"(y0), "r"(x0));
        r2 = sat8(two_products(pair, both, s->offset) >> s->shift);
        __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(pair) : "r"(y1), "r"(x1));
        r3 = sat8(two_products(pair, both, s->offset) >> s->shift);
        __asm__("bfi %0, %1, #8, #8" : "+r"(r0) : "r"(r1));
        __asm__("bfi %0, %1, #8, #8" : "+r"(r2) : "r"(r3));
        __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(pair) : "r"(r0), "r"(r2));
        put_word(out + i, pair);
    }
#endif
    for (; i < count; i++) {
        out[i] = (int8_t)sat8((a[i] * s->left + b[i] * s->right + s->offset) >> s->shift);
    }
}

void tcuq_nn_mean(const int8_t *in, int8_t *out, int32_t pixels, int32_t channels, int32_t bias, int32_t multiplier,
                  int32_t zero)
{
    int32_t channel = 0, i;
#if DSP
    for (; channel + 4 <= channels; channel += 4) {
        int32_t sums[4] = {bias, bias, bias, bias}, left = pixels;
        const int8_t *at = in + channel;
        while (left > 0) {
            /* 256 values of -128 are the most that 16 bits hold. */
            int32_t some = least(left, 256);
            uint32_t even = 0, odd = 0;
            left -= some;
            for (; some > 0; some--, at += channels) {
                uint32_t word = word_at(at);
                __asm__("sxtab16 %0, %0, %1" : "+r"(even) : "r"(word));
                __asm__("sxtab16 %0, %0, %1, ror #8" : "+r"(odd) : "r"(word));
            }
            sums[0] += (int16_t)even;
            sums[1] += (int16_t)odd;
            sums[2] += (int16_t)(even >> 16);
            sums[3] += (int16_t)(odd >> 16);
        }
        for (i = 0; i < 4; i++) {
            out[channel + i] = requantise(sums[i], multiplier, zero);
        }
    }
#endif
    for (; channel < channels; channel++) {
        int32_t sum = bias;
        const int8_t *at = in + channel;
        for (i = 0; i < pixels; i++, at += channels) {
            sum += *at;
        }
        out[channel] = requantise(sum, multiplier, zero);
    }
}

void tcuq_nn_drop(const int8_t *in, int8_t *out, int32_t count, int32_t threshold, int32_t multiplier, int32_t zero,
                  uint32_t *random)
{
    uint32_t x = *random, bytes = 0;
    int32_t i;
    for (i = 0; i < count; i++) {
        if ((i & 3) == 0) {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            bytes = x;
        }
        if ((int32_t)(bytes & 0xFFu) < threshold) {
            out[i] = (int8_t)zero;
        } else {
            out[i] = (int8_t)sat8((((in[i] - zero) * multiplier + (1 << 14)) >> 15) + zero);
        }
        bytes >>= 8;
    }
    *random = x;
}

void tcuq_nn_softmax(const int8_t *in, int8_t *out, int32_t count, const uint16_t *table)
{
    uint32_t sum = 0;
    int32_t top = -128, i;
    for (i = 0; i < count; i++) {
        top = in[i] > top ? in[i] : top;
    }
    for (i = 0; i < count; i++) {
        sum += table[top - in[i]];
    }
    for (i = 0; i < count; i++) {
        uint32_t p = (table[top - in[i]] * 512u + sum) / (2u * sum);
        out[i] = (int8_t)((int32_t)(p > 255u ? 255u : p) - 128);
    }
}
