/* SPDX-License-Identifier: MIT */
/* Writing frames (SPEC.md section 18): content goes through CRC-32 and COBS byte by byte, so that the
 * caller's buffer holds what is sent and nothing else is needed. */
#include "tcuq_frame.h"

#include "tcuq_internal.h"

#define CRC_BYTES 4u
#define SIZE_BYTES 3u /* size of the whole state, after the header of one of its parts */
#define BLOCK 255u    /* code of a block of COBS that is full */
#define NO_REASON 31u
#define SIGHT_BIT ((uint32_t)1 << 16) /* of the shape: decisions tell what moved */

enum { UNCERTAINTY, RISK, THRESHOLD, DEGRADATION, PERSISTENCE, NOVELTY, ACCURACY };

/* Bits that the first difference of each number is expected to have. */
static const uint8_t first_order[TCUQ_FRAME_NUMBERS] = {12, 12, 1, 11, 8, 1, 1};

/* One byte of COBS; a block is closed when it is full and another byte comes. */
static void stuff(tcuq_frame_t *frame, uint8_t byte)
{
    uint16_t length = (uint16_t)(frame->used - frame->code);
    if (length == BLOCK) {
        frame->bytes[frame->code] = BLOCK;
        frame->code = frame->used++;
        length = 1u;
    }
    if (byte != 0u) {
        frame->bytes[frame->used++] = byte;
    } else {
        frame->bytes[frame->code] = (uint8_t)length;
        frame->code = frame->used++;
    }
}

/* One byte of content. */
static void put(tcuq_frame_t *frame, uint8_t byte)
{
    frame->crc = crc_byte(frame->crc, byte);
    frame->content++;
    stuff(frame, byte);
}

static void put_bytes(tcuq_frame_t *frame, uint32_t value, uint8_t count)
{
    for (; count > 0u; count--) {
        put(frame, (uint8_t)(value & 0xFFu));
        value >>= 8;
    }
}

static void begin(tcuq_frame_t *frame, uint8_t kind, uint32_t shape)
{
    frame->bytes[0] = 0;
    frame->code = 1;
    frame->used = 2;
    frame->content = 0;
    frame->crc = 0xFFFFFFFFu;
    put(frame, kind);
    put_bytes(frame, frame->fingerprint, 4);
    put_bytes(frame, frame->boot, 4);
    put_bytes(frame, frame->seq, 4);
    put_bytes(frame, frame->seq_high, 2);
    put_bytes(frame, shape, 3);
}

static size_t finish(tcuq_frame_t *frame)
{
    uint32_t crc = ~frame->crc;
    uint8_t i;
    for (i = 0; i < CRC_BYTES; i++) {
        stuff(frame, (uint8_t)(crc & 0xFFu));
        crc >>= 8;
    }
    frame->bytes[frame->code] = (uint8_t)(frame->used - frame->code);
    frame->bytes[frame->used++] = 0;
    frame->steps = 0;
    return frame->used;
}

static void count_steps(tcuq_frame_t *frame, uint32_t steps)
{
    uint32_t seq = frame->seq + steps;
    if (seq < frame->seq) {
        frame->seq_high++;
    }
    frame->seq = seq;
}

/* After a step: finish the frame unless one more of `row` bytes fits. */
static size_t added(tcuq_frame_t *frame, uint16_t row)
{
    count_steps(frame, 1);
    frame->steps++;
    return frame->content + row <= frame->most ? 0u : tcuq_frame_flush(frame);
}

int tcuq_frame_init(tcuq_frame_t *frame, const tcuq_params_t *params, uint8_t kind, uint32_t boot,
                    uint8_t *bytes, size_t size)
{
    size_t most = TCUQ_FRAME_BYTES(TCUQ_FRAME_MOST), row = TCUQ_FRAME_DECISION;
    frame->bytes = bytes;
    frame->fingerprint = params->fingerprint;
    frame->boot = boot;
    frame->seq = 0;
    frame->seq_high = 0;
    frame->steps = 0;
    frame->classes = params->classes;
    frame->features = (params->signals & TCUQ_FEATURE_SIGNALS) != 0u ? params->features : 0u;
    frame->horizon = (uint8_t)params->horizon;
    frame->sight = params->sight != NULL ? (uint8_t)TCUQ_FRAME_SEEN : 0u;
    frame->gauges = 0;
    if (kind == TCUQ_FRAME_GAUGES && params->sight != NULL) {
        frame->gauges = params->sight->gauges;
    }
    frame->kind = 0; /* until all fits: a writer that was refused writes nothing */
    if (kind == TCUQ_FRAME_POSTERIORS) {
        row = (size_t)frame->classes + frame->features;
    } else if (kind == TCUQ_FRAME_DECISIONS) {
        row += frame->sight;
    } else if (frame->gauges > 0u) {
        row = (size_t)frame->classes + frame->features + 2u * (size_t)frame->gauges + 1u;
    } else {
        return TCUQ_ERR_PARAMS;
    }
    if (row < SIZE_BYTES + 1u) {
        row = SIZE_BYTES + 1u; /* so that a byte of a state fits as well */
    }
    if (size < TCUQ_FRAME_BYTES(TCUQ_FRAME_FIXED + row)) {
        return TCUQ_ERR_SIZE;
    }
    frame->kind = kind;
    /* Two zeros around it, and one code for every 254 bytes. */
    most = (size < most ? size : most) - 2u;
    frame->most = (uint16_t)(most - (most + 254u) / 255u - CRC_BYTES);
    return TCUQ_OK;
}

