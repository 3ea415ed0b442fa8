/* SPDX-License-Identifier: MIT */
/* From one inference to signals: reading it, comparing it with the past, keeping it. Section numbers
 * refer to SPEC.md. */
#include "tcuq_internal.h"

/* Novelty, in 1/256: of an input that is as new as any, and the least, so that no stream stands still. */
#define NOVELTY_WHOLE 256u
#define NOVELTY_LEAST 32u

/* The stillness is a mean at a rate of 1/16 a step. */
#define STILL_SHIFT 4u

/* Largest mean gap that the drift counts, in 1/4: eight squares fit 32 bits. */
#define DRIFT_MAX 16383u

/* Memory of the past. */

/* `count` when a signal is in use, else 0. */
static uint32_t if_used(const tcuq_params_t *p, uint32_t mask, uint32_t count)
{
    return uses(p, mask) ? count : 0u;
}

void tcuq_internal_layout(layout_t *at, const tcuq_params_t *p)
{
    const tcuq_instant_t *instant = instant_head(p);
    at->slow = !asks_novelty(p) ? 0u : uses(p, TCUQ_BIT(TCUQ_DISTANCE)) ? BLOCKS : 1u;
    at->numbers = instant != NULL ? NUMBERS(p->classes) : 0u;
    at->sight = at->slow + if_used(p, TCUQ_BIT(TCUQ_DRIFT), BLOCKS);
    at->mean_words = at->sight + sight_words(p);
    if (HAS_FEEDBACK) {
        at->feedback = at->mean_words;
        at->mean_words += feedback_words(p);
    }
    at->depth = uses(p, TCUQ_LAGGED_SIGNALS) ? p->lags[p->lag_count - 1u] : 0u;
    at->post_bytes = if_used(p, TCUQ_BIT(TCUQ_DIVERGENCE), p->classes);
    at->entry_bytes = at->post_bytes + if_used(p, TCUQ_BIT(TCUQ_INSTABILITY), p->features);
}

COLD size_t tcuq_ring_size(const tcuq_params_t *p)
{
    layout_t at;
    uint32_t size;
    tcuq_internal_layout(&at, p);
    size = 4u * mean_words(&at) + (uint32_t)sizeof(kept_t) * depth_of(&at);
    size += (depth_of(&at) * at.entry_bytes + 2u * number_count(&at) + 3u) & ~(uint32_t)3u;
    /* More than size_t can say, where that has 16 bits, is more than any ring has. */
    return size < 4u ? 4u : (size_t)size != size ? (size_t)-4 : (size_t)size;
}

/* Arithmetic of features. */

static inline norm_t norm_of(uint32_t squares)
{
    norm_t n = {0, 0};
    int32_t exponent = 0;
    if (squares != 0u) {
        while (squares < (1uL << 30)) {
            squares <<= 2;
            exponent--;
        }
        n.mant = (uint16_t)root(squares, 1uL << 30);
        n.exp = (int16_t)exponent;
    }
    return n;
}

/* Dot product of raw bytes: most of a step's time, so four at a time. */
NOT_INLINE static int32_t dot_of(const int8_t *a, const int8_t *b, uint32_t count)
{
    int32_t sum = 0;
    for (; count >= 4u; count -= 4u) {
        sum += (int32_t)a[0] * b[0] + (int32_t)a[1] * b[1];
        sum += (int32_t)a[2] * b[2] + (int32_t)a[3] * b[3];
        a += 4;
        b += 4;
    }
    for (; count > 0u; count--) {
        sum += (int32_t)*a++ * *b++;
    }
    return sum;
}

/* (1 - cosine) / 2 in Q0.16 from a dot product and two norms. One of them is of this step, so its mantissa
 * is at least 2^15 and the product is not 0 whatever the other is. */
