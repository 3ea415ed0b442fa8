/* SPDX-License-Identifier: MIT */
/* The monitor's arithmetic. SPEC.md is the contract; section numbers refer to it. */
#include "tcuq.h"

#include <string.h>

#include "tcuq_math.h"

/* A debug build may define TCUQ_ASSERT to trap misuse of tcuq_step(). */
#ifndef TCUQ_ASSERT
#define TCUQ_ASSERT(condition) ((void)0)
#endif

/* Rates of the slow means and beliefs, and of the strains, as right shifts. */
#define FAST_SHIFT 2
#define SLOW_SHIFT 4
#define STRAIN_FAST_SHIFT 4
#define STRAIN_SLOW_SHIFT 6

/* Words of one ring entry's cache: values that follow from its bytes alone. */
#define CACHE_WORDS 4u

/* Signals that a step may read: those of the paper are the first. */
#define OWN_COUNT (((TCUQ_SIGNALS) & ~TCUQ_PROFILE_PAPER) != 0u ? TCUQ_SIGNAL_COUNT : 4u)

#define STATE_HEADER_BYTES 40u
#define STATE_MAGIC 0x51554354u /* "TCUQ" in the file */

/* What one inference is reduced to before it is compared with the past. */
typedef struct {
    uint32_t label;
    uint32_t top;
    uint32_t second;
    uint32_t mass;
    int32_t log_sum;
    int32_t feature_sum;
    norm_t norm;
#if HAS(TCUQ_MAGNITUDE)
    uint32_t squares;
#endif
} reading_t;

/* Where things lie in the ring memory. */
typedef struct {
    uint32_t *fast;
    uint32_t *slow;
    int32_t *feature_mean;
    uint32_t *cache;
    int8_t *bytes;
    uint32_t depth;
    uint32_t post_bytes;
    uint32_t entry_bytes;
} layout_t;

static uint32_t used(const tcuq_params_t *p)
{
    return (uint32_t)p->signals & (TCUQ_SIGNALS);
}

static uint32_t depth_of(const tcuq_params_t *p)
{
    return (used(p) & LAGGED_MASK) != 0u ? p->lags[p->lag_count - 1u] : 0u;
}

static uint32_t post_bytes_of(const tcuq_params_t *p)
{
    return (used(p) & TCUQ_BIT(TCUQ_DIVERGENCE)) != 0u ? p->classes : 0u;
}

static uint32_t entry_bytes_of(const tcuq_params_t *p)
{
    uint32_t features = (used(p) & TCUQ_BIT(TCUQ_INSTABILITY)) != 0u ? p->features : 0u;
    return post_bytes_of(p) + features;
}

static uint32_t strain_words_of(const tcuq_params_t *p)
{
    return (used(p) >> TCUQ_STRAIN_FAST & 1u) + (used(p) >> TCUQ_STRAIN_SLOW & 1u);
}

/* 16-bit numbers of the beliefs, section 6. */
static uint32_t beliefs_of(const tcuq_params_t *p)
{
    return ((used(p) >> TCUQ_DISBELIEF_FAST & 1u) + (used(p) >> TCUQ_DISBELIEF_SLOW & 1u)) * p->classes;
}

/* Words of the strains and the slow means, section 6. */
static uint32_t mean_words_of(const tcuq_params_t *p)
{
    uint32_t words = strain_words_of(p) + ((used(p) & FAST_MASK) != 0u ? p->classes : 0u);
    words += (used(p) & SLOW_MASK) != 0u ? p->classes : 0u;
    return words + ((used(p) & TCUQ_BIT(TCUQ_DISPLACEMENT)) != 0u ? p->features : 0u);
}

static layout_t layout_of(const tcuq_t *m)
{
    const tcuq_params_t *p = m->params;
    layout_t at;
    at.depth = depth_of(p);
    at.post_bytes = post_bytes_of(p);
    at.entry_bytes = entry_bytes_of(p);
    at.fast = m->ring + strain_words_of(p);
    at.slow = at.fast + ((used(p) & FAST_MASK) != 0u ? p->classes : 0u);
    at.feature_mean = (int32_t *)(at.slow + ((used(p) & SLOW_MASK) != 0u ? p->classes : 0u));
    at.cache = m->ring + mean_words_of(p);
    at.bytes = (int8_t *)(at.cache + CACHE_WORDS * at.depth) + 2u * beliefs_of(p);
    return at;
}

/* Slot of the entry `lag` steps ago. */
static uint32_t slot_of(const tcuq_t *m, uint32_t depth, uint32_t lag)
{
    return m->head >= lag ? m->head - lag : m->head + depth - lag;
}

/* Parameters (section 2). */

static int lags_ok(const tcuq_params_t *p)
{
    uint32_t sum = 0, last = 0, i;
    if (p->lag_count == 0u) {
        return (p->signals & LAGGED_MASK) == 0u;
    }
    if (p->lag_count > TCUQ_MAX_LAG || p->lags == NULL || p->lag_weights == NULL) {
        return 0;
    }
    for (i = 0; i < p->lag_count; i++) {
        if (p->lags[i] <= last || p->lags[i] > TCUQ_MAX_LAG) {
            return 0;
        }
        last = p->lags[i];
        sum += p->lag_weights[i];
    }
    /* The first lags filled after a reset must carry weight to divide by. */
    return sum == 32768u && p->lag_weights[0] != 0u;
}

