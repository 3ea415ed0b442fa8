/* SPDX-License-Identifier: MIT */
/* Saving, loading and verifying a monitor: the same bytes on every machine (SPEC.md section 12). */
#include "tcuq_internal.h"

#define MAGIC 0x51554354u /* "TCUQ" in the file */
#define PREDICTION_BYTES 2u
#define CRC_BYTES 4u
#define CRC_START 0xFFFFFFFFu
#define ACCURACY_MAX 0xFFFFFFu /* Q0.24 */
#define BASELINE_SUM_MAX 4096u      /* of a sum, for 1/256 of an input */

/* Offsets in the header. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_ZERO = 6,
    AT_SIGNALS = 8, /* from here to AT_STEPS: whose state it is */
    AT_CLASSES = 12,
    AT_FEATURES = 14,
    AT_FINGERPRINT = 16,
    AT_STEPS = 20, /* the first counter: tcuq_fields.h has their places */
    AT_DEPTH = 63,
    HEADER_BYTES = 64
};

/* Words that are saved as such: of what labels need, the error debt alone. */
static uint32_t saved_words(const layout_t *at)
{
    return HAS_FEEDBACK && mean_words(at) > at->feedback ? at->feedback + 1u : mean_words(at);
}

/* Numbers of 16 bits among what labels need, from CORRECTION on. */
static uint32_t feedback_end(const tcuq_t *m, const layout_t *at)
{
    return feedback_head(m->params) != NULL ? 2u * (mean_words(at) - at->feedback) : 0u;
}

/* Numbers as little-endian bytes. */

static void put16(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)value;
    bytes[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *bytes, uint32_t value)
{
    put16(bytes, value);
    put16(bytes + 2, value >> 16);
}

static uint32_t crc_add(uint32_t crc, const uint8_t *bytes, size_t size)
{
    for (; size > 0u; size--) {
        crc = crc_byte(crc, *bytes++);
    }
    return crc;
}

/* The checksum after the first `size` bytes of one more word. */
static uint32_t crc_word(uint32_t crc, uint32_t value, size_t size)
{
    uint8_t word[4];
    put32(word, value);
    return crc_add(crc, word, size);
}

/* A number as a word of the fingerprint: those of 16 bits keep 16, whatever their sign. */
#define WORD(value) (sizeof(value) == 2u ? (uint16_t)(value) : (uint32_t)(value))
#define ADD(error, of, name, type, low, high, bytes, usual) crc = crc_word(crc, WORD((of)->name), bytes);

COLD uint32_t tcuq_fingerprint(const tcuq_params_t *p)
{
    const tcuq_evidence_t *evidence = evidence_head(p);
    const tcuq_instant_t *instant = instant_head(p);
    const tcuq_feedback_t *feedback = feedback_head(p);
    const tcuq_sight_t *sight = sight_head(p);
    uint32_t crc = CRC_START;
    uint32_t i;
    TCUQ_PARAM_NUMBERS(ADD)
    for (i = 0; i < p->lag_count; i++) {
        crc = crc_word(crc, p->lags[i] | (uint32_t)p->lag_weights[i] << 16, 4);
    }
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        crc = crc_word(crc, WORD(p->coef[i]) | (uint32_t)p->clean_mean[i] << 16, 4);
    }
    if (evidence != NULL) {
        TCUQ_EVIDENCE_NUMBERS(ADD)
        for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
            crc = crc_word(crc, WORD(evidence->coef[i]), 4);
        }
        for (i = 0; i < p->classes; i++) {
            crc = crc_word(crc, WORD(evidence->offset[i]), 4);
        }
    }
    if (instant != NULL) {
        TCUQ_INSTANT_NUMBERS(ADD)
        for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
            crc = crc_word(crc, WORD(instant->coef[i]), 4);
        }
    }
    if (sight != NULL) {
        uint32_t count = tcuq_internal_numbers(p);
        TCUQ_SIGHT_NUMBERS(ADD)
        for (i = 0; i < count; i++) {
            crc = crc_word(crc, (uint32_t)sight->mean[i], 4);
            crc = crc_word(crc, sight->scale[i] | (uint32_t)sight->shift[i] << 16, 4);
        }
        crc = crc_add(crc, (const uint8_t *)sight->class_mean, (size_t)(p->classes * count));
        for (i = 0; i < count * (count + 1u) / 2u; i++) {
            crc = crc_word(crc, WORD(sight->matrix[i]), 2);
        }
    }
    if (feedback != NULL) {
        TCUQ_FEEDBACK_NUMBERS(ADD)
    }
    if (uses(p, TCUQ_BIT(TCUQ_DISTANCE))) {
        crc = crc_add(crc, (const uint8_t *)p->centers, (size_t)p->classes * p->features);
    }
    return ~crc;
}