static inline uint32_t half_distance(int32_t dot, norm_t a, norm_t b)
{
    uint32_t size = dot < 0 ? 0u - (uint32_t)dot : (uint32_t)dot;
    uint32_t product, cosine;
    if (a.mant == 0u || b.mant == 0u) {
        return a.mant == b.mant ? 0u : 32768u;
    }
    product = ((uint32_t)a.mant * b.mant + 32768u) >> 16;
    /* The shift is 5..29, unless the norm that the ring kept is damaged. */
    cosine = (size << ((-1 - a.exp - b.exp) & 31)) / product;
    if (cosine > 32768u) {
        cosine = 32768u;
    }
    return dot < 0 ? saturate(32768u + cosine) : 32768u - cosine;
}

/* Reading (section 3). */

static void read_probs(inference_t *now, const int8_t *probs, uint32_t classes)
{
    uint32_t top = 0;
    uint32_t second = 0;
    uint32_t prediction = 0;
    uint32_t mass = 0;
    uint32_t logs = 0;
    uint32_t i;
    for (i = 0; i < classes; i++) {
        uint32_t u = (uint32_t)(probs[i] + 128);
        mass += u;
        logs += BUILD_HAS(TCUQ_BIT(TCUQ_DIVERGENCE)) ? tcuq_xlog[u] : 0u;
        if (u > second) { /* of many classes few are */
            second = u < top ? u : top;
            if (u > top) {
                top = u;
                prediction = i;
            }
        }
    }
    now->top = top;
    now->second = second;
    now->kept.prediction = (uint16_t)prediction;
    now->kept.mass = mass;
    if (BUILD_HAS(TCUQ_BIT(TCUQ_DIVERGENCE))) { /* nobody else asks, and the table is a kilobyte */
        uint32_t rest = mass < 256u ? 256u - mass : 0u;
        now->kept.log_sum = (int32_t)(logs + tcuq_xlog[rest]) - (int32_t)(192u * (mass + rest));
    }
}

static void read_features(kept_t *kept, const int8_t *features, const tcuq_params_t *p)
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
    kept->feature_sum = (int16_t)sum;
    kept->norm = norm_of((uint32_t)squares);
}

void tcuq_internal_read(inference_t *now, const tcuq_params_t *p, const int8_t *probs, const int8_t *features,
                        const int16_t *gauges, tcuq_step_t *out)
{
    now->probs = probs;
    now->features = features;
    if (HAS_SIGHT) {
        now->gauges = gauges;
        now->moved = TCUQ_MOVED_NONE;
    }
    if (BUILD_HAS(TCUQ_LAGGED_SIGNALS)) { /* the ring keeps them */
        now->kept.feature_sum = 0;
        now->kept.norm.mant = 0;
        now->kept.norm.exp = 0;
    }
    read_probs(now, probs, p->classes);
    if (uses(p, TCUQ_BIT(TCUQ_INSTABILITY))) {
        read_features(&now->kept, features, p);
    }
    now->subject = now->kept.prediction;
    now->anchor = 256u * now->top;
    out->prediction = now->kept.prediction;
    out->answer = now->kept.prediction;
    out->persistence = 0;
    out->novelty = 0;
    out->low_mass = now->kept.mass < 128u ? 1u : 0u;
    out->changed = 0;
    out->moved = TCUQ_MOVED_NONE;
}

/* The ring of past inferences. */

static void push(tcuq_t *m, const layout_t *at, const kept_t *kept, const int8_t *probs, const int8_t *features)
{
    int8_t *entry = entry_in(m, at, m->slot);
    keep_at(m, at, m->slot, kept);
    memcpy(entry, probs, (size_t)at->post_bytes);
    if (at->entry_bytes != at->post_bytes) {
        /* Features may be NULL where no signal reads them. */
        memcpy(entry + at->post_bytes, features, (size_t)(at->entry_bytes - at->post_bytes));
    }
    m->slot++;
    m->fill = (uint8_t)(m->fill < at->depth ? m->fill + 1u : at->depth);
}

COLD uint32_t tcuq_internal_prediction(const int8_t *probs, const tcuq_params_t *p)
{
    inference_t now;
    read_probs(&now, probs, p->classes);
    return now.kept.prediction;
}

COLD void tcuq_internal_restore(tcuq_t *m, const layout_t *at, uint32_t prediction, const int8_t *bytes)
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
        read_features(&now.kept, features, p);
    }
    now.kept.prediction = (uint16_t)prediction;
    push(m, at, &now.kept, bytes, features);
}

