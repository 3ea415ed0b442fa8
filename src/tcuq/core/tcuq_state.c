/* SPDX-License-Identifier: MIT */
/* Saving and loading a monitor: the same bytes on every machine (SPEC.md section 12). */
#include "tcuq_bytes.h"
#include "tcuq_internal.h"

#define MAGIC 0x51554354u /* "TCUQ" in the file */
#define LABEL_BYTES 2u
#define CRC_BYTES 4u
#define STEPS_MAX 0xFFFFFFFFu

/* Offsets in the header. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_SIGNALS = 6, /* from here to AT_STEPS: whose state it is */
    AT_CLASSES = 8,
    AT_FEATURES = 10,
    AT_FINGERPRINT = 12,
    AT_STEPS = 16,
    AT_DEBT = 20,
    AT_CREDIT = 24,
    AT_RISE = 28,
    AT_FALL = 32,
    AT_ALARM = 36,
    AT_FILL = 37,
    AT_SLOW = 38,
    AT_DEPTH = 39,
    HEADER_BYTES = 40
};

/* A number as a word of the fingerprint: those of 16 bits keep 16, whatever their sign. */
#define WORD(value) (sizeof(value) == 2u ? (uint16_t)(value) : (uint32_t)(value))

uint32_t tcuq_fingerprint(const tcuq_params_t *p)
{
    uint32_t crc = CRC_START;
    uint32_t i;
#define TCUQ_FIELD(name, type, low, high, bytes) crc = crc_word(crc, WORD(p->name), bytes);
#include "tcuq_fields.h"
    for (i = 0; i < p->lag_count; i++) {
        crc = crc_word(crc, p->lags[i] | (uint32_t)p->lag_weights[i] << 16, 4);
    }
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        crc = crc_word(crc, WORD(p->coef[i]) | (uint32_t)p->clean_mean[i] << 16, 4);
    }
    if ((TCUQ_EVIDENCE) && p->evidence != NULL) {
#define TCUQ_HEAD_FIELD(name, type, low, high) crc = crc_word(crc, WORD(p->evidence->name), 4);
#include "tcuq_fields.h"
        for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
            crc = crc_word(crc, WORD(p->evidence->coef[i]), 4);
        }
        for (i = 0; i < p->classes; i++) {
            crc = crc_word(crc, WORD(p->evidence->offset[i]), 4);
        }
    }
    return ~crc;
}

/* After the header come entries, means, beliefs and a checksum. */

static size_t entry_at(const layout_t *at, uint32_t number)
{
    return HEADER_BYTES + (size_t)number * (LABEL_BYTES + at->entry_bytes);
}

static size_t means_at(const layout_t *at)
{
    return entry_at(at, depth_of(at));
}

static size_t beliefs_at(const layout_t *at)
{
    return means_at(at) + 4u * (size_t)mean_words(at);
}

static size_t crc_at(const layout_t *at)
{
    return beliefs_at(at) + 2u * (size_t)belief_count(at);
}

size_t tcuq_state_size(const tcuq_params_t *p)
{
    layout_t at;
    tcuq_internal_layout(&at, p);
    return crc_at(&at) + CRC_BYTES;
}

/* The header up to AT_STEPS: what it is, and whose. */
static void put_identity(const tcuq_params_t *p, uint8_t *bytes)
{
    put32(bytes + AT_MAGIC, MAGIC);
    put16(bytes + AT_VERSION, TCUQ_STATE_VERSION);
    put16(bytes + AT_SIGNALS, p->signals);
    put16(bytes + AT_CLASSES, p->classes);
    put16(bytes + AT_FEATURES, p->features);
    put32(bytes + AT_FINGERPRINT, tcuq_fingerprint(p));
}

static void put_counters(const tcuq_t *m, uint8_t *bytes)
{
    put32(bytes + AT_STEPS, m->steps);
    put32(bytes + AT_DEBT, (uint32_t)m->debt);
    put32(bytes + AT_CREDIT, (uint32_t)m->credit);
    put32(bytes + AT_RISE, m->rise);
    put32(bytes + AT_FALL, m->fall);
    bytes[AT_ALARM] = m->alarm;
    bytes[AT_FILL] = m->fill;
    bytes[AT_SLOW] = m->slow;
}