static int side_ok(uint32_t limit, uint32_t cap)
{
    return limit == 0u ? cap == 0u : cap >= limit && cap <= (1uL << 30);
}

#if TCUQ_EVIDENCE
static int head_ok(const tcuq_params_t *p)
{
    const tcuq_evidence_t *head = p->evidence;
    return head == NULL || (head->offset != NULL && head->clip >= 1u && head->clip <= (1uL << 24) &&
                            head->allowance <= (1uL << 24) && p->fall_limit == 0u);
}
#else
#define head_ok(p) 1
#endif

int tcuq_check(const tcuq_params_t *p)
{
    if (p->version != TCUQ_PARAMS_VERSION) {
        return TCUQ_ERR_VERSION;
    }
    if (p->signals == 0u || p->signals > TCUQ_ALL_SIGNALS || p->classes < 2u ||
        p->classes > TCUQ_MAX_CLASSES || p->features > TCUQ_MAX_FEATURES ||
        p->zero_point < -128 || p->zero_point > 127 || !lags_ok(p) ||
        ((p->signals & FEATURE_MASK) != 0u && p->features == 0u) || p->bias > 256 * 65536 ||
        p->bias < -256 * 65536 || p->doubt_mix > ONE || p->blend > ONE || p->spread_scale < 1u ||
        p->spread_scale > ONE || p->level_den < 2u || p->level_den > 1000u ||
        p->level_num < 1u || p->level_num >= p->level_den || p->steep_slope < 1u ||
        p->steep_slope > (1uL << 24) / p->level_den || p->slope > p->steep_slope || p->knee < 0 ||
        (uint64_t)p->slope * (uint32_t)p->knee > (1uL << 24) || p->knee > (1L << 24) ||
        p->budget_den < 1u || p->budget_den > 1000u || p->budget_num > p->budget_den ||
        p->burst < 1u || p->burst > 10000u || p->reserved != 0u ||
        p->anchor > ((uint32_t)p->signals >> TCUQ_DISBELIEF_FAST & 1u) ||
        !side_ok(p->rise_limit, p->rise_cap) || !side_ok(p->fall_limit, p->fall_cap) ||
        !head_ok(p)) {
        return TCUQ_ERR_PARAMS;
    }
    if ((p->signals & ~(TCUQ_SIGNALS)) != 0u || (!(TCUQ_EVIDENCE) && p->evidence != NULL)) {
        return TCUQ_ERR_SIGNALS;
    }
    return TCUQ_OK;
}

size_t tcuq_ring_size(const tcuq_params_t *p)
{
    uint32_t depth = depth_of(p);
    uint32_t size = 4u * (mean_words_of(p) + CACHE_WORDS * depth);
    size += (depth * entry_bytes_of(p) + 2u * beliefs_of(p) + 3u) & ~(uint32_t)3u;
    return size < 4u ? 4u : (size_t)size != size ? (size_t)-4 : (size_t)size;
}

void tcuq_debt_bounds(const tcuq_params_t *p, int32_t *low, int32_t *high)
{
    int32_t shut = debt_at(p, ONE - p->reference);
    int32_t open = p->reference == 0u ? 0 : debt_at(p, p->reference);
    *high = shut - 1 + p->level_den - p->level_num;
    *low = 1 - open - p->level_num;
}

int tcuq_init(tcuq_t *m, const tcuq_params_t *p, uint32_t *ring, size_t ring_bytes)
{
    int status = tcuq_check(p);
    if (status != TCUQ_OK) {
        return status;
    }
    if (ring == NULL || ring_bytes < tcuq_ring_size(p)) {
        return TCUQ_ERR_SIZE;
    }
    memset(m, 0, sizeof *m);
    m->params = p;
    m->ring = ring;
    tcuq_reset(m);
    return TCUQ_OK;
}

void tcuq_reset(tcuq_t *m)
{
    m->head = 0;
    m->fill = 0;
    m->slow = 0;
}

/* Reading one inference (section 3). */

#if HAS(TCUQ_DIVERGENCE)
#define XLOG(u) tcuq_xlog[u]
#else
#define XLOG(u) 0u /* nobody asks, and the table is a kilobyte */
#endif

static void read_probs(reading_t *r, const int8_t *probs, uint32_t classes)
{
    uint32_t top = 0;
    uint32_t second = 0;
    uint32_t label = 0;
    uint32_t mass = 0;
    uint32_t logs = 0;
    uint32_t rest, i;
    for (i = 0; i < classes; i++) {
        uint32_t u = (uint32_t)(probs[i] + 128);
        mass += u;
        logs += XLOG(u);
        if (u > top) {
            second = top;
            top = u;
            label = i;
        } else if (u > second) {
            second = u;
        }
    }
    rest = mass < 256u ? 256u - mass : 0u;
    r->label = label;
    r->top = top;
    r->second = second;
    r->mass = mass;
    r->log_sum = (int32_t)(logs + XLOG(rest)) - (int32_t)(192u * (mass + rest));
}

