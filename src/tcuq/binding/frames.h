/* SPDX-License-Identifier: MIT */
/* Decisions of a frame (SPEC.md section 18) as rows of the array that Monitor.run() gives. */
#ifndef TCUQ_BINDING_FRAMES_H
#define TCUQ_BINDING_FRAMES_H

#include <Python.h>

/* decision_rows(content: bytes, classes: int, horizon: int) -> bytes of rows, or None for other bits. */
PyObject *decision_rows(PyObject *module, PyObject *arguments);

#endif
