/* SPDX-License-Identifier: MIT */
/* The alarm that sees the input (SPEC.md section 21): part of a build whose TCUQ_SIGNALS has TCUQ_SIGHT. One distance
 * from clean data, of slow means of what the input and the outputs say. */
#include "tcuq_internal.h"

#if ((TCUQ_SIGNALS) & TCUQ_SIGHT) != 0

/* Numbers are in deviations of one clean step, 1/4096; lengths in limits of clean data, 1/256; a nat is 4096. */
#define Z_MOST 24576      /* of a number, before the mean of its class comes off */
#define MEAN_MOST 65536   /* of a slow mean: no number is as large */
#define GAP_MOST 49152    /* of a mean to that of its stay */
#define LENGTH_MOST 8192
#define NAT 4096
#define ENOUGH (10 * NAT) /* that the input is clean again */

/* Rates a new input, 1/256 of 1/65536: 1/12 of a slow mean, 1/24 of that of a stay and of the slow odds. */
#define SLOW_RATE 21u
#define STAY_RATE 11u
#define RATE_LEAST 48u /* of a novelty, so that an object that is held is seen too */
#define CALM_LEAST 160u

/* A step this new, in 1/256, is another object, and one that is newer by so much surely is. */
#define SAME_OBJECT 32u
#define OTHER_OBJECT 96u
#define HARMLESS 2621u  /* of the square of a length, whatever is seen, Q0.16 */
#define ALL_NEW 2731u   /* the rest where every step shows another object */

#define STAY_FROM 768u  /* new inputs of a stay, in 1/256, from which on its mean is taken off */
#define STAY_FADES 2048u /* over which it counts less and less for the baseline */
#define STAY_MOST 4096  /* of what a stay takes off, and half of it of what the baseline does */
#define BY_CHANCE 1024u /* the first inputs may be off so far without another device, so it stays on */
#define BACK_WITHIN 60u /* steps after its end in which an alarm that comes is the same one */
#define FAR_MOST 33480u /* sixteen limits: log2(17) / 8 */
#define ODDS_LEAST (-19661) /* sure answers take off .3 at most, but where odds are all there is */

NOT_INLINE uint32_t tcuq_internal_numbers(const tcuq_params_t *p)
{
    return TCUQ_SIGHT_COUNT(p);
}

static int32_t *words_of(const tcuq_t *m, const layout_t *at)
{
    return (int32_t *)m->ring + at->sight; /* the same size, and the sign of the same bits */
}

/* The next step of a slow mean. */
ALWAYS_INLINE static inline int32_t nearer(int32_t mean, int32_t value, uint32_t rate)
{
    mean = clipped(mean, MEAN_MOST);
    return mean + shift_floor((value - mean) * (int32_t)rate + 32768, 16);
}

static inline uint32_t at_most(int32_t word, uint32_t most)
{
    return (uint32_t)word < most ? (uint32_t)word : most;
}

/* Numbers as they are read, from one to another, in deviations of clean data; less the means of their class, and of this
 * device where `base` has them. */
NOT_INLINE static void standardize(const tcuq_sight_t *head, const int8_t *usual, int32_t *base, int32_t *z, uint32_t i, uint32_t end)
{
    const int32_t *mean = head->mean;
    const uint16_t *scale = head->scale;
    const uint8_t *shift = head->shift;
    uint32_t most = head->baseline_inputs != 0u ? STAY_MOST / 2 : 0u;
    for (; i < end; i++) {
        int32_t gap = 16 * z[i] - mean[i];
        gap = clipped(shift_floor(gap * (int32_t)scale[i], shift[i]), Z_MOST) - 256 * usual[i];
        if (base != NULL) {
            base[i] = clipped(base[i], most); /* as it is, unless memory has failed */
            gap -= base[i];
        }
        z[i] = gap;
    }
}

