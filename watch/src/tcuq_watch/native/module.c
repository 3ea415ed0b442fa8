/* SPDX-License-Identifier: MIT */
/* The module `tcuq_watch._native`. It keeps no state: all memory is handed in. */
#include "native.h"

/* A function as the slot of a module: Python's way, which ISO C knows as an extension only. */
#if defined(__GNUC__)
#define SLOT(function) __extension__(void *)(function)
#else
#define SLOT(function) (void *)(function)
#endif

static int fill(PyObject *module)
{
    (void)module;
    return 0;
}

static PyMethodDef methods[] = {{"order", order_events, METH_VARARGS, NULL},
                                {"tally", tally, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, SLOT(fill)},
#if defined(Py_GIL_DISABLED)
                                   {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
                                   {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "_native",
                                        "Order and tallies of a fleet.",
                                        0,
                                        methods,
                                        slots,
                                        NULL,
                                        NULL,
                                        NULL};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
