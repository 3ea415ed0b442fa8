/* SPDX-License-Identifier: MIT */
/* The type `Bank`: many monitors of the same params; monitor/bank.py is the face that users see. */
#ifndef TCUQ_BINDING_BANK_H
#define TCUQ_BINDING_BANK_H

#include <Python.h>

/* A new reference to the type, or NULL with an exception. */
PyObject *bank_type(PyObject *module);

#endif
