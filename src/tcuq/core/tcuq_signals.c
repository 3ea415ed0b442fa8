/* SPDX-License-Identifier: MIT */
/* From one inference to signals: reading it, comparing it with the past, keeping it. Section numbers
 * refer to SPEC.md. */
#include "tcuq_math.h"

/* Rates of the slow means and of the strains, as right shifts. */
#define FAST_SHIFT 2
#define SLOW_SHIFT 4
#define STRAIN_FAST_SHIFT 4
#define STRAIN_SLOW_SHIFT 6

/* One inference: what the ring will keep of it, and what only this step needs. */
typedef struct {
    kept_t kept;
    uint32_t top;     /* largest and second largest posterior, in 1/256 */
    uint32_t second;
    uint32_t squares; /* sum of squares of the features */
} inference_t;

/* Memory of the past. */

/* `count` when a signal of a mask is in use, else 0. */
static uint32_t if_used(const tcuq_params_t *p, uint32_t mask, uint32_t count)
{
    return uses(p, mask) ? count : 0u;
}

void tcuq_internal_layout(layout_t *at, const tcuq_params_t *p)
{
    uint32_t mask = used(p);
    at->fast = (mask >> TCUQ_STRAIN_FAST & 1u) + (mask >> TCUQ_STRAIN_SLOW & 1u);
    at->slow = at->fast + if_used(p, FAST_MASK, p->classes);
    at->feature_mean = at->slow + if_used(p, SLOW_MASK, p->classes);
    at->seen = at->feature_mean + if_used(p, TCUQ_BIT(TCUQ_DISPLACEMENT), p->features);
    at->mean_words = at->seen;
    at->mixture = ((mask >> TCUQ_DISBELIEF_FAST & 1u) + (mask >> TCUQ_DISBELIEF_SLOW & 1u)) * p->classes;
    at->numbers = at->mixture;
    at->scratch = 0;
    if ((TCUQ_PERSISTENCE) && p->instant != NULL) {
        at->numbers += 5u * p->classes + 6u;
        at->scratch = p->instant->class_mix != NULL ? p->classes : 0u;
        at->seen += 1u; /* after the last step */
        at->mean_words = at->seen + at->scratch + 2u;
    }
    at->depth = uses(p, TCUQ_LAGGED_SIGNALS) ? p->lags[p->lag_count - 1u] : 0u;
    at->post_bytes = if_used(p, TCUQ_BIT(TCUQ_DIVERGENCE), p->classes);
    at->entry_bytes = at->post_bytes + if_used(p, TCUQ_BIT(TCUQ_INSTABILITY), p->features);
}

SELDOM size_t tcuq_ring_size(const tcuq_params_t *p)
{
    layout_t at;
    uint32_t size;
    tcuq_internal_layout(&at, p);
    size = 4u * mean_words(&at) + (uint32_t)sizeof(kept_t) * depth_of(&at);
    size += (depth_of(&at) * at.entry_bytes + 2u * (number_count(&at) + scratch_count(&at)) + 3u) & ~(uint32_t)3u;
    /* More than size_t can say, where that has 16 bits, is more than any ring has. */
    return size < 4u ? 4u : (size_t)size != size ? (size_t)-4 : (size_t)size;
}

/* Reading (section 3). */

/* An entry of the table X. Without the divergence nobody asks, and the table is a kilobyte. */
static uint32_t xlog(uint32_t u)
{
    return BUILD_HAS(TCUQ_BIT(TCUQ_DIVERGENCE)) ? tcuq_xlog[u] : 0u;
}

static void read_probs(inference_t *now, const int8_t *probs, uint32_t classes)
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
        logs += xlog(u);
        if (u > top) {
            second = top;
            top = u;
            label = i;
        } else if (u > second) {
            second = u;
        }
    }
    rest = mass < 256u ? 256u - mass : 0u;
    now->top = top;
    now->second = second;
    now->kept.label = (uint16_t)label;
    now->kept.mass = mass;
    now->kept.log_sum = (int32_t)(logs + xlog(rest)) - (int32_t)(192u * (mass + rest));
}

static void read_features(inference_t *now, const int8_t *features, const tcuq_params_t *p)
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
    now->squares = (uint32_t)squares;
    now->kept.feature_sum = (int16_t)sum;
    if (BUILD_HAS(TCUQ_BIT(TCUQ_INSTABILITY) | TCUQ_BIT(TCUQ_DISPLACEMENT))) {
        now->kept.norm = norm_of((uint32_t)squares);
    }
}

/* The ring of past inferences. */