#if ((TCUQ_SIGNALS) & FEATURE_MASK) != 0u
static void read_features(reading_t *r, const int8_t *features, const tcuq_params_t *p)
{
    const int8_t *end = features + p->features;
    int32_t zero = p->zero_point;
    int32_t sum = 0;
    int32_t squares = p->features * zero * zero;
    for (; features != end; features++) {
        sum += *features;
        squares += (int32_t)*features * *features;
    }
    squares -= 2 * zero * sum;
    r->feature_sum = sum;
#if HAS(TCUQ_MAGNITUDE)
    r->squares = (uint32_t)squares;
#endif
#if ((TCUQ_SIGNALS) & ANGLE_MASK) != 0u
    r->norm = norm_of((uint32_t)squares);
#endif
}

#endif

#if ((TCUQ_SIGNALS) & LAGGED_MASK) != 0u

#if HAS(TCUQ_DIVERGENCE)
/* Divergence of this posterior from one in the ring, Q0.16. */
static uint32_t divergence_of(const reading_t *r, const int8_t *now, const int8_t *past,
                              uint32_t classes, int32_t past_log_sum, uint32_t past_mass)
{
    uint32_t sum = 0;
    uint32_t mass = r->mass > 256u ? r->mass : 256u;
    uint32_t raw, i;
    int32_t difference;
    for (i = 0; i < classes; i++) {
        sum += tcuq_xlog[256 + now[i] + past[i]];
    }
    mass += past_mass > 256u ? past_mass : 256u;
    sum += tcuq_xlog[(r->mass < 256u ? 256u - r->mass : 0u) +
                     (past_mass < 256u ? 256u - past_mass : 0u)];
    difference = (int32_t)sum - r->log_sum - past_log_sum;
    raw = difference > 0 ? (uint32_t)difference : 0u;
    if (mass > 512u) {
        raw = raw / mass * 512u + raw % mass * 512u / mass;
    }
    return saturate(raw * 2u / 3u);
}
#endif

/* Signals 0 to 2, section 5. */
static void lagged_signals(const tcuq_t *m, const layout_t *at, const reading_t *r,
                           const int8_t *probs, const int8_t *features, uint16_t *signals)
{
    const tcuq_params_t *p = m->params;
    uint32_t divergence = 0;
    uint32_t weight = 0;
    uint32_t instability = 0;
    uint32_t flips = 0;
    uint32_t count = 0;
    uint32_t i;
    for (i = 0; i < p->lag_count && p->lags[i] <= m->fill; i++) {
        uint32_t slot = slot_of(m, at->depth, p->lags[i]);
        const uint32_t *cache = at->cache + CACHE_WORDS * slot;
#if HAS(TCUQ_DIVERGENCE) || HAS(TCUQ_INSTABILITY)
        const int8_t *bytes = at->bytes + at->entry_bytes * slot;
#endif
#if HAS(TCUQ_DIVERGENCE)
        if (at->post_bytes != 0u) {
            divergence += (uint32_t)p->lag_weights[i] * divergence_of(r, probs, bytes, at->post_bytes,
                                                            (int32_t)cache[0], cache[1]);
            weight += p->lag_weights[i];
        }
#endif
#if HAS(TCUQ_INSTABILITY)
        if (at->entry_bytes != at->post_bytes) {
            const int8_t *past = bytes + at->post_bytes;
            int32_t past_sum = (int32_t)(cache[3] & 0xFFFFu) - 32768;
            int32_t zero = p->zero_point;
            int32_t dot = p->features * zero * zero - zero * (r->feature_sum + past_sum);
            norm_t norm;
            dot += dot_of(features, past, p->features);
            norm.mant = cache[2] >> 16;
            norm.exp = (int32_t)(cache[3] >> 16) - 32;
            instability += half_distance(dot, r->norm, norm);
        }
#endif
        flips += (cache[2] & 0xFFFFu) != r->label ? 1u : 0u;
        count++;
    }
    if (count == 0u) {
        return;
    }
    if (weight == 32768u) {
        signals[TCUQ_DIVERGENCE] = (uint16_t)(divergence >> 15);
    } else if (weight != 0u) {
        signals[TCUQ_DIVERGENCE] = (uint16_t)(divergence / weight);
    }
    signals[TCUQ_INSTABILITY] = (uint16_t)(instability / count);
    signals[TCUQ_FLIPS] = saturate((flips << 16) / count);
    (void)probs, (void)features;
}

static void push(tcuq_t *m, const layout_t *at, const reading_t *r, const int8_t *probs,
                 const int8_t *features)
{
    uint32_t *cache = at->cache + CACHE_WORDS * m->head;
    int8_t *bytes = at->bytes + at->entry_bytes * m->head;
    cache[0] = (uint32_t)r->log_sum;
    cache[1] = r->mass;
    cache[2] = r->label | (r->norm.mant << 16);
    cache[3] = (uint32_t)(r->feature_sum + 32768) | ((uint32_t)(r->norm.exp + 32) << 16);
    if (at->post_bytes != 0u) {
        memcpy(bytes, probs, at->post_bytes);
    }
    if (at->entry_bytes != at->post_bytes) {
        memcpy(bytes + at->post_bytes, features, at->entry_bytes - at->post_bytes);
    }
    m->head = (uint8_t)(m->head + 1u == at->depth ? 0u : m->head + 1u);
    if (m->fill < at->depth) {
        m->fill++;
    }
}
#endif

