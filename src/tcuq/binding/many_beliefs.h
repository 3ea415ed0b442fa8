/* SPDX-License-Identifier: MIT */
/* Beliefs about eight classes at a time: the loops of tcuq_beliefs.c, of which this is a part where a bank compiles it.
 *
 * Why 16 bits are enough where the core has 32: in a valid state the beliefs of an expert sum to at most 65536 (those of
 * the class mix to 16 a class more) and a likelihood is at most 16402. So priors are below 65536, no sum of joints
 * comes round, a joint is at most their sum, and what share_of() gives is at most 2^31 / 2^15. */
#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include <emmintrin.h>
#endif

#define LANES 8u

typedef uint16_t eight_t __attribute__((vector_size(16)));
typedef int16_t signed_eight_t __attribute__((vector_size(16)));
typedef uint32_t four_t __attribute__((vector_size(16)));
typedef int32_t signed_four_t __attribute__((vector_size(16)));
typedef struct {
    four_t low, high;
} pair_t;

#define ALL(value) ((eight_t){0} + (uint16_t)(value))
#define NOTHING ((pair_t){{0}, {0}})

/* What C has no word for: sum + a * b, the high half where it is asked for; the last 16 bits of eight numbers; eight
 * bytes times 64; sum and maximum of four numbers. */
#if defined(__aarch64__)
ALWAYS_INLINE static inline pair_t add_product(pair_t sum, eight_t a, eight_t b, int high)
{
    sum.low += (four_t)vmull_u16(vget_low_u16((uint16x8_t)a), vget_low_u16((uint16x8_t)b));
    sum.high += high ? (four_t)vmull_high_u16((uint16x8_t)a, (uint16x8_t)b) : (four_t){0};
    return sum;
}
#define PACKED(pair) ((eight_t)vuzp1q_u16((uint16x8_t)(pair).low, (uint16x8_t)(pair).high))
#define TIMES_64(bytes) ((eight_t)vshll_n_s8(vld1_s8(bytes), 6))
#define SUM(four) vaddvq_u32((uint32x4_t)(four))
#define MOST(four) ((uint32_t)vmaxvq_s32((int32x4_t)(four)))
#else
ALWAYS_INLINE static inline pair_t add_product(pair_t sum, eight_t a, eight_t b, int high)
{
    __m128i less = _mm_mullo_epi16((__m128i)a, (__m128i)b), more = _mm_mulhi_epu16((__m128i)a, (__m128i)b);
    sum.low += (four_t)_mm_unpacklo_epi16(less, more);
    sum.high += high ? (four_t)_mm_unpackhi_epi16(less, more) : (four_t){0};
    return sum;
}
#define SIGNED_16(four) ((__m128i)((signed_four_t)((four) << 16) >> 16))
#define PACKED(pair) ((eight_t)_mm_packs_epi32(SIGNED_16((pair).low), SIGNED_16((pair).high)))
#define TIMES_64(bytes) \
    ((eight_t)((signed_eight_t)_mm_unpacklo_epi8(_mm_setzero_si128(), _mm_loadl_epi64((const void *)(bytes))) >> 2))
#define SUM(four) ((four)[0] + (four)[1] + (four)[2] + (four)[3])
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define MOST(four) ((uint32_t)LARGER(LARGER((four)[0], (four)[1]), LARGER((four)[2], (four)[3])))
#endif

/* Eight numbers; behind the last class come others of the ring, of which nothing is said. */
ALWAYS_INLINE static inline eight_t eight_at(const int8_t *numbers)
{
    eight_t eight;
    memcpy(&eight, numbers, sizeof eight);
    return eight;
}

/* The first `count` of eight numbers. */
ALWAYS_INLINE static inline void eight_put(int8_t *numbers, eight_t eight, uint32_t count)
{
    uint64_t halves[2];
    memcpy(halves, &eight, sizeof eight);
    if (count == LANES) {
        memcpy(numbers, halves, sizeof halves);
        return;
    }
    if ((count & 4u) != 0u) {
        memcpy(numbers, halves, 8);
        halves[0] = halves[1];
        numbers += 8;
    }
    if ((count & 2u) != 0u) {
        memcpy(numbers, halves, 4);
        halves[0] >>= 32;
        numbers += 4;
    }
    if ((count & 1u) != 0u) {
        memcpy(numbers, halves, 2);
    }
}