/* What this step says, number by number. Returns the place of the odds. */
static uint32_t read_numbers(const tcuq_t *m, int32_t *slow, const inference_t *now, const uint16_t *signals, int32_t *z)
{
    const tcuq_params_t *p = m->params;
    const tcuq_sight_t *head = p->sight;
    const int16_t *gauge = now->gauges;
    uint32_t count = tcuq_internal_numbers(p), inputs = TCUQ_SIGHT_INPUTS(p), squares = 1, i;
    const int8_t *usual = head->class_mean + now->subject * count;
    int32_t *base = m->baseline_seen < head->baseline_inputs << 8 ? NULL : slow + 2u * count;
    for (i = 0; i < inputs; i++) {
        z[i] = gauge != NULL ? gauge[i] : 0;
    }
    z[i++] = signals[TCUQ_ODDS];
    if (uses(p, TCUQ_BIT(TCUQ_DISTANCE))) {
        z[i++] = signals[TCUQ_DISTANCE];
    }
    standardize(head, usual, base, z, 0, i);
    if (inputs != 0u) {
        uint32_t last = i;
        for (i = 0; i < inputs; i++) {
            int32_t part;
            z[i] = gauge != NULL ? z[i] : 0; /* clean, also where this device is not */
            part = shift_floor(z[i], 6);
            squares += (uint32_t)(part * part);
        }
        z[last] = log_of_squares(squares);
        standardize(head, usual, base, z, last, count);
        z[last] = gauge != NULL ? z[last] : 0;
    }
    return inputs;
}

/* The first new inputs of a device, but those under an alarm: a few of each stay, less and less. Their means come off
 * from then on. */
static void settle(tcuq_t *m, int32_t *slow, const int32_t *z, uint32_t weight)
{
    uint32_t count = tcuq_internal_numbers(m->params), whole = m->params->sight->baseline_inputs << 8, i;
    int32_t *base = slow + 2u * count;
    if (m->baseline_seen >= whole || weight == 0u) {
        m->baseline_seen = m->baseline_seen < whole ? m->baseline_seen : whole;
        return;
    }
    m->baseline_seen += weight;
    for (i = 0; i < count; i++) {
        base[i] = (int32_t)((uint32_t)base[i] + (uint32_t)(shift_floor(z[i], 4) * (int32_t)weight));
        if (m->baseline_seen >= whole) {
            base[i] = base[i] / (int32_t)m->baseline_seen * 16;
            base[i] -= clipped(base[i], BY_CHANCE);
            base[i] = clipped(base[i], STAY_MOST / 2);
            slow[i] = clipped(slow[i], MEAN_MOST) - base[i];
        }
    }
    m->baseline_seen = m->baseline_seen < whole ? m->baseline_seen : whole;
}

/* A gap as lengths take it, in 1/256 of a deviation. */
static inline int32_t coarse(int32_t gap)
{
    return shift_floor(gap, 4);
}

/* Slow means after this step, those of the stay, and what is between them; returns all that in coarse gaps. */
NOT_INLINE static void follow(int32_t *slow, const int32_t *z, int32_t *gaps, uint32_t count, uint32_t rate, uint32_t stay_rate)
{
    int32_t *stay = slow + count;
    do {
        int32_t value = *z++, mean = nearer(*slow, value, rate), own = clipped(nearer(*stay, value, stay_rate), STAY_MOST);
        *slow++ = mean;
        *stay++ = own;
        *gaps++ = coarse(clipped(mean - own, GAP_MOST));
    } while (--count != 0u);
}

/* Which number has moved most. */
static uint32_t most_moved(const int32_t *slow, uint32_t count)
{
    uint32_t moved_most = TCUQ_MOVED_NONE, most = 0, i;
    for (i = 0; i < count; i++) {
        int32_t gap = clipped(slow[i] - slow[count + i], GAP_MOST);
        uint32_t size = (uint32_t)(gap < 0 ? -gap : gap);
        if (size > most) {
            most = size;
            moved_most = gap < 0 ? i | TCUQ_MOVED_DOWN : i;
        }
    }
    return moved_most;
}