static void push(tcuq_t *m, const layout_t *at, const kept_t *kept, const int8_t *probs,
                 const int8_t *features)
{
    int8_t *entry = entry_in(m, at, m->head);
    keep_at(m, at, m->head, kept);
    memcpy(entry, probs, (size_t)at->post_bytes);
    if (at->entry_bytes != at->post_bytes) {
        /* Features may be NULL where no signal reads them. */
        memcpy(entry + at->post_bytes, features, (size_t)(at->entry_bytes - at->post_bytes));
    }
    m->head++;
    m->fill = (uint8_t)(m->fill < at->depth ? m->fill + 1u : at->depth);
}

SELDOM uint32_t tcuq_internal_label(const int8_t *probs, const tcuq_params_t *p)
{
    inference_t now;
    read_probs(&now, probs, p->classes);
    return now.kept.label;
}

SELDOM void tcuq_internal_restore(tcuq_t *m, const layout_t *at, uint32_t label, const int8_t *bytes)
{
    const tcuq_params_t *p = m->params;
    const int8_t *features = bytes + at->post_bytes;
    inference_t now;
    if (!BUILD_HAS(TCUQ_LAGGED_SIGNALS)) {
        return; /* known when compiling: nothing below is left */
    }
    memset(&now, 0, sizeof now);
    if (uses(p, TCUQ_BIT(TCUQ_DIVERGENCE))) {
        read_probs(&now, bytes, p->classes);
    }
    if (uses(p, TCUQ_BIT(TCUQ_INSTABILITY))) {
        read_features(&now, features, p);
    }
    now.kept.label = (uint16_t)label;
    push(m, at, &now.kept, bytes, features);
}

/* Signals 0 to 2 (section 5). */

/* Divergence of this posterior from a past one, Q0.16. */
static uint32_t divergence_of(const kept_t *now, const int8_t *probs, const kept_t *past,
                              const int8_t *past_probs, uint32_t classes)
{
    uint32_t sum = 0;
    uint32_t mass = now->mass > 256u ? now->mass : 256u;
    uint32_t raw, i;
    int32_t difference;
    for (i = 0; i < classes; i++) {
        sum += tcuq_xlog[256 + probs[i] + past_probs[i]];
    }
    mass += past->mass > 256u ? past->mass : 256u;
    sum += tcuq_xlog[(now->mass < 256u ? 256u - now->mass : 0u) +
                     (past->mass < 256u ? 256u - past->mass : 0u)];
    difference = (int32_t)(sum - (uint32_t)now->log_sum - (uint32_t)past->log_sum);
    raw = difference > 0 ? (uint32_t)difference : 0u;
    if (mass > 512u) {
        raw = raw / mass * 512u + raw % mass * 512u / mass;
    }
    return saturate(raw * 2u / 3u);
}

/* Half the cosine distance of these features from past ones, Q0.16. The dot product is taken of raw
 * bytes and corrected for the zero point. */
static uint32_t instability_of(const kept_t *now, const int8_t *features, const kept_t *past,
                               const int8_t *past_features, const tcuq_params_t *p)
{
    int32_t zero = p->zero_point;
    int32_t dot = p->features * zero * zero - zero * ((int32_t)now->feature_sum + past->feature_sum);
    dot += dot_of(features, past_features, p->features);
    return half_distance(dot, now->norm, past->norm);
}

static void lagged_signals(const tcuq_t *m, const layout_t *at, const kept_t *now, const int8_t *probs,
                           const int8_t *features, uint16_t *signals)
{
    const tcuq_params_t *p = m->params;
    uint32_t divergence = 0;
    uint32_t weight = 0;
    uint32_t instability = 0;
    uint32_t flips = 0;
    uint32_t count;
    for (count = 0; count < p->lag_count && p->lags[count] <= m->fill; count++) {
        uint32_t slot = slot_of(m, at->depth, p->lags[count]);
        const int8_t *entry = entry_in(m, at, slot);
        kept_t past = kept_at(m, at, slot);
        if (uses(p, TCUQ_BIT(TCUQ_DIVERGENCE))) {
            divergence += p->lag_weights[count] * divergence_of(now, probs, &past, entry, p->classes);
            weight += p->lag_weights[count];
        }
        if (uses(p, TCUQ_BIT(TCUQ_INSTABILITY))) {
            instability += instability_of(now, features, &past, entry + at->post_bytes, p);
        }
        flips += past.label != now->label ? 1u : 0u;
    }
    if (count == 0u) {
        return;
    }
    if (weight == 32768u) {
        signals[TCUQ_DIVERGENCE] = (uint16_t)(divergence >> 15);
    } else if (weight != 0u) {
        signals[TCUQ_DIVERGENCE] = (uint16_t)(divergence / weight);
    }
    /* Divisions are worth leaving out: some cores have no instruction for them. */
    if (BUILD_HAS(TCUQ_BIT(TCUQ_INSTABILITY))) {
        signals[TCUQ_INSTABILITY] = (uint16_t)(instability / count);
    }
    if (BUILD_HAS(TCUQ_BIT(TCUQ_FLIPS))) {
        signals[TCUQ_FLIPS] = saturate((flips << 16) / count);
    }
}

