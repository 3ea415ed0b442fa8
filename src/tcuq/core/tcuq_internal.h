/* SPDX-License-Identifier: MIT */
/* What the files of the core share; nothing here is for callers. Section numbers refer to SPEC.md.
 *
 * The compiler drops the code of signals that a build leaves out, not the preprocessor: used() never has
 * their bits, which is known when compiling, so no branch that asks for them survives optimization. */
#ifndef TCUQ_INTERNAL_H
#define TCUQ_INTERNAL_H

#include <string.h>

#include "tcuq.h"
#include "tcuq_fields.h"
#include "tcuq_tables.h"

#define ONE 65536u
#define Q16_MAX 65535u

/* Largest product of a slope and a debt, so that a threshold fits 32 bits. */
#define MAP_LIMIT 16777216u

/* Blocks in which features are compared, and the largest slow mean of their gaps, in 1/256. */
#define BLOCKS 8u
#define SLOW_MAX 2097152

#define STILL_MAX 2097152u /* 32 doublings, Q16.16 */

#define FEEDBACK_CAP 268435456u /* of the rise side that labels may move */

#if defined(__GNUC__)
#define NOT_INLINE __attribute__((noinline, unused)) /* a copy for each caller costs flash, a busy caller registers */
#define ALWAYS_INLINE __attribute__((always_inline)) /* its arguments are known when compiling */
#define COLD __attribute__((cold)) /* no step calls it: small rather than fast */
/* Cortex-M0 calls memcpy, a hundred instructions for sixteen bytes, unless it knows the alignment. */
#define ALIGNED(pointer, type) __builtin_assume_aligned(pointer, sizeof(type))
/* With -ffreestanding, plain memcpy of two bytes is a call. */
#define COPY __builtin_memcpy
#else
#define NOT_INLINE
#define ALWAYS_INLINE
#define COLD
#define ALIGNED(pointer, type) (pointer)
#define COPY memcpy
#endif

/* Bits of tcuq_t.filled: slow means and beliefs hold a value; what is learned of the stream holds one. */
#define FILLED_PAST 1u
#define FILLED_STREAM 2u

/* What this build can do: compute a signal of a mask, sum evidence, learn the persistence or a reference. */
#define BUILD_HAS(mask) (((TCUQ_SIGNALS) & (mask)) != 0u)
#define HAS_EVIDENCE BUILD_HAS(TCUQ_ALL_SIGNALS & ~TCUQ_PROFILE_PAPER)
#define HAS_PERSISTENCE BUILD_HAS(TCUQ_BIT(TCUQ_DISBELIEF))
#define HAS_BASELINE BUILD_HAS(TCUQ_BASELINE)
#define HAS_FEEDBACK BUILD_HAS(TCUQ_FEEDBACK)
#define HAS_SIGHT BUILD_HAS(TCUQ_SIGHT)

/* Signals in use, of those that this build can compute. */
static inline uint32_t used(const tcuq_params_t *p)
{
    return (uint32_t)p->signals & (TCUQ_SIGNALS) & TCUQ_ALL_SIGNALS;
}

/* Whether a signal of a mask is in use. */
static inline int uses(const tcuq_params_t *p, uint32_t mask)
{
    return (used(p) & mask) != 0u;
}

/* The heads, where there are any and this build can use them, else NULL. */
static inline const tcuq_evidence_t *evidence_head(const tcuq_params_t *p)
{
    return HAS_EVIDENCE ? p->evidence : NULL;
}

static inline const tcuq_instant_t *instant_head(const tcuq_params_t *p)
{
    return HAS_PERSISTENCE ? p->instant : NULL;
}

static inline const tcuq_feedback_t *feedback_head(const tcuq_params_t *p)
{
    return HAS_FEEDBACK ? p->feedback : NULL;
}

static inline const tcuq_sight_t *sight_head(const tcuq_params_t *p)
{
    return HAS_SIGHT ? p->sight : NULL;
}