/* Lengths of coarse gaps, and the square of all of them together. Much of a step's time. */
NOT_INLINE static uint32_t lengths_of(const tcuq_params_t *p, const int32_t *gaps, int32_t *lengths)
{
    const int16_t *row = p->sight->matrix;
    uint32_t shift = p->sight->matrix_shift, left = tcuq_internal_numbers(p), squares = 0;
    for (; left != 0u; left--) {
        const int32_t *gap = gaps++;
        uint32_t more = left;
        int32_t sum = 0;
        do {
            sum += *row++ * *gap++;
        } while (--more != 0u);
        sum = clipped(shift_floor(sum, shift), LENGTH_MOST);
        *lengths++ = sum;
        squares += (uint32_t)(sum * sum);
    }
    return squares;
}

/* Two roots are no reason for two copies. */
NOT_INLINE static uint32_t root_below(uint32_t value, uint32_t bit)
{
    return root(value, bit);
}

/* How much of a square counts, Q0.16: a slow mean of few objects lies further from clean data by chance. */
static uint32_t few_objects(int32_t *words, uint32_t novelty, uint32_t rate)
{
    uint32_t left = ONE - rate, object = at_most(words[OBJECT], Q16_MAX), objects = at_most(words[OBJECTS], Q16_MAX);
    uint32_t other = novelty > SAME_OBJECT ? novelty - SAME_OBJECT : 0u;
    other = other < OTHER_OBJECT ? other * 256u / OTHER_OBJECT : 256u;
    objects += (object * object >> 16) * other >> 8;
    objects = (objects < Q16_MAX ? objects : Q16_MAX) * left >> 16;
    objects = objects * left >> 16;
    object = (object * left >> 16) * (256u - other) >> 8;
    object = saturate(object + rate);
    words[OBJECT] = (int32_t)object;
    words[OBJECTS] = (int32_t)objects;
    objects += object * object >> 16;
    return ((HARMLESS + ALL_NEW) << 16) / (HARMLESS + (objects > ALL_NEW ? objects : ALL_NEW));
}

/* Whether the steps under an alarm are like clean ones, or like those that raised it, added up. Takes the place of `z`
 * with gaps; `lengths` is room for those: small boards have a small stack. */
static void calm_down(const tcuq_params_t *p, int32_t *slow, int32_t *calm, int32_t *z, int32_t *lengths, uint32_t novelty)
{
    uint32_t count = tcuq_internal_numbers(p), i;
    const int32_t *stay = slow + count;
    int32_t *raised = slow + 3u * count;
    int32_t sum = 0;
    for (i = 0; i < count; i++) {
        z[i] = coarse(clipped(z[i] - stay[i], GAP_MOST));
    }
    (void)lengths_of(p, z, lengths);
    for (i = 0; i < count; i++) {
        raised[i] = clipped(raised[i], LENGTH_MOST);
        sum += raised[i] * (shift_floor(raised[i], 1) - lengths[i]);
    }
    sum = clipped(shift_floor(sum, 8), LENGTH_MOST) * (int32_t)p->sight->clear_weight; /* 1/4096 of a nat */
    sum = clipped(sum, 2u * NAT) * (int32_t)(novelty > CALM_LEAST ? novelty : CALM_LEAST);
    sum = (int32_t)at_most(*calm, 17u * ENOUGH) + shift_floor(sum, 8);
    *calm = sum < 0 ? 0 : sum;
}

