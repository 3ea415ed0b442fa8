/* SPDX-License-Identifier: MIT */
/* What the kernel of a convolution sees, gathered into columns of 16 bits; not for others to include than
 * tcuq_nn_conv.c, whose part it is. */
#ifndef TCUQ_NN_COLUMNS_H
#define TCUQ_NN_COLUMNS_H

#include "tcuq_nn_inside.h"

/* Columns that a convolution works on side by side. */
#define BLOCK 4

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
            COPY(to + i, from + i, 4);
        }
        /* The last word may repeat some bytes of the one before. */
        COPY(to + count - 4, from + count - 4, 4);
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

#if DSP

/* Copy a row of `count` bytes, at least 4, of four columns: from `apart` bytes from each other to `to_apart`. The first
 * word may repeat some bytes of the one before. */
ASSEMBLER void copy_four(int8_t *to __attribute__((unused)), int32_t to_apart __attribute__((unused)),
                         const int8_t *from __attribute__((unused)), int32_t apart __attribute__((unused)),
                         int32_t count __attribute__((unused)))
{
    __asm__(".syntax unified\n"
            "push {r4-r11, lr}\n"
            "ldr r4, [sp, #36]\n"
            "add r5, r0, r1\n"
            "add r6, r5, r1\n"
            "add r1, r6, r1\n"
            "add r7, r2, r3\n"
            "add r8, r7, r3\n"
            "add r3, r8, r3\n"
            "subs r4, r4, #4\n"
            "1:\n"
            "ldr r9, [r2, r4]\n"
            "ldr r10, [r7, r4]\n"
            "ldr r11, [r8, r4]\n"
            "ldr r12, [r3, r4]\n"
            "str r9, [r0, r4]\n"
            "str r10, [r5, r4]\n"
            "str r11, [r6, r4]\n"
            "str r12, [r1, r4]\n"
            "beq 2f\n"
            "subs r4, r4, #4\n"
            "it mi\n"
            "andsmi r4, r4, #0\n"
            "b 1b\n"
            "2:\n"
            "pop {r4-r11, pc}\n");
}

#else

static void copy_four(int8_t *to, int32_t to_apart, const int8_t *from, int32_t apart, int32_t count)
{
    int32_t i;
    for (i = 0; i < BLOCK; i++) {
        copy_rows(to + i * to_apart, 0, from + i * apart, 0, count, 1);
    }
}

#endif

/* Four pixels beside each other that see no column outside: all of them at once, row by row. */
static void fill_four(const tcuq_nn_window *c, const scratch_t *s, const int8_t *in, int32_t y, int32_t x)
{
    int32_t k, words = s->row / 4;
    int16_t *to = s->columns;
    for (k = 0; k < c->kernel_rows; k++) {
        int outside = y + k < 0 || y + k >= c->height;
        const int8_t *from = outside ? s->outside : in + ((ptrdiff_t)(y + k) * c->width + x) * c->channels;
        int32_t apart = outside ? 0 : c->across * c->channels;
        if (s->bytes == NULL) {
            to = widen_four(to, from, apart, words);
        } else {
            copy_four(s->bytes + k * s->row, s->values, from, apart, s->row);
        }
    }
    if (s->bytes != NULL) {
        widen_four(to, s->bytes, s->values, s->values / 4);
    }
}

/* Fill the columns of up to four pixels, and go on to the next pixel. */
static void fill(const tcuq_nn_window *c, const scratch_t *s, const int8_t *in, int32_t *y, int32_t *x, int32_t many)
{
    int32_t end = c->columns * c->across - c->left, i;
    if (many == BLOCK && (s->bytes == NULL || s->row >= 4) && *x >= 0 && *x + (BLOCK - 1) * c->across + c->kernel_columns <= c->width &&
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

#endif