/* Whether a step asks how new its input is. */
static inline int asks_novelty(const tcuq_params_t *p)
{
    return evidence_head(p) != NULL || sight_head(p) != NULL;
}

/* Parameters. */

/* Whether a number is outside low..high. Both sides count from `low`, modulo 2^32, so one comparison
 * serves signed numbers too. */
static inline int outside(uint32_t value, uint32_t low, uint32_t high)
{
    return value - low > high - low;
}

static inline int below(uint32_t value, uint32_t low)
{
    return value < low;
}

/* The same of a number of a type that may end the range itself: the compiler then knows that nothing is above. */
#define OUTSIDE(type, value, low, high)                                   \
    ((type)(high) == (type)-1 ? below((uint32_t)(value), (uint32_t)(low)) \
                              : outside((uint32_t)(value), (uint32_t)(low), (uint32_t)(high)))

/* What a bet multiplies by at either clip stays in the range of the logarithm. */
static inline int bet_fits(const tcuq_evidence_t *head)
{
    uint32_t most = head->bet_slope * (head->clip >> 8) >> 8;
    if (head->bet_slope == 0u) {
        return head->bet_base == 0u;
    }
    return head->bet_base >= most + 257u && head->bet_base + most < 1048576u;
}

static inline int baseline_fits(const tcuq_evidence_t *head)
{
    return head->baseline_inputs != 0u ? head->bet_slope == 0u : head->baseline_mean == 0 && head->baseline_most == 0u;
}

#if ((TCUQ_SIGNALS) & TCUQ_SIGHT) != 0
uint32_t tcuq_internal_numbers(const tcuq_params_t *p); /* TCUQ_SIGHT_COUNT() */
#else
#define tcuq_internal_numbers(p) ((void)(p), 0u)
#endif

static inline int sight_given(const tcuq_sight_t *head)
{
    return head->mean != NULL && head->scale != NULL && head->shift != NULL && head->class_mean != NULL &&
           head->matrix != NULL;
}

/* Whether lists are in the ranges that keep a gap within 32 bits; they are all there. */
static inline int sight_fits(const tcuq_params_t *p)
{
    const tcuq_sight_t *head = p->sight;
    uint32_t i;
    for (i = 0; i < tcuq_internal_numbers(p); i++) {
        if (outside((uint32_t)head->mean[i], 0u - 1048576u, 1048576u) || outside(head->scale[i], 1u, 1023u) ||
            head->shift[i] > 24u) {
            return 0;
        }
    }
    return 1;
}

static inline int lags_ascend(const tcuq_params_t *p)
{
    uint32_t last = 0, i;
    for (i = 0; i < p->lag_count; i++) {
        if (p->lags[i] <= last) {
            return 0;
        }
        last = p->lags[i];
    }
    return last <= TCUQ_MAX_LAG;
}

/* The first lag that fills after a reset must carry weight to divide by. */
static inline int weights_sum(const tcuq_params_t *p)
{
    uint32_t sum = 0, i;
    for (i = 0; i < p->lag_count; i++) {
        sum += p->lag_weights[i];
    }
    return p->lag_count == 0u || (sum == 32768u && p->lag_weights[0] != 0u);
}

/* Labels move the limit up to fourfold. */
static inline int feedback_fits(const tcuq_params_t *p)
{
    const tcuq_feedback_t *head = feedback_head(p);
    return head == NULL || (head->error_num < head->error_den && p->rise_cap <= FEEDBACK_CAP);
}

/* Whether this build can do what is asked. */
static inline int build_can(const tcuq_params_t *p)
{
    const tcuq_evidence_t *evidence = evidence_head(p);
    uint32_t lacks = p->signals - used(p);
    lacks |= !HAS_BASELINE && evidence != NULL ? evidence->baseline_inputs : 0u;
    return lacks == 0u && evidence == p->evidence && instant_head(p) == p->instant &&
           feedback_head(p) == p->feedback && sight_head(p) == p->sight;
}

