/* SPDX-License-Identifier: MIT */
/* The kernels without weights: add, mean, drop, softmax, clamp. */
#include "tcuq_nn_inside.h"

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
            out[channel + i] = requantize(sums[i], multiplier, zero);
        }
    }
#endif
    for (; channel < channels; channel++) {
        int32_t sum = bias;
        const int8_t *at = in + channel;
        for (i = 0; i < pixels; i++, at += channels) {
            sum += *at;
        }
        out[channel] = requantize(sum, multiplier, zero);
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

void tcuq_nn_clamp(int8_t *values, int32_t count, int32_t low, int32_t high)
{
    int32_t i = 0;
#if DSP
    uint32_t lows = ((uint32_t)low & 0xFFu) * 0x01010101u, highs = ((uint32_t)high & 0xFFu) * 0x01010101u;
    for (; i + 4 <= count; i += 4) {
        uint32_t word = word_at(values + i), less;
        /* SEL takes its first where the difference before it was not negative. */
        __asm__("ssub8 %1, %0, %2\n\tsel %0, %2, %0" : "+r"(word), "=&r"(less) : "r"(highs));
        __asm__("ssub8 %1, %0, %2\n\tsel %0, %0, %2" : "+r"(word), "=&r"(less) : "r"(lows));
        put_word(values + i, word);
    }
#endif
    for (; i < count; i++) {
        int32_t value = values[i];
        values[i] = (int8_t)(value < low ? low : value > high ? high : value);
    }
}
