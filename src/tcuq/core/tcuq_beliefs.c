/* SPDX-License-Identifier: MIT */
/* Beliefs about the true class, and how long it stays: section 6 of SPEC.md. */
#include "tcuq_math.h"

#define FAST_SHIFT 2
#define SLOW_SHIFT 4

/* Experts of the learned persistence, in the order of their deficits. The first has no memory, the last
 * takes steps as independent, with a mix of classes that it learns. */
enum { MEMORYLESS, FIRST_STICKY = 1, STICKY_END = 5, CLASS_MIX = 5, EXPERT_COUNT = 6 };
/* Of the others this is the persistence too, in sixths. */
static const uint8_t expert_shift[EXPERT_COUNT] = {0, 1, 2, 4, 6, 6};

#define MIX_SHIFT 5       /* rate at which the class mix is learned */
#define SEEN_SHIFT 8      /* and that of the mean posterior for the correction by class mix */
#define COPIES 6144u      /* log2(8) in 1/2048: the class mix counts eight times */
#define WHOLE_WEIGHT 16384u

int32_t tcuq_internal_log2(uint32_t value)
{
    uint32_t shift = bits_below(value);
    uint32_t part = (value << shift) - ONE;
    uint32_t bend = part * (ONE - part) >> 16;
    bend *= 28752u - (part * (15667u - (5383u * part >> 16)) >> 16);
    return (int32_t)(part + (bend >> 16)) - (int32_t)(shift << 16);
}

/* What an inference says of each class: its posterior with a floor, or that corrected by the class mix. */
typedef struct {
    const int8_t *probs;
    const int8_t *corrected; /* 16-bit numbers, or NULL */
    uint32_t least;          /* what a class of posterior 0 keeps, and 64 * 128: the bytes begin at -128 */
    uint32_t classes;
    uint32_t even;           /* the belief of no knowledge */
} likelihood_t;

static inline uint32_t likelihood(const likelihood_t *of, uint32_t class)
{
    return of->corrected != NULL ? number_at(of->corrected, class)
                                 : (uint32_t)(64 * (int32_t)of->probs[class]) + of->least;
}

static void read_likelihood(likelihood_t *of, const int8_t *probs, uint32_t classes)
{
    of->probs = probs;
    of->corrected = NULL;
    of->least = 64u * 128u + (classes <= 164u ? 164u / classes : 1u);
    of->classes = classes;
    of->even = ONE / classes;
}

/* What a sum of joints is divided by to be a belief: a shift, then a factor. */
typedef struct {
    uint32_t scale;
    uint32_t factor;
} divisor_t;

static inline divisor_t divisor_of(uint32_t sum)
{
    divisor_t by;
    by.scale = bits_above(sum);
    /* Not by 0: the priors are at least 1 and the likelihoods too; only a sum over damaged beliefs can come
     * round to it. */
    by.factor = 0x7FFFFFFFu / (sum != 0u ? sum >> by.scale : 1u);
    return by;
}

static inline uint32_t share_of(divisor_t by, uint32_t joint)
{
    return (joint >> by.scale) * by.factor >> 15;
}

/* What a class is expected to have before an inference, when the class is drawn anew with probability
 * 2^-shift. (65536 >> shift) / classes is even >> shift. */
static inline uint32_t prior_of(uint32_t old, uint32_t shift, uint32_t fresh)
{
    return old - (old >> shift) + fresh;
}

/* One Bayes filter takes an inference in. Its numbers become the belief after it, or move towards that at
 * rate 2^-rate. Returns the sum of the joint, which says how well the filter predicted. */
NOT_INLINE static uint32_t believe(int8_t *belief, const likelihood_t *of, uint32_t shift, uint32_t rate)
{
    uint32_t fresh = of->even >> shift;
    uint32_t sum = 0, i;
    divisor_t by;
    for (i = 0; i < of->classes; i++) {
        sum += prior_of(number_at(belief, i), shift, fresh) * likelihood(of, i);
    }
    by = divisor_of(sum);
    for (i = 0; i < of->classes; i++) {
        uint32_t old = number_at(belief, i);
        uint32_t now = share_of(by, prior_of(old, shift, fresh) * likelihood(of, i));
        number_put(belief, i, (uint32_t)moved((int32_t)old, (int32_t)now, rate, 0));
    }
    return sum;
}

