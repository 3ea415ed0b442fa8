/* SPDX-License-Identifier: MIT */
/* The loops of a fleet that run once an event. All memory is Python's. */
#ifndef TCUQ_WATCH_NATIVE_H
#define TCUQ_WATCH_NATIVE_H

#include <Python.h>

#include <stdint.h>

/* Open `count` arrays, of which the first `written` are written to: 0, or -1 with an exception and none open. */
int open_arrays(PyObject *args, Py_ssize_t count, Py_ssize_t written, Py_buffer *views);
void close_arrays(Py_buffer *views, Py_ssize_t count);

/* A row of what Monitor.run() gives: tcuq.STEP_DTYPE, 80 bytes. */
typedef struct {
    double risk, threshold, uncertainty, persistence, novelty, degradation;
    double expected_accuracy; /* NaN where there is none */
    int32_t prediction, answer;
    uint8_t flagged, abstain, alarm, warming_up, reason, low_mass, action, changed, moved;
} step_row_t;

/* Whether slots[0..count) are numbers of devices: 1, or 0 with an exception. */
int slots_fit(const int64_t *slots, size_t count, size_t devices);

/* order(numbers, places, last, cells, out, out_rows, events, rows): see order.c and engine/order.py. */
PyObject *order_events(PyObject *module, PyObject *args);

/* slots(out, names, slot_of): the int64 of each name of an array of objects in a dict, -1 where there is none. */
PyObject *slots_of(PyObject *module, PyObject *args);

/* columns(fractions, degradations, classes, rest, steps): rows of tcuq.STEP_DTYPE as columns of single and double
 * precision, int32 and bytes; fractions are all but the degradation, in their order. */
PyObject *columns(PyObject *module, PyObject *args);

/* tally(devices, classes, buckets, seen, clock, slots, times, steps): see tally.c and engine/tallies.py. */
PyObject *tally(PyObject *module, PyObject *args);

#endif
