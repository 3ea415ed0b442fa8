/* SPDX-License-Identifier: MIT */
/* The two loops of a fleet that run once an event: their order, and what is counted. All memory is Python's. */
#ifndef TCUQ_WATCH_NATIVE_H
#define TCUQ_WATCH_NATIVE_H

#include <Python.h>

#include <stdint.h>

/* Open `count` arrays, of which the first `written` are written to: 0, or -1 with an exception and none open. */
int open_arrays(PyObject *args, Py_ssize_t count, Py_ssize_t written, Py_buffer *views);
void close_arrays(Py_buffer *views, Py_ssize_t count);

/* Whether slots[0..count) are numbers of devices: 1, or 0 with an exception. */
int slots_fit(const int64_t *slots, size_t count, size_t devices);

/* order(numbers, places, last, cells, out, out_rows, events, rows): see order.c and engine/order.py. */
PyObject *order_events(PyObject *module, PyObject *args);

/* tally(devices, classes, buckets, seen, clock, slots, times, steps): see tally.c and engine/tallies.py. */
PyObject *tally(PyObject *module, PyObject *args);

#endif