/* TCUQ_OK, TCUQ_ERR_VERSION, TCUQ_ERR_PARAMS or TCUQ_ERR_SIGNALS. */
COLD int tcuq_internal_check(const tcuq_params_t *p);

/* Arithmetic that knows no state. */

/* Floor of value / 2^shift; >> of a negative number is the compiler's choice in C99. */
static inline int32_t shift_floor(int32_t value, uint32_t shift)
{
    return value >= 0 ? value >> shift : ~(~value >> shift);
}

static inline uint16_t saturate(uint32_t value)
{
    return (uint16_t)(value > Q16_MAX ? Q16_MAX : value);
}

/* value within -most..most, where it nearly always is: one comparison, modulo 2^32. */
ALWAYS_INLINE static inline int32_t clipped(int32_t value, uint32_t most)
{
    if ((uint32_t)value + most <= 2u * most) {
        return value;
    }
    return value < 0 ? -(int32_t)most : (int32_t)most;
}

/* a * share + b * (1 - share), share in 0..65536, rounded. */
static inline uint32_t mix(uint32_t a, uint32_t b, uint32_t share)
{
    return (a * share + b * (ONE - share) + 32768u) >> 16;
}

/* An exponentially weighted mean after one more value. Modulo 2^32, so that a damaged mean, however large, comes
 * back like any other (section 12). */
static inline int32_t moved(int32_t mean, int32_t value, uint32_t shift)
{
    uint32_t gap = (uint32_t)value - (uint32_t)mean + ((1u << shift) >> 1);
    return (int32_t)((uint32_t)mean + (uint32_t)shift_floor((int32_t)gap, shift));
}

/* Least shifts that bring a number, which is not 0, down to 65535 and up to 65536. One instruction does
 * where a loop takes a dozen turns, but not every core has it. (Tests and proofs ask for the loops.) */
#if defined(__GNUC__) && (defined(__ARM_FEATURE_CLZ) || defined(__aarch64__) || defined(__x86_64__)) && \
    !defined(TCUQ_TEST_LOOPS)
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

/* Binary digits of a number. */
static inline uint32_t bits_of(uint32_t value)
{
    return value > Q16_MAX ? 16u + bits_above(value) : value != 0u ? 17u - bits_below(value) : 0u;
}

/* log2(value / 65536) in Q16.16, within 0.00014; value in 1..2^17 - 1: tcuq_beliefs.c. */
int32_t tcuq_internal_log2(uint32_t value);

/* Log of a sum of squares, Q0.16: 1/24 a factor of two. */
static inline uint16_t log_of_squares(uint32_t sum)
{
    uint32_t scale = bits_above(sum);
    int32_t log = tcuq_internal_log2(sum >> scale) + (int32_t)((scale + 16u) << 16);
    return saturate(((uint32_t)log >> 4) * 2731u >> 12);
}

/* Log-odds of `against` (0..65536, in 1/65536), Q0.16: a half at even odds, 1/16 a factor of two.
 * 128 on both sides keep one confident step from an infinite say. */
static inline uint16_t log_odds(uint32_t against)
{
    int32_t value = 32768 * 16 + 8 + tcuq_internal_log2(against + 128u) - tcuq_internal_log2(65664u - against);
    value = value < 0 ? 0 : value >> 4;
    return (uint16_t)(value < 65535 ? value : 65535);
}