/* What every step with a posterior begins with. */
static void put_posterior(tcuq_frame_t *frame, const int8_t *probs, const int8_t *features)
{
    uint16_t i;
    if (frame->steps == 0u) {
        begin(frame, frame->kind, frame->classes | (uint32_t)frame->features << 12);
        if (frame->gauges > 0u) {
            put(frame, (uint8_t)(frame->gauges & 0xFFu));
        }
    }
    for (i = 0; i < frame->classes; i++) {
        put(frame, (uint8_t)probs[i]);
    }
    for (i = 0; i < frame->features; i++) {
        put(frame, (uint8_t)features[i]);
    }
}

size_t tcuq_frame_posteriors(tcuq_frame_t *frame, const int8_t *probs, const int8_t *features)
{
    if (frame->kind != TCUQ_FRAME_POSTERIORS) {
        return 0;
    }
    put_posterior(frame, probs, features);
    return added(frame, (uint16_t)(frame->classes + frame->features));
}

size_t tcuq_frame_gauges(tcuq_frame_t *frame, const int8_t *probs, const int8_t *features,
                         const int16_t *gauges)
{
    uint16_t i;
    if (frame->kind != TCUQ_FRAME_GAUGES) {
        return 0;
    }
    put_posterior(frame, probs, features);
    for (i = 0; i < frame->gauges; i++) {
        put_bytes(frame, (uint16_t)gauges[i], 2);
    }
    return added(frame, (uint16_t)(frame->classes + frame->features + 2u * frame->gauges));
}

/* The lowest `count` bits of a value, the highest of them first. */
static void put_bits(tcuq_frame_t *frame, uint32_t value, uint8_t count)
{
    while (count > 0u) {
        count--;
        frame->bits = (uint8_t)(((uint32_t)frame->bits << 1 | ((value >> count) & 1u)) & 0xFFu);
        if (++frame->bit_count == 8u) {
            put(frame, frame->bits);
            frame->bit_count = 0;
        }
    }
}

/* A number below 2^32 by a code that is short near 2^order; the order follows what comes. */
static void put_number(tcuq_frame_t *frame, uint8_t which, uint32_t value)
{
    uint8_t order = frame->order[which], width = 0;
    uint32_t rest;
    for (rest = value >> order; rest != 0u; rest >>= 1) {
        width++;
    }
    put_bits(frame, 0, width);
    put_bits(frame, 1, 1);
    put_bits(frame, value, (uint8_t)(width > 0u ? width - 1u + order : order));
    if (width >= 2u) {
        frame->order[which] = (uint8_t)(order + 1u);
    } else if (order > 0u && value >> (order - 1u) == 0u) {
        frame->order[which] = (uint8_t)(order - 1u);
    }
}

/* A difference modulo 2^32: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4. */
static void put_difference(tcuq_frame_t *frame, uint8_t which, uint32_t value, uint32_t expected)
{
    uint32_t difference = value - expected;
    put_number(frame, which, (difference << 1) ^ (0u - (difference >> 31)));
}

/* What the expected accuracy moves to, but for rounding. */
static uint32_t next_accuracy(const tcuq_frame_t *frame, uint16_t uncertainty)
{
    int32_t gap = (int32_t)65536 - uncertainty - frame->accuracy;
    /* A right shift of a negative value is the compiler's choice; that of its complement is not. */
    gap = gap >= 0 ? gap >> frame->horizon : ~(~gap >> frame->horizon);
    return frame->horizon == 0u ? frame->accuracy : (uint32_t)(frame->accuracy + gap);
}