/* What an expert expects of an inference: the sum over classes, without what its priors have of `even`. */
ALWAYS_INLINE static inline uint32_t expected(const int8_t *numbers, const eight_t *said, uint32_t blocks, uint32_t shift)
{
    pair_t sum = NOTHING;
    uint32_t i;
    for (i = 0; i < blocks; i++, numbers += 2u * LANES) {
        eight_t old = eight_at(numbers);
        sum = add_product(sum, old - (old >> shift), said[i], 1);
    }
    return SUM(sum.low + sum.high);
}

/* An inference as the experts take it in. */
typedef struct {
    expert_t experts[EXPERT_COUNT];
    uint32_t classes;
    uint32_t even;
} taken_t;

/* predict(). */
static void predict_by_eight(taken_t *taken, const int8_t *beliefs, int8_t *deficits, const eight_t *said, uint32_t blocks)
{
    expert_t *experts = taken->experts;
    uint32_t stride = 2u * taken->classes, even = taken->even, all, i;
    int32_t best = -0x7FFFFFFF;
    pair_t sum = NOTHING;
    four_t part[2] = {{0}, {0}}, log[2] = {{0}, {0}};
    for (i = 0; i < blocks; i++) {
        sum = add_product(sum, said[i], ALL(1), 1);
    }
    all = SUM(sum.low + sum.high);
    experts[MEMORYLESS].by.factor = even * all;
    experts[STICKY_1].by.factor = expected(beliefs, said, blocks, 1) + (even >> 1) * all;
    experts[STICKY_2].by.factor = expected(beliefs + stride, said, blocks, 2) + (even >> 2) * all;
    experts[STICKY_4].by.factor = expected(beliefs + 2u * stride, said, blocks, 4) + (even >> 4) * all;
    experts[STICKY_6].by.factor = expected(beliefs + 3u * stride, said, blocks, 6) + (even >> 6) * all;
    experts[CLASS_MIX].by.factor = expected(beliefs + 4u * stride, said, blocks, 6) + (even >> 6) * all;
    for (i = 0; i < EXPERT_COUNT; i++) { /* tcuq_internal_log2(), whose arithmetic goes in fours */
        uint32_t value = divide_by(&experts[i].by, experts[i].by.factor);
        uint32_t shift = bits_below(value);
        part[i / 4u][i % 4u] = (value << shift) - ONE;
        log[i / 4u][i % 4u] = (experts[i].by.scale - shift) << 16;
    }
    for (i = 0; i < 2u; i++) {
        four_t bend = (part[i] * (ONE - part[i]) >> 16) * (28752u - (part[i] * (15667u - (5383u * part[i] >> 16)) >> 16));
        log[i] = (four_t)((signed_four_t)(log[i] + part[i] + (bend >> 16)) >> 5);
    }
    for (i = 0; i < EXPERT_COUNT; i++) {
        experts[i].gain += (int32_t)log[i / 4u][i % 4u];
        best = experts[i].gain > best ? experts[i].gain : best;
    }
    for (i = 0; i < EXPERT_COUNT; i++) {
        number_put(deficits, i, saturate((uint32_t)(best - experts[i].gain)));
    }
}

/* share_of(). */
ALWAYS_INLINE static inline eight_t shares(const divisor_t *by, eight_t prior, eight_t said, int high)
{
    pair_t joint = add_product(NOTHING, prior, said, high);
    joint.low = (joint.low >> by->scale) * by->factor >> 15;
    if (high) {
        joint.high = (joint.high >> by->scale) * by->factor >> 15;
    }
    return PACKED(joint);
}

/* share_after(). */
ALWAYS_INLINE static inline pair_t sticky_shares(pair_t belief, const taken_t *taken, uint32_t expert, uint32_t shift,
                                                 int8_t *numbers, eight_t said, uint32_t count, int high)
{
    const expert_t *by = &taken->experts[expert];
    eight_t old, now;
    numbers += 2u * (expert - STICKY_1) * taken->classes;
    old = eight_at(numbers);
    now = shares(&by->by, old - (old >> shift) + (uint16_t)(taken->even >> shift), said, high);
    eight_put(numbers, now, count);
    return add_product(belief, now, ALL(by->weight), high);
}

