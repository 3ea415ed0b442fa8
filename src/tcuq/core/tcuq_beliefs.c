/* SPDX-License-Identifier: MIT */
/* Beliefs about the true class, and how long it stays: section 6 of SPEC.md. */
#include "tcuq_internal.h"

#define MIX_SHIFT 5       /* rate at which the class mix is learned */
#define HEAD_START 10240u /* log2(32) in 1/2048: what the class mix is ahead at the limit of the alarm */
#define GUARD 40960u      /* twenty bits: by how much more it stands behind where nothing speaks of a shift */
#define WHOLE_WEIGHT 16384u

int32_t tcuq_internal_log2(uint32_t value)
{
    uint32_t shift = bits_below(value);
    uint32_t part = (value << shift) - ONE;
    uint32_t bend = part * (ONE - part) >> 16;
    bend *= 28752u - (part * (15667u - (5383u * part >> 16)) >> 16);
    return (int32_t)(part + (bend >> 16)) - (int32_t)(shift << 16);
}

/* What an inference says of each class: its posterior with a floor. */
typedef struct {
    const int8_t *probs;
    uint32_t least; /* what a class of posterior 0 keeps, and 64 * 128: the bytes begin at -128 */
    uint32_t classes;
    uint32_t even;  /* the belief of no knowledge */
} likelihood_t;

ALWAYS_INLINE static inline uint32_t likelihood(const likelihood_t *of, const int8_t *prob)
{
    return ((uint32_t)*prob << 6) + of->least;
}

static void read_likelihood(likelihood_t *of, const int8_t *probs, uint32_t classes)
{
    of->probs = probs;
    of->least = 164u / classes;
    of->least = 64u * 128u + (of->least > 1u ? of->least : 1u);
    of->classes = classes;
    of->even = ONE / classes;
}

/* What a sum of joints is divided by to be a belief: a shift, then a factor. */
typedef struct {
    uint32_t scale;
    uint32_t factor;
} divisor_t;

/* Returns the sum after the shift. */
static uint32_t divide_by(divisor_t *by, uint32_t sum)
{
    by->scale = bits_above(sum);
    /* Not by 0: the priors are at least 1 and the likelihoods too; only a sum over damaged beliefs can come
     * round to it. */
    sum = sum != 0u ? sum >> by->scale : 1u;
    by->factor = 0x7FFFFFFFu / sum;
    return sum;
}

static inline uint32_t share_of(const divisor_t *by, uint32_t joint)
{
    return (joint >> by->scale) * by->factor >> 15;
}

/* What a class keeps of a belief when the class is redrawn with probability 2^-shift. */
ALWAYS_INLINE static inline uint32_t kept_of(uint32_t old, uint32_t shift)
{
    return old - (old >> shift);
}

/* What each class gets where the class is redrawn. (65536 >> shift) / classes is even >> shift; of the rarest redraw it
 * is rounded up, since from 0 a class could not come back. */
ALWAYS_INLINE static inline uint32_t fresh_of(uint32_t even, uint32_t shift)
{
    return shift < 7u ? even >> shift : (even + 127u) >> 7;
}

/* What a class is expected to have before an inference. */
ALWAYS_INLINE static inline uint32_t prior_of(uint32_t old, uint32_t shift, uint32_t even)
{
    return kept_of(old, shift) + fresh_of(even, shift);
}

NOT_INLINE static void set_numbers(int8_t *numbers, uint32_t count, uint32_t value)
{
    uint32_t i;
    for (i = 0; i < count; i++) {
        number_put(numbers, i, value);
    }
}

/* Learned persistence: its numbers are a belief a sticky expert, the class mix and the deficits. */

/* 2^(-x / 2048) in 1/16384, never below and never 0: a weight that is rounded away could not come back in time. */
static uint32_t weight_of(uint32_t x)
{
    uint32_t f = x & 2047u;
    uint32_t power = x >> 11;
    f = f * (11337u - (f * (3804u - (f * 661u >> 11)) >> 11)) >> 11;
    return (power < 15u ? (WHOLE_WEIGHT - f) >> power : 0u) + 1u;
}

