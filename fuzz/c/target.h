/* SPDX-License-Identifier: MIT */
/* What the fuzz targets share: how they fail, how they count, and a monitor between guard zones. */
#ifndef TARGET_H
#define TARGET_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "guarded.h"
#include "sets.h"
#include "source.h"
#include "tcuq.h"
#include "tcuq_fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *count, char ***words);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

static unsigned long target_steps;

static inline void say_steps(void)
{
    fprintf(stderr, "steps: %lu\n", target_steps);
}

int LLVMFuzzerInitialize(int *count, char ***words)
{
    (void)count;
    (void)words;
    return atexit(say_steps);
}

#define NEED(holds, what)                                                        \
    do {                                                                         \
        if (!(holds)) {                                                          \
            fprintf(stderr, "broken: %s (%s:%d)\n", what, __FILE__, __LINE__);   \
            abort();                                                             \
        }                                                                        \
    } while (0)

/* A monitor, its memory, and what one step gives. */
typedef struct {
    tcuq_t monitor;
    guarded_t ring, probs, features, state;
    tcuq_step_t step;
    uint16_t signals[TCUQ_SIGNAL_COUNT];
    int32_t error_debt; /* before the step */
} subject_t;

/* Start a monitor in memory of exactly the size that it asks for. */
static inline void subject_begin(subject_t *s, const tcuq_params_t *p)
{
    size_t ring = tcuq_ring_size(p);
    NEED(ring >= 4u && ring % 4u == 0u, "the ring has whole words");
    s->ring = guarded(ring);
    s->probs = guarded(p->classes);
    s->features = guarded(p->features);
    s->state = guarded(tcuq_state_size(p));
    memset(&s->monitor, 0xEE, sizeof s->monitor);
    NEED(tcuq_init(&s->monitor, p, (uint32_t *)(void *)s->ring.bytes, ring - 1u) == TCUQ_ERR_SIZE,
         "a ring that is too small is refused");
    NEED(tcuq_init(&s->monitor, p, NULL, ring) == TCUQ_ERR_SIZE, "no ring is refused");
    NEED(tcuq_init(&s->monitor, p, (uint32_t *)(void *)s->ring.bytes, ring) == TCUQ_OK, "accepted params start");
    NEED(tcuq_verify(&s->monitor) == TCUQ_OK, "a fresh monitor is sound");
}

static inline void subject_end(subject_t *s)
{
    NEED(guards_hold(&s->ring) && guards_hold(&s->probs) && guards_hold(&s->features) && guards_hold(&s->state),
         "no write out of bounds");
    release(&s->ring);
    release(&s->probs);
    release(&s->features);
    release(&s->state);
}

/* One step on the input in `probs` and `features`. */
static inline void subject_step(subject_t *s)
{
    const tcuq_params_t *p = s->monitor.params;
    int reads = (p->signals & TCUQ_FEATURE_SIGNALS) != 0u;
    const int8_t *probs = (const int8_t *)s->probs.bytes, *features = (const int8_t *)s->features.bytes;
    memset(&s->step, 0x77, sizeof s->step); /* what a step leaves unsaid would show */
    memset(s->signals, 0x77, sizeof s->signals);
    s->error_debt = tcuq_error_debt(&s->monitor);
    tcuq_step_gauges(&s->monitor, probs, reads ? features : NULL, gauges_of(p, probs, features), &s->step, s->signals);
    target_steps++;
}

static inline void subject_save(subject_t *s)
{
    int size = tcuq_save(&s->monitor, s->state.bytes, s->state.size);
    NEED(size >= 0 && (size_t)size == s->state.size, "a state has its size");
}

/* Whether two steps are the same, field by field: structs may have padding. */
static inline int same_step(const tcuq_step_t *a, const tcuq_step_t *b)
{
#define SAME_FIELD(name, type) && a->name == b->name
    return 1 TCUQ_STEP_FIELDS(SAME_FIELD);
}

/* Fill in an input: `kind` says how, `seed` which one. A posterior need not add up to anything. */
static inline void make_input(subject_t *s, const tcuq_params_t *p, unsigned kind, uint64_t seed)
{
    int8_t *probs = (int8_t *)s->probs.bytes, *features = (int8_t *)s->features.bytes;
    unsigned c, at = (unsigned)(random64(&seed) % p->classes), other = (unsigned)(random64(&seed) % p->classes);
    uint32_t byte = (uint32_t)(random64(&seed) >> 56);
    for (c = 0; c < p->classes; c++) {
        probs[c] = (int8_t)(kind % 8u == 0u   ? (int)(random64(&seed) >> 56) - 128 /* anything */
                            : kind % 8u == 1u ? 127                                /* far too much */
                            : kind % 8u == 2u ? (int)(256u / p->classes) - 128     /* flat */
                                              : -128);
    }
    if (kind % 8u >= 4u) { /* one class, or two */
        probs[at] = (int8_t)(kind % 8u == 4u ? 127 : (int)byte - 128);
        probs[other] = (int8_t)(kind % 8u >= 6u && other != at ? (kind % 8u == 6u ? probs[at] : 127 - (int)byte) : probs[other]);
    }
    for (c = 0; c < p->features; c++) {
        unsigned how = kind >> 3 & 7u;
        features[c] = (int8_t)(how < 3u    ? (int)(random64(&seed) >> 56) - 128
                               : how == 3u ? -128
                               : how == 4u ? 127
                               : how == 5u ? p->zero_point
                               : p->centers != NULL ? p->centers[(size_t)at * p->features + c]
                                                    : (int)(byte & 7u) - 4);
    }
}

#endif
