/* SPDX-License-Identifier: MIT */
/* Events of many devices put in order; fleet/order.py is the face that Python sees. */
#ifndef TCUQ_BINDING_ORDER_H
#define TCUQ_BINDING_ORDER_H

#include <Python.h>

/* order(numbers, places, berth_of, berths, keys, cells, vacant, slots, boots, seqs, rows, out_slots, out_boots,
 * out_seqs, out_rows, out_resets, filled): see order.c. */
PyObject *order_events(PyObject *module, PyObject *args);

#endif
