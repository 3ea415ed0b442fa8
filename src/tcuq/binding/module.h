/* SPDX-License-Identifier: MIT */
/* What module.c puts into the module. */
#ifndef TCUQ_BINDING_MODULE_H
#define TCUQ_BINDING_MODULE_H

#include <Python.h>

/* A new reference to a type, or NULL with an exception: one monitor (monitor/monitor.py is the face that users see), and
 * many monitors of the same params (monitor/bank.py). */
PyObject *core_type(PyObject *module);
PyObject *bank_type(PyObject *module);

/* decision_rows(content: bytes, classes: int, horizon: int) -> bytes of rows, or None for other bits: decisions of a
 * frame (SPEC.md section 18) as rows of the array that Monitor.run() gives. */
PyObject *decision_rows(PyObject *module, PyObject *arguments);

#endif