/* Signals 0 to 2 (section 5). */

/* Sum of entries of the table X at the sums of two posteriors. */
static uint32_t xlog_sum(const int8_t *a, const int8_t *b, uint32_t classes)
{
    const uint16_t *middle = tcuq_xlog + 256; /* where two bytes of 0 meet */
    uint32_t sum = 0;
    for (; classes > 0u; classes--) {
        sum += middle[*a++ + *b++];
    }
    return sum;
}

/* Divergence of this posterior from a past one, Q0.16. */
static uint32_t divergence_of(const kept_t *now, const int8_t *probs, const kept_t *past,
                              const int8_t *past_probs, uint32_t classes)
{
    uint32_t sum = xlog_sum(probs, past_probs, classes);
    uint32_t mass = now->mass > 256u ? now->mass : 256u;
    uint32_t raw;
    int32_t difference;
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

/* Weight of the first lags, never 0: all of them together have 32768. */
static uint32_t weight_to(const tcuq_params_t *p, uint32_t count)
{
    uint32_t weight = 32768u;
    uint32_t i;
    for (i = count; i < p->lag_count; i++) {
        weight -= p->lag_weights[i];
    }
    return weight;
}

static void lagged_signals(const tcuq_t *m, const layout_t *at, const inference_t *now, uint16_t *signals)
{
    const tcuq_params_t *p = m->params;
    const int8_t *probs = now->probs;
    const int8_t *features = now->features;
    const kept_t *own = &now->kept;
    uint32_t divergence = 0;
    uint32_t instability = 0;
    uint32_t flips = 0;
    uint32_t count;
    for (count = 0; count < p->lag_count && p->lags[count] <= m->fill; count++) {
        uint32_t slot = slot_of(m, at->depth, p->lags[count]);
        const int8_t *entry = entry_in(m, at, slot);
        kept_t past = kept_at(m, at, slot);
        if (uses(p, TCUQ_BIT(TCUQ_DIVERGENCE))) {
            divergence += p->lag_weights[count] * divergence_of(own, probs, &past, entry, p->classes);
        }
        if (uses(p, TCUQ_BIT(TCUQ_INSTABILITY))) {
            instability += instability_of(own, features, &past, entry + at->post_bytes, p);
        }
        flips += past.prediction != own->prediction ? 1u : 0u;
    }
    if (count == 0u) {
        return;
    }
    if (uses(p, TCUQ_BIT(TCUQ_DIVERGENCE))) {
        signals[TCUQ_DIVERGENCE] = (uint16_t)(count == p->lag_count ? divergence >> 15
                                                                    : divergence / weight_to(p, count));
    }
    /* Divisions are worth leaving out: some cores have no instruction for them. */
    if (BUILD_HAS(TCUQ_BIT(TCUQ_INSTABILITY))) {
        signals[TCUQ_INSTABILITY] = (uint16_t)(instability / count);
    }
    if (BUILD_HAS(TCUQ_BIT(TCUQ_FLIPS))) {
        signals[TCUQ_FLIPS] = saturate((flips << 16) / count);
    }
}

/* Signals of the standard profile (section 6). */

/* One of them, up to `end`; returns the sum of its bytes. A function of its own: its loop has all registers. */
NOT_INLINE static int32_t read_block(blocks_t *blocks, int32_t *gaps, const int8_t *end)
{
    const int8_t *next = blocks->next;
    const int8_t *center = blocks->center;
    uint32_t squares = blocks->squares;
    uint32_t apart = blocks->apart;
    int32_t sum = 0, all_gaps = 0;
    if (next != end) { /* with fewer features than blocks some are empty */
        do {
            int32_t value = *next++;
            int32_t gap = value - *center++;
            sum += value;
            all_gaps += gap;
            squares += (uint32_t)(value * value);
            apart += (uint32_t)(gap * gap);
        } while (next != end);
    }
    blocks->next = next;
    blocks->center = center;
    blocks->squares = squares;
    blocks->apart = apart;
    if (BUILD_HAS(TCUQ_BIT(TCUQ_DRIFT))) { /* nobody else asks */
        *gaps = all_gaps;
    }
    return sum;
}

/* All of them; without centers they are compared with themselves. Returns the sum of squares of the centered features. */
static uint32_t read_blocks(blocks_t *blocks, const inference_t *now, const tcuq_params_t *p)
{
    int32_t zero = p->zero_point;
    int32_t sum = 0;
    uint32_t to = 0, block;
    blocks->next = now->features;
    blocks->center = p->centers != NULL ? p->centers + now->subject * p->features : now->features;
    blocks->squares = 0;
    blocks->apart = 1;
    for (block = 0; block < BLOCKS; block++) {
        to += p->features;
        blocks->sums[block] = read_block(blocks, &blocks->gaps[block], now->features + (to >> 3));
        sum += blocks->sums[block];
    }
    return blocks->squares + (uint32_t)(zero * (p->features * zero - 2 * sum));
}

/* Squares by which the sums of blocks differ from those of the last step, which they take the place of. */
static uint32_t moved_from(uint32_t *last, const int32_t *sums)
{
    uint32_t squares = 0, i;
    for (i = 0; i < BLOCKS; i++) {
        uint32_t by = (uint32_t)sums[i] - last[i]; /* its square is the same modulo 2^32 */
        squares += by * by;
        last[i] = (uint32_t)sums[i];
    }
    return squares;
}

/* A slow mean after one more value, at a rate of 1/8 a novelty. */
static int32_t toward(int32_t mean, int32_t value, uint32_t novelty)
{
    /* 2^30 is more than the product, so that nothing below is negative: a shift without a branch. */
    return mean + (int32_t)((uint32_t)((value - mean) * (int32_t)novelty + 1024 + 1073741824) >> 11) - 524288;
}

/* How much more likely a step is on degraded input (section 11), Q16.16. */
static int32_t evidence_of(const tcuq_evidence_t *head, uint32_t mask, const uint16_t *signals, uint32_t subject)
{
    int32_t value = (int32_t)head->offset[subject] * 256;
    uint32_t i;
    for (i = 0; mask != 0u; i++, mask >>= 1) {
        value += (mask & 1u) != 0u ? shift_floor((int32_t)head->coef[i] * signals[i], 9) : 0;
    }
    return clipped(value, head->clip);
}

/* Mean gaps of the features after this step; returns their squared length in 1/16, and 1. */
NOT_INLINE static uint32_t drift_of(uint32_t *slow, const int32_t *gaps, uint32_t novelty)
{
    uint32_t squares = 1, i;
    for (i = 0; i < BLOCKS; i++) {
        int32_t mean = toward(clipped((int32_t)slow[i], SLOW_MAX), gaps[i] * 256, novelty);
        uint32_t size = (mean < 0 ? 0u - (uint32_t)mean : (uint32_t)mean) >> 6;
        slow[i] = (uint32_t)mean;
        size = size < DRIFT_MAX ? size : DRIFT_MAX;
        squares += size * size;
    }
    return squares;
}

/* How new an input is, and whether it stands still. */
static void compare(tcuq_t *m, uint32_t reach, uint32_t frozen, inference_t *now, uint32_t moved_by)
{
    uint32_t novelty = moved_by / (reach >> 8);
    uint32_t doublings;
    novelty = novelty < NOVELTY_LEAST ? NOVELTY_LEAST : novelty < NOVELTY_WHOLE ? novelty : NOVELTY_WHOLE;
    now->novelty = (m->filled & FILLED_PAST) != 0u ? novelty : NOVELTY_WHOLE;
    /* How often the movement must be doubled to be new. */
    doublings = now->novelty < NOVELTY_WHOLE ? bits_of(reach) - bits_of(moved_by) : 0u;
    m->stillness = m->stillness < STILL_MAX ? m->stillness : STILL_MAX;
    m->stillness = (uint32_t)moved((int32_t)m->stillness, (int32_t)(doublings << 16), STILL_SHIFT);
    now->frozen = frozen != 0u && m->stillness > frozen;
    if (now->frozen) { /* every step tells so, whatever it shows */
        now->novelty = NOVELTY_WHOLE;
    }
}

/* Evidence and what goes by novelty: signals 5 and 9. */
static void slow_signals(tcuq_t *m, const layout_t *at, const tcuq_evidence_t *head, inference_t *now,
                         const int32_t *gaps, uint16_t *signals)
{
    const tcuq_params_t *p = m->params;
    now->evidence = evidence_of(head, used(p) & ~(uint32_t)TCUQ_SLOW_SIGNALS, signals, now->subject);
    if (now->frozen) {
        now->evidence = (int32_t)head->clip;
    }
    m->degradation = toward(clipped(m->degradation, head->clip), now->evidence, now->novelty);
    signals[TCUQ_DEGRADATION] = saturate((uint32_t)(32768 + shift_floor(m->degradation, 4)));
    if (uses(p, TCUQ_BIT(TCUQ_DRIFT))) {
        signals[TCUQ_DRIFT] = log_of_squares(drift_of(m->ring + at->slow, gaps, now->novelty));
    }
}

void tcuq_internal_signals(tcuq_t *m, const layout_t *at, inference_t *now, uint16_t *signals)
{
    const tcuq_params_t *p = m->params;
    const tcuq_evidence_t *evidence = evidence_head(p);
    const tcuq_sight_t *sight = sight_head(p);
    blocks_t blocks;
    int16_t sums[BLOCKS];
    uint32_t moved_by = 0, i;
    signals[TCUQ_DOUBT] = (uint16_t)mix(saturate(ONE - 256u * now->top),
                                        saturate(ONE - 256u * (now->top - now->second)), p->doubt_mix);
    if (uses(p, TCUQ_LAGGED_SIGNALS)) {
        /* Round the ring, and back into it should memory have failed: nothing else in a state is an index. */
        m->slot = (uint8_t)(m->slot < at->depth ? m->slot : 0u);
        lagged_signals(m, at, now, signals);
        push(m, at, &now->kept, now->probs, now->features);
    }
    if (uses(p, TCUQ_BIT(TCUQ_ODDS))) {
        signals[TCUQ_ODDS] = log_odds(ONE - 256u * (uint32_t)(now->probs[now->subject] + 128));
    }
    if (uses(p, TCUQ_BIT(TCUQ_DISTANCE) | TCUQ_BIT(TCUQ_MAGNITUDE))) {
        signals[TCUQ_MAGNITUDE] = log_of_squares(read_blocks(&blocks, now, p) + 1u);
        if (uses(p, TCUQ_BIT(TCUQ_DISTANCE))) {
            signals[TCUQ_DISTANCE] = log_of_squares(blocks.apart);
            if (asks_novelty(p)) {
                moved_by = moved_from(m->ring, blocks.sums);
            }
        }
    }
    if (asks_novelty(p) && !uses(p, TCUQ_BIT(TCUQ_DISTANCE))) {
        moved_by = signals[TCUQ_ODDS] - m->ring[0];
        moved_by *= moved_by;
        m->ring[0] = signals[TCUQ_ODDS];
    }
    if (uses(p, TCUQ_BIT(TCUQ_DISBELIEF))) {
        signals[TCUQ_DISBELIEF] = log_odds(ONE - now->belief);
    }
    if (evidence != NULL) {
        compare(m, evidence->reach, evidence->frozen, now, moved_by);
        slow_signals(m, at, evidence, now, blocks.gaps, signals);
    } else if (sight != NULL) {
        uint32_t frozen = sight->frozen;
        frozen -= (m->alarm & TCUQ_ALARM_RISE) != 0u ? frozen >> 3 : 0u; /* to end it takes more than to begin */
        compare(m, sight->reach, frozen, now, moved_by);
        if (sight->gauges == 0u && uses(p, TCUQ_BIT(TCUQ_DISTANCE))) { /* in place of gauges */
            for (i = 0; i < BLOCKS; i++) {
                sums[i] = (int16_t)blocks.sums[i];
            }
            now->gauges = sums;
        }
        tcuq_internal_look(m, at, now, signals);
    }
    m->filled = instant_head(p) != NULL ? FILLED_PAST | FILLED_STREAM : FILLED_PAST;
}