#if HAS(TCUQ_SPREAD_FAST) || HAS(TCUQ_SPREAD_SLOW)
static uint16_t spread_of(const uint32_t *mean, const tcuq_params_t *p)
{
    uint32_t terms = 0, rest = 1uL << 24, bits, i;
    for (i = 0; i < p->classes; i++) {
        rest -= mean[i] < rest ? mean[i] : rest;
        terms += entropy_term(mean[i]);
        terms = terms < (1uL << 30) ? terms : 1uL << 30;
    }
    bits = (terms + entropy_term(rest)) / 384u;
    bits = bits < 0xFFFFFu ? bits : 0xFFFFFu;
    return saturate(((rest + 128u) >> 8) + ((bits >> 8) * p->spread_scale >> 8) +
                    ((bits & 255u) * p->spread_scale >> 16));
}
#endif

#if ((TCUQ_SIGNALS) & (FAST_MASK | SLOW_MASK)) != 0u
static uint16_t surprise_of(const uint32_t *mean, uint32_t label)
{
    return saturate(ONE - ((mean[label] + 128u) >> 8));
}

static void blend_probs(uint32_t *mean, const int8_t *probs, uint32_t classes, uint32_t shift,
                        int first)
{
    uint32_t i;
    for (i = 0; i < classes; i++) {
        int32_t value = (probs[i] + 128) * 65536;
        mean[i] = (uint32_t)moved((int32_t)mean[i], value, shift, first);
    }
}
#endif

#if ((TCUQ_SIGNALS) & (TCUQ_BIT(TCUQ_STRAIN_FAST) | TCUQ_BIT(TCUQ_STRAIN_SLOW))) != 0u
static void strain_signal(uint32_t *mean, uint32_t odds, uint32_t shift, int first, uint16_t *signal)
{
    if (!first) {
        *signal = saturate((*mean + 128u) >> 8);
    }
    *mean = (uint32_t)moved((int32_t)*mean, (int32_t)(odds << 8), shift, first);
}
#endif

#if ((TCUQ_SIGNALS) & BELIEF_MASK) != 0u
/* Beliefs are 16-bit numbers in word memory: copied, because C lets no other pointer reach them. */
static uint32_t belief_at(const int8_t *belief, uint32_t class_number)
{
    uint16_t value;
    memcpy(&value, belief + 2u * class_number, sizeof value);
    return value;
}

static void belief_put(int8_t *belief, uint32_t class_number, uint32_t value)
{
    uint16_t kept = (uint16_t)value;
    memcpy(belief + 2u * class_number, &kept, sizeof kept);
}

/* One step of a Bayes filter whose class switches with probability 2^-shift. `even` and `least` are
 * the same for both rates: the belief of no knowledge, and what every class keeps of the likelihood. */
static void believe(int8_t *belief, const int8_t *probs, uint32_t classes, uint32_t shift,
                    uint32_t even, uint32_t least, int first)
{
    uint32_t fresh = even >> shift;
    uint32_t sum = 0, scale = 0, factor, i;
    for (i = 0; i < classes; i++) {
        uint32_t old = first ? even : belief_at(belief, i);
        uint32_t prior = old - (old >> shift) + fresh;
        belief_put(belief, i, prior);
        sum += prior * (64u * (uint32_t)(probs[i] + 128) + least);
    }
    while (sum >> scale > Q16_MAX) {
        scale++;
    }
    /* Never by 0: the priors are at least 4 and the weights at least 1. */
    factor = 0x7FFFFFFFu / (sum >> scale);
    for (i = 0; i < classes; i++) {
        uint32_t joint = belief_at(belief, i) * (64u * (uint32_t)(probs[i] + 128) + least);
        belief_put(belief, i, (joint >> scale) * factor >> 15);
    }
}
#endif

#if HAS(TCUQ_DISPLACEMENT)
static uint16_t displacement_of(const int32_t *mean, const reading_t *r, const int8_t *features,
                                const tcuq_params_t *p)
{
    int32_t dot = 0;
    int32_t half;
    uint64_t squares = 0;
    uint32_t largest = 0;
    uint32_t shift = 0;
    uint32_t i;
    for (i = 0; i < p->features; i++) {
        uint32_t size = mean[i] < 0 ? 0u - (uint32_t)mean[i] : (uint32_t)mean[i];
        largest = size > largest ? size : largest;
    }
    /* Scaled to 15 bits, so that a mean that has almost decayed keeps its direction. */
    while (largest >> shift > 32767u) {
        shift++;
    }
    half = (int32_t)((1uL << shift) >> 1);
    for (i = 0; i < p->features; i++) {
        int32_t value = shift_floor(mean[i] + half, shift);
        dot += (int32_t)(features[i] - p->zero_point) * value;
        squares += (uint32_t)(value * value);
    }
    return (uint16_t)half_distance(dot, r->norm, norm_of(squares));
}

static void blend_features(int32_t *mean, const int8_t *features, const tcuq_params_t *p, int first)
{
    uint32_t i;
    for (i = 0; i < p->features; i++) {
        int32_t value = (features[i] - p->zero_point) * 65536;
        mean[i] = moved(mean[i], value, SLOW_SHIFT, first);
    }
}
#endif

