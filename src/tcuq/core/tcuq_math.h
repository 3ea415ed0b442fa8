/* SPDX-License-Identifier: MIT */
/* Private to the core: arithmetic that knows no state. Section numbers refer to SPEC.md. */
#ifndef TCUQ_MATH_H
#define TCUQ_MATH_H

#include "tcuq_internal.h"
#include "tcuq_tables.h"

/* An exponentially weighted mean after one more value; its first value sets it. Modulo 2^32, so that a
 * damaged mean, however large, comes back like any other (section 12). */
static inline int32_t moved(int32_t mean, int32_t value, uint32_t shift, int first)
{
    uint32_t gap = (uint32_t)value - (uint32_t)mean + ((1u << shift) >> 1);
    return first ? value : (int32_t)((uint32_t)mean + (uint32_t)shift_floor((int32_t)gap, shift));
}

/* Least shifts that bring a number, which is not 0, down to 65535 and up to 65536. One instruction does
 * where a loop takes a dozen turns, but not every core has it. */
#ifndef TCUQ_COUNT_ZEROS
#if defined(__GNUC__) && (defined(__ARM_FEATURE_CLZ) || defined(__aarch64__) || defined(__x86_64__))
#define TCUQ_COUNT_ZEROS 1
#else
#define TCUQ_COUNT_ZEROS 0
#endif
#endif

#if TCUQ_COUNT_ZEROS
static inline uint32_t bits_above(uint32_t value)
{
    return value > Q16_MAX ? 16u - (uint32_t)__builtin_clz(value) : 0u;
}

static inline uint32_t bits_below(uint32_t value)
{
    return value < ONE ? (uint32_t)__builtin_clz(value) - 15u : 0u;
}
#else
static inline uint32_t bits_above(uint32_t value)
{
    uint32_t shift = value >> 24 != 0u ? 8u : 0u;
    while (value >> shift > Q16_MAX) {
        shift++;
    }
    return shift;
}

static inline uint32_t bits_below(uint32_t value)
{
    uint32_t shift = value < 256u ? 8u : 0u;
    while (value << shift < ONE) {
        shift++;
    }
    return shift;
}
#endif

/* Log-odds of `against` (0..65536, in 1/65536), Q0.16: a half at even odds, 1/16 a factor of two.
 * 128 on both sides keep one confident step from an infinite say. */
static inline uint16_t log_odds(uint32_t against)
{
    int32_t value = 32768 * 16 + 8 + tcuq_internal_log2(against + 128u) - tcuq_internal_log2(65664u - against);
    value = value < 0 ? 0 : value >> 4;
    return (uint16_t)(value < 65535 ? value : 65535);
}

/* Floor of the square root. */
static inline uint32_t root(uint32_t value)
{
    uint32_t result = 0;
    uint32_t bit = 1uL << 30;
    while (bit != 0u) {
        if (value >= result + bit) {
            value -= result + bit;
            result = (result >> 1) + bit;
        } else {
            result >>= 1;
        }
        bit >>= 2;
    }
    return result;
}

/* Root mean square of `count` centered features in 1/256, Q0.16; at most 255 / 256. */
static inline uint16_t magnitude_of(uint32_t squares, uint32_t count)
{
    return (uint16_t)root((squares / count << 16) + (squares % count << 16) / count);
}

static inline norm_t norm_of(uint32_t squares)
{
    norm_t n = {0, 0};
    int32_t exponent = 0;
    if (squares != 0u) {
        while (squares < (1uL << 30)) {
            squares <<= 2;
            exponent--;
        }
        n.mant = (uint16_t)root(squares);
        n.exp = (int16_t)exponent;
    }
    return n;
}

/* Dot product of raw bytes: most of a step's time, so four at a time. */
NOT_INLINE static int32_t dot_of(const int8_t *a, const int8_t *b, uint32_t count)
{
    int32_t sum = 0;
    for (; count >= 4u; count -= 4u) {
        sum += (int32_t)a[0] * b[0] + (int32_t)a[1] * b[1];
        sum += (int32_t)a[2] * b[2] + (int32_t)a[3] * b[3];
        a += 4;
        b += 4;
    }
    for (; count > 0u; count--) {
        sum += (int32_t)*a++ * *b++;
    }
    return sum;
}

/* (1 - cosine) / 2 in Q0.16 from a dot product and two norms. One of them is of this step, so its mantissa
 * is at least 2^15 and the product is not 0 whatever the other is. */
static inline uint32_t half_distance(int32_t dot, norm_t a, norm_t b)
{
    uint32_t size = dot < 0 ? 0u - (uint32_t)dot : (uint32_t)dot;
    uint32_t product, cosine;
    int32_t shift;
    if (a.mant == 0u || b.mant == 0u) {
        return a.mant == b.mant ? 0u : 32768u;
    }
    product = ((uint32_t)a.mant * b.mant + 32768u) >> 16;
    shift = -1 - a.exp - b.exp;
    /* -1..29, unless the norm that the ring kept is damaged. */
    cosine = (shift >= 0 ? size << (shift & 31) : size >> (-shift & 31)) / product;
    if (cosine > 32768u) {
        cosine = 32768u;
    }
    return dot < 0 ? saturate(32768u + cosine) : 32768u - cosine;
}

#endif
