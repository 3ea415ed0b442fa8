/* SPDX-License-Identifier: MIT */
/* Fuzz target: the writer of frames. Steps of all kinds, states and gaps go in; frames have the form of SPEC.md section
 * 18, each says whose and which it is, posteriors and states come back as they were, and no byte is written past the
 * buffer. (The bits of decisions are compared by tests/export/test_frame_c.py; the reader, in Python, is fuzzed with the
 * other readers.) */
#include "target.h"
#include "tcuq_frame.h"

enum { MOST_CALLS = 200, MOST_BUFFER = 4600 };

static set_t set;
static struct { /* the last frame */
    uint8_t content[TCUQ_FRAME_MOST + 8u];
    size_t size; /* without the checksum */
    unsigned kind;
    uint32_t fingerprint, boot, shape;
    uint64_t seq;
} reader;
static uint8_t rows[TCUQ_FRAME_MOST];
static unsigned queued;
static size_t row_bytes;
static uint64_t first_seq;
static uint32_t fingerprint;
static guarded_t buffer;

static uint32_t number(const uint8_t *from, unsigned count)
{
    uint32_t value = 0;
    while (count-- > 0u) {
        value = value << 8 | from[count];
    }
    return value;
}

/* Undo COBS and check size and CRC. Returns NULL, or what is wrong. */
static const char *opened(const uint8_t *bytes, size_t size)
{
    size_t at = 1, used = 0, i;
    uint32_t crc = 0xFFFFFFFFu;
    if (size < 4u || bytes[0] != 0u || bytes[size - 1u] != 0u) {
        return "a frame lies between zeros";
    }
    while (at < size - 1u) {
        unsigned code = bytes[at++], n;
        if (code == 0u || at + code - 1u > size - 1u || used + code > sizeof reader.content) {
            return "blocks fit their frame";
        }
        for (n = 1; n < code; n++) {
            if (bytes[at] == 0u) {
                return "no zero within a frame";
            }
            reader.content[used++] = bytes[at++];
        }
        if (at < size - 1u && code < 255u) {
            reader.content[used++] = 0;
        } else if (at == size - 1u && code == 255u && used == 0u) {
            return "a full block has bytes";
        }
    }
    if (used < 23u || used > TCUQ_FRAME_MOST) {
        return "content has 23 to 4096 bytes";
    }
    if (size > used + (used + 253u) / 254u + 2u) {
        return "a frame takes no more than its bound";
    }
    for (i = 0; i + 4u < used; i++) {
        unsigned bit;
        crc ^= reader.content[i];
        for (bit = 0; bit < 8u; bit++) {
            crc = (crc & 1u) != 0u ? (crc >> 1) ^ 0xEDB88320u : crc >> 1;
        }
    }
    if (~crc != number(reader.content + used - 4u, 4)) {
        return "the checksum is that of the content";
    }
    reader.size = used - 4u;
    reader.kind = reader.content[0];
    reader.fingerprint = number(reader.content + 1, 4);
    reader.boot = number(reader.content + 5, 4);
    reader.seq = (uint64_t)number(reader.content + 9, 4) | (uint64_t)number(reader.content + 13, 2) << 32;
    reader.shape = number(reader.content + 15, 3);
    return NULL;
}

/* Read a frame's head and compare it with what the writer was told. */
static void open_frame(const tcuq_frame_t *frame, size_t size, uint32_t boot, uint64_t seq)
{
    const char *wrong;
    NEED(size <= buffer.size, "a frame fits its buffer");
    wrong = opened(frame->bytes, size);
    NEED(wrong == NULL, wrong);
    NEED(reader.fingerprint == fingerprint && reader.boot == boot, "a frame says whose it is");
    NEED(reader.seq == (seq & 0xFFFFFFFFFFFFu), "a frame says which its first step is");
}

/* A finished frame of steps holds all that were added since the last one. */
static void check_steps(const tcuq_frame_t *frame, size_t size, uint32_t boot, unsigned kind)
{
    const tcuq_params_t *p = &set.params;
    if (size == 0u) {
        return;
    }
    open_frame(frame, size, boot, first_seq);
    NEED(reader.kind == kind, "a frame says its kind");
    if (kind == TCUQ_FRAME_POSTERIORS) {
        size_t row = row_bytes / (queued == 0u ? 1u : queued);
        NEED(reader.shape == (p->classes | (uint32_t)(row - p->classes) << 12), "posteriors have their shape");
        NEED(reader.size - 18u == row_bytes && memcmp(reader.content + 18, rows, row_bytes) == 0,
             "posteriors come back as they were");
    } else {
        uint32_t seen = p->sight != NULL ? 65536u : 0u;
        unsigned most = p->sight != NULL ? 339u : 329u;
        NEED(reader.shape == (p->classes | (uint32_t)p->horizon << 12 | seen), "decisions have their shape");
        NEED(8u * (reader.size - 18u) < most * queued + 8u, "a decision has at most 329 bits, with sight 339");
    }
    first_seq += queued;
    queued = 0;
    row_bytes = 0;
}