/* Signals 4 to 16 (section 6). Each of these functions also takes this inference in; `first` says that
 * there is no past yet, and a signal then keeps its clean mean. */

static uint16_t spread_of(const uint32_t *mean, const tcuq_params_t *p)
{
    uint32_t terms = 0, rest = 1uL << 24, bits, i;
    for (i = 0; i < p->classes; i++) {
        uint32_t share = mean[i] < (1uL << 24) ? mean[i] : 1uL << 24; /* more is damage */
        rest -= share < rest ? share : rest;
        terms += entropy_term(share);
        terms = terms < (1uL << 30) ? terms : 1uL << 30;
    }
    bits = (terms + entropy_term(rest)) / 384u;
    bits = bits < 0xFFFFFu ? bits : 0xFFFFFu;
    return saturate(((rest + 128u) >> 8) + ((bits >> 8) * p->spread_scale >> 8) +
                    ((bits & 255u) * p->spread_scale >> 16));
}

static uint16_t surprise_of(const uint32_t *mean, uint32_t label)
{
    return saturate(ONE - ((mean[label] + 128u) >> 8));
}

static void blend_probs(uint32_t *mean, const int8_t *probs, uint32_t classes, uint32_t shift, int first)
{
    uint32_t i;
    for (i = 0; i < classes; i++) {
        int32_t value = (probs[i] + 128) * 65536;
        mean[i] = (uint32_t)moved((int32_t)mean[i], value, shift, first);
    }
}

static uint16_t displacement_of(const int32_t *mean, norm_t norm, const int8_t *features,
                                const tcuq_params_t *p)
{
    int32_t dot = 0;
    uint32_t half;
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
    half = (uint32_t)((1uL << shift) >> 1);
    for (i = 0; i < p->features; i++) {
        int32_t value = shift_floor((int32_t)((uint32_t)mean[i] + half), shift);
        dot += (int32_t)(features[i] - p->zero_point) * value;
        squares += (uint32_t)(value * value);
    }
    return (uint16_t)half_distance(dot, norm, norm_of(squares));
}

static void displacement_signal(const tcuq_params_t *p, int32_t *mean, norm_t norm,
                                const int8_t *features, int first, uint16_t *signal)
{
    uint32_t i;
    if (!first) {
        *signal = displacement_of(mean, norm, features, p);
    }
    for (i = 0; i < p->features; i++) {
        int32_t value = (features[i] - p->zero_point) * 65536;
        mean[i] = moved(mean[i], value, SLOW_SHIFT, first);
    }
}

static void strain_signal(uint32_t *mean, uint32_t odds, uint32_t shift, int first, uint16_t *signal)
{
    if (!first) {
        *signal = saturate((*mean + 128u) >> 8);
    }
    *mean = (uint32_t)moved((int32_t)*mean, (int32_t)(odds << 8), shift, first);
}

/* The odds of this step, and the strains, which are means of past odds. */
static void odds_signals(const tcuq_params_t *p, uint32_t *strains, uint32_t posterior, int first,
                         uint16_t *signals)
{
    uint16_t odds = log_odds(ONE - 256u * posterior);
    signals[TCUQ_ODDS] = odds;
    if (uses(p, TCUQ_BIT(TCUQ_STRAIN_FAST))) {
        strain_signal(strains++, odds, STRAIN_FAST_SHIFT, first, signals + TCUQ_STRAIN_FAST);
    }
    if (uses(p, TCUQ_BIT(TCUQ_STRAIN_SLOW))) {
        strain_signal(strains, odds, STRAIN_SLOW_SHIFT, first, signals + TCUQ_STRAIN_SLOW);
    }
}

/* Log of the squared distance of the features from the center of a class, Q0.16: 1/24 a factor of two. */
static uint16_t distance_of(const int8_t *features, const int8_t *center, uint32_t count)
{
    uint32_t sum = 1, scale;
    int32_t log;
    for (; count > 0u; count--) {
        int32_t gap = (int32_t)*features++ - *center++;
        sum += (uint32_t)(gap * gap);
    }
    scale = bits_above(sum);
    log = tcuq_internal_log2(sum >> scale) + (int32_t)((scale + 16u) << 16);
    return saturate(((uint32_t)log >> 4) * 2731u >> 12);
}

