/* SPDX-License-Identifier: MIT */
/* What the files of the core share; nothing here is for callers. Section numbers refer to SPEC.md.
 *
 * The compiler drops the code of signals that a build leaves out, not the preprocessor: used() never has
 * their bits, which is known when compiling, so no branch that asks for them survives optimization. */
#ifndef TCUQ_INTERNAL_H
#define TCUQ_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tcuq.h"

#define ONE 65536u
#define Q16_MAX 65535u

/* For a function that would be copied to each of its callers at -O2, wherever it has some. */
#if defined(__GNUC__)
#define NOT_INLINE __attribute__((noinline, unused))
#define ALWAYS_INLINE __attribute__((always_inline)) /* for one whose arguments are known when compiling */
#define SELDOM __attribute__((cold))                 /* for one that no step calls: small rather than fast */
#else
#define NOT_INLINE
#define ALWAYS_INLINE
#define SELDOM
#endif

/* Bits of tcuq_t.held: slow means and beliefs hold a value; what is learned of the stream holds one. */
#define HELD_PAST 1u
#define HELD_STREAM 2u

/* Whether this build can compute a signal of a mask. */
#define BUILD_HAS(mask) (((TCUQ_SIGNALS) & (mask)) != 0u)

/* Signals in use, of those that this build can compute. */
static inline uint32_t used(const tcuq_params_t *p)
{
    return (uint32_t)p->signals & (TCUQ_SIGNALS);
}

/* Whether a signal of a mask is in use. */
static inline int uses(const tcuq_params_t *p, uint32_t mask)
{
    return (used(p) & mask) != 0u;
}

/* Floor of value / 2^shift; >> of a negative number is the compiler's choice in C99. */
static inline int32_t shift_floor(int32_t value, uint32_t shift)
{
    return value >= 0 ? value >> shift : ~(~value >> shift);
}

static inline uint16_t saturate(uint32_t value)
{
    return (uint16_t)(value > Q16_MAX ? Q16_MAX : value);
}

/* a * share + b * (1 - share), share in 0..65536, rounded. */
static inline uint32_t mix(uint32_t a, uint32_t b, uint32_t share)
{
    return (a * share + b * (ONE - share) + 32768u) >> 16;
}

/* TCUQ_OK, TCUQ_ERR_VERSION, TCUQ_ERR_PARAMS or TCUQ_ERR_SIGNALS: tcuq_params.c. */
SELDOM int tcuq_internal_check(const tcuq_params_t *p);

/* A sum of the bytes of accepted params as they lie in this memory: it says whether they are still those of
 * tcuq_init() and nothing to another machine. It has three parts, as the pointers and numbers of one
 * part lead to the next, and may be followed only when that part is sound. */
#define SUM_PARAMS 0x00000FFFu /* the params themselves */
#define SUM_HEADS 0x003FF000u  /* evidence and instant; the other bits are of what all of these point to */

/* The sum, or another one than `known` as soon as a part differs from it; 0 where none is known. */
SELDOM uint32_t tcuq_internal_sum(const tcuq_params_t *p, uint32_t known);

/* Memory of the past: tcuq_signals.c. */

/* Square root of a sum of squares: mant * 2^exp, mant in [2^15, 2^16), or 0. */
typedef struct {
    uint16_t mant;
    int16_t exp;
} norm_t;

/* What later steps need of an inference beside its bytes. */
typedef struct {
    int32_t log_sum;     /* K of section 5 */
    uint32_t mass;       /* sum of the posterior, in 1/256 */
    uint16_t label;
    int16_t feature_sum; /* of raw bytes, -32768..32512 */
    norm_t norm;         /* of the features */
} kept_t;

#define KEPT_WORDS (sizeof(kept_t) / sizeof(uint32_t))
typedef char tcuq_internal_whole_words[sizeof(kept_t) == 16u ? 1 : -1];

/* The ring memory: words of slow means, one kept_t a past step, 16-bit numbers, and one
 * entry of bytes a past step. Use the functions below for sizes that a build may lack: they are then 0
 * when compiling. */
typedef struct {
    uint32_t seen;         /* word where the means for the correction by class mix begin */
    uint32_t mean_words;   /* the mean of the odds and what is learned of the stream */
    uint32_t numbers;      /* that are saved */
    uint32_t scratch;      /* numbers that are not */
    uint32_t depth;        /* past steps */
    uint32_t post_bytes;   /* of an entry: the posterior, 0 or `classes` */
    uint32_t entry_bytes;  /* the posterior and the features */
} layout_t;

void tcuq_internal_layout(layout_t *at, const tcuq_params_t *p);

/* Words of the variety, where the persistence is learned: answer and doubt of the last step; the first of its
 * two means, of squared differences and of variances. */
static inline uint32_t last_word(const layout_t *at)
{
    return at->seen - 1u;
}

static inline uint32_t differ_word(const layout_t *at)
{
    return at->mean_words - 2u;
}