/* A step that a monitor might give; a wild one has any bytes. */
static void make_decision(tcuq_step_t *step, source_t *from, int wild)
{
    const tcuq_params_t *p = &set.params;
    unsigned change = take(from, 2);
    uint8_t *bytes = (uint8_t *)step;
    size_t i;
    if (wild) {
        for (i = 0; i < sizeof *step; i++) {
            bytes[i] = (uint8_t)take(from, 1);
        }
        return;
    }
    step->flagged = change & 1u;
    step->abstain = change >> 1 & 1u;
    step->warming_up = change >> 2 & 1u;
    step->low_mass = change >> 3 & 1u;
    step->alarm = change >> 4 & 3u;
    step->changed = p->sight != NULL ? (uint8_t)below(from, 2) : 0u;
    step->moved = step->changed == 0u ? (uint8_t)TCUQ_MOVED_NONE : (uint8_t)take(from, 1);
    step->reason = (uint8_t)(step->flagged == 0u ? TCUQ_REASON_NONE - step->abstain : (change & 64u) != 0u ? TCUQ_REASON_NONE
                                                 : below(from, TCUQ_SIGNAL_COUNT + 1u));
    step->reason = (uint8_t)(step->reason == TCUQ_SIGNAL_COUNT ? TCUQ_REASON_ERROR : step->reason);
    step->prediction = (change & 128u) != 0u ? (uint16_t)below(from, p->classes) : step->prediction;
    step->answer = (change & 256u) != 0u ? (uint16_t)below(from, p->classes) : step->prediction;
    step->uncertainty = (change & 512u) != 0u ? (uint16_t)edge(from, 0, 65535) : step->uncertainty;
    step->risk = (change & 1024u) != 0u ? (uint16_t)edge(from, 0, 65535) : step->uncertainty;
    step->threshold = (change & 2048u) != 0u ? (int32_t)edge(from, INT32_MIN, INT32_MAX) : step->threshold;
    step->degradation = (change & 4096u) != 0u ? (int32_t)edge(from, INT32_MIN, INT32_MAX) : step->degradation;
    step->persistence = (change & 8192u) != 0u ? (uint16_t)edge(from, 0, 65535) : step->persistence;
    step->novelty = (change & 16384u) != 0u ? (uint16_t)edge(from, 0, 65535) : step->novelty;
    step->expected_accuracy = (change & 32768u) != 0u ? (uint16_t)edge(from, 0, 65535) : step->expected_accuracy;
}

/* A state in as many frames as it takes. */
static void send_state(tcuq_frame_t *frame, source_t *from, uint32_t boot, unsigned kind)
{
    size_t size = (size_t)edge(from, 0, below(from, 256) == 77u ? 131072 : 500), sent = 0, seen = 0, got;
    guarded_t state = guarded(size);
    size_t i;
    for (i = 0; i < size; i++) {
        state.bytes[i] = (uint8_t)(i % 300u < 260u ? i * 7u + 1u : 0u); /* runs with and without zeros */
    }
    while ((got = tcuq_frame_state(frame, state.bytes, size, &sent)) > 0u) {
        if (queued > 0u) {
            NEED(sent == 0u, "steps that wait come first");
            check_steps(frame, got, boot, kind);
            continue;
        }
        open_frame(frame, got, boot, first_seq);
        NEED(reader.kind == TCUQ_FRAME_STATE && reader.shape == seen, "parts of a state follow each other");
        NEED(number(reader.content + 18, 3) == size && reader.size - 21u == sent - seen && sent > seen,
             "a part has its size");
        NEED(memcmp(reader.content + 21, state.bytes + seen, sent - seen) == 0, "a state comes back as it was");
        seen = sent;
    }
    NEED(seen == size && guards_hold(&state), "a state is sent to its end");
    release(&state);
}

/* After a refusal nothing is written. */
static void try_refused(tcuq_frame_t *frame, const int8_t *values)
{
    static const tcuq_step_t step;
    uint8_t byte = 7;
    size_t sent = 0;
    NEED(tcuq_frame_posteriors(frame, values, values) == 0u && tcuq_frame_decision(frame, &step) == 0u &&
             tcuq_frame_flush(frame) == 0u && tcuq_frame_skip(frame, 3) == 0u &&
             tcuq_frame_state(frame, &byte, 1, &sent) == 0u,
         "a refused writer writes nothing");
}

