/* SPDX-License-Identifier: MIT */
/* What one step says, as Python sees it: a `Step`, or a row of the array that Monitor.run() gives. */
#ifndef TCUQ_BINDING_STEP_H
#define TCUQ_BINDING_STEP_H

#include <Python.h>

#include "core/tcuq.h"

/* monitor.py holds the matching dtype. */
typedef struct {
    double risk;
    double threshold;
    double uncertainty;
    double persistence;
    double look;
    double severity;
    double expected_accuracy; /* NaN where there is none */
    int32_t prediction;
    int32_t answer;
    uint8_t flagged;
    uint8_t abstain;
    uint8_t alarm;
    uint8_t warming_up;
    uint8_t reason;
    uint8_t low_mass;
    uint8_t unused[2]; /* 72 bytes on every ABI */
} step_row_t;

/* The state of the module: each interpreter has objects of its own. */
typedef struct {
    PyTypeObject *type; /* `Step` */
    PyObject *names;    /* SIGNAL_NAMES, a tuple */
} step_kind_t;

/* Make the type `Step` and the tuple SIGNAL_NAMES, and put them into the module: 0, or -1 with an exception. */
int step_add_to(step_kind_t *kind, PyObject *module);

/* A new `Step`, or NULL with an exception; `signals` may be NULL, and `names`, a tuple with the names of the classes.
   There is an expected accuracy only with a horizon. */
PyObject *step_new(const step_kind_t *kind, const tcuq_step_t *step, const uint16_t *signals, int horizon,
                   PyObject *names);

void step_row(step_row_t *row, const tcuq_step_t *step, int horizon);

#endif
