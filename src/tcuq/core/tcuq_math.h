/* SPDX-License-Identifier: MIT */
/* Private to tcuq.c: arithmetic that knows no state. Section numbers refer to SPEC.md. */
#ifndef TCUQ_MATH_H
#define TCUQ_MATH_H

#include <stddef.h>
#include <stdint.h>

#include "tcuq.h"
#include "tcuq_tables.h"

#define HAS(signal) (((TCUQ_SIGNALS) & TCUQ_BIT(signal)) != 0u)
#define FAST_MASK (TCUQ_BIT(TCUQ_SURPRISE_FAST) | TCUQ_BIT(TCUQ_SPREAD_FAST))
#define SLOW_MASK (TCUQ_BIT(TCUQ_SURPRISE_SLOW) | TCUQ_BIT(TCUQ_SPREAD_SLOW))
#define LAGGED_MASK (TCUQ_BIT(TCUQ_DIVERGENCE) | TCUQ_BIT(TCUQ_INSTABILITY) | TCUQ_BIT(TCUQ_FLIPS))
#define ANGLE_MASK (TCUQ_BIT(TCUQ_INSTABILITY) | TCUQ_BIT(TCUQ_DISPLACEMENT))
#define FEATURE_MASK (ANGLE_MASK | TCUQ_BIT(TCUQ_MAGNITUDE))
#define ODDS_MASK (TCUQ_BIT(TCUQ_ODDS) | TCUQ_BIT(TCUQ_STRAIN_FAST) | TCUQ_BIT(TCUQ_STRAIN_SLOW))
#define BELIEF_MASK (TCUQ_BIT(TCUQ_DISBELIEF_FAST) | TCUQ_BIT(TCUQ_DISBELIEF_SLOW))
/* Those that read means of the past. */
#define MEAN_MASK \
    (FAST_MASK | SLOW_MASK | TCUQ_BIT(TCUQ_DISPLACEMENT) | TCUQ_BIT(TCUQ_STRAIN_FAST) | TCUQ_BIT(TCUQ_STRAIN_SLOW))
/* What is computed beside the signals of the paper. */
#define GRADUAL_MASK (MEAN_MASK | ODDS_MASK | BELIEF_MASK | TCUQ_BIT(TCUQ_MAGNITUDE))

#define ONE 65536u
#define Q16_MAX 65535u

/* Floor of value / 2^shift; >> of a negative number is the compiler's choice in C99. */
static int32_t shift_floor(int32_t value, uint32_t shift)
{
    return value >= 0 ? value >> shift : ~(~value >> shift);
}

static uint16_t saturate(uint32_t value)
{
    return (uint16_t)(value > Q16_MAX ? Q16_MAX : value);
}

/* a * share + b * (1 - share), share in 0..65536, rounded. */
static uint32_t mix(uint32_t a, uint32_t b, uint32_t share)
{
    return (a * share + b * (ONE - share) + 32768u) >> 16;
}

/* Section 7. */
static uint16_t logistic(int32_t z)
{
    uint32_t size = z < 0 ? 0u - (uint32_t)z : (uint32_t)z;
    uint32_t value = Q16_MAX;
    if (size < 12u * ONE) {
        uint32_t at = size >> 13;
        uint32_t low = tcuq_sigmoid[at];
        value = low + ((tcuq_sigmoid[at + 1u] - low) * (size & 8191u) >> 13);
    }
    return (uint16_t)(z < 0 ? ONE - value : value);
}

/* The threshold at a debt, section 9. */
static int32_t threshold_at(const tcuq_params_t *p, int32_t debt)
{
    uint32_t size = debt < 0 ? 0u - (uint32_t)debt : (uint32_t)debt;
    uint32_t knee = (uint32_t)p->knee;
    uint32_t shallow = size < knee ? size : knee;
    uint32_t moved = (p->slope * shallow + p->steep_slope * (size - shallow)) >> 8;
    return debt < 0 ? p->reference - (int32_t)moved : p->reference + (int32_t)moved;
}

/* Least debt at which the threshold has moved by `distance` (Q0.16), section 9. */
static int32_t debt_at(const tcuq_params_t *p, uint32_t distance)
{
    uint32_t need = distance << 8;
    uint32_t shallow = p->slope * (uint32_t)p->knee;
    uint32_t rest;
    if (need <= shallow) {
        return (int32_t)((need + p->slope - 1u) / p->slope);
    }
    rest = need - shallow;
    return p->knee + (int32_t)((rest + p->steep_slope - 1u) / p->steep_slope);
}

#if ((TCUQ_SIGNALS) & MEAN_MASK) != 0u
/* An exponentially weighted mean after one more value; its first value sets it. */
static int32_t moved(int32_t mean, int32_t value, uint32_t shift, int first)
{
    return first ? value : mean + shift_floor(value - mean + ((1 << shift) >> 1), shift);
}
#endif

#if ((TCUQ_SIGNALS) & (ODDS_MASK | BELIEF_MASK)) != 0u
/* log2(value / 65536) in Q16.16, within 0.00014; value in 1..2^17 - 1. */
static int32_t log2_of(uint32_t value)
{
    int32_t whole = 0;
    uint32_t part, bend;
    while (value < 65536u) {
        value <<= 1;
        whole -= 65536;
    }
    part = value - 65536u;
    bend = part * (ONE - part) >> 16;
    bend *= 28752u - (part * (15667u - (5383u * part >> 16)) >> 16);
    return whole + (int32_t)(part + (bend >> 16));
}