#if ((TCUQ_SIGNALS) & GRADUAL_MASK) != 0u
/* Signals 4 to 14, section 6; means and beliefs take this inference in. */
static void slow_signals(const tcuq_t *m, const layout_t *at, const reading_t *r, const int8_t *probs,
                         const int8_t *features, uint16_t *signals)
{
    const tcuq_params_t *p = m->params;
    uint32_t mask = used(p);
    int first = m->slow == 0u;
    (void)at, (void)r, (void)probs, (void)features, (void)first;
#if HAS(TCUQ_MAGNITUDE)
    if ((mask & TCUQ_BIT(TCUQ_MAGNITUDE)) != 0u) {
        signals[TCUQ_MAGNITUDE] = magnitude_of(r->squares, p->features);
    }
#endif
#if ((TCUQ_SIGNALS) & FAST_MASK) != 0u
    if ((mask & FAST_MASK) != 0u) {
        if (!first) {
            signals[TCUQ_SURPRISE_FAST] = surprise_of(at->fast, r->label);
#if HAS(TCUQ_SPREAD_FAST)
            if ((mask & TCUQ_BIT(TCUQ_SPREAD_FAST)) != 0u) {
                signals[TCUQ_SPREAD_FAST] = spread_of(at->fast, p);
            }
#endif
        }
        blend_probs(at->fast, probs, p->classes, FAST_SHIFT, first);
    }
#endif
#if ((TCUQ_SIGNALS) & SLOW_MASK) != 0u
    if ((mask & SLOW_MASK) != 0u) {
        if (!first) {
            signals[TCUQ_SURPRISE_SLOW] = surprise_of(at->slow, r->label);
#if HAS(TCUQ_SPREAD_SLOW)
            if ((mask & TCUQ_BIT(TCUQ_SPREAD_SLOW)) != 0u) {
                signals[TCUQ_SPREAD_SLOW] = spread_of(at->slow, p);
            }
#endif
        }
        blend_probs(at->slow, probs, p->classes, SLOW_SHIFT, first);
    }
#endif
#if HAS(TCUQ_DISPLACEMENT)
    if ((mask & TCUQ_BIT(TCUQ_DISPLACEMENT)) != 0u) {
        if (!first) {
            signals[TCUQ_DISPLACEMENT] = displacement_of(at->feature_mean, r, features, p);
        }
        blend_features(at->feature_mean, features, p, first);
    }
#endif
#if ((TCUQ_SIGNALS) & BELIEF_MASK) != 0u
    if ((mask & BELIEF_MASK) != 0u) {
        int8_t *belief = at->bytes - 2u * beliefs_of(p);
        uint32_t even = ONE / p->classes;
        uint32_t least = p->classes <= 164u ? 164u / p->classes : 1u;
        uint32_t n;
        for (n = TCUQ_DISBELIEF_FAST; n <= TCUQ_DISBELIEF_SLOW; n++) {
            if ((mask & TCUQ_BIT(n)) != 0u) {
                believe(belief, probs, p->classes,
                        n == TCUQ_DISBELIEF_FAST ? FAST_SHIFT : SLOW_SHIFT, even, least, first);
                signals[n] = log_odds(ONE - belief_at(belief, r->label));
                belief += 2u * p->classes;
            }
        }
    }
#endif
#if ((TCUQ_SIGNALS) & ODDS_MASK) != 0u
    if ((mask & ODDS_MASK) != 0u) {
        uint16_t odds = log_odds(ONE - 256u * r->top);
        signals[TCUQ_ODDS] = odds;
#if HAS(TCUQ_STRAIN_FAST)
        if ((mask & TCUQ_BIT(TCUQ_STRAIN_FAST)) != 0u) {
            strain_signal(m->ring, odds, STRAIN_FAST_SHIFT, first, signals + TCUQ_STRAIN_FAST);
        }
#endif
#if HAS(TCUQ_STRAIN_SLOW)
        if ((mask & TCUQ_BIT(TCUQ_STRAIN_SLOW)) != 0u) {
            strain_signal(m->ring + strain_words_of(p) - 1u, odds, STRAIN_SLOW_SHIFT, first,
                          signals + TCUQ_STRAIN_SLOW);
        }
#endif
    }
#endif
}
#endif

/* Sections 7 and 8. */
static void score(const tcuq_params_t *p, const uint16_t *signals, uint32_t inverse_anchor,
                  tcuq_step_t *out)
{
    int32_t z = p->bias;
    int32_t best = 0;
    uint32_t left = used(p);
    uint32_t i;
    out->reason = TCUQ_REASON_NONE;
    for (i = 0; left != 0u; i++, left >>= 1) {
        if ((left & 1u) != 0u) {
            int32_t share = (int32_t)p->coef[i] * ((int32_t)signals[i] - p->clean_mean[i]);
            z += shift_floor((int32_t)p->coef[i] * signals[i], 9);
            if (share > best) {
                best = share;
                out->reason = (uint8_t)i;
            }
        }
    }
    out->uncertainty = logistic(z);
    out->risk = (uint16_t)mix(out->uncertainty, inverse_anchor, p->blend);
}

/* Decisions (sections 9 to 11). */

/* One side of the alarm: evidence between 0 and cap, raised at limit, cleared at 0. */
static uint8_t watch(uint32_t *evidence, int32_t excess, uint32_t limit, uint32_t cap,
                     uint8_t raised)
{
    int32_t value = (int32_t)*evidence + excess;
    if (limit == 0u) {
        return 0;
    }
    value = value < 0 ? 0 : (uint32_t)value > cap ? (int32_t)cap : value;
    *evidence = (uint32_t)value;
    if ((uint32_t)value >= limit) {
        return 1;
    }
    return value == 0 ? 0 : raised;
}