static void fill(int8_t *numbers, uint32_t count, uint32_t value)
{
    uint32_t i;
    for (i = 0; i < count; i++) {
        number_put(numbers, i, value);
    }
}

uint32_t tcuq_internal_beliefs(tcuq_t *m, const layout_t *at, const int8_t *probs, uint32_t subject,
                               uint16_t *signals)
{
    const tcuq_params_t *p = m->params;
    int8_t *belief = numbers_in(m, at) + 2u * at->mixture; /* from the last to the first: risk may lean on the fast one */
    likelihood_t of;
    uint32_t anchor = 0, n;
    read_likelihood(&of, probs, p->classes);
    if ((m->held & HELD_PAST) == 0u) {
        fill(numbers_in(m, at), at->mixture, of.even);
    }
    for (n = TCUQ_DISBELIEF_SLOW; n >= TCUQ_DISBELIEF_FAST; n--) {
        if (uses(p, TCUQ_BIT(n))) {
            belief -= 2u * p->classes;
            (void)believe(belief, &of, n == TCUQ_DISBELIEF_FAST ? FAST_SHIFT : SLOW_SHIFT, 0);
            anchor = number_at(belief, subject);
            signals[n] = log_odds(ONE - anchor);
        }
    }
    return anchor;
}

/* Learned persistence: its numbers are a belief a sticky expert, the class mix and the deficits. */

static void start(const tcuq_t *m, const layout_t *at, int8_t *class_mix, uint32_t even)
{
    const tcuq_params_t *p = m->params;
    uint32_t i;
    fill(class_mix, p->classes, even);
    fill(class_mix + 2u * p->classes, EXPERT_COUNT, 0);
    for (i = 0; p->instant->class_mix != NULL && i < p->classes; i++) {
        m->ring[at->seen + i] = (uint32_t)p->instant->class_mix[i] << 8;
    }
}

/* Divide what the posterior says by how much more often than in development it has been saying it. */
static void correct(const tcuq_t *m, const layout_t *at, likelihood_t *of)
{
    const tcuq_params_t *p = m->params;
    int8_t *into = numbers_in(m, at) + 2u * at->numbers;
    uint32_t *seen = m->ring + at->seen;
    uint32_t i;
    for (i = 0; i < p->classes; i++) {
        uint32_t share = p->instant->class_mix[i];
        uint32_t low = (seen[i] + 128u) >> 8;
        uint32_t ratio, value;
        low = low > share >> 1 ? low : share >> 1;
        ratio = (share << 15) / (low > 1u ? low : 1u);
        ratio = ratio < ONE ? ratio : ONE;
        value = likelihood(of, i) * root(ratio << 15) >> 16;
        number_put(into, i, value > 1u ? value : 1u);
        seen[i] = (uint32_t)moved((int32_t)seen[i], (of->probs[i] + 128) * 65536, SEEN_SHIFT, 0);
    }
    of->corrected = into;
}

/* 2^(-x / 2048) in 1/16384, never below and never 0: a weight that is rounded away could not come back in time. */
static uint32_t weight_of(uint32_t x)
{
    uint32_t f = x & 2047u;
    uint32_t power = x >> 11;
    f = f * (11337u - (f * (3804u - (f * 661u >> 11)) >> 11)) >> 11;
    return (power < 15u ? (WHOLE_WEIGHT - f) >> power : 0u) + 1u;
}

