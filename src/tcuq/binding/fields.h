/* SPDX-License-Identifier: MIT */
/* Parameters that Python hands in as a dict of integers. */
#ifndef TCUQ_BINDING_FIELDS_H
#define TCUQ_BINDING_FIELDS_H

#include <Python.h>

#include "core/tcuq.h"

/* Parameters, with the memory that they point to. */
typedef struct {
    tcuq_params_t params;
    uint8_t lags[TCUQ_MAX_LAG];
    uint16_t lag_weights[TCUQ_MAX_LAG];
    tcuq_evidence_t evidence;
    int16_t offset[TCUQ_MAX_CLASSES];
    tcuq_instant_t instant;
    tcuq_feedback_t feedback;
    int8_t *centers; /* or NULL */
} held_params_t;

/* What an object with params begins with. */
typedef struct {
    PyObject_HEAD
    held_params_t held;
    float feature_scale;
} base_t;

/* type(fields, feature_scale): an object of a type that begins with base_t, the rest zeros, or NULL with an exception. */
PyObject *base_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);

/* Give memory back, also after a failed read. */
void fields_free(held_params_t *held);

#endif
