/* SPDX-License-Identifier: MIT */
/* What a fleet counts while steps go by; fleet/tallies.py is the face of it and says what each number means. */
#ifndef TCUQ_BINDING_TALLY_H
#define TCUQ_BINDING_TALLY_H

#include <Python.h>

/* tally(devices, classes, buckets, seen, clock, slots, times, steps): one step after the other, in their order. */
PyObject *tally(PyObject *module, PyObject *args);

#endif