static void put_numbers(tcuq_frame_t *frame, const tcuq_step_t *step)
{
    uint32_t threshold = (uint32_t)step->threshold, degradation = (uint32_t)step->degradation;
    uint32_t *moved = &frame->moved[frame->flagged];
    if (frame->steps == 0u) {
        put_bits(frame, step->uncertainty, 16);
        put_bits(frame, step->risk, 16);
        put_bits(frame, threshold, 32);
        put_bits(frame, degradation, 32);
        put_bits(frame, step->persistence, 16);
        put_bits(frame, step->novelty, 16);
        put_bits(frame, step->expected_accuracy, 16);
    } else {
        put_number(frame, UNCERTAINTY, step->uncertainty);
        put_difference(frame, RISK, step->risk, step->uncertainty);
        put_difference(frame, THRESHOLD, threshold, frame->threshold + *moved);
        put_difference(frame, DEGRADATION, degradation, frame->degradation);
        put_difference(frame, PERSISTENCE, step->persistence, frame->persistence);
        put_difference(frame, NOVELTY, step->novelty, frame->novelty);
        put_difference(frame, ACCURACY, step->expected_accuracy,
                       next_accuracy(frame, step->uncertainty));
        *moved = threshold - frame->threshold;
    }
    frame->threshold = threshold;
    frame->degradation = degradation;
    frame->persistence = step->persistence;
    frame->novelty = step->novelty;
    frame->accuracy = step->expected_accuracy;
}

static void put_class(tcuq_frame_t *frame, uint16_t number, uint16_t expected)
{
    uint16_t rest;
    uint8_t width = 0;
    put_bits(frame, number != expected, 1);
    if (number != expected) {
        for (rest = (uint16_t)(frame->classes - 1u); rest != 0u; rest = (uint16_t)(rest >> 1)) {
            width++;
        }
        put_bits(frame, number, width);
    }
}

/* Whether the input or the outputs have changed, and what moved; `action` follows from abstain and alarm. */
static void put_moved(tcuq_frame_t *frame, const tcuq_step_t *step)
{
    put_bits(frame, step->changed, 1);
    if (step->changed != 0u) {
        put_bits(frame, step->moved != frame->mover, 1);
        if (step->moved != frame->mover) {
            put_bits(frame, step->moved, 8);
        }
        frame->mover = step->moved;
    }
}

size_t tcuq_frame_decision(tcuq_frame_t *frame, const tcuq_step_t *step)
{
    uint8_t i;
    if (frame->kind != TCUQ_FRAME_DECISIONS) {
        return 0;
    }
    if (frame->steps == 0u) {
        begin(frame, TCUQ_FRAME_DECISIONS,
              frame->classes | (uint32_t)frame->horizon << 12 | (frame->sight != 0u ? SIGHT_BIT : 0u));
        for (i = 0; i < TCUQ_FRAME_NUMBERS; i++) {
            frame->order[i] = first_order[i];
        }
        frame->moved[0] = 0;
        frame->moved[1] = 0;
        frame->prediction = 0;
        frame->flagged = 0;
        frame->mover = TCUQ_MOVED_NONE;
        frame->bit_count = 0;
        frame->bits = 0;
    }
    put_bits(frame, step->flagged, 1);
    put_bits(frame, step->abstain, 1);
    put_bits(frame, step->warming_up, 1);
    put_bits(frame, step->low_mass, 1);
    put_bits(frame, step->alarm, 2);
    if (step->flagged != 0u) {
        put_bits(frame, step->reason & 31u, 5); /* 31: none, 30: errors */
    }
    put_class(frame, step->prediction, frame->prediction);
    put_class(frame, step->answer, step->prediction);
    if (frame->sight != 0u) {
        put_moved(frame, step);
    }
    put_numbers(frame, step);
    frame->prediction = step->prediction;
    frame->flagged = step->flagged & 1u;
    return added(frame, (uint16_t)(TCUQ_FRAME_DECISION + frame->sight));
}

size_t tcuq_frame_flush(tcuq_frame_t *frame)
{
    if (frame->steps == 0u) {
        return 0;
    }
    if (frame->kind == TCUQ_FRAME_DECISIONS && frame->bit_count > 0u) {
        put(frame, (uint8_t)(((uint32_t)frame->bits << (8u - frame->bit_count)) & 0xFFu));
    }
    return finish(frame);
}

size_t tcuq_frame_skip(tcuq_frame_t *frame, uint32_t steps)
{
    size_t size = tcuq_frame_flush(frame);
    count_steps(frame, steps);
    return size;
}

size_t tcuq_frame_state(tcuq_frame_t *frame, const uint8_t *state, size_t size, size_t *sent)
{
    if (frame->steps != 0u) {
        return tcuq_frame_flush(frame);
    }
    if (frame->kind == 0u || *sent >= size) {
        return 0;
    }
    begin(frame, TCUQ_FRAME_STATE, (uint32_t)*sent);
    put_bytes(frame, (uint32_t)size, SIZE_BYTES);
    while (frame->content < frame->most && *sent < size) {
        put(frame, state[(*sent)++]);
    }
    return finish(frame);
}
