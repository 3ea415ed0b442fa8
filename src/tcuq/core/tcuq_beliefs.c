/* SPDX-License-Identifier: MIT */
/* Beliefs about the true class, and how long it stays: section 6 of SPEC.md. */
#include "tcuq_math.h"

#define FAST_SHIFT 2
#define SLOW_SHIFT 4

/* Experts of the learned persistence, in the order of their deficits. The first has no memory, the last
 * takes steps as independent, with a mix of classes that it learns. */
enum { MEMORYLESS, FIRST_STICKY = 1, STICKY_END = 5, CLASS_MIX = 5, EXPERT_COUNT = 6 };
static const uint8_t expert_shift[EXPERT_COUNT] = {0, 1, 2, 4, 6, 6};
static const uint8_t expert_persistence[EXPERT_COUNT] = {0, 1, 2, 4, 6, 0}; /* in sixths */

#define MIX_SHIFT 5       /* rate at which the class mix is learned */
#define SEEN_SHIFT 8      /* and that of the mean posterior for the correction by class mix */
#define COPIES 6144u      /* log2(8) in 1/2048: the class mix counts eight times */
#define WHOLE_WEIGHT 16384u

int32_t tcuq_internal_log2(uint32_t value)
{
    int32_t whole = 0;
    uint32_t part, bend;
    while (value < ONE) {
        value <<= 1;
        whole -= 65536;
    }
    part = value - ONE;
    bend = part * (ONE - part) >> 16;
    bend *= 28752u - (part * (15667u - (5383u * part >> 16)) >> 16);
    return whole + (int32_t)(part + (bend >> 16));
}

/* What an inference says of each class: its posterior with a floor, or that corrected by the class mix. */
typedef struct {
    const int8_t *probs;
    const int8_t *corrected; /* 16-bit numbers, or NULL */
    uint32_t least;          /* what every class keeps */
} likelihood_t;

static inline uint32_t likelihood(const likelihood_t *of, uint32_t class)
{
    return of->corrected != NULL ? number_at(of->corrected, class)
                                 : 64u * (uint32_t)(of->probs[class] + 128) + of->least;
}

static likelihood_t likelihood_of(const int8_t *probs, const tcuq_params_t *p)
{
    likelihood_t of;
    of.probs = probs;
    of.corrected = NULL;
    of.least = p->classes <= 164u ? 164u / p->classes : 1u;
    return of;
}

/* One Bayes filter whose class is drawn anew with probability 2^-shift before each step. */
typedef struct {
    const int8_t *belief; /* 16-bit numbers, or NULL where every class is as likely as another */
    uint32_t even;        /* the belief of no knowledge */
    uint32_t fresh;       /* what a class gains when it is drawn anew */
    uint32_t shift;
    uint32_t sum;         /* of the joint, which is how well the filter predicted */
    uint32_t scale;
    uint32_t factor;
} filter_t;

static inline uint32_t joint_of(const filter_t *f, const likelihood_t *of, uint32_t class)
{
    uint32_t old = f->belief != NULL ? number_at(f->belief, class) : f->even;
    return (old - (old >> f->shift) + f->fresh) * likelihood(of, class);
}

/* The belief after this step, joint_of() of the same class at hand. */
static inline uint32_t updated(const filter_t *f, uint32_t joint)
{
    return (joint >> f->scale) * f->factor >> 15;
}

static filter_t predicted(const int8_t *belief, const likelihood_t *of, uint32_t classes, uint32_t shift)
{
    filter_t f;
    uint32_t i;
    f.belief = belief;
    f.even = ONE / classes;
    f.fresh = (ONE >> shift) / classes;
    f.shift = shift;
    f.sum = 0;
    f.scale = 0;
    for (i = 0; i < classes; i++) {
        f.sum += joint_of(&f, of, i);
    }
    while (f.sum >> f.scale > Q16_MAX) {
        f.scale++;
    }
    /* Not by 0: the priors are at least 1 and the likelihoods too; only a sum over damaged beliefs can come
     * round to it. */
    f.factor = 0x7FFFFFFFu / (f.sum != 0u ? f.sum >> f.scale : 1u);
    return f;
}

static filter_t believe(int8_t *belief, const likelihood_t *of, uint32_t classes, uint32_t shift, int first)
{
    filter_t f = predicted(first ? NULL : belief, of, classes, shift);
    uint32_t i;
    for (i = 0; i < classes; i++) {
        number_put(belief, i, updated(&f, joint_of(&f, of, i)));
    }
    return f;
}

uint32_t tcuq_internal_beliefs(tcuq_t *m, const layout_t *at, const int8_t *probs, uint32_t subject,
                               uint16_t *signals)
{
    const tcuq_params_t *p = m->params;
    likelihood_t of = likelihood_of(probs, p);
    int8_t *belief = numbers_in(m, at);
    int first = (m->held & HELD_PAST) == 0u;
    uint32_t anchor = 0, n;
    for (n = TCUQ_DISBELIEF_SLOW; n >= TCUQ_DISBELIEF_FAST; n--) { /* the fast one last: risk may lean on it */
        if (uses(p, TCUQ_BIT(n))) {
            int8_t *own = belief;
            if (n == TCUQ_DISBELIEF_SLOW && uses(p, TCUQ_BIT(TCUQ_DISBELIEF_FAST))) {
                own += 2u * p->classes;
            }
            (void)believe(own, &of, p->classes, n == TCUQ_DISBELIEF_FAST ? FAST_SHIFT : SLOW_SHIFT, first);
            anchor = number_at(own, subject);
            signals[n] = log_odds(ONE - anchor);
        }
    }
    return anchor;
}

