/* SPDX-License-Identifier: MIT */
/* Saved states of many monitors: the bytes of the core, with a checksum that takes eight of them at a time. */
#include <string.h>

#include "binding/many.h"

#define tcuq_save many_save
#define tcuq_load many_load
#define tcuq_verify many_verify
#define tcuq_state_size many_state_size
#define tcuq_fingerprint many_fingerprint
#define COLD

static uint32_t after[8][256]; /* [k][b]: the checksum of the byte b and k zeros behind it */

void many_state_begin(void)
{
    uint32_t b, k;
    for (b = 0; b < 256u; b++) {
        uint32_t crc = tcuq_crc_byte(0u, (uint8_t)b);
        for (k = 0; k < 8u; k++) {
            after[k][b] = crc; /* the same values each time: other threads may read them */
            crc = tcuq_crc_byte(crc, 0u);
        }
    }
}

#define crc_add crc_by_eight
static uint32_t crc_by_eight(uint32_t crc, const uint8_t *bytes, size_t size)
{
    for (; size >= 8u; size -= 8u, bytes += 8) {
        uint32_t k, next = 0;
        for (k = 0; k < 8u; k++) {
            next ^= after[7u - k][bytes[k] ^ (k < 4u ? (crc >> 8u * k) & 255u : 0u)];
        }
        crc = next;
    }
    for (; size > 0u; size--) {
        crc = tcuq_crc_byte(crc, *bytes++);
    }
    return crc;
}

#include "core/tcuq_state.c"