static void get_counters(tcuq_t *m, const uint8_t *bytes)
{
    m->steps = get32(bytes + AT_STEPS);
    m->debt = (int32_t)get32(bytes + AT_DEBT);
    m->credit = (int32_t)get32(bytes + AT_CREDIT);
    m->rise = get32(bytes + AT_RISE);
    m->fall = get32(bytes + AT_FALL);
    m->alarm = bytes[AT_ALARM];
    m->fill = bytes[AT_FILL];
    m->slow = bytes[AT_SLOW];
}

/* Numbers that memory holds may be damaged. What is saved is a copy without the damage, so that it loads;
 * an undamaged number is saved as it is. */

/* number * steps, or 2^31 - 1 where that is less. */
static int32_t times_steps(uint32_t number, uint32_t steps)
{
    return number != 0u && steps > 0x7FFFFFFFu / number ? 0x7FFFFFFF : (int32_t)(number * steps);
}

/* What is over when a debt is counted in whole flags, in 0..level_den - 1: 0 for every debt that the steps
 * can have led to. */
static int32_t debt_rest(const tcuq_params_t *p, int32_t debt, uint32_t steps)
{
    uint32_t den = p->level_den;
    uint32_t rest = debt < 0 ? den - (0u - (uint32_t)debt) % den : (uint32_t)debt % den;
    return (int32_t)((rest + steps % den * p->level_num) % den);
}

/* The debt, or the nearest below that the steps can have led to; one flag more where that is out of bounds. */
static int32_t mended_debt(const tcuq_params_t *p, int32_t debt, uint32_t steps)
{
    int32_t low, high, least, most;
    tcuq_debt_bounds(p, &low, &high);
    debt = debt < low || debt > high ? 0 : debt;
    if (steps != STEPS_MAX) { /* a count that has stopped says no more about the debt */
        least = -times_steps(p->level_num, steps);
        most = times_steps((uint32_t)p->level_den - p->level_num, steps);
        debt -= debt_rest(p, debt, steps);
        debt = debt < least ? least : debt > most ? most : debt;
        debt += debt < low ? p->level_den : 0;
    }
    return debt;
}

/* One side of the alarm; returns whether it is raised. */
static uint32_t mend_side(uint32_t *sum, uint32_t limit, uint32_t cap, uint32_t raised)
{
    *sum = limit == 0u || *sum > 0x7FFFFFFFu ? 0u : *sum < cap ? *sum : cap;
    return *sum == 0u ? 0u : *sum >= limit ? 1u : raised;
}

/* The counters; ring and params stay. */
static void mend(tcuq_t *m, uint32_t depth)
{
    const tcuq_params_t *p = m->params;
    uint32_t credit = (uint32_t)times_steps(p->budget_num, m->steps);
    uint32_t cap = (uint32_t)p->burst * p->budget_den;
    credit = credit < cap ? credit : cap;
    m->debt = mended_debt(p, m->debt, m->steps);
    m->credit = (uint32_t)m->credit < credit ? m->credit : (int32_t)credit;
    m->alarm = (uint8_t)(mend_side(&m->rise, p->rise_limit, p->rise_cap, m->alarm & 1u) |
                         mend_side(&m->fall, p->fall_limit, p->fall_cap, m->alarm >> 1 & 1u) << 1);
    m->head = (uint8_t)(m->head < depth ? m->head : 0u);
    m->fill = (uint8_t)(m->fill < depth ? m->fill : depth);
    m->fill = (uint8_t)(m->fill < m->steps ? m->fill : m->steps);
    m->slow = (uint8_t)((depth != 0u ? m->fill : m->slow) != 0u && m->steps != 0u ? 1u : 0u);
}

/* The label of an entry of the ring. */
static uint32_t mended_label(const tcuq_params_t *p, const layout_t *at, uint32_t label, const int8_t *entry)
{
    if (at->post_bytes != 0u) {
        return tcuq_internal_label(entry, p);
    }
    return label < p->classes ? label : 0u;
}

/* Size of the largest mean: of strains, then of posteriors and features. */
static int32_t most_of_mean(const layout_t *at, uint32_t word)
{
    return word < at->fast ? 65535 * 256L : 255 * 65536L;
}

/* The least mean: only those of features are signed. */
static int32_t least_of_mean(const layout_t *at, uint32_t word)
{
    return word < at->feature_mean ? 0 : -most_of_mean(at, word);
}

static uint8_t *put_means(const tcuq_t *m, const layout_t *at, uint8_t *next)
{
    uint32_t i;
    for (i = 0; i < mean_words(at); i++, next += 4) {
        int32_t mean = (int32_t)m->ring[i];
        int32_t least = least_of_mean(at, i), most = most_of_mean(at, i);
        put32(next, (uint32_t)(mean < least ? least : mean > most ? most : mean));
    }
    return next;
}