static void slow_signals(const tcuq_t *m, const layout_t *at, const inference_t *now, const int8_t *probs,
                         const int8_t *features, uint32_t subject, uint16_t *signals)
{
    const tcuq_params_t *p = m->params;
    int first = (m->held & HELD_PAST) == 0u;
    if (uses(p, TCUQ_BIT(TCUQ_MAGNITUDE))) {
        signals[TCUQ_MAGNITUDE] = magnitude_of(now->squares, p->features);
    }
    if (uses(p, FAST_MASK)) {
        uint32_t *mean = m->ring + at->fast;
        if (!first) {
            signals[TCUQ_SURPRISE_FAST] = surprise_of(mean, subject);
        }
        if (!first && uses(p, TCUQ_BIT(TCUQ_SPREAD_FAST))) {
            signals[TCUQ_SPREAD_FAST] = spread_of(mean, p);
        }
        blend_probs(mean, probs, p->classes, FAST_SHIFT, first);
    }
    if (uses(p, SLOW_MASK)) {
        uint32_t *mean = m->ring + at->slow;
        if (!first) {
            signals[TCUQ_SURPRISE_SLOW] = surprise_of(mean, subject);
        }
        if (!first && uses(p, TCUQ_BIT(TCUQ_SPREAD_SLOW))) {
            signals[TCUQ_SPREAD_SLOW] = spread_of(mean, p);
        }
        blend_probs(mean, probs, p->classes, SLOW_SHIFT, first);
    }
    if (uses(p, TCUQ_BIT(TCUQ_DISPLACEMENT))) {
        displacement_signal(p, (int32_t *)(m->ring + at->feature_mean), now->kept.norm, features, first,
                            signals + TCUQ_DISPLACEMENT);
    }
    if (uses(p, TCUQ_BIT(TCUQ_DISTANCE))) {
        signals[TCUQ_DISTANCE] = distance_of(features, p->centers + subject * p->features, p->features);
    }
    if (uses(p, TCUQ_BIT(TCUQ_ODDS) | STRAIN_MASK)) {
        odds_signals(p, m->ring, (uint32_t)(probs[subject] + 128), first, signals);
    }
}

uint32_t tcuq_internal_read(tcuq_t *m, const int8_t *probs, const int8_t *features, tcuq_step_t *out,
                            uint16_t *signals)
{
    const tcuq_params_t *p = m->params;
    inference_t now;
    layout_t at;
    uint32_t anchor, subject;
    tcuq_internal_layout(&at, p);
    read_probs(&now, probs, p->classes);
    now.squares = 0;
    now.kept.feature_sum = 0;
    now.kept.norm.mant = 0;
    now.kept.norm.exp = 0;
    if (uses(p, TCUQ_FEATURE_SIGNALS)) {
        read_features(&now, features, p);
    }
    out->prediction = now.kept.label;
    out->low_mass = now.kept.mass < 128u ? 1u : 0u;
    out->answer = now.kept.label;
    out->persistence = 0;
    out->variety = 0;
    subject = now.kept.label;
    anchor = 256u * now.top;
    signals[TCUQ_DOUBT] = (uint16_t)mix(saturate(ONE - anchor), saturate(ONE - 256u * (now.top - now.second)),
                                        p->doubt_mix);
    if (uses(p, TCUQ_LAGGED_SIGNALS)) {
        /* Round the ring, and back into it should memory have failed: nothing else in a state is an index. */
        m->head = (uint8_t)(m->head < at.depth ? m->head : 0u);
        lagged_signals(m, &at, &now.kept, probs, features, signals);
        push(m, &at, &now.kept, probs, features);
    }
    if ((TCUQ_PERSISTENCE) && p->instant != NULL) {
        uint32_t mixed = tcuq_internal_persist(m, &at, probs, out);
        out->variety = tcuq_internal_vary(m, &at, (uint32_t)(128 - probs[out->answer]), out->answer);
        subject = p->about == TCUQ_ABOUT_ANSWER ? out->answer : subject;
        anchor = p->anchor == TCUQ_ANCHOR_BELIEF ? mixed : 256u * (uint32_t)(probs[subject] + 128);
        signals[TCUQ_DISBELIEF] = log_odds(ONE - mixed);
    }
    if (uses(p, BELIEF_MASK)) {
        uint32_t fast = tcuq_internal_beliefs(m, &at, probs, subject, signals);
        if (p->anchor == TCUQ_ANCHOR_BELIEF && (!(TCUQ_PERSISTENCE) || p->instant == NULL)) {
            anchor = fast;
        }
    }
    if (uses(p, TCUQ_ALL_SIGNALS & ~TCUQ_PROFILE_PAPER)) {
        slow_signals(m, &at, &now, probs, features, subject, signals);
    }
    m->held = (TCUQ_PERSISTENCE) && p->instant != NULL ? HELD_PAST | HELD_STREAM : HELD_PAST;
    return saturate(ONE - anchor);
}
