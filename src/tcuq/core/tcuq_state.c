/* SPDX-License-Identifier: MIT */
/* Saving and loading a monitor: the same bytes on every machine (SPEC.md section 12). */
#include "tcuq_sound.h"

#define MAGIC 0x51554354u /* "TCUQ" in the file */
#define LABEL_BYTES 2u
#define CRC_BYTES 4u

/* Offsets in the header. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_ZERO = 6,
    AT_SIGNALS = 8, /* from here to AT_STEPS: whose state it is */
    AT_CLASSES = 12,
    AT_FEATURES = 14,
    AT_FINGERPRINT = 16,
    AT_STEPS = 20,
    AT_DEBT = 24,
    AT_CREDIT = 28,
    AT_RISE = 32,
    AT_FALL = 36,
    AT_SEVERITY = 40,
    AT_ACCURACY = 44,
    AT_LAST = 48,
    AT_NOVELTY = 52,
    AT_ALARM = 56,
    AT_FILL = 57,
    AT_HELD = 58,
    AT_DEPTH = 59,
    HEADER_BYTES = 60
};

/* A number as a word of the fingerprint: those of 16 bits keep 16, whatever their sign. */
#define WORD(value) (sizeof(value) == 2u ? (uint16_t)(value) : (uint32_t)(value))

SELDOM uint32_t tcuq_fingerprint(const tcuq_params_t *p)
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
    if ((TCUQ_PERSISTENCE) && p->instant != NULL) {
#define TCUQ_INSTANT_FIELD(name, type, low, high) crc = crc_word(crc, WORD(p->instant->name), 4);
#include "tcuq_fields.h"
        for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
            crc = crc_word(crc, WORD(p->instant->coef[i]), 4);
        }
        for (i = 0; p->instant->class_mix != NULL && i < p->classes; i++) {
            crc = crc_word(crc, p->instant->class_mix[i], 4);
        }
    }
    if (uses(p, TCUQ_BIT(TCUQ_DISTANCE))) {
        crc = crc_add(crc, (const uint8_t *)p->centers, (size_t)p->classes * p->features);
    }
    return ~crc;
}

/* After the header come entries, means, numbers of 16 bits and a checksum. */

static size_t entry_at(const layout_t *at, uint32_t number)
{
    return HEADER_BYTES + (size_t)number * (size_t)(LABEL_BYTES + at->entry_bytes);
}

static size_t means_at(const layout_t *at)
{
    return entry_at(at, depth_of(at));
}

static size_t numbers_at(const layout_t *at)
{
    return means_at(at) + 4u * (size_t)mean_words(at);
}

static size_t crc_at(const layout_t *at)
{
    return numbers_at(at) + 2u * (size_t)number_count(at);
}

SELDOM size_t tcuq_state_size(const tcuq_params_t *p)
{
    layout_t at;
    tcuq_internal_layout(&at, p);
    return crc_at(&at) + CRC_BYTES;
}

/* A computer that keeps the states of many monitors may name a function that remembers the fingerprint. */
#ifdef TCUQ_FINGERPRINT_OF
uint32_t TCUQ_FINGERPRINT_OF(const tcuq_params_t *p);
#else
#define TCUQ_FINGERPRINT_OF tcuq_fingerprint
#endif

/* The header up to AT_STEPS: what it is, and whose. */
static void put_identity(const tcuq_params_t *p, uint8_t *bytes)
{
    put32(bytes + AT_MAGIC, MAGIC);
    put16(bytes + AT_VERSION, TCUQ_STATE_VERSION);
    put16(bytes + AT_ZERO, 0);
    put32(bytes + AT_SIGNALS, p->signals);
    put16(bytes + AT_CLASSES, p->classes);
    put16(bytes + AT_FEATURES, p->features);
    put32(bytes + AT_FINGERPRINT, TCUQ_FINGERPRINT_OF(p));
}

static void put_counters(const tcuq_t *m, uint8_t *bytes)
{
    put32(bytes + AT_STEPS, m->steps);
    put32(bytes + AT_DEBT, (uint32_t)m->debt);
    put32(bytes + AT_CREDIT, (uint32_t)m->credit);
    put32(bytes + AT_RISE, m->rise);
    put32(bytes + AT_FALL, m->fall);
    put32(bytes + AT_SEVERITY, (uint32_t)m->severity);
    put32(bytes + AT_ACCURACY, m->accuracy);
    put32(bytes + AT_LAST, (uint32_t)m->last);
    put32(bytes + AT_NOVELTY, m->novelty);
    bytes[AT_ALARM] = m->alarm;
    bytes[AT_FILL] = m->fill;
    bytes[AT_HELD] = m->held;
}