/* Another class: what the last stay had of its own comes off, so that it is not taken for a change. */
static void begin_stay(int32_t *words, uint32_t count, const int32_t *odds, int raised, uint32_t subject)
{
    int32_t *slow = words + SIGHT_WORDS, *stay = slow + count;
    if (!raised) {
        words[SLOW_ODDS] = clipped(words[SLOW_ODDS], MEAN_MOST) - clipped(odds[count], STAY_MOST);
        words[STAYS] = (int32_t)at_most(words[STAYS], MANY_STAYS - 1u) + 1;
    }
    for (; slow != stay; slow++) {
        *slow = clipped(*slow, MEAN_MOST) - (raised ? 0 : clipped(slow[count], STAY_MOST));
        slow[count] = 0;
    }
    words[STAY_CLASS] = (int32_t)subject;
    words[STAY_LENGTH] = 0;
}

void tcuq_internal_afresh(tcuq_t *m, const layout_t *at)
{
    int32_t *words = words_of(m, at);
    words[SLOW_ODDS] = 0;
    memset(words + SIGHT_WORDS, 0, (size_t)(8u * tcuq_internal_numbers(m->params)));
    m->rise = 0;
}

uint32_t tcuq_internal_over(const tcuq_t *m)
{
    return (m->rise << 8) / (m->params->rise_limit >> 8);
}

int32_t tcuq_internal_right(const tcuq_sight_t *head, int32_t odds, uint32_t far)
{
    int32_t away = (int32_t)(far < FAR_MOST ? far : FAR_MOST), both = shift_floor(odds * away, 16);
    return head->accuracy_bias + shift_floor(head->accuracy_odds * odds, 9) + shift_floor(head->accuracy_far * away, 9) +
           shift_floor(head->accuracy_both * both, 9);
}

void tcuq_internal_look(tcuq_t *m, const layout_t *at, inference_t *now, uint16_t *signals)
{
    const tcuq_params_t *p = m->params;
    const tcuq_sight_t *head = p->sight;
    uint32_t count = tcuq_internal_numbers(p), novelty = now->novelty, inputs, stay_length, scale, squares, few;
    uint32_t rate = novelty > RATE_LEAST ? novelty : RATE_LEAST;
    int32_t *words = words_of(m, at), *slow = words + SIGHT_WORDS, *odds;
    int32_t z[TCUQ_MAX_SIGHT], gaps[TCUQ_MAX_SIGHT], room[TCUQ_MAX_SIGHT], *raising = slow + 3u * count;
    int32_t distance, excess;
    int raised = (m->alarm & TCUQ_ALARM_RISE) != 0u, steady;
    inputs = read_numbers(m, slow, now, signals, z);
    odds = slow + inputs;
    if ((uint32_t)words[STAY_CLASS] != now->subject) {
        begin_stay(words, count, odds, raised, now->subject);
    }
    stay_length = at_most(words[STAY_LENGTH], STAY_FADES);
    settle(m, slow, z, raised ? 0u : (novelty * (STAY_FADES - stay_length)) >> 11);
    words[STAY_LENGTH] = (int32_t)(stay_length + novelty < STAY_FADES ? stay_length + novelty : STAY_FADES);
    m->rise = m->rise < p->rise_cap ? m->rise : p->rise_cap;
    /* A stay may have a mean of its own, unless it is as far as an alarm. */
    steady = stay_length >= STAY_FROM && !raised && m->rise < p->rise_limit - p->rise_limit / 10u;
    follow(slow, z, gaps, count, rate * SLOW_RATE, steady ? rate * STAY_RATE : 0u);
    words[SLOW_ODDS] = nearer(words[SLOW_ODDS], z[inputs], rate * STAY_RATE);
    /* What raises an alarm is kept while it is on, once the input is calm again. */
    squares = lengths_of(p, gaps, raised || at_most(words[CALM], 2u * NAT) > NAT ? room : raising) >> 8;
    few = few_objects(words, novelty, rate * SLOW_RATE);
    squares *= few >> 8;
    excess = shift_floor((words[SLOW_ODDS] - odds[count]) * (int32_t)head->odds_weight, 8) * (int32_t)root_below(few, ONE);
    excess = shift_floor(excess, 4);
    distance = (int32_t)(root_below(squares, (uint32_t)1 << ((bits_of(squares | 1u) - 1u) & ~1u)) << 8) + (excess > ODDS_LEAST || count == 1u ? excess : ODDS_LEAST);
    m->rise = distance < 0 ? 0u : (uint32_t)distance < p->rise_cap ? (uint32_t)distance : p->rise_cap;
    now->moved = now->frozen ? TCUQ_MOVED_FROZEN : m->rise >= head->changed ? most_moved(slow, count) : TCUQ_MOVED_NONE;
    if (raised) {
        calm_down(p, slow, &words[CALM], z, gaps, novelty);
        if (at_most(words[CALM], 2u * NAT) <= NAT) {
            COPY(raising, room, count * sizeof room[0]);
        }
    }
    distance = (int32_t)(ONE + tcuq_internal_over(m));
    scale = bits_above((uint32_t)distance);
    signals[TCUQ_DEGRADATION] =
        saturate((uint32_t)(tcuq_internal_log2((uint32_t)distance >> scale) + (int32_t)(scale << 16)) >> 3);
    now->far = signals[TCUQ_DEGRADATION];
}

