/* SPDX-License-Identifier: MIT */
/* What an export ships beside the core, at its ends: frames that are refused or out of turn, a softmax and a
 * projection whose results are known.
 *
 *     run_parts
 *
 * Exit status: 0 when all holds, else 1. */
#include "check.h"
#include "tcuq_frame.h"
#include "tcuq_projection.h"
#include "tcuq_softmax.h"

/* All that a writer can be asked for; it must write nothing. */
static void writes_nothing(tcuq_frame_t *frame)
{
    static const int8_t probs[2] = {100, -100};
    static const uint8_t state[3] = {1, 2, 3};
    tcuq_step_t step;
    size_t sent = 0;
    memset(&step, 0, sizeof step);
    NEED(tcuq_frame_posteriors(frame, probs, NULL) == 0u);
    NEED(tcuq_frame_decision(frame, &step) == 0u);
    NEED(tcuq_frame_flush(frame) == 0u);
    NEED(tcuq_frame_skip(frame, 3) == 0u);
    NEED(tcuq_frame_state(frame, state, sizeof state, &sent) == 0u && sent == 0u);
}

static void refused_frames(tcuq_params_t *p)
{
    static uint8_t bytes[TCUQ_FRAME_DECISIONS_BYTES];
    static const tcuq_sight_t sight;
    const size_t unseen = sizeof bytes - TCUQ_FRAME_SEEN;
    /* One step of two classes, but a state takes a row of four. */
    const size_t least = TCUQ_FRAME_BYTES(TCUQ_FRAME_FIXED + 4u);
    tcuq_frame_t frame;
    memset(bytes, 0xA5, sizeof bytes);
    NEED(tcuq_frame_init(&frame, p, TCUQ_FRAME_STATE, 1, bytes, sizeof bytes) == TCUQ_ERR_PARAMS);
    writes_nothing(&frame);
    NEED(tcuq_frame_init(&frame, p, 0, 1, bytes, sizeof bytes) == TCUQ_ERR_PARAMS);
    writes_nothing(&frame);
    NEED(tcuq_frame_init(&frame, p, TCUQ_FRAME_POSTERIORS, 1, bytes, least - 1u) == TCUQ_ERR_SIZE);
    writes_nothing(&frame);
    NEED(tcuq_frame_init(&frame, p, TCUQ_FRAME_DECISIONS, 1, bytes, unseen - 1u) == TCUQ_ERR_SIZE);
    writes_nothing(&frame);
    p->sight = &sight;
    NEED(tcuq_frame_init(&frame, p, TCUQ_FRAME_DECISIONS, 1, bytes, sizeof bytes - 1u) == TCUQ_ERR_SIZE);
    writes_nothing(&frame);
    NEED(bytes[0] == 0xA5u && bytes[sizeof bytes - 1u] == 0xA5u);
    NEED(tcuq_frame_init(&frame, p, TCUQ_FRAME_POSTERIORS, 1, bytes, least) == TCUQ_OK);
    NEED(tcuq_frame_init(&frame, p, TCUQ_FRAME_DECISIONS, 1, bytes, sizeof bytes) == TCUQ_OK);
    p->sight = NULL;
    NEED(tcuq_frame_init(&frame, p, TCUQ_FRAME_DECISIONS, 1, bytes, unseen) == TCUQ_OK);
}

/* A writer of one kind takes no step of the other; a state waits for the steps of an open frame. */
static void frames_out_of_turn(tcuq_params_t *p)
{
    static uint8_t bytes[TCUQ_FRAME_SIZE];
    static const int8_t probs[2] = {100, -100};
    static const uint8_t state[3] = {7, 0, 9};
    tcuq_frame_t frame;
    tcuq_step_t step;
    size_t sent = 0, size;
    memset(&step, 0, sizeof step);
    NEED(tcuq_frame_init(&frame, p, TCUQ_FRAME_POSTERIORS, 1, bytes, sizeof bytes) == TCUQ_OK);
    NEED(tcuq_frame_decision(&frame, &step) == 0u);
    NEED(frame.steps == 0u && frame.seq == 0u);
    NEED(tcuq_frame_posteriors(&frame, probs, NULL) == 0u);
    NEED(frame.steps == 1u && frame.seq == 1u);
    size = tcuq_frame_state(&frame, state, sizeof state, &sent);
    NEED(size > 0u && sent == 0u && frame.steps == 0u && bytes[0] == 0u && bytes[size - 1u] == 0u);
    NEED(bytes[2] == TCUQ_FRAME_POSTERIORS);
    size = tcuq_frame_state(&frame, state, sizeof state, &sent);
    NEED(size > 0u && sent == sizeof state && bytes[2] == TCUQ_FRAME_STATE);
    NEED(tcuq_frame_state(&frame, state, sizeof state, &sent) == 0u);
    NEED(tcuq_frame_init(&frame, p, TCUQ_FRAME_DECISIONS, 1, bytes, sizeof bytes) == TCUQ_OK);
    NEED(tcuq_frame_posteriors(&frame, probs, NULL) == 0u);
    NEED(frame.steps == 0u && frame.seq == 0u);
    /* A count that goes round carries into its high part. */
    NEED(tcuq_frame_skip(&frame, 0xFFFFFFFFu) == 0u && frame.seq == 0xFFFFFFFFu && frame.seq_high == 0u);
    NEED(tcuq_frame_skip(&frame, 1) == 0u && frame.seq == 0u && frame.seq_high == 1u);
}

static void softmax(void)
{
    static uint16_t table[TCUQ_SOFTMAX_ENTRIES] = {65535, 32768}; /* halves at a distance of 1, nothing beyond */
    static const int8_t tied[3] = {5, 5, -128}, first[3] = {127, 126, 0}, last[3] = {-3, -2, 90}, alone[1] = {4};
    int8_t probs[3];
    tcuq_softmax(table, tied, 3, probs);
    NEED(probs[0] == 0 && probs[1] == 0 && probs[2] == -128);
    tcuq_softmax(table, first, 3, probs); /* 256 * 2/3 and 256 * 1/3 */
    NEED(probs[0] == 171 - 128 && probs[1] == 85 - 128 && probs[2] == -128);
    tcuq_softmax(table, last, 3, probs); /* 256 of 256 cannot be said */
    NEED(probs[0] == -128 && probs[1] == -128 && probs[2] == 127);
    tcuq_softmax(table, alone, 1, probs);
    NEED(probs[0] == 127);
}

static void projection(void)
{
    static const int8_t matrix[10] = {1, 0, 127, 127, -128, -128, 1, 0, 1, 0};
    static const int32_t bias[5] = {0, 0, 0, 0, -9};
    static const uint8_t shift[5] = {0, 0, 0, 1, 2};
    static const int8_t wide[2] = {-5, 127};
    static const int8_t up[2] = {5, 127};
    const tcuq_projection_t of = {matrix, bias, shift, 2, 5};
    int8_t features[5];
    tcuq_project(&of, wide, features);
    NEED(features[0] == -5 && features[1] == 127 && features[2] == -128);
    NEED(features[3] == -3 && features[4] == -4); /* -2.5 and -3.5, rounded down */
    tcuq_project(&of, up, features);
    NEED(features[0] == 5 && features[1] == 127 && features[2] == -128 && features[3] == 2 && features[4] == -1);
}

int main(void)
{
    tcuq_params_t p = plain_params(TCUQ_BIT(TCUQ_DOUBT), 2, 0);
    refused_frames(&p);
    frames_out_of_turn(&p);
    softmax();
    projection();
    printf("%u checks, all held\n", held);
    return 0;
}
