/* SPDX-License-Identifier: MIT */
/* Memory between guard zones: an access outside ends the program with AddressSanitizer, and a write outside is
 * found by guards_hold() without it. */
#ifndef GUARDED_H
#define GUARDED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define GUARDS_POISONED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GUARDS_POISONED 1
#endif
#endif

enum { GUARD_BYTES = 64, GUARD_VALUE = 0xA5 };

typedef struct {
    uint8_t *whole;
    uint8_t *bytes; /* of the user, a multiple of 64 from the start */
    size_t size;
} guarded_t;

/* The user's bytes are random-looking, so that nobody may rely on zeros. */
static inline guarded_t guarded(size_t size)
{
    guarded_t memory;
    memory.size = size;
#ifdef GUARDS_POISONED
    memory.whole = (uint8_t *)malloc(size == 0u ? 1u : size); /* red zones begin at once on both sides */
    memory.bytes = memory.whole;
#else
    memory.whole = (uint8_t *)malloc(size + 2u * GUARD_BYTES);
    memory.bytes = memory.whole == NULL ? NULL : memory.whole + GUARD_BYTES;
#endif
    if (memory.whole == NULL) {
        fprintf(stderr, "no memory for %lu bytes\n", (unsigned long)size);
        exit(2);
    }
#ifndef GUARDS_POISONED
    memset(memory.whole, GUARD_VALUE, size + 2u * GUARD_BYTES);
#endif
    memset(memory.bytes, 0x5C, size);
    return memory;
}

static inline int guards_hold(const guarded_t *memory)
{
#ifndef GUARDS_POISONED
    size_t i;
    for (i = 0; i < GUARD_BYTES; i++) {
        if (memory->whole[i] != GUARD_VALUE || memory->bytes[memory->size + i] != GUARD_VALUE) {
            return 0;
        }
    }
#else
    (void)memory;
#endif
    return 1;
}

static inline void release(guarded_t *memory)
{
    free(memory->whole);
    memory->whole = memory->bytes = NULL;
}

#endif