/* An expert during one step. */
typedef struct {
    divisor_t by;
    uint32_t weight; /* in 1/32768 */
    int32_t gain;    /* minus its forgotten deficit in 1/2048 bit, then what it predicted better than others */
} expert_t;

/* By how much the class mix stands behind, in 1/2048 bit: less, the further the alarm is beyond half of its limit. */
static uint32_t behind_of(const tcuq_t *m)
{
    uint32_t limit = m->params->rise_limit, half = limit >> 1;
    uint32_t rise = m->rise < limit ? m->rise : limit;
    if (!asks_novelty(m->params) || limit == 0u || (m->alarm & TCUQ_ALARM_RISE) != 0u) {
        return 0u; /* a shift is there, or nothing would tell of one: expect it */
    }
    return rise <= half ? GUARD : GUARD - ((rise - half) >> 6) * 256u / ((half >> 6) + 1u) * (GUARD / 256u);
}

/* Let the experts forget some of their deficits, and weigh them by the rest; returns the persistence. */
static uint16_t weigh_experts(const tcuq_t *m, expert_t *experts, const int8_t *deficits)
{
    uint32_t least = 0xFFFFFFFFu, behind = behind_of(m), sum = 0, sticky, factor, k;
    for (k = 0; k < EXPERT_COUNT; k++) {
        uint32_t deficit = (number_at(deficits, k) * 251u + 128u) >> 8;
        experts[k].gain = -(int32_t)deficit;
        experts[k].weight = deficit + (k == CLASS_MIX ? behind : HEAD_START);
        least = experts[k].weight < least ? experts[k].weight : least;
    }
    for (k = 0; k < EXPERT_COUNT; k++) {
        experts[k].weight = weight_of(experts[k].weight - least);
        sum += experts[k].weight;
    }
    sticky = experts[STICKY_1].weight + 2u * experts[STICKY_2].weight + 4u * experts[STICKY_4].weight +
             6u * experts[STICKY_7].weight;
    factor = 0x7FFFFFFFu / sum;
    for (k = 0; k < EXPERT_COUNT; k++) {
        experts[k].weight = experts[k].weight * factor >> 16;
    }
    return saturate((sticky << 13) / (6u * sum) << 3);
}

/* How well the experts predict an inference; their deficits after it. All experts at once, with shifts that are
 * known when compiling: a class is then a handful of instructions an expert, and these loops are most of a step.
 * What the priors have of the fresh share is added once, for all classes. */
static void predict(expert_t *experts, const int8_t *beliefs, int8_t *deficits, const likelihood_t *of)
{
    uint32_t one = 0, two = 0, four = 0, seven = 0, mix_of = 0, all = 0, classes = of->classes, even = of->even, i;
    const int8_t *prob = of->probs, *end = prob + classes;
    int32_t best = -0x7FFFFFFF;
    do {
        uint32_t said = likelihood(of, prob);
        all += said;
        one += kept_of(number_at(beliefs, 0), 1) * said;
        two += kept_of(number_at(beliefs, classes), 2) * said;
        four += kept_of(number_at(beliefs, 2u * classes), 4) * said;
        seven += kept_of(number_at(beliefs, 3u * classes), 7) * said;
        mix_of += kept_of(number_at(beliefs, 4u * classes), 6) * said;
        beliefs += 2;
    } while (++prob != end);
    experts[MEMORYLESS].by.factor = even * all;
    experts[STICKY_1].by.factor = one + fresh_of(even, 1) * all;
    experts[STICKY_2].by.factor = two + fresh_of(even, 2) * all;
    experts[STICKY_4].by.factor = four + fresh_of(even, 4) * all;
    experts[STICKY_7].by.factor = seven + fresh_of(even, 7) * all;
    experts[CLASS_MIX].by.factor = mix_of + fresh_of(even, 6) * all;
    for (i = 0; i < EXPERT_COUNT; i++) {
        int32_t log = tcuq_internal_log2(divide_by(&experts[i].by, experts[i].by.factor));
        experts[i].gain += shift_floor(log + (int32_t)(experts[i].by.scale << 16), 5);
        best = experts[i].gain > best ? experts[i].gain : best;
    }
    for (i = 0; i < EXPERT_COUNT; i++) {
        number_put(deficits, i, saturate((uint32_t)(best - experts[i].gain)));
    }
}