/* Log-odds of `against` (0..65536, in 1/65536), Q0.16: a half at even odds, 1/16 a factor of two.
 * 128 on both sides keep one confident step from an infinite say. */
static uint16_t log_odds(uint32_t against)
{
    int32_t value = 32768 * 16 + 8 + log2_of(against + 128u) - log2_of(65664u - against);
    value = value < 0 ? 0 : value >> 4;
    return (uint16_t)(value < 65535 ? value : 65535);
}
#endif

/* Square root of a sum of squares: mant * 2^exp, mant in [2^15, 2^16), or 0. */
typedef struct {
    uint32_t mant;
    int32_t exp;
} norm_t;

#if ((TCUQ_SIGNALS) & FEATURE_MASK) != 0u
/* Floor of the square root. */
static uint32_t root(uint32_t value)
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

#if HAS(TCUQ_MAGNITUDE)
/* Root mean square of `count` centered features in 1/256, Q0.16; at most 255 / 256. */
static uint16_t magnitude_of(uint32_t squares, uint32_t count)
{
    return (uint16_t)root((squares / count << 16) + (squares % count << 16) / count);
}
#endif
#endif

#if ((TCUQ_SIGNALS) & ANGLE_MASK) != 0u
static norm_t norm_of(uint64_t squares)
{
    norm_t n = {0, 0};
    uint32_t value;
    while (squares > 0xFFFFFFFFu) {
        squares >>= 2;
        n.exp++;
    }
    value = (uint32_t)squares;
    if (value != 0u) {
        while (value < (1uL << 30)) {
            value <<= 2;
            n.exp--;
        }
        n.mant = root(value);
    }
    return n;
}

#if HAS(TCUQ_INSTABILITY)
/* Dot product of raw bytes: most of a step's time, so four at a time. */
static int32_t dot_of(const int8_t *a, const int8_t *b, uint32_t count)
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
#endif

/* (1 - cosine) / 2 in Q0.16 from a dot product and two norms. */
static uint32_t half_distance(int32_t dot, norm_t a, norm_t b)
{
    uint32_t size = dot < 0 ? 0u - (uint32_t)dot : (uint32_t)dot;
    uint32_t product, cosine;
    int32_t shift;
    if (a.mant == 0u || b.mant == 0u) {
        return a.mant == b.mant ? 0u : 32768u;
    }
    product = (a.mant * b.mant + 32768u) >> 16;
    shift = -1 - a.exp - b.exp;
    cosine = (shift >= 0 ? size << shift : size >> -shift) / product;
    if (cosine > 32768u) {
        cosine = 32768u;
    }
    return dot < 0 ? saturate(32768u + cosine) : 32768u - cosine;
}
#endif

#if HAS(TCUQ_SPREAD_FAST) || HAS(TCUQ_SPREAD_SLOW)
/* -p log2 p for p in Q0.24 (0..2^24), in units of 1 / (192 * 512 * 256). */
static uint32_t entropy_term(uint32_t p)
{
    uint32_t shift = 0, at, fraction;
    int32_t value;
    while (p >> shift > 511u) {
        shift += 4u;
    }
    at = p >> shift;
    fraction = p - (at << shift);
    value = tcuq_xlog[at];
    if (fraction != 0u) {
        value += shift_floor((tcuq_xlog[at + 1u] - value) * (int32_t)fraction +
                                 (int32_t)((1uL << shift) >> 1), shift);
    }
    value = shift < 7u ? (value + (64 >> shift)) >> (7u - shift) : value << (shift - 7u);
    return (uint32_t)(value + shift_floor(3 * (15 - (int32_t)shift) * (int32_t)p, 1));
}
#endif

#if TCUQ_EVIDENCE
/* What the rise alarm adds at one step when it sums evidence (section 11), Q16.16. */
static int32_t evidence_of(const tcuq_evidence_t *head, uint32_t mask, const uint16_t *signals, uint32_t label)
{
    int32_t clip = (int32_t)head->clip;
    int32_t value = head->offset[label] * 256;
    uint32_t i;
    for (i = 0; mask != 0u; i++, mask >>= 1) {
        value += (mask & 1u) != 0u ? shift_floor((int32_t)head->coef[i] * signals[i], 9) : 0;
    }
    value = value > clip ? clip : value < -clip ? -clip : value;
    return value - (int32_t)head->allowance;
}
#endif

/* Bytes of a saved state (section 12). */

static uint32_t crc32_add(uint32_t crc, const uint8_t *bytes, size_t size)
{
    size_t i;
    int bit;
    for (i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
        }
    }
    return crc;
}

static void put32(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)value;
    bytes[1] = (uint8_t)(value >> 8);
    bytes[2] = (uint8_t)(value >> 16);
    bytes[3] = (uint8_t)(value >> 24);
}

static void put16(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)value;
    bytes[1] = (uint8_t)(value >> 8);
}

/* The same checksum after one more word. */
static uint32_t crc32_word(uint32_t crc, uint32_t value)
{
    uint8_t word[4];
    put32(word, value);
    return crc32_add(crc, word, 4);
}

static uint32_t get16(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8;
}

static uint32_t get32(const uint8_t *bytes)
{
    return get16(bytes) | get16(bytes + 2) << 16;
}

#endif