static void get_counters(tcuq_t *m, const uint8_t *bytes)
{
    m->steps = get32(bytes + AT_STEPS);
    m->debt = (int32_t)get32(bytes + AT_DEBT);
    m->credit = (int32_t)get32(bytes + AT_CREDIT);
    m->rise = get32(bytes + AT_RISE);
    m->fall = get32(bytes + AT_FALL);
    m->severity = (int32_t)get32(bytes + AT_SEVERITY);
    m->accuracy = get32(bytes + AT_ACCURACY);
    m->last = (int32_t)get32(bytes + AT_LAST);
    m->novelty = get32(bytes + AT_NOVELTY);
    m->alarm = bytes[AT_ALARM];
    m->fill = bytes[AT_FILL];
    m->held = bytes[AT_HELD];
}

static void put_memory(const tcuq_t *m, const layout_t *at, uint8_t *next)
{
    sums_t sums;
    uint32_t i;
    sums.left = 0;
    sums.least = least_of(m, at, NULL);
    for (i = 0; i < mean_words(at); i++, next += 4) {
        put32(next, mended_mean(m, at, i, m->ring[i]));
    }
    for (i = 0; i < number_count(at); i++, next += 2) {
        put16(next, mended_number(m, i, number_at(numbers_in(m, at), i), &sums));
    }
}

SELDOM int tcuq_save(const tcuq_t *monitor, uint8_t *bytes, size_t size)
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
        memcpy(next + LABEL_BYTES, entry, (size_t)at.entry_bytes);
        next += LABEL_BYTES + at.entry_bytes;
    }
    put_memory(&m, &at, bytes + means_at(&at));
    put32(bytes + crc, ~crc_add(CRC_START, bytes, crc));
    return (int)(crc + CRC_BYTES);
}

/* Every number that a state could carry wrongly; the bytes of posteriors and features are free. */

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

/* Whether means and numbers are what mending would leave as they are. */
static int memory_ok(const tcuq_t *m, const layout_t *at, const uint8_t *bytes)
{
    const uint8_t *numbers = bytes + numbers_at(at);
    sums_t sums;
    uint32_t i;
    sums.left = 0;
    sums.least = least_of(m, at, numbers);
    bytes += means_at(at);
    for (i = 0; i < mean_words(at); i++, bytes += 4) {
        if (get32(bytes) != mended_mean(m, at, i, get32(bytes))) {
            return 0;
        }
    }
    for (i = 0; i < number_count(at); i++, numbers += 2) {
        if (get16(numbers) != mended_number(m, i, get16(numbers), &sums)) {
            return 0;
        }
    }
    return 1;
}

/* `m` holds the counters of a state that is not accepted yet. */
static int state_ok(const tcuq_t *m, const layout_t *at, const uint8_t *bytes)
{
    return get16(bytes + AT_ZERO) == 0u && bytes[AT_DEPTH] == depth_of(at) && counters_ok(m, depth_of(at)) &&
           steps_agree(m) && entries_ok(m, at, bytes) && memory_ok(m, at, bytes);
}

SELDOM int tcuq_load(tcuq_t *m, const uint8_t *bytes, size_t size)
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
    for (i = 0; i < number_count(&at); i++, bytes += 2) {
        number_put(numbers_in(m, &at), i, get16(bytes));
    }
    return TCUQ_OK;
}

SELDOM int tcuq_verify(const tcuq_t *m)
{
    const tcuq_params_t *p;
    layout_t at;
    tcuq_t now;
    if (m == NULL || m->params == NULL || m->ring == NULL) {
        return TCUQ_ERR_STATE;
    }
    p = m->params;
    /* In this order: a damaged pointer or number is not followed. */
    if (m->params_sum != tcuq_internal_sum(p, m->params_sum)) {
        return TCUQ_ERR_OTHER;
    }
    if (tcuq_internal_check(p) != TCUQ_OK) { /* a weight of a lag, which has no part in the sum */
        return TCUQ_ERR_OTHER;
    }
    tcuq_internal_layout(&at, p);
    now = *m;
    /* What nobody reads may be anything. */
    if (p->horizon == 0u) {
        now.accuracy = 0;
    }
    if (worst_of(p) == 0) {
        now.severity = 0;
    }
    if (!compares(p)) {
        now.last = 0;
        now.novelty = 0;
    }
    if (depth_of(&at) == 0u) {
        now.head = 0;
        now.fill = 0;
    } else if (now.head > depth_of(&at)) {
        return TCUQ_ERR_STATE;
    }
    return counters_ok(&now, depth_of(&at)) ? TCUQ_OK : TCUQ_ERR_STATE;
}