/* Floor of the square root; no power of four above `bit`, which is one, is in the value. */
static inline uint32_t root(uint32_t value, uint32_t bit)
{
    uint32_t result = 0;
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

/* Numbers as little-endian bytes. */
static inline uint32_t get16(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8;
}

static inline uint32_t get32(const uint8_t *bytes)
{
    return get16(bytes) | get16(bytes + 2) << 16;
}

/* One byte more in the CRC-32 of states and frames, which starts and ends with all bits flipped. Four bits at once: a
 * fleet saves a state after every event. */
static inline uint32_t crc_byte(uint32_t crc, uint8_t byte)
{
    static const uint32_t table[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
        0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu};
    crc ^= byte;
    crc = (crc >> 4) ^ table[crc & 15u];
    return (crc >> 4) ^ table[crc & 15u];
}

/* Memory of the past. */

/* Square root of a sum of squares: mant * 2^exp, mant in [2^15, 2^16), or 0. */
typedef struct {
    uint16_t mant;
    int16_t exp;
} norm_t;

/* What later steps need of an inference beside its bytes. */
typedef struct {
    int32_t log_sum;     /* K of section 5 */
    uint32_t mass;       /* sum of the posterior, in 1/256 */
    uint16_t prediction;
    int16_t feature_sum; /* of raw bytes, -32768..32512 */
    norm_t norm;         /* of the features */
} kept_t;

#define KEPT_WORDS (sizeof(kept_t) / sizeof(uint32_t))
typedef char tcuq_internal_whole_words[sizeof(kept_t) == 16u ? 1 : -1];

/* The ring memory: words of slow means, one kept_t a past step, 16-bit numbers, and one
 * entry of bytes a past step. Use the functions below for sizes that a build may lack: they are then 0
 * when compiling. */
typedef struct {
    uint32_t slow;         /* word where the mean gaps of the features begin, after the last input */
    uint32_t sight;        /* word where what sight needs begins */
    uint32_t feedback;     /* word where what labels need begins */
    uint32_t mean_words;   /* all of them */
    uint32_t numbers;      /* of 16 bits */
    uint32_t depth;        /* past steps */
    uint32_t post_bytes;   /* of an entry: the posterior, 0 or `classes` */
    uint32_t entry_bytes;  /* the posterior and the features */
} layout_t;

void tcuq_internal_layout(layout_t *at, const tcuq_params_t *p);

/* Experts of the learned persistence, in the order of their deficits. The first has no memory, the last takes steps as
 * independent, with a mix of classes that it learns; those between hold a belief each. */
enum { MEMORYLESS, STICKY_1, STICKY_2, STICKY_4, STICKY_7, CLASS_MIX, EXPERT_COUNT };
#define STICKY_COUNT 4u

/* The 16-bit numbers of an instant head: beliefs, the class mix, deficits. */
#define NUMBERS(classes) ((STICKY_COUNT + 1u) * (classes) + EXPERT_COUNT)

static inline uint32_t mean_words(const layout_t *at)
{
    return HAS_EVIDENCE || HAS_PERSISTENCE || HAS_FEEDBACK || HAS_SIGHT ? at->mean_words : 0u;
}

static inline uint32_t number_count(const layout_t *at)
{
    return HAS_PERSISTENCE ? at->numbers : 0u;
}

static inline uint32_t depth_of(const layout_t *at)
{
    return BUILD_HAS(TCUQ_LAGGED_SIGNALS) ? at->depth : 0u;
}

/* Where a kept_t lies; the two functions below read and write it. */
static inline uint32_t *kept_in(const tcuq_t *m, const layout_t *at, uint32_t slot)
{
    return m->ring + mean_words(at) + KEPT_WORDS * slot;
}

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
    COPY(ALIGNED(kept_in(m, at, slot), uint32_t), ALIGNED(kept, uint32_t), sizeof *kept);
}

static inline int8_t *numbers_in(const tcuq_t *m, const layout_t *at)
{
    return (int8_t *)kept_in(m, at, depth_of(at));
}

static inline int8_t *entry_in(const tcuq_t *m, const layout_t *at, uint32_t slot)
{
    return numbers_in(m, at) + 2u * number_count(at) + at->entry_bytes * slot;
}

/* Slot of the step `lag` steps ago, 1..depth. */
static inline uint32_t slot_of(const tcuq_t *m, uint32_t depth, uint32_t lag)
{
    return m->slot >= lag ? m->slot - lag : m->slot + depth - lag;
}