/* `excess` is what the rise side adds up. */
static void decide(tcuq_t *m, tcuq_step_t *out, int32_t excess)
{
    const tcuq_params_t *p = m->params;
    int32_t cap = (int32_t)p->burst * p->budget_den;
    int32_t risk = out->risk;
    uint8_t rise, fall;

    out->threshold = threshold_at(p, m->debt);
    out->flagged = risk >= out->threshold ? 1u : 0u;
    m->debt += out->flagged != 0u ? p->level_den - p->level_num : -(int32_t)p->level_num;

    out->warming_up = m->steps < p->warmup ? 1u : 0u;
    m->steps += m->steps != 0xFFFFFFFFu ? 1u : 0u;
    m->credit += p->budget_num;
    m->credit = m->credit < cap ? m->credit : cap;
    out->abstain = 0;
    if (out->flagged != 0u && out->warming_up == 0u && m->credit >= p->budget_den) {
        m->credit -= p->budget_den;
        out->abstain = 1;
    }

    rise = watch(&m->rise, excess, p->rise_limit, p->rise_cap,
                 (uint8_t)(m->alarm & TCUQ_ALARM_RISE));
    fall = watch(&m->fall, p->fall_reference - risk, p->fall_limit, p->fall_cap,
                 (uint8_t)((m->alarm & TCUQ_ALARM_FALL) >> 1));
    m->alarm = (uint8_t)(rise | (fall << 1));
    out->alarm = m->alarm;
}

void tcuq_step(tcuq_t *m, const int8_t *probs, const int8_t *features, tcuq_step_t *out,
               uint16_t *signals)
{
    const tcuq_params_t *p = m->params;
    layout_t at = layout_of(m);
    uint16_t own[TCUQ_SIGNAL_COUNT];
    uint32_t inverse;
    int32_t excess;
    reading_t r;
    uint32_t i;

    (void)at, (void)features;
    TCUQ_ASSERT(probs != NULL && out != NULL);
    TCUQ_ASSERT(features != NULL || (used(p) & FEATURE_MASK) == 0u);

    read_probs(&r, probs, p->classes);
    r.feature_sum = 0;
    r.norm.mant = 0;
    r.norm.exp = 0;
#if ((TCUQ_SIGNALS) & FEATURE_MASK) != 0u
    if ((used(p) & FEATURE_MASK) != 0u) {
        read_features(&r, features, p);
    }
#endif
    inverse = saturate(ONE - 256u * r.top);
    memcpy(own, p->clean_mean, OWN_COUNT * sizeof own[0]);
    own[TCUQ_DOUBT] =
        (uint16_t)mix(inverse, saturate(ONE - 256u * (r.top - r.second)), p->doubt_mix);
#if ((TCUQ_SIGNALS) & LAGGED_MASK) != 0u
    if (at.depth != 0u) {
        lagged_signals(m, &at, &r, probs, features, own);
        push(m, &at, &r, probs, features);
    }
#endif
#if ((TCUQ_SIGNALS) & GRADUAL_MASK) != 0u
    if ((used(p) & GRADUAL_MASK) != 0u) {
        slow_signals(m, &at, &r, probs, features, own);
    }
#endif
    m->slow = 1;
#if HAS(TCUQ_DISBELIEF_FAST)
    if (p->anchor == TCUQ_ANCHOR_BELIEF) {
        inverse = saturate(ONE - belief_at(at.bytes - 2u * beliefs_of(p), r.label));
    }
#endif
    out->label = (uint16_t)r.label;
    out->low_mass = r.mass < 128u ? 1u : 0u;
    score(p, own, inverse, out);
    excess = (int32_t)out->risk - p->rise_reference;
#if TCUQ_EVIDENCE
    if (p->evidence != NULL) {
        excess = evidence_of(p->evidence, used(p), own, r.label);
    }
#endif
    decide(m, out, excess);
    if (signals != NULL) {
        for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
            signals[i] = (used(p) & TCUQ_BIT(i)) != 0u ? own[i] : 0u;
        }
    }
}

void tcuq_run(tcuq_t *m, const int8_t *probs, const int8_t *features, size_t count,
              tcuq_step_t *out, uint16_t *signals)
{
    size_t i;
    for (i = 0; i < count; i++) {
        tcuq_step(m, probs, features, out + i, signals);
        probs += m->params->classes;
        if (features != NULL) {
            features += m->params->features;
        }
        if (signals != NULL) {
            signals += TCUQ_SIGNAL_COUNT;
        }
    }
}

void tcuq_two_classes(int8_t sigmoid, int8_t probs[2])
{
    /* 256 - u, with 256 itself out of reach: a sigmoid of 0 leaves 255 / 256. */
    probs[0] = (int8_t)(sigmoid == -128 ? 127 : -sigmoid);
    probs[1] = sigmoid;
}

/* Saved state (section 12). */

/* A build without beliefs accepts one anchor only, 0. */
#if HAS(TCUQ_DISBELIEF_FAST)
#define REFERENCE_WORD(p) ((p)->reference | (uint32_t)(p)->anchor << 16)
#else
#define REFERENCE_WORD(p) ((p)->reference)
#endif

