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

/* Called from several places: one copy is enough. With -ffreestanding, plain memcpy of a word is a call. */
#ifdef __GNUC__
#define ONCE static __attribute__((noinline))
#define COPY __builtin_memcpy
#else
#define ONCE static
#define COPY memcpy
#endif

/* Rare: out of the way of the rest. */
#ifdef __GNUC__
#define RARE static __attribute__((noinline, unused))
#else
#define RARE static inline
#endif

/* Written once for all ways to round: each caller gets a copy with its own, and a program only those that it calls. */
#ifdef __GNUC__
#define FOR_EACH_WAY static inline __attribute__((always_inline))
#else
#define FOR_EACH_WAY static inline
#endif

/* Ways to bring a sum to the scale of its output; see tcuq_nn.h. */
enum { SCALED, ROUNDED_TWICE, ROUNDED_ONCE };

/* Numbers of `affine` for each output. */
FOR_EACH_WAY int32_t numbers(int32_t way)
{
    return way == SCALED ? 2 : 3;
}

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

/* acc * multiplier * 2^(shift - 31), rounded at the end alone, half upwards. acc * 2^shift stays within 32 bits. */
static inline int32_t once(int32_t acc, int32_t multiplier, int32_t shift)
{
    int64_t product = (int64_t)acc * multiplier;
    if (shift < -1) {
        /* What is added has no bits in the lower half, which is cut off: 32 bits are enough. */
        int32_t high, half = (int32_t)1 << (-2 - shift);
#if DSP
        __asm__("smmla %0, %1, %2, %3" : "=r"(high) : "r"(acc), "r"(multiplier), "r"(half));
#else
        high = (int32_t)(product >> 32) + half;
#endif
        return high >> (-1 - shift);
    }
    return (int32_t)((product + ((int64_t)1 << (30 - shift))) >> (31 - shift));
}

#if DSP

/* Hides a function's inside from the optimizer, which cannot see which registers its assembler uses. Aligned
 * for ADR, which counts from a multiple of 4. */
#ifdef __clang__
#define ASSEMBLER static __attribute__((naked, noinline, used, aligned(4)))
#else
#define ASSEMBLER static __attribute__((naked, noipa, used, aligned(4)))
#endif

/* An instruction for each of some registers, whose numbers stand for \\i. */
#define EACH(numbers, instruction) ".irp i, " numbers "\n" instruction "\n.endr\n"
#define ALL_SUMS "0, 1, 2, 3, 4, 5, 6, 7"

static inline uint32_t word_at(const void *p)
{
    uint32_t word;
    COPY(&word, p, sizeof word);
    return word;
}

static inline void put_word(void *p, uint32_t word)
{
    COPY(p, &word, sizeof word);
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

/* Both roundings of twice() for shifts from -31 to -2. `factor` is the doubled multiplier, less 2^32: the sum that is
 * added in the upper half gives those 2^32 back, so that the doubling comes for free. `power` is 2^(32 + shift). */
static inline int32_t twice_scaled(int32_t sum, int32_t factor, int32_t power, int32_t zero)
{
    int32_t value;
    __asm__("smmlar %0, %1, %2, %1" : "=r"(value) : "r"(sum), "r"(factor));
    value += value >> 31;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(value) : "r"(value), "r"(power), "r"(zero));
    return value;
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

/* `factor` is the doubled multiplier, in 32 bits without sign; `power` is 2^(32 + shift). */
static inline int32_t twice_scaled(int32_t sum, int32_t factor, int32_t power, int32_t zero)
{
    int64_t half = (int64_t)1 << 31, high = ((int64_t)sum * (int64_t)(uint32_t)factor + half) >> 32;
    high -= high < 0;
    return (int32_t)((high * power + half) >> 32) + zero;
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
#if DSP
    __asm__("ssat %0, #10, %0" : "+r"(value));
#else
    value = value < -256 ? -256 : value > 256 ? 256 : value;
#endif
    return (int8_t)sat8(value + zero);
}

RARE int8_t twice_in_general(int32_t sum, int32_t multiplier, int32_t shift, int32_t zero)
{
    return near_zero(twice(sum, multiplier, shift), zero);
}

/* What an output becomes; `affine` are the numbers of its group from its own bias on, `group` apart. */
FOR_EACH_WAY int8_t finished(int32_t way, int32_t sum, const int32_t *affine, int32_t group, int32_t zero)
{
    int32_t multiplier = affine[group];
    if (way == SCALED) {
        return requantize(sum, multiplier, zero);
    }
    if (way == ROUNDED_ONCE) {
        return near_zero(once(sum, multiplier, affine[2 * group]), zero);
    }
    if (affine[2 * group] > 0) {
        return (int8_t)sat8(twice_scaled(sum, multiplier, affine[2 * group], zero));
    }
    return twice_in_general(sum, multiplier, -32 - affine[2 * group], zero);
}

#endif