/* Learned persistence. */

/* Numbers of the mixture begin at at->mixture: a belief a sticky expert, the class mix, the deficits. */
static int8_t *belief_of(const tcuq_t *m, const layout_t *at, uint32_t expert)
{
    return numbers_in(m, at) + 2u * (at->mixture + (expert - FIRST_STICKY) * m->params->classes);
}

static int8_t *deficits_of(const tcuq_t *m, const layout_t *at)
{
    return belief_of(m, at, EXPERT_COUNT);
}

static void start(const tcuq_t *m, const layout_t *at)
{
    const tcuq_params_t *p = m->params;
    int8_t *mix_of = belief_of(m, at, CLASS_MIX);
    uint32_t i;
    for (i = 0; i < p->classes; i++) {
        number_put(mix_of, i, ONE / p->classes);
        if (p->instant->class_mix != NULL) {
            m->ring[at->seen + i] = (uint32_t)p->instant->class_mix[i] << 8;
        }
    }
    for (i = 0; i < EXPERT_COUNT; i++) {
        number_put(mix_of, p->classes + i, 0);
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
static uint16_t weigh(const uint32_t *deficits, uint32_t *weights)
{
    uint32_t least = deficits[CLASS_MIX];
    uint32_t sum = 0, sticky = 0, factor, k;
    for (k = 0; k < CLASS_MIX; k++) {
        least = deficits[k] + COPIES < least ? deficits[k] + COPIES : least;
    }
    for (k = 0; k < EXPERT_COUNT; k++) {
        weights[k] = weight_of(deficits[k] + (k == CLASS_MIX ? 0u : COPIES) - least);
        sum += weights[k];
        sticky += weights[k] * expert_persistence[k];
    }
    factor = 0x7FFFFFFFu / sum;
    for (k = 0; k < EXPERT_COUNT; k++) {
        weights[k] = weights[k] * factor >> 16;
    }
    return saturate((sticky << 13) / (6u * sum) << 3);
}

/* Deficits after this step: by how many bits each expert has predicted worse than the best. */
static void learn(int8_t *into, uint32_t *deficits, const int32_t *logs)
{
    int32_t best = -0x7FFFFFFF;
    uint32_t k;
    for (k = 0; k < EXPERT_COUNT; k++) {
        int32_t gain = logs[k] - (int32_t)deficits[k];
        best = gain > best ? gain : best;
    }
    for (k = 0; k < EXPERT_COUNT; k++) {
        number_put(into, k, saturate((uint32_t)(best - (logs[k] - (int32_t)deficits[k]))));
    }
}

/* How well a filter predicted this inference, log2 in 1/2048. */
static int32_t log_of(const filter_t *f)
{
    int32_t log = tcuq_internal_log2(f->sum != 0u ? f->sum >> f->scale : 1u);
    return shift_floor(log + (int32_t)(f->scale << 16), 5);
}

/* All experts take an inference in. Returns the one without memory, which holds this posterior alone. */
static filter_t ask(const tcuq_t *m, const layout_t *at, const likelihood_t *of, int32_t *logs)
{
    uint32_t classes = m->params->classes;
    int8_t *mix_of = belief_of(m, at, CLASS_MIX);
    filter_t now = predicted(NULL, of, classes, expert_shift[MEMORYLESS]);
    filter_t f;
    uint32_t i, k;
    logs[MEMORYLESS] = log_of(&now);
    for (k = FIRST_STICKY; k < STICKY_END; k++) {
        f = believe(belief_of(m, at, k), of, classes, expert_shift[k], (m->held & HELD_PAST) == 0u);
        logs[k] = log_of(&f);
    }
    f = predicted(mix_of, of, classes, expert_shift[CLASS_MIX]);
    logs[CLASS_MIX] = log_of(&f);
    for (i = 0; i < classes; i++) {
        int32_t share = (int32_t)updated(&f, joint_of(&f, of, i));
        number_put(mix_of, i, (uint32_t)moved((int32_t)number_at(mix_of, i), share, MIX_SHIFT, 0));
    }
    return now;
}

uint32_t tcuq_internal_persist(tcuq_t *m, const layout_t *at, const int8_t *probs, tcuq_step_t *out)
{
    const tcuq_params_t *p = m->params;
    likelihood_t of = likelihood_of(probs, p);
    filter_t now;
    uint32_t deficits[EXPERT_COUNT], weights[EXPERT_COUNT];
    int32_t logs[EXPERT_COUNT];
    uint32_t best = 0, of_label = 0, i, k;
    if ((m->held & HELD_STREAM) == 0u) {
        start(m, at);
    }
    if (p->instant->class_mix != NULL) {
        correct(m, at, &of);
    }
    now = ask(m, at, &of, logs);
    for (k = 0; k < EXPERT_COUNT; k++) {
        deficits[k] = (number_at(deficits_of(m, at), k) * 251u + 128u) >> 8;
    }
    out->persistence = weigh(deficits, weights);
    for (i = 0; i < p->classes; i++) {
        uint32_t belief = (weights[MEMORYLESS] + weights[CLASS_MIX]) * updated(&now, joint_of(&now, &of, i));
        for (k = FIRST_STICKY; k < STICKY_END; k++) {
            belief += weights[k] * number_at(belief_of(m, at, k), i);
        }
        belief = saturate(belief >> 15);
        of_label = i == out->label ? belief : of_label;
        if (i == 0u || belief > best) {
            best = belief;
            out->answer = (uint16_t)i;
        }
    }
    learn(deficits_of(m, at), deficits, logs);
    return p->about == TCUQ_ABOUT_ANSWER ? best : of_label;
}