static void run_calls(tcuq_frame_t *frame, source_t *from, uint32_t boot, unsigned kind, int8_t *values)
{
    const tcuq_params_t *p = &set.params;
    int wild = below(from, 8) == 7u;
    unsigned calls;
    tcuq_step_t step;
    memset(&step, 0, sizeof step);
    for (calls = 0; calls < MOST_CALLS && from->left > 0u; calls++) {
        unsigned order = take(from, 1);
        if (order % 16u == 0u) {
            check_steps(frame, tcuq_frame_flush(frame), boot, kind);
        } else if (order % 16u == 1u) {
            uint32_t gap = (uint32_t)edge(from, 0, 0xFFFFFFFF);
            check_steps(frame, tcuq_frame_skip(frame, gap), boot, kind);
            first_seq += gap;
        } else if (order % 16u == 2u) {
            send_state(frame, from, boot, kind);
        } else if (kind == TCUQ_FRAME_POSTERIORS) {
            size_t row = (size_t)p->classes + frame->features, i;
            uint64_t seed = take(from, 1);
            for (i = 0; i < row; i++) {
                values[i] = (int8_t)(order % 4u == 0u ? 0 : order % 4u == 1u ? -128 : (int)(random64(&seed) >> 56) - 128);
                rows[row_bytes++] = (uint8_t)values[i];
            }
            queued++;
            check_steps(frame, tcuq_frame_posteriors(frame, values, values + p->classes), boot, kind);
        } else {
            make_decision(&step, from, wild);
            queued++;
            check_steps(frame, tcuq_frame_decision(frame, &step), boot, kind);
        }
        target_steps++;
        NEED(guards_hold(&buffer), "no write past the buffer");
    }
    check_steps(frame, tcuq_frame_flush(frame), boot, kind);
    NEED(queued == 0u, "no step is lost");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int8_t values[TCUQ_MAX_CLASSES + TCUQ_MAX_FEATURES];
    static const unsigned kinds[4] = {TCUQ_FRAME_DECISIONS, TCUQ_FRAME_POSTERIORS, TCUQ_FRAME_STATE, 0};
    source_t from, params;
    tcuq_frame_t frame;
    uint32_t boot;
    unsigned kind, way;
    size_t row, least;
    int status;
    from.bytes = data;
    from.left = size;
    from.seed = 0;
    way = take(&from, 1);
    params.bytes = NULL;
    params.left = 0;
    params.seed = 1u + take(&from, 1);
    make_set(&set, &params, way == 8u ? SET_ANY : way % 8u < 2u ? SET_MIDDLE : SET_SMALL);
    way >>= 3;
    kind = kinds[way < 16u ? way & 1u : way & 3u];
    boot = take(&from, 4);
    row = kind == TCUQ_FRAME_DECISIONS ? TCUQ_FRAME_DECISION + (set.params.sight != NULL ? TCUQ_FRAME_SEEN : 0u)
                                       : (size_t)set.params.classes + ((set.params.signals & TCUQ_FEATURE_SIGNALS) != 0u ? set.params.features : 0u);
    least = TCUQ_FRAME_BYTES(TCUQ_FRAME_FIXED + (row < 4u ? 4u : row));
    buffer = guarded((size_t)edge(&from, way == 31u ? 0 : (int64_t)least, way == 31u ? (int64_t)least : MOST_BUFFER));
    memset(&frame, 0x99, sizeof frame);
    queued = 0;
    row_bytes = 0;
    first_seq = 0;
    fingerprint = tcuq_fingerprint(&set.params);
    status = tcuq_frame_init(&frame, &set.params, (uint8_t)kind, boot, buffer.bytes, buffer.size);
    if (kind != TCUQ_FRAME_DECISIONS && kind != TCUQ_FRAME_POSTERIORS) {
        NEED(status == TCUQ_ERR_PARAMS, "another kind is refused");
        try_refused(&frame, values);
    } else if (buffer.size < least) {
        NEED(status == TCUQ_ERR_SIZE, "a buffer without room for a step is refused");
        try_refused(&frame, values);
    } else {
        NEED(status == TCUQ_OK, "a buffer with room for a step is accepted");
        run_calls(&frame, &from, boot, kind, values);
    }
    NEED(guards_hold(&buffer), "no write past the buffer");
    release(&buffer);
    return 0;
}
