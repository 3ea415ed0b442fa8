/* SPDX-License-Identifier: MIT */
/* Tables that Python hands in: opening, checking, and rows as the core takes them. */
#ifndef TCUQ_BINDING_INPUT_H
#define TCUQ_BINDING_INPUT_H

#include <Python.h>

#include <stdint.h>

#include "core/tcuq.h"

/* Input of one stream: rows of int8, uint8, float or double. */
typedef struct {
    Py_buffer view;
    char kind; /* 'b', 'B', 'f' or 'd'; 0: absent */
    Py_ssize_t rows;
    Py_ssize_t width;
} table_t;

/* Open rows of `width` values (2 dimensions) or one such row (1). Return 0, or -1 with an exception set. */
int table_open(table_t *t, PyObject *object, const char *name, Py_ssize_t width, int dimensions);

/* Close what was opened; an absent table is fine. */
void table_close(table_t *t);

/* Refuse what is no posterior, or not finite: 0, or -1 with an exception set. Integers are always fine. */
int check_probs(const table_t *t);
int check_features(const table_t *t);

/* Open both tables of a monitor, and check them. Features may be None where no signal reads them. Return 0, or -1 with
 * an exception set and nothing open. */
int pair_open(const tcuq_params_t *params, PyObject *probs, PyObject *features, int dimensions, table_t *p, table_t *f);

/* A row as int8 (SPEC.md section 13), in `space`, which is returned. An absent table of features gives NULL. */
const int8_t *probs_row(const table_t *t, Py_ssize_t row, int8_t *space);
const int8_t *features_row(const table_t *t, Py_ssize_t row, float scale, int zero, int8_t *space);

/* Whether float32 holds this scale as a positive number; others would divide by zero or give NaN. */
int scale_ok(double scale);

/* Whether the memory is where every number of the structs of this binding may lie. */
int aligned(const Py_buffer *view);

/* Open writable, aligned memory of exactly `size` bytes: 0, or -1 with an exception set. */
int space_open(Py_buffer *view, PyObject *object, Py_ssize_t size);

/* quantize_probs(table, out, width): fills int8 rows as an int8 softmax would leave them. */
PyObject *quantize_probs(PyObject *module, PyObject *args);

/* quantize_features(table, out, width, scale, zero point) */
PyObject *quantize_features(PyObject *module, PyObject *args);

#endif
