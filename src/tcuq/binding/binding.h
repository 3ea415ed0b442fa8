/* SPDX-License-Identifier: MIT */
/* What the files of the binding share: Python's door to the integer core. */
#ifndef TCUQ_BINDING_H
#define TCUQ_BINDING_H

#include <Python.h>

#include <stdint.h>
#include <string.h>

#include "core/tcuq.h"
#include "core/tcuq_fields.h"

/* Pythons with one lock for all and those without it, and compilers. */

/* Between these, no other thread is between them with the same object. Nothing there may run Python code, which could
 * let another thread in. Where Python has one lock for all, that lock is enough. */
#if defined(Py_GIL_DISABLED)
#define LOCK_BEGIN(object) Py_BEGIN_CRITICAL_SECTION(object);
#define LOCK_END() Py_END_CRITICAL_SECTION();
#else
#define LOCK_BEGIN(object) {
#define LOCK_END() }
#endif

/* A function as the slot of a type or module: Python's way, which ISO C knows as an extension only. */
#if defined(__GNUC__)
#define SLOT(function) __extension__(void *)(function)
#else
#define SLOT(function) (void *)(function)
#endif

/* fields.c: parameters that Python hands in as a dict of integers. */

/* Parameters, with the memory that they point to. */
typedef struct {
    tcuq_params_t params;
    uint8_t lags[TCUQ_MAX_LAG];
    uint16_t lag_weights[TCUQ_MAX_LAG];
    tcuq_evidence_t evidence;
    int16_t offset[TCUQ_MAX_CLASSES];
    tcuq_instant_t instant;
    tcuq_sight_t sight;
    int32_t mean[TCUQ_MAX_SIGHT];
    uint16_t scale[TCUQ_MAX_SIGHT];
    uint8_t shift[TCUQ_MAX_SIGHT];
    int16_t matrix[TCUQ_MAX_SIGHT * (TCUQ_MAX_SIGHT + 1) / 2];
    tcuq_feedback_t feedback;
    int8_t *centers; /* or NULL */
    int8_t *class_mean; /* or NULL */
} owned_params_t;

/* What an object with params begins with. */
typedef struct {
    PyObject_HEAD
    owned_params_t owned;
    float feature_scale;
} base_t;

/* type(fields, feature_scale): an object of a type that begins with base_t, the rest zeros, or NULL with an exception. */
PyObject *base_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);

/* Give its memory back, also after a failed read; that of what follows base_t is gone by then. */
void base_free(PyObject *object);

/* step.c: what one step says, as Python sees it. */

/* monitor.py holds the matching dtype. */
typedef struct {
    double risk;
    double threshold;
    double uncertainty;
    double persistence;
    double novelty;
    double degradation;
    double expected_accuracy; /* NaN where there is none */
    int32_t prediction;
    int32_t answer;
    uint8_t flagged;
    uint8_t abstain;
    uint8_t alarm;
    uint8_t warming_up;
    uint8_t reason;
    uint8_t low_mass;
    uint8_t action;
    uint8_t changed;
    uint8_t moved;
    uint8_t unused[7]; /* 80 bytes on every ABI */
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

/* input.c: tables that Python hands in: opening, checking, and rows as the core takes them. */

/* Input of one stream: rows of int8, uint8, float or double. */
typedef struct {
    Py_buffer view;
    char kind; /* 'b', 'B', 'f' or 'd'; 0: absent */
    Py_ssize_t rows;
    Py_ssize_t width;
} table_t;

/* Close what was opened; an absent table is fine. */
void table_close(table_t *t);

/* What a monitor reads: posteriors, and features and gauges where there are any. */
typedef struct {
    table_t probs;
    table_t features;
    table_t gauges;
} inputs_t;

/* Open the tables of a monitor, and check them. Features may be None where no signal reads them, gauges (int16, in 1/256)
 * where the input was not seen. Return 0, or -1 with an exception set and nothing open. */
int inputs_open(const tcuq_params_t *params, PyObject *const *from, PyObject *gauges, int dimensions, inputs_t *in);
void inputs_close(inputs_t *in);

/* One step from a row of the tables. */
void inputs_take(const inputs_t *in, tcuq_t *monitor, float scale, Py_ssize_t row, tcuq_step_t *step,
                 uint16_t *signals);

/* The tables of a run, with the memory for its rows and, where they are wanted, its signals. */
typedef struct {
    inputs_t in;
    Py_buffer out;
    Py_buffer kept;
    uint16_t *signals; /* in `kept`, TCUQ_SIGNAL_COUNT a row, or NULL */
} run_tables_t;

/* Open what run() gets: probs of `rows` rows (of any number: -1), features, out, and signals or None; and gauges or None.
 * Return 0, or -1 with an exception set and nothing open. */
int run_open(run_tables_t *run, const tcuq_params_t *params, Py_ssize_t rows, PyObject *const *args,
             PyObject *gauges);
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

/* What module.c puts into the module. */

/* A new reference to a type, or NULL with an exception: one monitor (monitor/monitor.py is the face that users see), and
 * many monitors of the same params (monitor/bank.py). */
PyObject *core_type(PyObject *module);
PyObject *bank_type(PyObject *module);

/* decision_rows(content: bytes, classes: int, horizon: int) -> bytes of rows, or None for other bits: decisions of a
 * frame (SPEC.md section 18) as rows of the array that Monitor.run() gives. */
PyObject *decision_rows(PyObject *module, PyObject *arguments);

/* input_gauges(inputs: int8, out: int16, kind, height, width, channels) -> gauges of an input, negative for a shape that
 * is refused: gauges.c. Rows of `out` have TCUQ_MAX_GAUGES numbers; kinds are 0 picture, 1 signal, 2 table. */
PyObject *input_gauges(PyObject *module, PyObject *args);

#endif