int tcuq_internal_hold(tcuq_t *m, const layout_t *at, const inference_t *now, uint32_t move)
{
    const tcuq_params_t *p = m->params;
    int32_t *words = words_of(m, at);
    uint32_t stays = at_most(words[STAYS], MANY_STAYS), again = at_most(words[AGAIN], 2);
    uint32_t recent = at_most(words[RECENT], BACK_WITHIN), clear = p->rise_clear + move;
    uint32_t limit = p->rise_limit + move + (stays < MANY_STAYS ? FEW_STAYS / (4u + stays) : 0u);
    uint32_t calm = at_most(words[CALM], 17u * ENOUGH);
    int settled = calm >= (uint32_t)ENOUGH << 2u * again;
    clear = (int32_t)clear < 0 ? 0u : clear;
    words[STAYS] = (int32_t)stays; /* in range again, should memory have failed */
    words[AGAIN] = (int32_t)again;
    words[RECENT] = (int32_t)(recent != 0u ? recent - 1u : 0u);
    if ((m->alarm & TCUQ_ALARM_RISE) == 0u) {
        words[CALM] = 0;
        if (m->rise < limit && !now->frozen) {
            return 0;
        }
        words[AGAIN] = recent == 0u || m->rise < limit ? 0 : again < 2u ? (int32_t)again + 1 : 2; /* stillness ends at once */
        return 1;
    }
    if (now->frozen || (!settled && (m->rise >= clear || (again != 0u && calm < (uint32_t)ENOUGH)))) {
        return 1;
    }
    if (m->rise >= clear) {
        tcuq_internal_afresh(m, at); /* the slow means are still those of what is over */
    }
    words[RECENT] = BACK_WITHIN;
    words[CALM] = 0;
    return 0;
}

int tcuq_internal_sight_valid(const tcuq_params_t *p, uint32_t which, uint32_t value)
{
    /* The largest sizes: of single words, then of slow means, stays, baselines and raised lengths. */
    const uint32_t singles[SIGHT_WORDS] = {MEAN_MOST + STAY_MOST, STAY_FADES, p->classes - 1u, MANY_STAYS, BACK_WITHIN, 17u * ENOUGH + 2u * NAT, 2, Q16_MAX, Q16_MAX};
    const uint32_t lists[SIGHT_LISTS] = {MEAN_MOST + 2u * STAY_MOST, STAY_MOST, 1u << 30, LENGTH_MOST};
    if (which < SIGHT_WORDS) {
        return value <= singles[which] || (which == SLOW_ODDS && 0u - value <= singles[which]);
    }
    which = (which - SIGHT_WORDS) / tcuq_internal_numbers(p);
    return value <= lists[which] || 0u - value <= lists[which];
}

#endif
