/* SPDX-License-Identifier: MIT */
/* Where the choices of a test come from: the bytes of a fuzzer, or a generator of random numbers. */
#ifndef SOURCE_H
#define SOURCE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *bytes; /* taken first */
    size_t left;
    uint64_t seed; /* of the numbers after them; 0: zeros */
} source_t;

/* SplitMix64: one add and two products, the same on every machine. */
static inline uint64_t random64(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* A number of up to four bytes. */
static inline uint32_t take(source_t *from, unsigned count)
{
    uint32_t value = 0;
    unsigned i;
    if (from->left == 0u) {
        return from->seed == 0u ? 0u : (uint32_t)(random64(&from->seed) >> 32) >> (32u - 8u * count);
    }
    for (i = 0; i < count && from->left > 0u; i++, from->left--) {
        value |= (uint32_t)*from->bytes++ << (8u * i);
    }
    return value;
}

/* A number in 0..count - 1; slightly uneven, which does no harm here. */
static inline uint32_t below(source_t *from, uint32_t count)
{
    return take(from, count <= 256u ? 1u : count <= 65536u ? 2u : 4u) % count;
}

/* A number in low..high that often lies at an end, and is small as often as large. */
static inline int64_t edge(source_t *from, int64_t low, int64_t high)
{
    uint64_t span = (uint64_t)(high - low);
    uint64_t value;
    switch (below(from, 8)) {
    case 0: return low;
    case 1: return high;
    case 2: value = below(from, 4); break;
    case 3: value = span - (span < 4u ? 0u : below(from, 4)); break;
    case 4: value = span / 2u; break;
    case 5: value = (uint64_t)take(from, 4) >> below(from, 32); break;
    default: value = take(from, span < 256u ? 1u : span < 65536u ? 2u : 4u); break;
    }
    return low + (int64_t)(value <= span ? value : value % (span + 1u));
}

#endif