static void put_beliefs(const tcuq_t *m, const layout_t *at, uint8_t *next)
{
    uint32_t left = ONE, i;
    for (i = 0; i < belief_count(at); i++, next += 2) {
        uint32_t value = belief_at(beliefs_in(m, at), i);
        left = i == m->params->classes ? ONE : left; /* each rate has its own sum */
        value = value < left ? value : left;
        left -= value;
        put16(next, value);
    }
}

int tcuq_save(const tcuq_t *monitor, uint8_t *bytes, size_t size)
{
    tcuq_t m = *monitor; /* what is saved: the caller's is not ours to change */
    layout_t at;
    size_t crc;
    uint8_t *next;
    uint32_t i;
    tcuq_internal_layout(&at, m.params);
    crc = crc_at(&at);
    if (size < crc + CRC_BYTES) {
        return TCUQ_ERR_SIZE;
    }
    mend(&m, depth_of(&at));
    memset(bytes, 0, crc); /* entries that are not filled, means that hold no value */
    put_identity(m.params, bytes);
    put_counters(&m, bytes);
    bytes[AT_DEPTH] = (uint8_t)depth_of(&at);
    next = bytes + HEADER_BYTES;
    for (i = 1; i <= m.fill; i++) { /* the newest first */
        uint32_t slot = slot_of(&m, depth_of(&at), i);
        kept_t kept = kept_at(&m, &at, slot);
        const int8_t *entry = entry_in(&m, &at, slot);
        put16(next, mended_label(m.params, &at, kept.label, entry));
        memcpy(next + LABEL_BYTES, entry, at.entry_bytes);
        next += LABEL_BYTES + at.entry_bytes;
    }
    if (m.slow != 0u) {
        put_beliefs(&m, &at, put_means(&m, &at, bytes + means_at(&at)));
    }
    put32(bytes + crc, ~crc_add(CRC_START, bytes, crc));
    return (int)(crc + CRC_BYTES);
}

/* Every number that a state could carry wrongly; the bytes of posteriors and features are free. */

static int side_ok(uint32_t sum, uint32_t limit, uint32_t cap, uint32_t raised)
{
    /* Between 0 and the limit a side stays as it was, so only the ends tell. */
    if (raised != 0u ? sum == 0u : limit != 0u && sum >= limit) {
        return 0;
    }
    return sum <= cap;
}

/* Ranges, and what holds between counters at every step. */
static int counters_ok(const tcuq_t *m, uint32_t depth)
{
    const tcuq_params_t *p = m->params;
    int32_t low, high;
    tcuq_debt_bounds(p, &low, &high);
    return m->debt >= low && m->debt <= high &&
           m->credit >= 0 && m->credit <= (int32_t)p->burst * p->budget_den &&
           m->alarm <= (TCUQ_ALARM_RISE | TCUQ_ALARM_FALL) &&
           side_ok(m->rise, p->rise_limit, p->rise_cap, m->alarm & TCUQ_ALARM_RISE) &&
           side_ok(m->fall, p->fall_limit, p->fall_cap, m->alarm & TCUQ_ALARM_FALL) &&
           m->fill <= depth && m->fill <= m->steps &&
           m->slow <= 1u && m->slow <= m->steps &&
           (depth == 0u || (m->fill != 0u) == (m->slow != 0u));
}

/* Whether the steps can have led to the debt and the credit. */
static int steps_agree(const tcuq_t *m)
{
    const tcuq_params_t *p = m->params;
    return m->credit <= times_steps(p->budget_num, m->steps) &&
           (m->steps == STEPS_MAX ||
            (debt_rest(p, m->debt, m->steps) == 0 && m->debt >= -times_steps(p->level_num, m->steps) &&
             m->debt <= times_steps((uint32_t)p->level_den - p->level_num, m->steps)));
}

static int all_zero(const uint8_t *bytes, size_t count)
{
    while (count > 0u) {
        if (bytes[--count] != 0u) {
            return 0;
        }
    }
    return 1;
}

static int entries_ok(const tcuq_t *m, const layout_t *at, const uint8_t *bytes)
{
    const tcuq_params_t *p = m->params;
    uint32_t i;
    for (i = 0; i < m->fill; i++) {
        const uint8_t *entry = bytes + entry_at(at, i);
        uint32_t label = get16(entry);
        if (label >= p->classes) {
            return 0;
        }
        if (at->post_bytes != 0u &&
            tcuq_internal_label((const int8_t *)(entry + LABEL_BYTES), p) != label) {
            return 0;
        }
    }
    return all_zero(bytes + entry_at(at, m->fill), means_at(at) - entry_at(at, m->fill));
}

