/* SPDX-License-Identifier: MIT */
/* The type `Core`; monitor.py is the face that users see. */
#ifndef TCUQ_BINDING_CORE_H
#define TCUQ_BINDING_CORE_H

#include <Python.h>

/* A new reference to the type, or NULL with an exception. */
PyObject *core_type(PyObject *module);

#endif