/* All experts take in what is said of `count` classes; returns the mixed beliefs in them. */
ALWAYS_INLINE static inline pair_t beliefs_after(const taken_t *taken, int8_t *numbers, eight_t said, uint32_t count,
                                                 int high)
{
    const expert_t *experts = taken->experts;
    eight_t now = shares(&experts[MEMORYLESS].by, ALL(taken->even), said, high), old;
    pair_t belief = add_product(NOTHING, now, ALL(experts[MEMORYLESS].weight), high);
    belief = sticky_shares(belief, taken, STICKY_1, 1, numbers, said, count, high);
    belief = sticky_shares(belief, taken, STICKY_2, 2, numbers, said, count, high);
    belief = sticky_shares(belief, taken, STICKY_4, 4, numbers, said, count, high);
    belief = sticky_shares(belief, taken, STICKY_6, 6, numbers, said, count, high);
    numbers += 2u * STICKY_COUNT * taken->classes;
    old = eight_at(numbers);
    now = shares(&experts[CLASS_MIX].by, old - (old >> 6) + (uint16_t)(taken->even >> 6), said, high);
    /* moved(), where a difference has 17 bits: quotients and remainders apart. */
    now = (now >> MIX_SHIFT) - (old >> MIX_SHIFT) + (((now & 31) + 16 + 32 - (old & 31)) >> MIX_SHIFT) - 1;
    eight_put(numbers, old + now, count);
    belief.low >>= 15;
    belief.high >>= 15;
    return belief;
}

static inline signed_four_t larger(signed_four_t a, signed_four_t b)
{
    signed_four_t more = a > b;
    return (a & more) | (b & ~more);
}

static uint32_t persist_by_eight(const tcuq_t *m, const layout_t *at, const int8_t *probs, tcuq_step_t *out)
{
    const tcuq_params_t *p = m->params;
    uint32_t classes = p->classes, last = (classes - 1u) / LANES, count = classes - last * LANES, i;
    int8_t *beliefs = numbers_in(m, at);
    int8_t *deficits = beliefs + 2u * (STICKY_COUNT + 1u) * classes;
    const eight_t lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    const signed_four_t four = {0, 1, 2, 3};
    eight_t said[TCUQ_MAX_CLASSES / LANES];
    pair_t mixed[TCUQ_MAX_CLASSES / LANES];
    signed_four_t best = {0};
    likelihood_t of;
    taken_t taken;
    read_likelihood(&of, probs, classes);
    if ((m->held & HELD_STREAM) == 0u) {
        start(m, at, deficits - 2u * classes, of.even);
    }
    if ((m->held & HELD_PAST) == 0u) {
        set_numbers(beliefs, STICKY_COUNT * classes, of.even);
    }
    if (p->instant->class_mix != NULL) {
        correct(m, at, &of);
        memcpy(said, of.corrected, 2u * (size_t)classes);
    }
    for (i = 0; i <= last && of.corrected == NULL; i++) {
        said[i] = TIMES_64(probs + LANES * i) + (uint16_t)of.least;
    }
    said[last] &= (eight_t)(lanes < (uint16_t)count);
    taken.classes = classes;
    taken.even = of.even;
    out->persistence = weigh_experts(taken.experts, deficits);
    predict_by_eight(&taken, beliefs, deficits, said, last + 1u);
    taken.experts[MEMORYLESS].weight += taken.experts[CLASS_MIX].weight;
    for (i = last + 1u; i-- > 0u; count = LANES) { /* the last first: it looks at numbers that no other has changed */
        int8_t *numbers = beliefs + 2u * LANES * i;
        signed_four_t key = (int32_t)KEY(0u, LANES * i) - four;
        mixed[i] = count > 4u ? beliefs_after(&taken, numbers, said[i], count, 1)
                              : beliefs_after(&taken, numbers, said[i], count, 0);
        best = larger(best, (signed_four_t)(mixed[i].low << 10) + key);
        best = larger(best, (signed_four_t)(mixed[i].high << 10) + key - 4);
    }
    if (p->about != TCUQ_ABOUT_ANSWER) {
        i = out->prediction;
        return ((i & 4u) != 0u ? mixed[i / LANES].high : mixed[i / LANES].low)[i & 3u];
    }
    i = MOST(best);
    out->answer = (uint16_t)(1023u - (i & 1023u));
    return i >> 10;
}
