/* SPDX-License-Identifier: MIT */
/* Two tensors beside each other, in TFLite's arithmetic: sums by tables, products. */
#include "tcuq_nn_inside.h"

#if DSP

/* Whether a sum can be rescaled by `near`: its second shift is one to the right by 2 to 31 bits. */
static inline int is_near(int32_t shift)
{
    return shift <= -2 && shift >= -31;
}

/* twice(doubled / 2, multiplier, shift) + zero, confined, with half = 2^(32 + shift): four instructions. SMMULR rounds
 * half upwards; so does SMMLAR, which divides by 2^-shift, hence the one that is taken from negative numbers. */
static inline int32_t near(int32_t doubled, int32_t multiplier, int32_t half, int32_t zero)
{
    int32_t value;
    __asm__("smmulr %0, %1, %2" : "=r"(value) : "r"(doubled), "r"(multiplier));
    __asm__("add %0, %1, %1, asr #31" : "=r"(value) : "r"(value));
    __asm__("smmlar %0, %1, %2, %3" : "=r"(value) : "r"(value), "r"(half), "r"(zero));
    return sat8(value);
}

/* Four bytes in a word, the first lowest. */
static inline uint32_t joined(int32_t r0, int32_t r1, int32_t r2, int32_t r3)
{
    uint32_t word;
    __asm__("bfi %0, %1, #8, #24" : "+r"(r0) : "r"(r1));
    __asm__("bfi %0, %1, #8, #24" : "+r"(r2) : "r"(r3));
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(word) : "r"(r0), "r"(r2));
    return word;
}

#endif

static int8_t one_sum(const tcuq_nn_tables *t, int8_t a, int8_t b)
{
    int32_t first = t->left != NULL ? t->left[a & 255] : a * t->factor;
    /* An even number: half of it is exact. */
    int32_t acc = (first + t->right[b & 255]) / 2;
    return near_zero(twice(acc, t->multiplier, t->shift), t->zero);
}

ONCE void sums(const tcuq_nn_tables *t, const int8_t *a, int32_t by_a, const int8_t *b, int32_t by_b, int8_t *out,
                 int32_t count)
{
    int32_t i = 0;
#if DSP
    if (by_a == 1 && by_b == 1 && t->left == NULL && is_near(t->shift)) {
        const int32_t *table = t->right;
        int32_t factor = t->factor, multiplier = t->multiplier, half = 1 << (32 + t->shift), zero = t->zero;
        for (; i + 4 <= count; i += 4) {
            uint32_t x = word_at(a + i), y = word_at(b + i);
            int32_t r0 = table[y & 255u] + (int8_t)x * factor;
            int32_t r1 = table[y >> 8 & 255u] + (int8_t)(x >> 8) * factor;
            int32_t r2 = table[y >> 16 & 255u] + (int8_t)(x >> 16) * factor;
            int32_t r3 = table[y >> 24] + (int8_t)(x >> 24) * factor;
            r0 = near(r0, multiplier, half, zero);
            r1 = near(r1, multiplier, half, zero);
            r2 = near(r2, multiplier, half, zero);
            r3 = near(r3, multiplier, half, zero);
            put_word(out + i, joined(r0, r1, r2, r3));
        }
    }
#endif
    for (; i < count; i++) {
        out[i] = one_sum(t, a[i * by_a], b[i * by_b]);
    }
}

void tcuq_nn_table_add(const tcuq_nn_tables *t, const tcuq_nn_pairs *p, const int8_t *a, const int8_t *b, int8_t *out)
{
    int32_t i, j, count = p->lengths[2];
    for (i = 0; i < p->lengths[0]; i++) {
        for (j = 0; j < p->lengths[1]; j++, out += count) {
            sums(t, a + i * p->first[0] + j * p->first[1], p->first[2],
                 b + i * p->second[0] + j * p->second[1], p->second[2], out, count);
        }
    }
}

ONCE void products(const tcuq_nn_product *m, const int8_t *a, int32_t by_a, const int8_t *b, int32_t by_b,
                     int8_t *out, int32_t count)
{
    int32_t i = 0;
#if DSP
    if (is_near(m->shift)) {
        int32_t half = 1 << (32 + m->shift);
        for (; i < count; i++) {
            int32_t acc = (a[i * by_a] - m->first) * (b[i * by_b] - m->second);
            out[i] = (int8_t)near(2 * acc, m->multiplier, half, m->zero);
        }
    }
#endif
    for (; i < count; i++) {
        int32_t acc = (a[i * by_a] - m->first) * (b[i * by_b] - m->second);
        out[i] = near_zero(twice(acc, m->multiplier, m->shift), m->zero);
    }
}

void tcuq_nn_mul(const tcuq_nn_product *m, const tcuq_nn_pairs *p, const int8_t *a, const int8_t *b, int8_t *out)
{
    int32_t i, j, count = p->lengths[2];
    for (i = 0; i < p->lengths[0]; i++) {
        for (j = 0; j < p->lengths[1]; j++, out += count) {
            products(m, a + i * p->first[0] + j * p->first[1], p->first[2],
                     b + i * p->second[0] + j * p->second[1], p->second[2], out, count);
        }
    }
}
