/* SPDX-License-Identifier: MIT */
/* Convolution, and dense, which is a convolution of one column. */
#include "tcuq_nn_inside.h"

/* Columns that a convolution works on side by side. */
#define BLOCK 4

#if DSP

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
static inline void widen(int16_t *to, int32_t step, const int8_t *from, int32_t count)
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
}

/* A pair of outputs after the other, for one column: `words` weights a pair. */
FOR_EACH_WAY void one_column(int32_t way, const uint32_t *weights, const int32_t *affine, const int16_t *column,
                             int32_t words, int32_t outputs, int32_t zero, int8_t *out)
{
    int32_t o, j;
    for (o = 0; o < outputs; o += 2, affine += 2 * numbers(way)) {
        int32_t a = affine[0], b = affine[1];
        const int16_t *x = column;
        for (j = 0; j < words; j++, x += 2) {
            uint32_t pair = *weights++;
            a = first_output(pair, x, a);
            b = second_output(pair, x, b);
        }
        out[o] = finished(way, a, affine, 2, zero);
        if (o + 1 < outputs) {
            out[o + 1] = finished(way, b, affine + 1, 2, zero);
        }
    }
}

ONCE void one_column_twice(const uint32_t *weights, const int32_t *affine, const int16_t *column, int32_t words,
                           int32_t outputs, int32_t zero, int8_t *out)
{
    one_column(ROUNDED_TWICE, weights, affine, column, words, outputs, zero, out);
}