/* One sticky expert takes in what is said of a class; returns its share of the mixed belief. */
ALWAYS_INLINE static inline uint32_t share_after(const expert_t *expert, int8_t *number, uint32_t shift, uint32_t even,
                                                 uint32_t said)
{
    uint32_t now = share_of(&expert->by, prior_of(number_at(number, 0), shift, even) * said);
    number_put(number, 0, now);
    return expert->weight * now;
}

/* The experts take an inference in: sets `persistence` and `answer`. Returns the mixed belief in what the params speak
 * about, Q0.16. */
static uint32_t persist(const tcuq_t *m, const layout_t *at, const int8_t *probs, tcuq_step_t *out)
{
    const tcuq_params_t *p = m->params;
    uint32_t classes = p->classes, prediction = out->prediction;
    int8_t *beliefs = numbers_in(m, at);
    int8_t *deficits = beliefs + 2u * (STICKY_COUNT + 1u) * classes;
    likelihood_t of;
    expert_t experts[EXPERT_COUNT];
    uint32_t best = 0, of_prediction = 0, answer = 0, i;
    read_likelihood(&of, probs, classes);
    if ((m->filled & FILLED_STREAM) == 0u) {
        set_numbers(deficits - 2u * classes, classes, of.even);
        set_numbers(deficits, EXPERT_COUNT, 0);
    }
    if ((m->filled & FILLED_PAST) == 0u) {
        set_numbers(beliefs, STICKY_COUNT * classes, of.even);
    }
    out->persistence = weigh_experts(m, experts, deficits);
    predict(experts, beliefs, deficits, &of);
    experts[MEMORYLESS].weight += experts[CLASS_MIX].weight;
    for (i = 0; i < classes; i++, beliefs += 2) {
        uint32_t said = likelihood(&of, &probs[i]);
        int8_t *number = beliefs;
        uint32_t belief = experts[MEMORYLESS].weight * share_of(&experts[MEMORYLESS].by, of.even * said);
        uint32_t mix_of, now;
        belief += share_after(&experts[STICKY_1], number, 1, of.even, said);
        number += 2u * classes;
        belief += share_after(&experts[STICKY_2], number, 2, of.even, said);
        number += 2u * classes;
        belief += share_after(&experts[STICKY_4], number, 4, of.even, said);
        number += 2u * classes;
        belief += share_after(&experts[STICKY_7], number, 7, of.even, said);
        number += 2u * classes;
        mix_of = number_at(number, 0);
        now = share_of(&experts[CLASS_MIX].by, prior_of(mix_of, 6, of.even) * said);
        number_put(number, 0, (uint32_t)moved((int32_t)mix_of, (int32_t)now, MIX_SHIFT));
        belief >>= 15;
        of_prediction = i == prediction ? belief : of_prediction;
        if (belief > best) {
            best = belief;
            answer = i;
        }
    }
    if (p->about == TCUQ_ABOUT_ANSWER) {
        out->answer = (uint16_t)answer;
        of_prediction = best;
    }
    return saturate(of_prediction); /* above only where memory has failed */
}

void tcuq_internal_beliefs(tcuq_t *m, const layout_t *at, inference_t *now, tcuq_step_t *out)
{
    const tcuq_params_t *p = m->params;
    if (!HAS_PERSISTENCE) {
        return; /* known when compiling: nothing below is left */
    }
    now->belief = persist(m, at, now->probs, out);
    now->subject = out->answer;
    now->anchor = p->anchor == TCUQ_ANCHOR_BELIEF ? now->belief : 256u * (uint32_t)(now->probs[now->subject] + 128);
}
