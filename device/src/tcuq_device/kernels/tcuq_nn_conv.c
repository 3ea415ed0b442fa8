/* SPDX-License-Identifier: MIT */
/* Convolution, and dense, which is a convolution of one column. */
#include "tcuq_nn_columns.h"

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

#if DSP

/* Two biases and the products of a column with the weights of a pair of outputs, `words` of them, an even number that
 * is not 0: the first sum in the lower half of what is returned. 18 instructions for 16 products, all of 4 bytes, so
 * that the first turn can begin in the middle. */
ASSEMBLER int64_t pair_sums(const uint32_t *weights __attribute__((unused)),
                            const int16_t *column __attribute__((unused)), int32_t words __attribute__((unused)),
                            const int32_t *biases __attribute__((unused)))
{
#define WORD(weight, x)                                                                                           \
    "sxtb16 r12, " weight "\n"                                                                                    \
    "sxtb16 " weight ", " weight ", ror #8\n"                                                                     \
    "smlad r2, r12, " x ", r2\n"                                                                                  \
    "smlad r3, " weight ", " x ", r3\n"
    __asm__(".syntax unified\n"
            "push {r4-r11, lr}\n"
            "add lr, r0, r2, lsl #2\n"
            "rsb r11, r2, #2\n"
            "ubfx r11, r11, #2, #2\n" /* places of the unrolled loop to jump over at first */
            "tst r2, #2\n"
            "ldrd r2, r3, [r3]\n"
            "beq 1f\n"
            "ldrd r4, r5, [r0], #8\n"
            "ldrd r8, r9, [r1], #8\n" WORD("r4", "r8") WORD("r5", "r9") "cmp r0, lr\n"
            "beq 3f\n"
            "1:\n"
            "adr.w r4, 2f\n"
            "mov r5, #72\n"
            "mla r4, r11, r5, r4\n"
            "mov pc, r4\n"
            "2:\n"
            ".rept 4\n"
            "ldmia.w r0!, {r4-r7}\n"
            "ldmia.w r1!, {r8-r11}\n" WORD("r4", "r8") WORD("r5", "r9") WORD("r6", "r10") WORD("r7", "r11") ".endr\n"
            "cmp r0, lr\n"
            "bne.w 2b\n"
            "3:\n"
            "mov r0, r2\n"
            "mov r1, r3\n"
            "pop {r4-r11, pc}\n");
}

#else

static int64_t pair_sums(const uint32_t *weights, const int16_t *column, int32_t words, const int32_t *biases)
{
    int32_t a = biases[0], b = biases[1];
    for (; words > 0; words--, column += 2, weights++) {
        a = first_output(*weights, column, a);
        b = second_output(*weights, column, b);
    }
    return (int64_t)((uint64_t)(uint32_t)b << 32 | (uint32_t)a);
}

#endif

/* A pair of outputs after the other, for one column: `words` weights a pair. */
FOR_EACH_WAY void one_column(int32_t way, const uint32_t *weights, const int32_t *affine, const int16_t *column,
                             int32_t words, int32_t outputs, int32_t zero, int8_t *out)
{
    int32_t o;
    for (o = 0; o < outputs; o += 2, affine += 2 * numbers(way), weights += words) {
        int64_t sums = pair_sums(weights, column, words, affine);
        out[o] = finished(way, (int32_t)sums, affine, 2, zero);
        if (o + 1 < outputs) {
            out[o + 1] = finished(way, (int32_t)(sums >> 32), affine + 1, 2, zero);
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
    EACH(ALL_SUMS, "ssat r\\i, #8, r\\i")                                                                         \
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

/* Sums times numbers of `affine`, plus the zero. */
#define TIMES                                                                                                     \
    EACH("0, 1, 2, 3", "smmlar r\\i, r\\i, r8, r10") EACH("4, 5, 6, 7", "smmlar r\\i, r\\i, r9, r10")

ASSEMBLER void four_columns_scaled(const block_t *b __attribute__((unused)))
{
    __asm__(EIGHT_SUMS "ldrd r8, r9, [r12, #8]\n"
                       "add r12, r12, #16\n"
                       "str r12, [sp, #16]\n" TIMES EIGHT_BYTES);
}

/* As twice_scaled() does it. What is general comes out wrong. */
ASSEMBLER void four_columns_twice(const block_t *b __attribute__((unused)))
{
    __asm__(EIGHT_SUMS "ldrd r8, r9, [r12, #8]\n" EACH("0, 1, 2, 3", "smmlar r\\i, r\\i, r8, r\\i")
                EACH("4, 5, 6, 7", "smmlar r\\i, r\\i, r9, r\\i") EACH(ALL_SUMS, "add r\\i, r\\i, r\\i, asr #31")
                    "ldrd r8, r9, [r12, #16]\n"
                    "add r12, r12, #24\n"
                    "str r12, [sp, #16]\n" TIMES EIGHT_BYTES);
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