ONCE void one_column_scaled(const uint32_t *weights, const int32_t *affine, const int16_t *column, int32_t words,
                            int32_t outputs, int32_t zero, int8_t *out)
{
    one_column(SCALED, weights, affine, column, words, outputs, zero, out);
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
 * 4 bytes, so that the first turn can begin in the middle. The sums of a pair leave its numbers at r12, the zero in
 * r10. */
#define EIGHT_SUMS                                                                                                \
    ".syntax unified\n"                                                                                           \
    "push {r4-r11, lr}\n"                                                                                         \
    "ldmia r0, {r1-r12}\n"                                                                                        \
    "adr.w r0, 2f\n"                                                                                              \
    "mov r11, #52\n"                                                                                              \
    "mla r7, r7, r11, r0\n"                                                                                       \
    "mov lr, r12\n"                                                                                               \
    "push {r1-r12}\n"                                                                                             \
    "1:\n"                                                                                                        \
    "ldrd r11, r12, [sp, #16]\n" /* affine, columns */                                                            \
    "ldrd r9, r8, [sp, #24]\n" /* entry, bytes */                                                                 \
    "add r8, r8, lr\n"                                                                                            \
    "str r8, [sp, #40]\n"                                                                                         \
    "ldrd r0, r4, [r11]\n"                                                                                        \
    "mov r1, r0\n"                                                                                                \
    "mov r2, r0\n"                                                                                                \
    "mov r3, r0\n"                                                                                                \
    "mov r5, r4\n"                                                                                                \
    "mov r6, r4\n"                                                                                                \
    "mov r7, r4\n"                                                                                                \
    "mov pc, r9\n"                                                                                                \
    "2:\n"                                                                                                        \
    ".rept 8\n"                                                                                                   \
    "ldr.w r9, [lr], #4\n"                                                                                        \
    "ldrd r10, r11, [r12], #8\n"                                                                                  \
    "sxtb16 r8, r9\n"                                                                                             \
    "sxtb16 r9, r9, ror #8\n"                                                                                     \
    "smlad r0, r8, r10, r0\n"                                                                                     \
    "smlad r4, r9, r10, r4\n"                                                                                     \
    "smlad r1, r8, r11, r1\n"                                                                                     \
    "smlad r5, r9, r11, r5\n"                                                                                     \
    "ldrd r10, r11, [r12], #8\n"                                                                                  \
    "smlad r2, r8, r10, r2\n"                                                                                     \
    "smlad r6, r9, r10, r6\n"                                                                                     \
    "smlad r3, r8, r11, r3\n"                                                                                     \
    "smlad r7, r9, r11, r7\n"                                                                                     \
    ".endr\n"                                                                                                     \
    "ldr r8, [sp, #40]\n"                                                                                         \
    "cmp lr, r8\n"                                                                                                \
    "bne.w 2b\n"                                                                                                  \
    "ldr r12, [sp, #16]\n"                                                                                        \
    "ldr r10, [sp, #32]\n"

/* What came of the sums goes out, and the next pair begins. */
#define EIGHT_BYTES                                                                                               \
    "ssat r0, #8, r0\n"                                                                                           \
    "ssat r1, #8, r1\n"                                                                                           \
    "ssat r2, #8, r2\n"                                                                                           \
    "ssat r3, #8, r3\n"                                                                                           \
    "ssat r4, #8, r4\n"                                                                                           \
    "ssat r5, #8, r5\n"                                                                                           \
    "ssat r6, #8, r6\n"                                                                                           \
    "ssat r7, #8, r7\n"                                                                                           \
    "ldrd r8, r9, [sp]\n"                                                                                         \
    "ldrd r10, r11, [sp, #8]\n"                                                                                   \
    "strb r0, [r8], #1\n"                                                                                         \
    "strb r4, [r8], #1\n"                                                                                         \
    "strb r1, [r9], #1\n"                                                                                         \
    "strb r5, [r9], #1\n"                                                                                         \
    "strb r2, [r10], #1\n"                                                                                        \
    "strb r6, [r10], #1\n"                                                                                        \
    "strb r3, [r11], #1\n"                                                                                        \
    "strb r7, [r11], #1\n"                                                                                        \
    "strd r8, r9, [sp]\n"                                                                                         \
    "strd r10, r11, [sp, #8]\n"                                                                                   \
    "ldr r8, [sp, #36]\n"                                                                                         \
    "subs r8, r8, #1\n"                                                                                           \
    "str r8, [sp, #36]\n"                                                                                         \
    "bne.w 1b\n"                                                                                                  \
    "add sp, sp, #48\n"                                                                                           \
    "pop {r4-r11, pc}\n"

/* An instruction for the sums of both outputs. */
#define FOUR(word, rest) word " r0, r0, " rest word " r1, r1, " rest word " r2, r2, " rest word " r3, r3, " rest
#define OTHER_FOUR(word, rest) word " r4, r4, " rest word " r5, r5, " rest word " r6, r6, " rest word " r7, r7, " rest

ASSEMBLER void four_columns_scaled(const block_t *b __attribute__((unused)))
{
    __asm__(EIGHT_SUMS);
    __asm__("ldrd r8, r9, [r12, #8]\n"
            "add r12, r12, #16\n"
            "str r12, [sp, #16]\n");
    __asm__(FOUR("smmlar", "r8, r10\n") OTHER_FOUR("smmlar", "r9, r10\n"));
    __asm__(EIGHT_BYTES);
}

/* As twice_scaled() does it. What is general comes out wrong. */
ASSEMBLER void four_columns_twice(const block_t *b __attribute__((unused)))
{
    __asm__(EIGHT_SUMS);
    __asm__("ldrd r8, r9, [r12, #8]\n"
            "smmlar r0, r0, r8, r0\n"
            "smmlar r1, r1, r8, r1\n"
            "smmlar r2, r2, r8, r2\n"
            "smmlar r3, r3, r8, r3\n"
            "smmlar r4, r4, r9, r4\n"
            "smmlar r5, r5, r9, r5\n"
            "smmlar r6, r6, r9, r6\n"
            "smmlar r7, r7, r9, r7\n"
            "add r0, r0, r0, asr #31\n"
            "add r1, r1, r1, asr #31\n"
            "add r2, r2, r2, asr #31\n"
            "add r3, r3, r3, asr #31\n"
            "add r4, r4, r4, asr #31\n"
            "add r5, r5, r5, asr #31\n"
            "add r6, r6, r6, asr #31\n"
            "add r7, r7, r7, asr #31\n"
            "ldrd r8, r9, [r12, #16]\n"
            "add r12, r12, #24\n"
            "str r12, [sp, #16]\n");
    __asm__(FOUR("smmlar", "r8, r10\n") OTHER_FOUR("smmlar", "r9, r10\n"));
    __asm__(EIGHT_BYTES);
}

#elif (defined(__SSE2__) || defined(__ARM_NEON)) && !defined(TCUQ_NN_PLAIN)

/* For computers: eight sums an output, those of a pair's two numbers apart, which compilers turn into vectors. */
FOR_EACH_WAY void four_columns_plain(int32_t way, const block_t *b)
{
    const uint32_t *weights = b->weights;
    const int32_t *affine = b->affine;
    int32_t words = b->bytes / 4, pair, j, i;
    for (pair = 0; pair < b->pairs; pair++, affine += 2 * numbers(way)) {
        int32_t first[2 * BLOCK] = {0}, second[2 * BLOCK] = {0};
        const int16_t *x = b->columns;
        for (j = 0; j < words; j++, x += 2 * BLOCK) {
            uint32_t word = *weights++;
            int16_t w[4];
            w[0] = (int8_t)word;
            w[1] = (int8_t)(word >> 16);
            w[2] = (int8_t)(word >> 8);
            w[3] = (int8_t)(word >> 24);
            for (i = 0; i < 2 * BLOCK; i++) {
                first[i] += x[i] * w[i & 1];
                second[i] += x[i] * w[2 + (i & 1)];
            }
        }
        for (i = 0; i < BLOCK; i++) {
            int32_t sum = affine[0] + first[2 * i] + first[2 * i + 1];
            b->out[i][2 * pair] = finished(way, sum, affine, 2, b->zero);
            sum = affine[1] + second[2 * i] + second[2 * i + 1];
            b->out[i][2 * pair + 1] = finished(way, sum, affine + 1, 2, b->zero);
        }
    }
}

#else

FOR_EACH_WAY void four_columns_plain(int32_t way, const block_t *b)
{
    const uint32_t *weights = b->weights;
    const int32_t *affine = b->affine;
    int32_t words = b->bytes / 4, pair, j, i;
    for (pair = 0; pair < b->pairs; pair++, affine += 2 * numbers(way)) {
        int32_t first[BLOCK], second[BLOCK];
        const int16_t *x = b->columns;
        for (i = 0; i < BLOCK; i++) {
            first[i] = affine[0];
            second[i] = affine[1];
        }
        for (j = 0; j < words; j++, x += 2 * BLOCK) {
            uint32_t word = *weights++;
            for (i = 0; i < BLOCK; i++) {
                first[i] = first_output(word, x + 2 * i, first[i]);
                second[i] = second_output(word, x + 2 * i, second[i]);
            }
        }
        for (i = 0; i < BLOCK; i++) {
            b->out[i][2 * pair] = finished(way, first[i], affine, 2, b->zero);
            b->out[i][2 * pair + 1] = finished(way, second[i], affine + 1, 2, b->zero);
        }
    }
}

#endif

#if !DSP

ONCE void four_columns_scaled(const block_t *b)
{
    four_columns_plain(SCALED, b);
}

ONCE void four_columns_twice(const block_t *b)
{
    four_columns_plain(ROUNDED_TWICE, b);
}

#endif

FOR_EACH_WAY void four_columns(int32_t way, const block_t *b)
{
    if (way == SCALED) {
        four_columns_scaled(b);
    } else {
        four_columns_twice(b);
    }
}

#if DSP

/* Once more the outputs that are general. */
ONCE void mend(const block_t *b, const tcuq_nn_window *c, int8_t *out)
{
    int32_t words = b->bytes / 4, o, i, j;
    for (o = 0; o < c->outputs; o++) {
        const int32_t *affine = c->affine + o / 2 * 6 + (o & 1);
        const uint32_t *weights = c->weights + o / 2 * words;
        if (affine[4] > 0) {
            continue;
        }
        for (i = 0; i < BLOCK; i++) {
            const int16_t *x = b->columns + 2 * i;
            int32_t sum = affine[0];
            for (j = 0; j < words; j++, x += 2 * BLOCK) {
                sum = (o & 1) == 0 ? first_output(weights[j], x, sum) : second_output(weights[j], x, sum);
            }
            out[i * c->outputs + o] = finished(ROUNDED_TWICE, sum, affine, 2, c->zero);
        }
    }
}

#endif

/* All outputs of four pixels; `b` holds what does not change. */
FOR_EACH_WAY void four_pixels(int32_t way, block_t *b, const tcuq_nn_window *c, int8_t *out)
{
    int32_t i;
    for (i = 0; i < BLOCK; i++) {
        b->out[i] = out + i * c->outputs;
    }
    b->weights = c->weights;
    b->affine = c->affine;
    b->pairs = c->outputs / 2;
    if (b->pairs > 0) {
        four_columns(way, b);
    }
    if ((c->outputs & 1) != 0) {
        /* The last output has no partner, whose place belongs to the next pixel. */
        int8_t last[BLOCK][2];
        for (i = 0; i < BLOCK; i++) {
            b->out[i] = last[i];
        }
        b->weights = c->weights + c->outputs / 2 * (b->bytes / 4);
        b->affine = c->affine + c->outputs / 2 * 2 * numbers(way);
        b->pairs = 1;
        four_columns(way, b);
        for (i = 0; i < BLOCK; i++) {
            out[(i + 1) * c->outputs - 1] = last[i][0];
        }
    }
#if DSP
    if (way == ROUNDED_TWICE && c->general != 0) {
        mend(b, c, out);
    }
#endif
}

/* Scratch of a convolution. */
typedef struct {
    int16_t *columns;
    int8_t *bytes;   /* four columns before they are widened, or NULL where they can be widened at once */
    int8_t *outside; /* what a row of the kernel sees outside the picture, or NULL */
    int32_t row;     /* values under a row of the kernel */
    int32_t values;  /* under the kernel, up to a multiple of four */
} scratch_t;

ONCE int is_padded(const tcuq_nn_window *c)
{
    return c->top > 0 || c->left > 0 || (c->rows - 1) * c->down + c->kernel_rows - c->top > c->height ||
           (c->columns - 1) * c->across + c->kernel_columns - c->left > c->width;
}

FOR_EACH_WAY scratch_t divide(const tcuq_nn_window *c, int8_t *scratch, int32_t dilated)
{
    scratch_t s;
    int32_t i, k;
    s.row = c->kernel_columns * c->channels;
    s.values = up4(c->kernel_rows * s.row);
    s.columns = (int16_t *)(void *)scratch;
    s.bytes = NULL;
    s.outside = NULL;
    scratch += 2 * BLOCK * s.values;
    if (dilated || (c->channels & 3) != 0) {
        s.bytes = scratch;
        scratch += BLOCK * s.values;
        for (i = 1; i <= BLOCK; i++) {
            for (k = s.values - c->kernel_rows * s.row; k > 0; k--) {
                s.bytes[i * s.values - k] = 0;
            }
        }
    }
    if (!dilated && is_padded(c)) {
        s.outside = scratch;
        for (i = 0; i < s.row; i += c->channels) {
            memcpy(scratch + i, c->pad, (size_t)c->channels);
        }
    }
    return s;
}

/* How a kernel with its corner at (y, x) lies over the picture: rows and values of a row on each side. */
typedef struct {
    int32_t above, rows, below;
    int32_t before, inside, after;
    ptrdiff_t at; /* of the first value inside; a number, because a corner outside has no address */
} view_t;

static view_t view_of(const tcuq_nn_window *c, const scratch_t *s, int32_t y, int32_t x)
{
    view_t v;
    int32_t low = y + c->kernel_rows - c->height, right = (x + c->kernel_columns - c->width) * c->channels;
    v.above = y < 0 ? least(-y, c->kernel_rows) : 0;
    v.below = low > 0 ? least(low, c->kernel_rows - v.above) : 0;
    v.rows = c->kernel_rows - v.above - v.below;
    v.before = x < 0 ? least(-x * c->channels, s->row) : 0;
    v.after = right > 0 ? least(right, s->row - v.before) : 0;
    v.inside = s->row - v.before - v.after;
    v.at = ((ptrdiff_t)(y + v.above) * c->width + x) * c->channels + v.before;
    return v;
}

/* Rows of `count` bytes to a column of bytes. */
ONCE void copy_rows(int8_t *to, int32_t to_pitch, const int8_t *from, int32_t pitch, int32_t count, int32_t rows)
{
    for (; rows > 0; rows--, to += to_pitch, from += pitch) {
        int32_t i = 0;
        if (count < 4) {
            for (; i < count; i++) {
                to[i] = from[i];
            }
            continue;
        }
        for (; i < count - 4; i += 4) {
            memcpy(to + i, from + i, 4);
        }
        /* The last word may repeat some bytes of the one before. */
        memcpy(to + count - 4, from + count - 4, 4);
    }
}

/* Rows of `count` bytes, a multiple of four, to a widened column; `to_pitch` in bytes before widening. */
ONCE void widen_rows(int16_t *to, int32_t step, int32_t to_pitch, const int8_t *from, int32_t pitch, int32_t count,
                     int32_t rows)
{
    for (; rows > 0; rows--, to += to_pitch / 2 * step, from += pitch) {
        widen(to, step, from, count);
    }
}

/* What the kernel sees with its corner at (y, x), as bytes. */
static void fill_bytes(const tcuq_nn_window *c, const scratch_t *s, const int8_t *in, int8_t *to, int32_t y, int32_t x)
{
    view_t v = view_of(c, s, y, x);
    if (v.above > 0) {
        copy_rows(to, s->row, s->outside, 0, s->row, v.above);
        to += v.above * s->row;
    }
    if (v.rows > 0) {
        if (v.before > 0) {
            copy_rows(to, s->row, s->outside, 0, v.before, v.rows);
        }
        if (v.inside > 0) {
            copy_rows(to + v.before, s->row, in + v.at, c->width * c->channels, v.inside, v.rows);
        }
        if (v.after > 0) {
            copy_rows(to + v.before + v.inside, s->row, s->outside, 0, v.after, v.rows);
        }
    }
    if (v.below > 0) {
        copy_rows(to + v.rows * s->row, s->row, s->outside, 0, s->row, v.below);
    }
}

/* The same with dilation, place by place. */
ONCE void fill_places(const tcuq_nn_window *c, const int8_t *in, int8_t *to, int32_t y, int32_t x)
{
    int32_t i, j;
    for (i = 0; i < c->kernel_rows; i++) {
        for (j = 0; j < c->kernel_columns; j++, to += c->channels) {
            int32_t row = y + i * c->tall, column = x + j * c->wide;
            int inside = row >= 0 && row < c->height && column >= 0 && column < c->width;
            const int8_t *from = inside ? in + ((ptrdiff_t)row * c->width + column) * c->channels : c->pad;
            copy_rows(to, 0, from, 0, c->channels, 1);
        }
    }
}

/* As fill_bytes(), widened: pairs `step` numbers apart. */
ONCE void fill_column(const tcuq_nn_window *c, const scratch_t *s, const int8_t *in, int16_t *to, int32_t step,
                      int32_t y, int32_t x)
{
    view_t v = view_of(c, s, y, x);
    if (v.above > 0) {
        widen_rows(to, step, s->row, s->outside, 0, s->row, v.above);
        to += v.above * s->row / 2 * step;
    }
    if (v.rows > 0) {
        if (v.before > 0) {
            widen_rows(to, step, s->row, s->outside, 0, v.before, v.rows);
        }
        if (v.inside > 0) {
            widen_rows(to + v.before / 2 * step, step, s->row, in + v.at, c->width * c->channels, v.inside, v.rows);
        }
        if (v.after > 0) {
            widen_rows(to + (v.before + v.inside) / 2 * step, step, s->row, s->outside, 0, v.after, v.rows);
        }
    }
    if (v.below > 0) {
        widen_rows(to + v.rows * s->row / 2 * step, step, s->row, s->outside, 0, s->row, v.below);
    }
}

#if DSP

/* Widen `words` words of four columns that lie `apart` bytes from each other; return the end. */
ASSEMBLER int16_t *widen_four(int16_t *to __attribute__((unused)), const int8_t *from __attribute__((unused)),
                              int32_t apart __attribute__((unused)), int32_t words __attribute__((unused)))
{
    __asm__(".syntax unified\n"
            "push {r4-r11, lr}\n"
            "add r12, r1, r2\n"
            "add lr, r12, r2\n"
            "add r2, r2, lr\n"
            "1:\n"
            "ldr r4, [r1], #4\n"
            "ldr r5, [r12], #4\n"
            "ldr r6, [lr], #4\n"
            "ldr r7, [r2], #4\n"
            "sxtb16 r8, r4\n"
            "sxtb16 r9, r5\n"
            "sxtb16 r10, r6\n"
            "sxtb16 r11, r7\n"
            "sxtb16 r4, r4, ror #8\n"
            "sxtb16 r5, r5, ror #8\n"
            "sxtb16 r6, r6, ror #8\n"
            "sxtb16 r7, r7, ror #8\n"
            "stmia r0!, {r8-r11}\n"
            "stmia r0!, {r4-r7}\n"
            "subs r3, r3, #1\n"
            "bne 1b\n"
            "pop {r4-r11, pc}\n");
}

#else

static int16_t *widen_four(int16_t *to, const int8_t *from, int32_t apart, int32_t words)
{
    int32_t i;
    for (; words > 0; words--, from += 4, to += 4 * BLOCK) {
        for (i = 0; i < BLOCK; i++) {
            widen4(to + 2 * i, 2 * BLOCK, from + i * apart);
        }
    }
    return to;
}

#endif

/* Four pixels beside each other that see no column outside: all of them at once, row by row. */
static void fill_four(const tcuq_nn_window *c, const scratch_t *s, const int8_t *in, int32_t y, int32_t x)
{
    int32_t k, words = s->row / 4, apart = c->across * c->channels;
    int16_t *to = s->columns;
    for (k = y; k < y + c->kernel_rows; k++) {
        if (k < 0 || k >= c->height) {
            to = widen_four(to, s->outside, 0, words);
        } else {
            to = widen_four(to, in + ((ptrdiff_t)k * c->width + x) * c->channels, apart, words);
        }
    }
}

/* Fill the columns of up to four pixels, and go on to the next pixel. */
static void fill(const tcuq_nn_window *c, const scratch_t *s, const int8_t *in, int32_t *y, int32_t *x, int32_t many)
{
    int32_t end = c->columns * c->across - c->left, i;
    if (many == BLOCK && s->bytes == NULL && *x >= 0 && *x + (BLOCK - 1) * c->across + c->kernel_columns <= c->width &&
        *x + BLOCK * c->across <= end) {
        fill_four(c, s, in, *y, *x);
        *x += BLOCK * c->across;
        many = 0;
    }
    for (i = 0; i < many; i++) {
        if (*x == end) {
            *x = -c->left;
            *y += c->down;
        }
        if (s->bytes != NULL) {
            fill_bytes(c, s, in, s->bytes + i * s->values, *y, *x);
        } else if (many == BLOCK) {
            fill_column(c, s, in, s->columns + 2 * i, 2 * BLOCK, *y, *x);
        } else {
            fill_column(c, s, in, s->columns, 2, *y, *x);
        }
        *x += c->across;
    }
    if (many > 0 && s->bytes != NULL) {
        if (many == BLOCK) {
            widen_four(s->columns, s->bytes, s->values, s->values / 4);
        } else {
            widen(s->columns, 2, s->bytes, s->values);
        }
    }
    if (*x == end) {
        *x = -c->left;
        *y += c->down;
    }
}

/* The same with dilation. */
static void fill_dilated(const tcuq_nn_window *c, const scratch_t *s, const int8_t *in, int32_t *y, int32_t *x,
                         int32_t many)
{
    int32_t i;
    for (i = 0; i < many; i++) {
        fill_places(c, in, s->bytes + i * s->values, *y, *x);
        *x += c->across;
        if (*x == c->columns * c->across - c->left) {
            *x = -c->left;
            *y += c->down;
        }
    }
    if (many == BLOCK) {
        widen_four(s->columns, s->bytes, s->values, s->values / 4);
    } else {
        widen(s->columns, 2, s->bytes, s->values);
    }
}

FOR_EACH_WAY void fill_any(int32_t dilated, const tcuq_nn_window *c, const scratch_t *s, const int8_t *in, int32_t *y,
                           int32_t *x, int32_t many)
{
    if (dilated) {
        fill_dilated(c, s, in, y, x, many);
    } else {
        fill(c, s, in, y, x, many);
    }
}

FOR_EACH_WAY void convolve(int32_t way, int32_t dilated, const tcuq_nn_window *c, const int8_t *in, int8_t *out,
                           int8_t *scratch)
{
    scratch_t s = divide(c, scratch, dilated);
    int32_t words = s.values / 2, left = c->rows * c->columns, y = -c->top, x = -c->left;
    block_t b;
    memset(&b, 0, sizeof b);
    b.columns = s.columns;
    b.skip = (UNROLL - words % UNROLL) % UNROLL;
    b.bytes = 4 * words;
    b.zero = c->zero;
    for (; left >= BLOCK; left -= BLOCK, out += BLOCK * c->outputs) {
        fill_any(dilated, c, &s, in, &y, &x, BLOCK);
        four_pixels(way, &b, c, out);
    }
    for (; left > 0; left--, out += c->outputs) {
        fill_any(dilated, c, &s, in, &y, &x, 1);
        if (way == SCALED) {
            one_column_scaled(c->weights, c->affine, s.columns, words, c->outputs, c->zero, out);
        } else {
            one_column_twice(c->weights, c->affine, s.columns, words, c->outputs, c->zero, out);
        }
    }
}

ONCE void convolve_scaled(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch)
{
    convolve(SCALED, 0, c, in, out, scratch);
}

ONCE void convolve_twice(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch)
{
    convolve(ROUNDED_TWICE, 0, c, in, out, scratch);
}

/* Whether pixels do not know of each other: then one long row leaves no four that is split by the end of a row. */
static inline int is_pointwise(const tcuq_nn_window *c)
{
    return c->kernel_rows == 1 && c->kernel_columns == 1 && c->down == 1 && c->across == 1 && !is_padded(c);
}

static inline tcuq_nn_window one_row(const tcuq_nn_window *c)
{
    tcuq_nn_window flat = *c;
    flat.width *= flat.height;
    flat.height = 1;
    flat.columns = flat.width;
    flat.rows = 1;
    return flat;
}

void tcuq_nn_conv(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch)
{
    if (is_pointwise(c)) {
        tcuq_nn_window flat = one_row(c);
        convolve_scaled(&flat, in, out, scratch);
    } else {
        convolve_scaled(c, in, out, scratch);
    }
}

void tcuq_nn_conv_twice(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch)
{
    if (is_pointwise(c)) {
        tcuq_nn_window flat = one_row(c);
        convolve_twice(&flat, in, out, scratch);
    } else {
        convolve_twice(c, in, out, scratch);
    }
}

void tcuq_nn_conv_dilated(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch)
{
    convolve(SCALED, 1, c, in, out, scratch);
}

void tcuq_nn_conv_dilated_twice(const tcuq_nn_window *c, const int8_t *in, int8_t *out, int8_t *scratch)
{
    convolve(ROUNDED_TWICE, 1, c, in, out, scratch);
}

/* A row, widened. */
ONCE void widen_row(int16_t *column, const int8_t *in, int32_t inputs)
{
    int32_t whole = inputs & ~3, i;
    widen(column, 2, in, whole);
    if (whole < inputs) {
        int8_t last[4] = {0, 0, 0, 0};
        for (i = whole; i < inputs; i++) {
            last[i - whole] = in[i];
        }
        widen4(column + whole, 2, last);
    }
}

void tcuq_nn_dense(const tcuq_nn_matrix *m, const int8_t *in, int8_t *out, int8_t *scratch)
{
    int16_t *column = (int16_t *)(void *)scratch;
    int32_t row;
    for (row = 0; row < m->rows; row++, in += m->inputs, out += m->outputs) {
        widen_row(column, in, m->inputs);
        one_column_scaled(m->weights, m->affine, column, up4(m->inputs) / 2, m->outputs, m->zero, out);
    }
}

void tcuq_nn_dense_once(const tcuq_nn_matrix *m, const int8_t *in, int8_t *out, int8_t *scratch)
{
    int16_t *column = (int16_t *)(void *)scratch;
    int32_t row;
    for (row = 0; row < m->rows; row++, in += m->inputs, out += m->outputs) {
        widen_row(column, in, m->inputs);
        one_column(ROUNDED_ONCE, m->weights, m->affine, column, up4(m->inputs) / 2, m->outputs, m->zero, out);
    }
}