/* Weights of the experts from their forgotten deficits, in 1/32768; returns the persistence. */
static uint16_t weigh(const int32_t *deficits, uint32_t *weights)
{
    uint32_t least = (uint32_t)deficits[CLASS_MIX];
    uint32_t sum, sticky = 0, factor, k;
    for (k = 0; k < CLASS_MIX; k++) {
        weights[k] = (uint32_t)deficits[k] + COPIES;
        least = weights[k] < least ? weights[k] : least;
    }
    sum = weights[CLASS_MIX] = weight_of((uint32_t)deficits[CLASS_MIX] - least);
    for (k = 0; k < CLASS_MIX; k++) {
        weights[k] = weight_of(weights[k] - least);
        sum += weights[k];
        sticky += weights[k] * expert_shift[k];
    }
    factor = 0x7FFFFFFFu / sum;
    for (k = 0; k < EXPERT_COUNT; k++) {
        weights[k] = weights[k] * factor >> 16;
    }
    return saturate((sticky << 13) / (6u * sum) << 3);
}

/* How well a filter predicted this inference, log2 in 1/2048. */
static int32_t log_of(uint32_t sum)
{
    uint32_t scale = bits_above(sum);
    int32_t log = tcuq_internal_log2(sum != 0u ? sum >> scale : 1u);
    return shift_floor(log + (int32_t)(scale << 16), 5);
}

/* All experts take an inference in. `gains` hold their forgotten deficits, and then by how much each has
 * predicted better than others; the differences become the deficits. Returns the sum of the expert without memory,
 * which holds this posterior alone. */
static uint32_t ask(int8_t *beliefs, const likelihood_t *of, int32_t *gains)
{
    int8_t *numbers = beliefs;
    int32_t best;
    uint32_t sum = 0, k;
    for (k = 0; k < of->classes; k++) {
        sum += likelihood(of, k);
    }
    sum *= of->even;
    best = gains[MEMORYLESS] = log_of(sum) - gains[MEMORYLESS];
    for (k = FIRST_STICKY; k < EXPERT_COUNT; k++) {
        gains[k] = log_of(believe(numbers, of, expert_shift[k], k == CLASS_MIX ? MIX_SHIFT : 0u)) - gains[k];
        best = gains[k] > best ? gains[k] : best;
        numbers += 2u * of->classes;
    }
    for (k = 0; k < EXPERT_COUNT; k++) {
        number_put(numbers, k, saturate((uint32_t)(best - gains[k])));
    }
    return sum;
}

uint32_t tcuq_internal_persist(tcuq_t *m, const layout_t *at, const int8_t *probs, tcuq_step_t *out)
{
    const tcuq_params_t *p = m->params;
    int8_t *beliefs = numbers_in(m, at) + 2u * at->mixture;
    int8_t *class_mix = beliefs + 2u * (STICKY_END - FIRST_STICKY) * p->classes;
    likelihood_t of;
    divisor_t by;
    uint32_t weights[EXPERT_COUNT];
    int32_t gains[EXPERT_COUNT];
    uint32_t best = 0, of_label = 0, i, k;
    if (!(TCUQ_PERSISTENCE)) {
        return 0; /* known when compiling: nothing below is left */
    }
    read_likelihood(&of, probs, p->classes);
    if ((m->held & HELD_STREAM) == 0u) {
        start(m, at, class_mix, of.even);
    }
    if ((m->held & HELD_PAST) == 0u) {
        fill(beliefs, (STICKY_END - FIRST_STICKY) * (uint32_t)p->classes, of.even);
    }
    if (p->instant->class_mix != NULL) {
        correct(m, at, &of);
    }
    for (k = 0; k < EXPERT_COUNT; k++) {
        gains[k] = (int32_t)((number_at(class_mix, p->classes + k) * 251u + 128u) >> 8);
    }
    out->persistence = weigh(gains, weights);
    by = divisor_of(ask(beliefs, &of, gains));
    for (i = 0; i < of.classes; i++) {
        uint32_t belief = (weights[MEMORYLESS] + weights[CLASS_MIX]) * share_of(by, of.even * likelihood(&of, i));
        const int8_t *each = beliefs + 2u * i;
        for (k = FIRST_STICKY; k < STICKY_END; k++, each += 2u * of.classes) {
            belief += weights[k] * number_at(each, 0);
        }
        belief = saturate(belief >> 15);
        of_label = i == out->label ? belief : of_label;
        if (i == 0u || belief > best) {
            best = belief;
            out->answer = (uint16_t)i;
        }
    }
    return p->about == TCUQ_ABOUT_ANSWER ? best : of_label;
}