static inline uint32_t number_at(const int8_t *numbers, uint32_t index)
{
    uint16_t value;
    COPY(&value, ALIGNED(numbers + 2u * index, uint16_t), sizeof value);
    return value;
}

static inline void number_put(int8_t *numbers, uint32_t index, uint32_t value)
{
    uint16_t kept = (uint16_t)value;
    COPY(ALIGNED(numbers + 2u * index, uint16_t), &kept, sizeof kept);
}

/* One inference, from reading it to the signals. */
typedef struct {
    const int8_t *probs;
    const int8_t *features; /* may be NULL where no signal reads them */
    const int16_t *gauges;  /* NULL where the input was not seen; sums of features where there are none */
    kept_t kept;            /* what the ring will keep of it */
    uint32_t top;           /* largest and second largest posterior, in 1/256 */
    uint32_t second;
    uint32_t subject;       /* the class that signals and risk speak of */
    uint32_t belief;        /* the mixed belief in it, Q0.16; only with an instant head */
    uint32_t anchor;        /* what risk leans on, Q0.16 up to 65536 */
    uint32_t novelty;       /* how new it is, in 1/256; only with evidence or sight, like the next */
    int frozen;             /* whether the input stands still */
    int32_t evidence;       /* how much more likely it is on degraded input, Q16.16 */
    uint32_t moved;         /* for tcuq_step_t; only with sight, like the next */
    uint32_t far;           /* how far clean data are, as the signal degradation says it */
} inference_t;

/* Features in blocks, read once, beside the center of a class. */
typedef struct {
    const int8_t *next;   /* feature */
    const int8_t *center; /* beside it */
    uint32_t squares;     /* of all raw bytes */
    uint32_t apart;       /* squares of all gaps of single features, and 1 */
    int32_t sums[BLOCKS]; /* of raw bytes */
    int32_t gaps[BLOCKS]; /* of what they are above the center */
} blocks_t;

/* Read an inference (section 3): sets `prediction`, `low_mass`, and `answer` as it is without a past. */
void tcuq_internal_read(inference_t *now, const tcuq_params_t *p, const int8_t *probs, const int8_t *features,
                        const int16_t *gauges, tcuq_step_t *out);

/* With an instant head: let the experts take an inference in (section 6). Sets `answer` and `persistence`,
 * and what this inference speaks of and leans on. */
void tcuq_internal_beliefs(tcuq_t *m, const layout_t *at, inference_t *now, tcuq_step_t *out);

/* Compute the signals in use, and let the past take the inference in (sections 5, 6). A signal without a past
 * stays as it is in `signals`. */
void tcuq_internal_signals(tcuq_t *m, const layout_t *at, inference_t *now, uint16_t *signals);

/* Sight (section 21): words of the ring. First single numbers, then four for each number of the step. */
enum { SLOW_ODDS, STAY_LENGTH, STAY_CLASS, STAYS, RECENT, CALM, AGAIN, OBJECT, OBJECTS, SIGHT_WORDS };
#define SIGHT_LISTS 4u

#define FEW_STAYS 131072u /* the limit is higher by this over 4 + stays, Q16.16, until there were MANY_STAYS */
#define MANY_STAYS 60u

static inline uint32_t sight_words(const tcuq_params_t *p)
{
    return sight_head(p) != NULL ? SIGHT_WORDS + SIGHT_LISTS * tcuq_internal_numbers(p) : 0u;
}

#if ((TCUQ_SIGNALS) & TCUQ_SIGHT) != 0
/* Take an inference in: sets the distance, m->rise, and the signal `degradation`. */
void tcuq_internal_look(tcuq_t *m, const layout_t *at, inference_t *now, uint16_t *signals);

/* Whether the alarm is on after this inference, whose limit labels have moved by so much. */
int tcuq_internal_hold(tcuq_t *m, const layout_t *at, const inference_t *now, uint32_t move);

/* Forget what moved: slow means and those of the stay. */
void tcuq_internal_afresh(tcuq_t *m, const layout_t *at);

