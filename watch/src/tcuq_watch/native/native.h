/* SPDX-License-Identifier: MIT */
/* The two loops of a fleet that run once an event: their order, and what is counted. */
#ifndef TCUQ_WATCH_NATIVE_H
#define TCUQ_WATCH_NATIVE_H

#include <Python.h>

#include <stdint.h>

/* Whether the memory is where every number of these structs may lie. */
#define ALIGNED(view) ((uintptr_t)(view)->buf % 8u == 0u)

/* order(numbers, places, reorder_slot_of, reorder_slots, keys, cells, vacant, slots, boots, seqs, rows, out_slots,
 * out_boots, out_seqs, out_rows, out_resets, filled): see order.c; fleet/order.py is its face in Python. */
PyObject *order_events(PyObject *module, PyObject *args);

/* tally(devices, classes, buckets, seen, clock, slots, times, steps): one step after the other, in their order;
 * fleet/tallies.py says what each number means. */
PyObject *tally(PyObject *module, PyObject *args);

#endif
