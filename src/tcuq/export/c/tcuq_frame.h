/* SPDX-License-Identifier: MIT */
/* Frames: how a device tells a host of its steps, in few bytes, over a line that may lose some.
 *
 *   static uint8_t bytes[TCUQ_FRAME_SIZE];
 *   static tcuq_frame_t frame;
 *   status = tcuq_frame_init(&frame, &params, TCUQ_FRAME_DECISIONS, boot, bytes, sizeof bytes);
 *   if (status != TCUQ_OK) stop(status);           no step fits, or another kind
 *
 *   tcuq_step(&monitor, probs, features, &step, NULL);
 *   size = tcuq_frame_decision(&frame, &step);     after every step
 *   if (size > 0) send(frame.bytes, size);         a frame is full
 *
 *   size = tcuq_frame_flush(&frame);               once a second, so that nothing waits for long
 *   if (size > 0) send(frame.bytes, size);
 *
 * SPEC.md section 18 defines every byte. Text may be printed between frames, as whole lines, but not
 * within one. Nothing here allocates, prints, recurses or uses floating point; code that is not
 * called is dropped by the linker (-ffunction-sections, --gc-sections).
 */
#ifndef TCUQ_FRAME_H
#define TCUQ_FRAME_H

#include "tcuq.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of frames, the first byte of their content. No such byte occurs in text, UTF-8 included.
 * Another version of the format has other numbers. */
#define TCUQ_FRAME_POSTERIORS 0xF9u /* inputs of tcuq_step(): the host's monitor judges them */
#define TCUQ_FRAME_DECISIONS 0xFAu  /* what tcuq_step() said */
#define TCUQ_FRAME_STATE 0xFBu      /* a part of what tcuq_save() wrote */
#define TCUQ_FRAME_GAUGES 0xFCu     /* inputs of tcuq_step_gauges(): posteriors, and gauges beside them */

#define TCUQ_FRAME_MOST 4096u   /* bytes of content that no frame exceeds */
#define TCUQ_FRAME_FIXED 22u    /* bytes of content beside the steps */
#define TCUQ_FRAME_DECISION 42u /* most bytes of one decision; about 10 on the average */
#define TCUQ_FRAME_SEEN 2u      /* and those of what moved, where the params have sight */

/* Bytes that a frame of so much content may take on the line and in the buffer. */
#define TCUQ_FRAME_BYTES(content) ((content) + ((content) + 253u) / 254u + 2u)

/* Buffer for posteriors of this many steps a frame, two or more; features are 0 where no signal reads them. */
#define TCUQ_FRAME_POSTERIORS_BYTES(classes, features, steps) \
    TCUQ_FRAME_BYTES(TCUQ_FRAME_FIXED + ((classes) + (features)) * (steps))

/* The same with gauges. */
#define TCUQ_FRAME_GAUGES_BYTES(classes, features, gauges, steps) \
    TCUQ_FRAME_BYTES(TCUQ_FRAME_FIXED + 1u + ((classes) + (features) + 2u * (gauges)) * (steps))

/* Buffer that is enough for decisions; without sight, 2 bytes fewer are. */
#define TCUQ_FRAME_DECISIONS_BYTES TCUQ_FRAME_BYTES(TCUQ_FRAME_FIXED + TCUQ_FRAME_DECISION + TCUQ_FRAME_SEEN)

/* A good size: 35 steps of 10 classes, or some 33 decisions. */
#define TCUQ_FRAME_SIZE 384u

/* Numbers of a decision that are written as differences, in this order. */
#define TCUQ_FRAME_NUMBERS 7

/* One writer. `bytes` is the buffer given; another one of the same size may take its place whenever a
 * frame was handed out, so that a DMA may still read the last one. Other fields are private. */
typedef struct {
    uint8_t *bytes;
    uint32_t fingerprint;
    uint32_t boot;
    uint32_t seq;       /* of the next step, its low 32 bits */
    uint32_t crc;
    uint32_t threshold; /* of the step before, as the fields below */
    uint32_t degradation;
    uint32_t moved[2];  /* last change of the threshold after a step that was not flagged, that was */
    uint16_t seq_high;
    uint16_t most;      /* bytes of content that fit, without the checksum */
    uint16_t used;      /* bytes in the buffer */
    uint16_t code;      /* where the open block of COBS begins */
    uint16_t content;   /* bytes of content so far */
    uint16_t steps;     /* in the open frame */
    uint16_t classes;
    uint16_t features;
    uint16_t gauges;
    uint16_t prediction;
    uint16_t persistence;
    uint16_t novelty;
    uint16_t accuracy;
    uint8_t kind;
    uint8_t horizon;
    uint8_t flagged;
    uint8_t bits;       /* begun byte of a decision, and how many bits it has */
    uint8_t bit_count;
    uint8_t sight;      /* TCUQ_FRAME_SEEN or 0 */
    uint8_t mover;      /* what had moved in the last changed decision of this frame */
    uint8_t order[TCUQ_FRAME_NUMBERS];
} tcuq_frame_t;

/* Start a writer of TCUQ_FRAME_POSTERIORS, TCUQ_FRAME_GAUGES or TCUQ_FRAME_DECISIONS. `boot` is larger at every start of
 * the device: a counter in flash, or the time in seconds. Steps count from 0. `bytes` has `size` bytes
 * and stays with the writer. Return TCUQ_OK, TCUQ_ERR_SIZE when one step does not fit into them, or
 * TCUQ_ERR_PARAMS for another kind, or for gauges without params that have some; after an error the other functions write nothing and return 0.
 * `params` must pass tcuq_check() and are not used afterwards. */
int tcuq_frame_init(tcuq_frame_t *frame, const tcuq_params_t *params, uint8_t kind, uint32_t boot,
                    uint8_t *bytes, size_t size);

/* Add one step by what tcuq_step() was given; `features` is read only where a signal of the params
 * reads them. Return 0, or the bytes of a finished frame in frame->bytes: send them before the next
 * call, which writes over them. */
size_t tcuq_frame_posteriors(tcuq_frame_t *frame, const int8_t *probs, const int8_t *features);

/* The same with the gauges of the input, as tcuq_step_gauges() was given them. */
size_t tcuq_frame_gauges(tcuq_frame_t *frame, const int8_t *probs, const int8_t *features,
                         const int16_t *gauges);

/* Add one step by what tcuq_step() said. Return as tcuq_frame_posteriors(). */
size_t tcuq_frame_decision(tcuq_frame_t *frame, const tcuq_step_t *step);

/* Finish the frame that is being filled. Return as tcuq_frame_posteriors(); 0 when it has no steps. */
size_t tcuq_frame_flush(tcuq_frame_t *frame);

/* Pass over steps that were taken but are not sent. The frame before them is finished: return as
 * tcuq_frame_flush(). */
size_t tcuq_frame_skip(tcuq_frame_t *frame, uint32_t steps);

/* Send what tcuq_save() wrote after the last step that was added or passed over, in as many frames as
 * it takes: begin with *sent = 0 and call until 0 is returned; add no step in between. Return as
 * tcuq_frame_posteriors(); the first frame may be one of steps that was not yet full. */
size_t tcuq_frame_state(tcuq_frame_t *frame, const uint8_t *state, size_t size, size_t *sent);

#ifdef __cplusplus
}
#endif

#endif