/* Log-odds that a step is right, by its own and by how far clean data are; Q16.16. */
int32_t tcuq_internal_right(const tcuq_sight_t *head, int32_t odds, uint32_t far);

/* How far the distance is above its limit, Q16.16. */
uint32_t tcuq_internal_over(const tcuq_t *m);

/* Whether a saved word is in its range. */
int tcuq_internal_sight_valid(const tcuq_params_t *p, uint32_t word, uint32_t value);
#else
#define tcuq_internal_look(m, at, now, signals) ((void)(m), (void)(at))
#define tcuq_internal_hold(m, at, now, move) ((void)(at), 0)
#define tcuq_internal_afresh(m, at) ((void)(m), (void)(at))
#define tcuq_internal_over(m) ((void)(m), 0u)
#define tcuq_internal_right(head, odds, far) ((void)(head), (void)(odds), (void)(far), 0)
#define tcuq_internal_sight_valid(p, word, value) 1
#endif

/* Put an inference back into the ring: its prediction and its bytes, posterior first. */
void tcuq_internal_restore(tcuq_t *m, const layout_t *at, uint32_t prediction, const int8_t *bytes);

/* What labels need (section 19): numbers of 16 bits, the first two of them the error debt, a word of the ring; the
 * last are one a remembered step. */
#define CORRECTION 2u /* of the expected accuracy, 1/32768, with a sign */
#define CASE 3u       /* what labels say against the alarm as it is, nats * 8192, with a sign */
#define NEXT 4u       /* where the next step goes */
#define QUARTERS 5u      /* quarters of its limit that labels have moved the alarm by, modulo 16; above it, in units of
                       * RECOVERED, labels that led back from silence and are not paid back */
#define ENTRIES 6u

#define QUARTERS_RISE 13u /* most quarters up, and down */
#define QUARTERS_FALL 2u
#define RECOVERED 16u

/* Of a remembered step: it has a label, was accepted and not doubtful, and the alarm was on. Below are the
 * certainty and, in the last bits, the answer. */
#define STEP_KNOWN 0x8000u
#define STEP_COUNTED 0x4000u
#define STEP_ALARM 0x2000u

static inline uint32_t feedback_words(const tcuq_params_t *p)
{
    return feedback_head(p) != NULL ? (ENTRIES + 1u + feedback_head(p)->memory) >> 1 : 0u;
}

/* The bits of an answer. */
static inline uint32_t answer_mask(const tcuq_params_t *p)
{
    return p->classes <= 64u ? 63u : 1023u;
}

static inline int8_t *feedback_numbers(uint32_t *debt)
{
    return (int8_t *)debt;
}

/* A number with a sign. */
static inline int32_t signed_at(const int8_t *numbers, uint32_t index)
{
    return (int16_t)number_at(numbers, index);
}

/* The quarters, counted from their least. */
static inline uint32_t quarters_above(const int8_t *numbers)
{
    return (number_at(numbers, QUARTERS) + QUARTERS_FALL) & 15u;
}

static inline int32_t error_bound_of(const tcuq_feedback_t *head)
{
    return (int32_t)head->error_shut - 1 + (int32_t)head->memory * (head->error_den - head->error_num);
}

/* Where it lies, in range whatever memory did to it; and whether it is, in a saved state. Only with feedback: a build
 * without it needs no tcuq_feedback.c. */
#if ((TCUQ_SIGNALS) & TCUQ_FEEDBACK) != 0
uint32_t *tcuq_internal_feedback(const tcuq_t *m, const layout_t *at);
int tcuq_internal_labels_valid(const tcuq_params_t *p, uint32_t steps, const uint8_t *bytes);
#else
#define tcuq_internal_feedback(m, at) ((uint32_t *)NULL) /* typed: C++ compiles this too */
#define tcuq_internal_labels_valid(p, steps, bytes) 1
#endif

/* The class with the largest posterior. */
uint32_t tcuq_internal_prediction(const int8_t *probs, const tcuq_params_t *p);

#endif