/* Fingerprint of everything in the params, so that a state finds only its own. */
static uint32_t params_crc(const tcuq_params_t *p)
{
    const uint32_t fields[] = {
        p->version,        p->signals,      p->classes,     p->features,
        (uint16_t)p->zero_point, p->lag_count, (uint32_t)p->bias, p->doubt_mix,
        p->blend,          p->spread_scale, p->level_num,   p->level_den,
        REFERENCE_WORD(p), p->slope,        p->steep_slope, (uint32_t)p->knee,
        p->budget_num,     p->budget_den,   p->burst,       p->rise_reference,
        p->fall_reference, p->warmup,       p->rise_limit,  p->rise_cap,
        p->fall_limit,     p->fall_cap};
    uint32_t crc = 0xFFFFFFFFu;
    uint32_t i;
    for (i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        crc = crc32_word(crc, fields[i]);
    }
    for (i = 0; i < p->lag_count; i++) {
        crc = crc32_word(crc, p->lags[i] | (uint32_t)p->lag_weights[i] << 16);
    }
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        crc = crc32_word(crc, (uint16_t)p->coef[i] | (uint32_t)p->clean_mean[i] << 16);
    }
#if TCUQ_EVIDENCE
    if (p->evidence != NULL) {
        crc = crc32_word(crc32_word(crc, p->evidence->clip), p->evidence->allowance);
        for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
            crc = crc32_word(crc, (uint16_t)p->evidence->coef[i]);
        }
        for (i = 0; i < p->classes; i++) {
            crc = crc32_word(crc, (uint16_t)p->evidence->offset[i]);
        }
    }
#endif
    return ~crc;
}

/* The first 16 bytes of a state: what it is, and whose. */
static void put_identity(const tcuq_params_t *p, uint8_t *bytes)
{
    put32(bytes, STATE_MAGIC);
    put16(bytes + 4, TCUQ_STATE_VERSION);
    put16(bytes + 6, p->signals);
    put16(bytes + 8, p->classes);
    put16(bytes + 10, p->features);
    put32(bytes + 12, params_crc(p));
}

/* Bytes of a state after its ring entries: means, beliefs and checksum. */
static size_t tail_of(const tcuq_params_t *p)
{
    return 4u * (size_t)mean_words_of(p) + 2u * (size_t)beliefs_of(p) + 4u;
}

size_t tcuq_state_size(const tcuq_params_t *p)
{
    size_t entry = 2u + (size_t)entry_bytes_of(p);
    return STATE_HEADER_BYTES + depth_of(p) * entry + tail_of(p);
}

int tcuq_save(const tcuq_t *m, uint8_t *bytes, size_t size)
{
    const tcuq_params_t *p = m->params;
    layout_t at = layout_of(m);
    size_t total = tcuq_state_size(p);
    uint8_t *next = size < total ? bytes : bytes + STATE_HEADER_BYTES;
    uint32_t i;
    if (size < total) {
        return TCUQ_ERR_SIZE;
    }
    memset(bytes, 0, total);
    put_identity(p, bytes);
    put32(bytes + 16, m->steps);
    put32(bytes + 20, (uint32_t)m->debt);
    put32(bytes + 24, (uint32_t)m->credit);
    put32(bytes + 28, m->rise);
    put32(bytes + 32, m->fall);
    bytes[36] = m->alarm;
    bytes[37] = m->fill;
    bytes[38] = m->slow;
    bytes[39] = (uint8_t)at.depth;
    for (i = 1; i <= m->fill; i++) {
        uint32_t slot = slot_of(m, at.depth, i);
        put16(next, at.cache[CACHE_WORDS * slot + 2u] & 0xFFFFu);
        memcpy(next + 2, at.bytes + at.entry_bytes * slot, at.entry_bytes);
        next += 2u + at.entry_bytes;
    }
    next = bytes + total - tail_of(p);
    if (m->slow != 0u) {
        for (i = 0; i < mean_words_of(p); i++) {
            put32(next, m->ring[i]);
            next += 4;
        }
#if ((TCUQ_SIGNALS) & BELIEF_MASK) != 0u
        for (i = 0; i < beliefs_of(p); i++) {
            put16(next, belief_at(at.bytes - 2u * beliefs_of(p), i));
            next += 2;
        }
#endif
    }
    put32(bytes + total - 4u, ~crc32_add(0xFFFFFFFFu, bytes, total - 4u));
    return (int)total;
}

static int evidence_ok(uint32_t evidence, uint32_t limit, uint32_t cap, uint32_t raised)
{
    if (raised != 0u ? evidence == 0u : limit != 0u && evidence >= limit) {
        return 0;
    }
    return evidence <= cap;
}

