/* SPDX-License-Identifier: MIT */
/* The writer of frames, by CBMC: no byte is written outside the buffer, whatever the steps, for every size of the
 * buffer that tcuq_frame_init() accepts.
 *
 * By induction over the bytes of a frame: `stuff` proves that one byte keeps sound(), which bounds what COBS adds;
 * the other proofs put the contracts here in place of stuff() or put_bits() (run.py renames the calls), and prove
 * that no frame gets more content than tcuq_frame_init() has counted with. */
#include <stdlib.h>

#include "prove.h"

#include "tcuq_frame.h"

/* Bytes that went through stuff() in the open frame. */
static uint32_t stuffed;

/* COBS: `extra` full blocks were closed, each after 254 bytes and before another one. */
static int sound(const tcuq_frame_t *frame, uint32_t count)
{
    uint32_t length = (uint32_t)frame->used - frame->code;
    uint32_t extra = frame->used - 2u - count;
    uint32_t since = length - 1u > (extra != 0u) ? length - 1u : (extra != 0u);
    return frame->code >= 1u && frame->code < frame->used && length <= 255u && frame->used >= count + 2u &&
           extra <= 16u && 254u * extra + since <= count;
}

static void contract_stuff(tcuq_frame_t *frame, uint8_t byte)
{
    (void)byte;
    stuffed = frame->used == 2u ? 0u : stuffed; /* sound() has none then */
    PROVE(sound(frame, stuffed));
    PROVE(stuffed < frame->most + 4u);
    stuffed++;
    frame->used = nondet_u16();
    frame->code = nondet_u16();
    ASSUME(sound(frame, stuffed));
}

static uint32_t bits; /* that one step has put */

static void contract_put_bits(tcuq_frame_t *frame, uint32_t value, uint8_t count)
{
    uint32_t whole = (uint32_t)frame->bit_count + count;
    (void)value;
    PROVE(count <= 32u && frame->bit_count < 8u);
    PROVE(frame->content + whole / 8u <= frame->most && stuffed == frame->content && sound(frame, stuffed));
    bits += count;
    frame->content = (uint16_t)(frame->content + whole / 8u);
    frame->bit_count = (uint8_t)(whole % 8u);
    frame->bits = nondet_u8();
    frame->crc = nondet_u32();
    stuffed = frame->content;
    frame->used = nondet_u16();
    frame->code = nondet_u16();
    ASSUME(sound(frame, stuffed));
}

uint32_t tcuq_fingerprint(const tcuq_params_t *p)
{
    (void)p;
    return nondet_u32();
}

#include "tcuq_frame.c" /* as run.py has changed it */

tcuq_frame_t nondet_frame(void);
tcuq_step_t nondet_step(void);
tcuq_params_t nondet_params(void);

static tcuq_frame_t frame;
static tcuq_step_t step;
static size_t size;

/* What tcuq_frame_init() gives, which prove_frame_init() proves, and any other fields. */
static void any_frame(uint32_t row)
{
    frame = nondet_frame();
    size = nondet_size();
    ASSUME(frame.most >= TCUQ_FRAME_FIXED - CRC_BYTES + row && frame.most >= TCUQ_FRAME_FIXED);
    ASSUME(frame.most + 4u <= TCUQ_FRAME_MOST && TCUQ_FRAME_BYTES(frame.most + 4u) <= size && size <= 8192u);
    frame.bytes = malloc(size);
    ASSUME(frame.bytes != NULL);
}

/* An open frame takes one more step. */
static int takes(uint32_t row)
{
    return frame.content >= 18u && frame.content + row <= frame.most && frame.steps <= frame.content &&
           sound(&frame, frame.content);
}

/* After a step or a flush. */
static void prove_open_or_done(size_t result, uint32_t row)
{
    PROVE(result <= size);
    PROVE(result == 0u || (result == frame.used && frame.steps == 0u));
    PROVE(frame.steps == 0u || takes(row));
}

void prove_stuff(void)
{
    uint32_t count = nondet_u32();
    any_frame(4);
    ASSUME(count < frame.most + 4u && sound(&frame, count));
    stuff(&frame, nondet_u8());
    PROVE(sound(&frame, count + 1u));
    PROVE(frame.used < size); /* the zero that ends a frame still fits */
    END;
}

