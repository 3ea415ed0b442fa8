/* SPDX-License-Identifier: MIT */
/* States that nobody saved, with a checksum that fits (SPEC.md section 12). */
#ifndef FORGE_H
#define FORGE_H

#include "source.h"
#include "tcuq.h"

enum { STATE_STEPS = 20, STATE_DEBT = 24, STATE_CREDIT = 28, STATE_RISE = 32, STATE_ALARM = 60, STATE_CRC = 4 };

static inline void put_word(uint8_t *bytes, int64_t value)
{
    unsigned i;
    for (i = 0; i < 4u; i++) {
        bytes[i] = (uint8_t)((uint64_t)value >> (8u * i));
    }
}

static inline uint32_t get_word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* The common reflected CRC-32 at the end of a state. */
static inline void seal(uint8_t *bytes, size_t size)
{
    uint32_t crc = 0xFFFFFFFFu;
    size_t i;
    unsigned bit;
    for (i = 0; i + STATE_CRC < size; i++) {
        crc ^= bytes[i];
        for (bit = 0; bit < 8u; bit++) {
            crc = (crc & 1u) != 0u ? (crc >> 1) ^ 0xEDB88320u : crc >> 1;
        }
    }
    put_word(bytes + size - STATE_CRC, ~crc);
}

/* A debt within its bounds that so many steps can have led to, as far as the remainder says. */
static inline int64_t forged_debt(const tcuq_params_t *p, uint32_t steps, source_t *from)
{
    int32_t low, high;
    int64_t debt, rest;
    tcuq_debt_bounds(p, &low, &high);
    debt = edge(from, low, high);
    rest = (debt + (int64_t)p->level_num * steps) % p->level_den;
    debt -= steps == 0xFFFFFFFFu ? 0 : rest < 0 ? rest + p->level_den : rest;
    return debt < low ? debt + p->level_den : debt;
}

/* Change a number of the header, and perhaps the debt with it. */
static inline void forge_counter(uint8_t *state, const tcuq_params_t *p, source_t *from)
{
    unsigned at = below(from, 14);
    if (at < 10u) {
        int64_t low = at == 0u ? 0 : -(1 << 24), high = at == 0u ? 0xFFFFFFFF : 1 << 24;
        put_word(state + STATE_STEPS + 4u * at, edge(from, low, high));
    } else {
        state[STATE_ALARM + at - 10u] = (uint8_t)edge(from, 0, below(from, 2) == 0u ? 3 : 255);
    }
    if (below(from, 2) == 0u) {
        put_word(state + STATE_DEBT, forged_debt(p, get_word(state + STATE_STEPS), from));
    }
}

#endif
