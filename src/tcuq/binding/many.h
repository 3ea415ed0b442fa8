/* SPDX-License-Identifier: MIT */
/* Steps of many monitors: the core compiled once more for each common set of signals, fast rather than small. */
#ifndef TCUQ_BINDING_MANY_H
#define TCUQ_BINDING_MANY_H

#include "core/tcuq.h"

typedef struct {
    const tcuq_params_t *params;
    uint8_t *records; /* of `record` bytes, a tcuq_t and its ring each */
    size_t record;
    const uint32_t *slots; /* whose event it is */
    uint16_t *signals;     /* TCUQ_SIGNAL_COUNT an event, or NULL */
    const void *rows;      /* what run_read() and run_write() need */
} run_t;

/* Defined in bank.c: events go in, steps come out. Returns the features, NULL where there are none. */
const int8_t *run_read(const run_t *run, size_t event, int8_t *probs, int8_t *features);
void run_write(const run_t *run, size_t event, const tcuq_step_t *step);

/* Take some events, in their order. */
typedef void (*many_t)(const run_t *run, const uint32_t *events, size_t count);

/* tcuq_save() and tcuq_load(), after many_state_begin(). */
void many_state_begin(void);
int many_save(const tcuq_t *monitor, uint8_t *bytes, size_t size);
int many_load(tcuq_t *monitor, const uint8_t *bytes, size_t size);

/* The fastest code for these params; and that of one set of signals where it fits them, else NULL. */
many_t many_any_fits(const tcuq_params_t *params);
many_t many_paper_fits(const tcuq_params_t *params);
many_t many_paper_alone_fits(const tcuq_params_t *params);
many_t many_standard_fits(const tcuq_params_t *params);
many_t many_standard_alone_fits(const tcuq_params_t *params);

#endif
