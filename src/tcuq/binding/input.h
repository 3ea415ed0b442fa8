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

/* Close what was opened; an absent table is fine. */
void table_close(table_t *t);

/* Open both tables of a monitor, and check them. Features may be None where no signal reads them. Return 0, or -1 with
 * an exception set and nothing open. */
int pair_open(const tcuq_params_t *params, PyObject *probs, PyObject *features, int dimensions, table_t *p, table_t *f);

/* A row as int8 (SPEC.md section 13), in `space`, which is returned. An absent table of features gives NULL. */
const int8_t *probs_row(const table_t *t, Py_ssize_t row, int8_t *space);
const int8_t *features_row(const table_t *t, Py_ssize_t row, float scale, int zero, int8_t *space);

/* The tables of a run, with the memory for its rows and, where they are wanted, its signals. */
typedef struct {
    table_t probs;
    table_t features;
    Py_buffer out;
    Py_buffer kept;
    uint16_t *signals; /* in `kept`, TCUQ_SIGNAL_COUNT a row, or NULL */
} run_tables_t;

/* Open what run() gets: probs of `rows` rows (of any number: -1), features, out, and signals or None. Return 0, or -1
 * with an exception set and nothing open. */
int run_open(run_tables_t *run, const tcuq_params_t *params, Py_ssize_t rows, PyObject *const *args);
void run_close(run_tables_t *run);

/* One step of a run: a monitor takes a row, and fills that of `out`. */
void run_take(const run_tables_t *run, tcuq_t *monitor, float scale, Py_ssize_t row);

/* Whether float32 holds this scale as a positive number; others would divide by zero or give NaN. */
int scale_ok(double scale);

/* Open writable, aligned memory of exactly `size` bytes: 0, or -1 with an exception set. */
int space_open(Py_buffer *view, PyObject *object, Py_ssize_t size);

/* quantize_probs(table, out, width): fills int8 rows as an int8 softmax would leave them. */
PyObject *quantize_probs(PyObject *module, PyObject *args);

/* quantize_features(table, out, width, scale, zero point) */
PyObject *quantize_features(PyObject *module, PyObject *args);

#endif
