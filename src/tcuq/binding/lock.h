/* SPDX-License-Identifier: MIT */
/* What differs between Pythons with one lock for all and those without it, and between compilers. */
#ifndef TCUQ_BINDING_LOCK_H
#define TCUQ_BINDING_LOCK_H

#include <Python.h>

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

#endif
