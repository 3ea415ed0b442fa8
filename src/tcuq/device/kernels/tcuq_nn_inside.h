/* SPDX-License-Identifier: MIT */
/* What the kernels share; not for others to include.
 *
 * Bytes are widened to 16 bits in pairs: four bytes b0 b1 b2 b3 become (b0, b2) and (b1, b3), which is what
 * one SXTB16 each gives. Weights are packed so that the same instruction puts them beside their inputs.
 */
#ifndef TCUQ_NN_INSIDE_H
#define TCUQ_NN_INSIDE_H

#include "tcuq_nn.h"

#include <stddef.h>
#include <string.h>

/* Define TCUQ_NN_PLAIN to get what cores without any extension get. */
#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__) && !defined(__ARM_BIG_ENDIAN) && !defined(TCUQ_NN_PLAIN)
#define DSP 1
#else
#define DSP 0
#endif

/* Called from several places: one copy is enough. */
#ifdef __GNUC__
#define ONCE static __attribute__((noinline))
#else
#define ONCE static
#endif

static inline int32_t up4(int32_t n)
{
    return (n + 3) & ~3;
}

static inline int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* acc * multiplier * 2^(shift - 31) as TFLite's reference kernels take it: rounded after the product, half upwards, and
 * after the shift, half away from zero. acc * 2^shift stays within 32 bits. */
static inline int32_t twice(int32_t acc, int32_t multiplier, int32_t shift)
{
    int32_t left = shift > 0 ? shift : 0, right = left - shift;
    int64_t high = ((int64_t)acc * ((int64_t)1 << left) * multiplier + ((int64_t)1 << 30)) >> 31;
    int64_t half = ((int64_t)1 << right) >> 1;
    return (int32_t)((high + half - (half > 0 && high < 0)) >> right);
}

#if DSP

/* Hides a function's inside from the optimizer, which cannot see which registers its assembler uses. Aligned
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
static inline int8_t requantize(int32_t sum, int32_t multiplier, int32_t zero)
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

#else

static inline int32_t sat8(int32_t value)
{
    return value < -128 ? -128 : value > 127 ? 127 : value;
}

static inline int8_t requantize(int32_t sum, int32_t multiplier, int32_t zero)
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

#endif

/* A value of any size, plus a zero, as a byte. */
static inline int8_t near_zero(int32_t value, int32_t zero)
{
    return (int8_t)sat8((value < -256 ? -256 : value > 256 ? 256 : value) + zero);
}

#endif