static int means_ok(const layout_t *at, const uint8_t *means)
{
    uint32_t i;
    for (i = 0; i < mean_words(at); i++) {
        int32_t mean = (int32_t)get32(means + 4u * i);
        if (mean > most_of_mean(at, i) || mean < least_of_mean(at, i)) {
            return 0;
        }
    }
    return 1;
}

static int beliefs_ok(const layout_t *at, const uint8_t *beliefs, uint32_t classes)
{
    uint32_t sum = 0, i;
    for (i = 0; i < belief_count(at); i++) {
        sum = get16(beliefs + 2u * i) + (i == classes ? 0u : sum); /* each rate has its own sum */
        if (sum > ONE) {
            return 0;
        }
    }
    return 1;
}

/* `m` holds the counters of a state that is not accepted yet. */
static int state_ok(const tcuq_t *m, const layout_t *at, const uint8_t *bytes)
{
    if (bytes[AT_DEPTH] != depth_of(at) || !counters_ok(m, depth_of(at)) || !steps_agree(m) ||
        !entries_ok(m, at, bytes)) {
        return 0;
    }
    if (m->slow == 0u) {
        return all_zero(bytes + means_at(at), crc_at(at) - means_at(at));
    }
    return means_ok(at, bytes + means_at(at)) &&
           beliefs_ok(at, bytes + beliefs_at(at), m->params->classes);
}

int tcuq_load(tcuq_t *m, const uint8_t *bytes, size_t size)
{
    tcuq_t next; /* what the monitor would become */
    uint8_t identity[AT_STEPS];
    layout_t at;
    uint32_t i;
    tcuq_internal_layout(&at, m->params);
    if (size < HEADER_BYTES) {
        return TCUQ_ERR_SIZE;
    }
    if (get32(bytes + AT_MAGIC) != MAGIC) {
        return TCUQ_ERR_STATE;
    }
    if (get16(bytes + AT_VERSION) != TCUQ_STATE_VERSION) {
        return TCUQ_ERR_VERSION;
    }
    if (get32(bytes + size - CRC_BYTES) != ~crc_add(CRC_START, bytes, size - CRC_BYTES)) {
        return TCUQ_ERR_STATE;
    }
    put_identity(m->params, identity);
    for (i = AT_SIGNALS; i < AT_STEPS; i++) {
        if (bytes[i] != identity[i]) {
            return TCUQ_ERR_OTHER;
        }
    }
    if (size != crc_at(&at) + CRC_BYTES) {
        return TCUQ_ERR_SIZE;
    }
    next.params = m->params;
    get_counters(&next, bytes);
    if (!state_ok(&next, &at, bytes)) {
        return TCUQ_ERR_STATE;
    }
    get_counters(m, bytes);
    m->head = 0;
    m->fill = 0;
    for (i = next.fill; i > 0u; i--) { /* the oldest first */
        const uint8_t *entry = bytes + entry_at(&at, i - 1u);
        tcuq_internal_restore(m, &at, get16(entry), (const int8_t *)(entry + LABEL_BYTES));
    }
    bytes += means_at(&at);
    for (i = 0; i < mean_words(&at); i++, bytes += 4) {
        m->ring[i] = get32(bytes);
    }
    for (i = 0; i < belief_count(&at); i++, bytes += 2) {
        belief_put(beliefs_in(m, &at), i, get16(bytes));
    }
    return TCUQ_OK;
}

int tcuq_verify(const tcuq_t *m)
{
    layout_t at;
    tcuq_t now;
    int status;
    if (m == NULL || m->params == NULL || m->ring == NULL) {
        return TCUQ_ERR_STATE;
    }
    status = tcuq_internal_check(m->params);
    if (status != TCUQ_OK) {
        return status;
    }
    if (m->params_sum != tcuq_internal_sum(m->params)) {
        return TCUQ_ERR_OTHER;
    }
    tcuq_internal_layout(&at, m->params);
    now = *m;
    if (depth_of(&at) == 0u) { /* nobody reads these without a ring */
        now.head = 0;
        now.fill = 0;
    } else if (now.head > depth_of(&at)) {
        return TCUQ_ERR_STATE;
    }
    return counters_ok(&now, depth_of(&at)) ? TCUQ_OK : TCUQ_ERR_STATE;
}