static inline uint32_t mean_words(const layout_t *at)
{
    return BUILD_HAS(TCUQ_BIT(TCUQ_MEAN_ODDS)) || (TCUQ_PERSISTENCE) ? at->mean_words : 0u;
}

/* 16-bit numbers: beliefs, the class mix, deficits of the experts. */
static inline uint32_t number_count(const layout_t *at)
{
    return (TCUQ_PERSISTENCE) ? at->numbers : 0u;
}

static inline uint32_t scratch_count(const layout_t *at)
{
    return (TCUQ_PERSISTENCE) ? at->scratch : 0u;
}

static inline uint32_t depth_of(const layout_t *at)
{
    return BUILD_HAS(TCUQ_LAGGED_SIGNALS) ? at->depth : 0u;
}

/* Where a kept_t lies. Use the two functions below: C lets no other pointer than one to words reach it. */
static inline uint32_t *kept_in(const tcuq_t *m, const layout_t *at, uint32_t slot)
{
    return m->ring + mean_words(at) + KEPT_WORDS * slot;
}

/* Cortex-M0 calls memcpy, a hundred instructions for sixteen bytes, unless it knows that words begin there.
 * What reads and what writes differ because each was the smaller and faster of two ways (gcc 12, -Os, -O2). */
#if defined(__GNUC__)
#define AT_WORDS(pointer) __builtin_assume_aligned(pointer, sizeof(uint32_t))
#else
#define AT_WORDS(pointer) (pointer)
#endif

typedef union {
    kept_t kept;
    uint32_t words[KEPT_WORDS];
} kept_words_t;

static inline kept_t kept_at(const tcuq_t *m, const layout_t *at, uint32_t slot)
{
    const uint32_t *from = kept_in(m, at, slot);
    kept_words_t copy;
    copy.words[0] = from[0];
    copy.words[1] = from[1];
    copy.words[2] = from[2];
    copy.words[3] = from[3];
    return copy.kept;
}

static inline void keep_at(const tcuq_t *m, const layout_t *at, uint32_t slot, const kept_t *kept)
{
    memcpy(AT_WORDS(kept_in(m, at, slot)), AT_WORDS(kept), sizeof *kept);
}

static inline int8_t *numbers_in(const tcuq_t *m, const layout_t *at)
{
    return (int8_t *)kept_in(m, at, depth_of(at));
}

static inline int8_t *entry_in(const tcuq_t *m, const layout_t *at, uint32_t slot)
{
    return numbers_in(m, at) + 2u * (number_count(at) + scratch_count(at)) + at->entry_bytes * slot;
}

/* Slot of the step `lag` steps ago, 1..depth. */
static inline uint32_t slot_of(const tcuq_t *m, uint32_t depth, uint32_t lag)
{
    return m->head >= lag ? m->head - lag : m->head + depth - lag;
}

/* Numbers are copied for the same reason; the first one begins a word. */
#if defined(__GNUC__)
#define AT_NUMBER(pointer) __builtin_assume_aligned(pointer, sizeof(uint16_t))
#else
#define AT_NUMBER(pointer) (pointer)
#endif

static inline uint32_t number_at(const int8_t *numbers, uint32_t index)
{
    uint16_t value;
    memcpy(&value, AT_NUMBER(numbers + 2u * index), sizeof value);
    return value;
}

static inline void number_put(int8_t *numbers, uint32_t index, uint32_t value)
{
    uint16_t kept = (uint16_t)value;
    memcpy(AT_NUMBER(numbers + 2u * index), &kept, sizeof kept);
}

/* Put an inference back into the ring: its label and its bytes, posterior first. */
void tcuq_internal_restore(tcuq_t *m, const layout_t *at, uint32_t label, const int8_t *bytes);

/* One inference: tcuq_signals.c. */

/* Read an inference, compute the signals in use, and let the past take it in (sections 3, 5, 6): sets
 * `label`, `answer`, `persistence`, `variety` and `low_mass`. Returns 1 - what risk leans on, Q0.16. A signal without a
 * past stays as it is in `signals`. */
uint32_t tcuq_internal_read(tcuq_t *m, const int8_t *probs, const int8_t *features, tcuq_step_t *out,
                            uint16_t *signals);

/* Beliefs: tcuq_beliefs.c. */

/* log2(value / 65536) in Q16.16, within 0.00014; value in 1..2^17 - 1. */
int32_t tcuq_internal_log2(uint32_t value);

/* The experts of the learned persistence take an inference in: sets `persistence` and `answer`. Returns the
 * mixed belief in what the params speak about, Q0.16. */
uint32_t tcuq_internal_persist(tcuq_t *m, const layout_t *at, const int8_t *probs, tcuq_step_t *out);

/* The variety takes in the doubt about the answer of a step, in 1/256. Returns it, Q0.16. */
uint16_t tcuq_internal_vary(const tcuq_t *m, const layout_t *at, uint32_t doubt, uint32_t answer);

/* The class with the largest posterior. */
uint32_t tcuq_internal_label(const int8_t *probs, const tcuq_params_t *p);

#endif
