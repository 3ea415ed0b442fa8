/* SPDX-License-Identifier: MIT */
/* Reads one frame, written from SPEC.md section 18 alone. */
#ifndef UNFRAME_H
#define UNFRAME_H

#include <string.h>

#include "tcuq_frame.h"

typedef struct {
    uint8_t content[TCUQ_FRAME_MOST + 8u];
    size_t size;   /* without the checksum */
    size_t bit;    /* next one to read */
    unsigned kind;
    uint32_t fingerprint, boot, shape;
    uint64_t seq;
    /* Of the decision before. */
    tcuq_step_t last;
    int begun;
    uint32_t move[2];
    unsigned order[7];
} unframe_t;

static inline uint32_t unframe_number(const uint8_t *from, unsigned count)
{
    uint32_t value = 0;
    while (count-- > 0u) {
        value = value << 8 | from[count];
    }
    return value;
}

/* Undo COBS and check size and CRC. Returns NULL, or what is wrong. */
static inline const char *unframe_open(unframe_t *f, const uint8_t *bytes, size_t size)
{
    static const unsigned orders[7] = {12, 12, 1, 11, 8, 1, 1};
    size_t at = 1, used = 0, i;
    uint32_t crc = 0xFFFFFFFFu;
    if (size < 4u || bytes[0] != 0u || bytes[size - 1u] != 0u) {
        return "a frame lies between zeros";
    }
    while (at < size - 1u) {
        unsigned code = bytes[at++], n;
        if (code == 0u || at + code - 1u > size - 1u || used + code > sizeof f->content) {
            return "blocks fit their frame";
        }
        for (n = 1; n < code; n++) {
            if (bytes[at] == 0u) {
                return "no zero within a frame";
            }
            f->content[used++] = bytes[at++];
        }
        if (at < size - 1u && code < 255u) {
            f->content[used++] = 0;
        } else if (at == size - 1u && code == 255u && used == 0u) {
            return "a full block has bytes";
        }
    }
    if (used < 23u || used > TCUQ_FRAME_MOST) {
        return "content has 23 to 4096 bytes";
    }
    if (size > used + (used + 253u) / 254u + 2u) {
        return "a frame takes no more than its bound";
    }
    for (i = 0; i + 4u < used; i++) {
        unsigned bit;
        crc ^= f->content[i];
        for (bit = 0; bit < 8u; bit++) {
            crc = (crc & 1u) != 0u ? (crc >> 1) ^ 0xEDB88320u : crc >> 1;
        }
    }
    if (~crc != unframe_number(f->content + used - 4u, 4)) {
        return "the checksum is that of the content";
    }
    f->size = used - 4u;
    f->kind = f->content[0];
    f->fingerprint = unframe_number(f->content + 1, 4);
    f->boot = unframe_number(f->content + 5, 4);
    f->seq = (uint64_t)unframe_number(f->content + 9, 4) | (uint64_t)unframe_number(f->content + 13, 2) << 32;
    f->shape = unframe_number(f->content + 15, 3);
    f->bit = 8u * 18u;
    f->begun = 0;
    f->move[0] = f->move[1] = 0;
    memcpy(f->order, orders, sizeof orders);
    memset(&f->last, 0, sizeof f->last);
    return NULL;
}

static inline uint32_t unframe_bits(unframe_t *f, unsigned count)
{
    uint32_t value = 0;
    for (; count > 0u; count--, f->bit++) {
        unsigned bit = f->bit < 8u * f->size ? (unsigned)f->content[f->bit / 8u] >> (7u - f->bit % 8u) & 1u : 0u;
        value = value << 1 | bit;
    }
    return value;
}

static inline uint32_t unframe_code(unframe_t *f, unsigned which)
{
    unsigned k = f->order[which], w = 0;
    uint32_t value;
    while (w < 33u && unframe_bits(f, 1) == 0u) {
        w++;
    }
    value = w == 0u ? unframe_bits(f, k) : (uint32_t)(((uint64_t)1 << (w - 1u + k)) | unframe_bits(f, w - 1u + k));
    if (w >= 2u) {
        f->order[which]++;
    } else if (k > 0u && value >> (k - 1u) == 0u) {
        f->order[which]--;
    }
    return value;
}

static inline uint32_t unframe_difference(unframe_t *f, unsigned which)
{
    uint32_t z = unframe_code(f, which);
    return (z & 1u) != 0u ? ~(z >> 1) : z >> 1;
}

/* The next decision. Returns 0 when none is left. */
static inline int unframe_decision(unframe_t *f, tcuq_step_t *out)
{
    unsigned classes = f->shape & 4095u, horizon = f->shape >> 12, width = 0;
    uint32_t threshold, expected;
    if (8u * f->size < f->bit + 8u) {
        return 0;
    }
    for (; (classes - 1u) >> width != 0u; width++) {
    }
    out->flagged = (uint8_t)unframe_bits(f, 1);
    out->abstain = (uint8_t)unframe_bits(f, 1);
    out->warming_up = (uint8_t)unframe_bits(f, 1);
    out->low_mass = (uint8_t)unframe_bits(f, 1);
    out->alarm = (uint8_t)unframe_bits(f, 2);
    out->reason = out->flagged != 0u ? (uint8_t)unframe_bits(f, 5) : (uint8_t)(31u - out->abstain);
    out->reason = out->reason >= 30u ? (uint8_t)(out->reason + 224u) : out->reason;
    out->prediction = unframe_bits(f, 1) != 0u ? (uint16_t)unframe_bits(f, width) : f->last.prediction;
    out->answer = unframe_bits(f, 1) != 0u ? (uint16_t)unframe_bits(f, width) : out->prediction;
    if (!f->begun) {
        out->uncertainty = (uint16_t)unframe_bits(f, 16);
        out->risk = (uint16_t)unframe_bits(f, 16);
        out->threshold = (int32_t)unframe_bits(f, 32);
        out->severity = (int32_t)unframe_bits(f, 32);
        out->persistence = (uint16_t)unframe_bits(f, 16);
        out->look = (uint16_t)unframe_bits(f, 16);
        out->expected_accuracy = (uint16_t)unframe_bits(f, 16);
    } else {
        int64_t gap;
        out->uncertainty = (uint16_t)unframe_code(f, 0);
        out->risk = (uint16_t)(out->uncertainty + unframe_difference(f, 1));
        threshold = (uint32_t)f->last.threshold + f->move[f->last.flagged] + unframe_difference(f, 2);
        f->move[f->last.flagged] = threshold - (uint32_t)f->last.threshold;
        out->threshold = (int32_t)threshold;
        out->severity = (int32_t)((uint32_t)f->last.severity + unframe_difference(f, 3));
        out->persistence = (uint16_t)(f->last.persistence + unframe_difference(f, 4));
        out->look = (uint16_t)(f->last.look + unframe_difference(f, 5));
        gap = (int64_t)65536 - out->uncertainty - f->last.expected_accuracy;
        gap = gap >= 0 ? gap >> horizon : -((-gap + ((1 << horizon) - 1)) >> horizon);
        expected = (uint32_t)(f->last.expected_accuracy + (horizon == 0u ? 0 : gap));
        out->expected_accuracy = (uint16_t)(expected + unframe_difference(f, 6));
    }
    f->begun = 1;
    f->last = *out;
    return f->bit <= 8u * f->size;
}

#endif