void prove_frame_init(void)
{
    tcuq_params_t p = nondet_params();
    uint8_t kind = nondet_u8(), bytes[1];
    uint32_t row;
    int status;
    ASSUME(p.classes >= 2u && p.classes <= 1000u && p.features <= 256u && p.horizon <= 12u);
    size = nondet_size();
    status = tcuq_frame_init(&frame, &p, kind, nondet_u32(), bytes, size);
    PROVE(status == TCUQ_OK || frame.kind == 0u);
    PROVE(status == TCUQ_OK || status == TCUQ_ERR_PARAMS || status == TCUQ_ERR_SIZE);
    if (status == TCUQ_OK) {
        row = kind == TCUQ_FRAME_POSTERIORS ? (uint32_t)frame.classes + frame.features : TCUQ_FRAME_DECISION + frame.sight;
        PROVE(frame.most >= TCUQ_FRAME_FIXED - CRC_BYTES + row && frame.most >= TCUQ_FRAME_FIXED);
        PROVE(frame.most + 4u <= TCUQ_FRAME_MOST && TCUQ_FRAME_BYTES(frame.most + 4u) <= size);
        PROVE(frame.horizon <= 12u && frame.classes >= 2u && frame.classes <= 1000u);
        END;
    }
}

/* What contract_put_bits() says. */
void prove_put_bits(void)
{
    uint8_t count = nondet_u8();
    uint32_t before;
    any_frame(4);
    ASSUME(count <= 32u && frame.bit_count < 8u && sound(&frame, frame.content));
    ASSUME(frame.content + (frame.bit_count + count) / 8u <= frame.most);
    stuffed = frame.content;
    before = 8u * frame.content + frame.bit_count;
    put_bits(&frame, nondet_u32(), count);
    PROVE(8u * frame.content + frame.bit_count == before + count && frame.bit_count < 8u);
    PROVE(stuffed == frame.content && sound(&frame, stuffed));
    END;
}

/* Most that the order of each number becomes. */
static int orders_ok(void)
{
    return frame.order[UNCERTAINTY] <= 15u && frame.order[RISK] <= 16u && frame.order[THRESHOLD] <= 31u &&
           frame.order[DEGRADATION] <= 31u && frame.order[PERSISTENCE] <= 16u && frame.order[NOVELTY] <= 16u &&
           frame.order[ACCURACY] <= 16u;
}

/* Any decision, the first of a frame or another one: at most 329 bits, and 10 of what moved. */
void prove_decision(void)
{
    size_t result;
    uint32_t row, seen = nondet_u8() & 1u;
    row = TCUQ_FRAME_DECISION + seen * TCUQ_FRAME_SEEN;
    any_frame(row);
    frame.sight = (uint8_t)(seen * TCUQ_FRAME_SEEN);
    step = nondet_step();
    frame.kind = TCUQ_FRAME_DECISIONS;
    ASSUME(frame.classes >= 2u && frame.classes <= 1000u && frame.horizon <= 12u);
    ASSUME(frame.steps == 0u || (takes(row) && orders_ok() && frame.bit_count < 8u &&
                                 frame.flagged <= 1u));
    stuffed = frame.content;
    result = tcuq_frame_decision(&frame, &step);
    PROVE(bits <= 329u + 10u * seen);
    prove_open_or_done(result, row);
    PROVE(orders_ok() && frame.bit_count < 8u && frame.flagged <= 1u);
    END;
}

/* Steps of up to 4 classes and 3 features. */
void prove_posteriors(void)
{
    static int8_t probs[4], features[3];
    size_t result;
    uint32_t row;
    frame.classes = 0;
    any_frame(4);
    ASSUME(frame.classes <= 4u && frame.features <= 3u && frame.kind != TCUQ_FRAME_DECISIONS);
    row = (uint32_t)frame.classes + frame.features;
    ASSUME(row >= 2u && frame.most >= TCUQ_FRAME_FIXED - CRC_BYTES + row);
    ASSUME(frame.steps == 0u || takes(row));
    stuffed = frame.content;
    result = tcuq_frame_posteriors(&frame, probs, frame.features != 0u ? features : NULL);
    prove_open_or_done(result, row);
    END;
}

/* A flush and a gap, at any time. */
void prove_skip(void)
{
    size_t result;
    any_frame(4);
    ASSUME(frame.steps == 0u || (takes(2) && frame.bit_count < 8u));
    stuffed = frame.content;
    result = tcuq_frame_skip(&frame, nondet_u32());
    PROVE(frame.steps == 0u && result <= size);
    END;
}

/* Parts of a state, in buffers of up to 40 bytes of content; the state has up to 24 bytes. */
void prove_state_part(void)
{
    size_t whole = nondet_size(), sent = nondet_size(), before = sent, result;
    uint8_t *state;
    any_frame(4);
    ASSUME(frame.most <= 40u && whole <= 24u && sent <= 24u);
    ASSUME(frame.steps == 0u || (takes(2) && frame.bit_count < 8u));
    state = malloc(whole);
    ASSUME(state != NULL);
    stuffed = frame.content;
    result = tcuq_frame_state(&frame, state, whole, &sent);
    PROVE(result <= size && sent >= before && (sent <= whole || sent == before));
    PROVE(frame.steps == 0u);
    END;
}