/* After the header come entries, means, numbers of 16 bits and a checksum. */

static size_t entry_at(const layout_t *at, uint32_t number)
{
    return HEADER_BYTES + (size_t)number * (size_t)(PREDICTION_BYTES + at->entry_bytes);
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

COLD size_t tcuq_state_size(const tcuq_params_t *p)
{
    layout_t at;
    tcuq_internal_layout(&at, p);
    return crc_at(&at) + CRC_BYTES;
}

/* The header up to AT_STEPS: what it is, and whose; AT_ZERO stays as it is. */
static void put_identity(const tcuq_params_t *p, uint8_t *bytes)
{
    put32(bytes + AT_MAGIC, MAGIC);
    put16(bytes + AT_VERSION, TCUQ_STATE_VERSION);
    put32(bytes + AT_SIGNALS, p->signals);
    put16(bytes + AT_CLASSES, p->classes);
    put16(bytes + AT_FEATURES, p->features);
    put32(bytes + AT_FINGERPRINT, p->fingerprint);
}

#define PUT_WORD(name, type, at) put32(bytes + (at), (uint32_t)m->name);
#define PUT_BYTE(name, type, at) bytes[at] = m->name;
static void put_counters(const tcuq_t *m, uint8_t *bytes)
{
    TCUQ_COUNTER_WORDS(PUT_WORD)
    TCUQ_COUNTER_BYTES(PUT_BYTE)
}

#define GET_WORD(name, type, at) m->name = (type)get32(bytes + (at));
#define GET_BYTE(name, type, at) m->name = bytes[at];
static void get_counters(tcuq_t *m, const uint8_t *bytes)
{
    TCUQ_COUNTER_WORDS(GET_WORD)
    TCUQ_COUNTER_BYTES(GET_BYTE)
}

/* What a valid state holds. */

/* New inputs of a device that set its baseline. */
static uint32_t baseline_inputs(const tcuq_params_t *p)
{
    return sight_head(p) != NULL                    ? sight_head(p)->baseline_inputs
           : HAS_BASELINE && evidence_head(p) != NULL ? evidence_head(p)->baseline_inputs
                                                      : 0u;
}

/* The counters as they are saved: those that nobody reads are 0. */
static tcuq_t read_ones(const tcuq_t *m, uint32_t depth)
{
    const tcuq_evidence_t *head = evidence_head(m->params);
    tcuq_t copy = *m;
    copy.accuracy = m->params->horizon != 0u ? m->accuracy : 0u;
    copy.degradation = head != NULL ? m->degradation : 0;
    copy.stillness = asks_novelty(m->params) ? m->stillness : 0u;
    copy.baseline = HAS_BASELINE && head != NULL && head->baseline_inputs != 0u ? m->baseline : 0u;
    copy.baseline_seen = baseline_inputs(m->params) != 0u ? m->baseline_seen : 0u;
    if (depth == 0u) {
        copy.slot = 0;
        copy.fill = 0;
    }
    return copy;
}

static int side_valid(uint32_t sum, uint32_t limit, uint32_t cap, uint32_t least, uint32_t raised)
{
    /* Between both a side stays as it was, so only the ends tell. */
    if (raised != 0u ? limit == 0u || sum < least : limit != 0u && sum >= limit) {
        return 0;
    }
    return sum <= cap;
}

/* What is learned of the stream has held a value since the first step. */
static int filled_valid(const tcuq_t *m, uint32_t depth)
{
    int learns = instant_head(m->params) != NULL;
    uint32_t most = learns ? FILLED_PAST | FILLED_STREAM : FILLED_PAST;
    if (m->filled > (m->steps != 0u ? most : 0u) || (m->filled == FILLED_PAST && learns)) {
        return 0;
    }
    return depth == 0u || (m->fill != 0u) == ((m->filled & FILLED_PAST) != 0u);
}

/* A sum that so many new inputs can have, then a bounded reference. */
static int baseline_valid(const tcuq_t *m)
{
    const tcuq_evidence_t *head = evidence_head(m->params);
    uint32_t whole = baseline_inputs(m->params) << 8;
    if (m->baseline_seen >= whole || head == NULL) {
        return m->baseline_seen <= whole && m->baseline <= (HAS_BASELINE && head != NULL ? head->baseline_most : 0u);
    }
    return m->baseline + m->baseline_seen * BASELINE_SUM_MAX <= 2u * m->baseline_seen * BASELINE_SUM_MAX;
}

/* Ranges, and what holds between counters at every step; `m` comes from read_ones() or from a state. */
static int counters_valid(const tcuq_t *m, uint32_t depth)
{
    const tcuq_params_t *p = m->params;
    const tcuq_evidence_t *evidence = evidence_head(p);
    int32_t clip = evidence != NULL ? (int32_t)evidence->clip : 0;
    uint32_t left = (uint32_t)m->alarm >> 2;
    uint32_t more = feedback_head(p) != NULL ? (p->rise_limit >> 2) * QUARTERS_RISE : 0u; /* labels may add */
    uint32_t above = sight_head(p) != NULL ? 0u : more, early = sight_head(p) != NULL ? FEW_STAYS / 4u : 0u;
    int32_t low, high;
    tcuq_debt_bounds(p, &low, &high);
    return m->debt >= low && m->debt <= high &&
           m->credit >= 0 && m->credit <= (int32_t)p->burst * p->budget_den &&
           left <= ((m->alarm & TCUQ_ALARM_RISE) != 0u ? p->least_raised : 0u) &&
           /* The last of the least steps may leave any sum. */
           side_valid(m->rise, p->rise_limit + more + early, p->rise_cap + above,
                      p->least_raised != 0u || feedback_head(p) != NULL || sight_head(p) != NULL ? 0u : p->rise_clear + 1u,
                      m->alarm & TCUQ_ALARM_RISE) &&
           side_valid(m->fall, p->fall_limit, p->fall_cap, 1, m->alarm & TCUQ_ALARM_FALL) &&
           m->degradation >= -clip && m->degradation <= clip &&
           m->stillness <= (asks_novelty(p) ? STILL_MAX : 0u) && baseline_valid(m) &&
           m->accuracy <= (p->horizon != 0u ? ACCURACY_MAX : 0u) &&
           m->slot <= depth && m->fill <= depth && m->fill <= m->steps && filled_valid(m, depth);
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

static int entries_valid(const tcuq_t *m, const layout_t *at, const uint8_t *bytes)
{
    const tcuq_params_t *p = m->params;
    uint32_t i;
    for (i = 0; i < m->fill; i++) {
        const uint8_t *entry = bytes + entry_at(at, i);
        uint32_t prediction = get16(entry);
        if (prediction >= p->classes) {
            return 0;
        }
        if (at->post_bytes != 0u && tcuq_internal_prediction((const int8_t *)(entry + PREDICTION_BYTES), p) != prediction) {
            return 0;
        }
    }
    return all_zero(bytes + entry_at(at, m->fill), means_at(at) - entry_at(at, m->fill));
}

/* Whether a word holds a value. Those before `slow` are forgotten at a reset. */
static int mean_held(const tcuq_t *m, const layout_t *at, uint32_t word)
{
    return word >= at->slow ? m->steps != 0u : (m->filled & FILLED_PAST) != 0u;
}

/* The last input, or mean gaps of the features; `low` is what the least is short of 0. */
static int mean_valid(const layout_t *at, uint32_t word, uint32_t value)
{
    uint32_t low = word >= at->slow ? SLOW_MAX : at->slow == BLOCKS ? 32768u : 0u;
    return value + low <= (word >= at->slow ? 2u * SLOW_MAX : Q16_MAX);
}

static int means_valid(const tcuq_t *m, const layout_t *at, const uint8_t *bytes)
{
    uint32_t i;
    uint32_t plain = feedback_head(m->params) != NULL ? at->feedback : mean_words(at);
    for (i = 0; i < plain; i++, bytes += 4) {
        uint32_t value = get32(bytes);
        int fits = !HAS_SIGHT || i < at->sight ? mean_valid(at, i, value) : tcuq_internal_sight_valid(m->params, i - at->sight, value);
        if (mean_held(m, at, i) ? !fits : value != 0u) {
            return 0;
        }
    }
    return feedback_head(m->params) == NULL || tcuq_internal_labels_valid(m->params, m->steps, bytes);
}

/* Whether some numbers add up to at most this. */
static int sum_within(const uint8_t *bytes, uint32_t count, uint32_t most)
{
    uint32_t sum = 0;
    for (; count > 0u; count--, bytes += 2) {
        sum += get16(bytes);
    }
    return sum <= most;
}

/* Numbers of an instant head: beliefs, the class mix, deficits, of which the best expert has none. */
static int numbers_valid(const tcuq_t *m, const layout_t *at, const uint8_t *bytes)
{
    uint32_t classes = m->params->classes, i;
    size_t belief = 2u * (size_t)classes;
    uint32_t least = Q16_MAX;
    if (number_count(at) == 0u) {
        return 1;
    }
    for (i = 0; i < STICKY_COUNT; i++, bytes += belief) {
        if (!sum_within(bytes, classes, (m->filled & FILLED_PAST) != 0u ? ONE : 0u)) {
            return 0;
        }
    }
    if ((m->filled & FILLED_STREAM) == 0u) {
        return all_zero(bytes, belief + 2u * EXPERT_COUNT);
    }
    if (!sum_within(bytes, classes, ONE + 16u * classes)) { /* rounding adds to the class mix */
        return 0;
    }
    for (i = 0; i < EXPERT_COUNT; i++) {
        uint32_t deficit = get16(bytes + belief + 2u * i);
        least = deficit < least ? deficit : least;
    }
    return least == 0u;
}

/* `m` has the counters of the state in `bytes`, which are valid. */
static int memory_valid(const tcuq_t *m, const layout_t *at, const uint8_t *bytes)
{
    return entries_valid(m, at, bytes) && means_valid(m, at, bytes + means_at(at)) &&
           numbers_valid(m, at, bytes + numbers_at(at));
}

/* What holds no value stays 0. */
static void put_memory(const tcuq_t *m, const layout_t *at, uint8_t *bytes)
{
    uint32_t kept = STICKY_COUNT * m->params->classes; /* beliefs: forgotten at a reset */
    uint8_t *next = bytes + HEADER_BYTES;
    uint32_t i;
    for (i = 1; i <= m->fill; i++) { /* the newest first */
        uint32_t slot = slot_of(m, depth_of(at), i);
        kept_t past = kept_at(m, at, slot);
        put16(next, past.prediction);
        memcpy(next + PREDICTION_BYTES, entry_in(m, at, slot), (size_t)at->entry_bytes);
        next += PREDICTION_BYTES + at->entry_bytes;
    }
    next = bytes + means_at(at);
    for (i = 0; i < saved_words(at); i++, next += 4) {
        put32(next, mean_held(m, at, i) ? m->ring[i] : 0u);
    }
    for (i = CORRECTION; i < feedback_end(m, at); i++, next += 2) {
        int read = m->steps != 0u && i < ENTRIES + feedback_head(m->params)->memory; /* rounding adds one that is not */
        put16(next, read ? number_at(feedback_numbers(m->ring + at->feedback), i) : 0u);
    }
    for (i = 0; i < number_count(at); i++, next += 2) {
        if ((m->filled & (i < kept ? FILLED_PAST : FILLED_STREAM)) != 0u) {
            put16(next, number_at(numbers_in(m, at), i));
        }
    }
}

COLD int tcuq_save(const tcuq_t *monitor, uint8_t *bytes, size_t size)
{
    tcuq_t m;
    layout_t at;
    size_t crc;
    tcuq_internal_layout(&at, monitor->params);
    crc = crc_at(&at);
    if (size < crc + CRC_BYTES) {
        return TCUQ_ERR_SIZE;
    }
    m = read_ones(monitor, depth_of(&at));
    if (!counters_valid(&m, depth_of(&at))) {
        return TCUQ_ERR_STATE;
    }
    memset(bytes, 0, crc);
    put_identity(m.params, bytes);
    put_counters(&m, bytes);
    bytes[AT_DEPTH] = (uint8_t)depth_of(&at);
    put_memory(&m, &at, bytes);
    if (!memory_valid(&m, &at, bytes)) {
        return TCUQ_ERR_STATE;
    }
    put32(bytes + crc, ~crc_add(CRC_START, bytes, crc));
    return (int)(crc + CRC_BYTES);
}

COLD int tcuq_load(tcuq_t *m, const uint8_t *bytes, size_t size)
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
    next.slot = 0;
    get_counters(&next, bytes);
    if (get16(bytes + AT_ZERO) != 0u || bytes[AT_DEPTH] != depth_of(&at) ||
        !counters_valid(&next, depth_of(&at)) || !memory_valid(&next, &at, bytes)) {
        return TCUQ_ERR_STATE;
    }
    get_counters(m, bytes);
    m->slot = 0;
    m->fill = 0;
    for (i = next.fill; i > 0u; i--) { /* the oldest first */
        const uint8_t *entry = bytes + entry_at(&at, i - 1u);
        tcuq_internal_restore(m, &at, get16(entry), (const int8_t *)(entry + PREDICTION_BYTES));
    }
    bytes += means_at(&at);
    for (i = 0; i < saved_words(&at); i++, bytes += 4) {
        m->ring[i] = get32(bytes);
    }
    for (i = CORRECTION; i < feedback_end(m, &at); i++, bytes += 2) {
        number_put(feedback_numbers(m->ring + at.feedback), i, get16(bytes));
    }
    for (i = 0; i < number_count(&at); i++, bytes += 2) {
        number_put(numbers_in(m, &at), i, get16(bytes));
    }
    return TCUQ_OK;
}

COLD int tcuq_verify(const tcuq_t *m)
{
    layout_t at;
    tcuq_t now;
    if (m == NULL || m->params == NULL || m->ring == NULL) {
        return TCUQ_ERR_STATE;
    }
    /* Checked first: a length that is out of its range is not followed. */
    if (tcuq_internal_check(m->params) != TCUQ_OK || m->params->fingerprint != tcuq_fingerprint(m->params)) {
        return TCUQ_ERR_OTHER;
    }
    tcuq_internal_layout(&at, m->params);
    now = read_ones(m, depth_of(&at));
    return counters_valid(&now, depth_of(&at)) ? TCUQ_OK : TCUQ_ERR_STATE;
}