/* Every number that a state could carry wrongly; the bytes of the ring are free. */
static int state_ok(const tcuq_t *m, const uint8_t *bytes, size_t total)
{
    const tcuq_params_t *p = m->params;
    uint32_t depth = depth_of(p);
    uint32_t entry = 2u + entry_bytes_of(p);
    uint32_t words = mean_words_of(p);
    uint32_t posts = words - ((used(p) & TCUQ_BIT(TCUQ_DISPLACEMENT)) != 0u ? p->features : 0u);
    uint32_t steps = get32(bytes + 16);
    int32_t debt = (int32_t)get32(bytes + 20);
    int32_t credit = (int32_t)get32(bytes + 24);
    uint32_t alarm = bytes[36];
    uint32_t fill = bytes[37];
    const uint8_t *tail = bytes + total - tail_of(p);
#if ((TCUQ_SIGNALS) & BELIEF_MASK) != 0u
    uint32_t sum = 0;
#endif
    int32_t low, high;
    uint32_t i, j;
    tcuq_debt_bounds(p, &low, &high);
    if (debt < low || debt > high || credit < 0 || credit > (int32_t)p->burst * p->budget_den ||
        !evidence_ok(get32(bytes + 28), p->rise_limit, p->rise_cap, alarm & TCUQ_ALARM_RISE) ||
        !evidence_ok(get32(bytes + 32), p->fall_limit, p->fall_cap, alarm & TCUQ_ALARM_FALL) ||
        alarm > 3u || fill > depth || fill > steps || bytes[38] > 1u || bytes[38] > steps ||
        (depth != 0u && (fill != 0u) != (bytes[38] != 0u)) || bytes[39] != depth) {
        return 0;
    }
    for (i = 0; i < depth; i++) {
        const uint8_t *at = bytes + STATE_HEADER_BYTES + entry * i;
        reading_t r;
        if (i >= fill) {
            for (j = 0; j < entry; j++) {
                if (at[j] != 0u) {
                    return 0;
                }
            }
        } else if (get16(at) >= p->classes) {
            return 0;
        } else if (post_bytes_of(p) != 0u) {
            read_probs(&r, (const int8_t *)(at + 2), p->classes);
            if (r.label != get16(at)) {
                return 0;
            }
        }
    }
    for (i = 0; i < words; i++) {
        int32_t mean = (int32_t)get32(tail + 4u * i);
        int32_t top = i < strain_words_of(p) ? 65535 * 256 : 255 * 65536;
        if (mean > top || mean < (i < posts ? 0 : -top) || (bytes[38] == 0u && mean != 0)) {
            return 0;
        }
    }
#if ((TCUQ_SIGNALS) & BELIEF_MASK) != 0u
    for (i = 0; i < beliefs_of(p); i++) {
        uint32_t belief = get16(tail + 4u * words + 2u * i);
        sum = belief + (i == 0u || i == p->classes ? 0u : sum);
        if (sum > ONE || (bytes[38] == 0u && sum != 0u)) {
            return 0;
        }
    }
#endif
    return 1;
}

int tcuq_load(tcuq_t *m, const uint8_t *bytes, size_t size)
{
    const tcuq_params_t *p = m->params;
    size_t total = tcuq_state_size(p);
    uint32_t words = mean_words_of(p);
    uint8_t identity[16];
    uint32_t i;
    if (size < STATE_HEADER_BYTES) {
        return TCUQ_ERR_SIZE;
    }
    if (get32(bytes) != STATE_MAGIC) {
        return TCUQ_ERR_STATE;
    }
    if (get16(bytes + 4) != TCUQ_STATE_VERSION) {
        return TCUQ_ERR_VERSION;
    }
    if (get32(bytes + size - 4u) != ~crc32_add(0xFFFFFFFFu, bytes, size - 4u)) {
        return TCUQ_ERR_STATE;
    }
    put_identity(p, identity);
    for (i = 6; i < sizeof identity; i++) {
        if (bytes[i] != identity[i]) {
            return TCUQ_ERR_OTHER;
        }
    }
    if (size != total) {
        return TCUQ_ERR_SIZE;
    }
    if (!state_ok(m, bytes, total)) {
        return TCUQ_ERR_STATE;
    }
    tcuq_reset(m);
    m->steps = get32(bytes + 16);
    m->debt = (int32_t)get32(bytes + 20);
    m->credit = (int32_t)get32(bytes + 24);
    m->rise = get32(bytes + 28);
    m->fall = get32(bytes + 32);
    m->alarm = bytes[36];
    m->slow = bytes[38];
#if ((TCUQ_SIGNALS) & LAGGED_MASK) != 0u
    for (i = bytes[37]; i > 0u; i--) {
        layout_t at = layout_of(m);
        const uint8_t *entry = bytes + STATE_HEADER_BYTES + (i - 1u) * (2u + at.entry_bytes);
        const int8_t *probs = (const int8_t *)(entry + 2);
        reading_t r;
        memset(&r, 0, sizeof r);
        if (at.post_bytes != 0u) {
            read_probs(&r, probs, p->classes);
        }
#if HAS(TCUQ_INSTABILITY)
        if (at.entry_bytes != at.post_bytes) {
            read_features(&r, probs + at.post_bytes, p);
        }
#endif
        r.label = get16(entry);
        push(m, &at, &r, probs, probs + at.post_bytes);
    }
#endif
    for (i = 0; i < words; i++) {
        m->ring[i] = get32(bytes + total - tail_of(p) + 4u * i);
    }
#if ((TCUQ_SIGNALS) & BELIEF_MASK) != 0u
    for (i = 0; i < beliefs_of(p); i++) {
        int8_t *beliefs = layout_of(m).bytes - 2u * beliefs_of(p);
        belief_put(beliefs, i, get16(bytes + total - tail_of(p) + 4u * words + 2u * i));
    }
#endif
    return TCUQ_OK;
}
