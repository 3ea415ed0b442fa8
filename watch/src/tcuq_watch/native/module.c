/* SPDX-License-Identifier: MIT */
/* The module `tcuq_watch._native`. */
#include "native.h"

void close_arrays(Py_buffer *views, Py_ssize_t count)
{
    while (count > 0) {
        PyBuffer_Release(views + --count);
    }
}

int open_arrays(PyObject *args, Py_ssize_t count, Py_ssize_t written, Py_buffer *views)
{
    Py_ssize_t i;
    if (PyTuple_Size(args) != count) {
        PyErr_Format(PyExc_TypeError, "%zd arrays were given, expected %zd", PyTuple_Size(args), count);
        return -1;
    }
    for (i = 0; i < count; i++) {
        int flags = PyBUF_C_CONTIGUOUS | (i < written ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(PyTuple_GetItem(args, i), views + i, flags) < 0) {
            close_arrays(views, i);
            return -1;
        }
    }
    return 0;
}

int slots_fit(const int64_t *slots, size_t count, size_t devices)
{
    size_t i;
    for (i = 0; i < count; i++) {
        if (slots[i] < 0 || (uint64_t)slots[i] >= devices) {
            PyErr_Format(PyExc_IndexError, "slots[%zu] is %lld, expected 0 to %lld", i, (long long)slots[i],
                         (long long)devices - 1);
            return 0;
        }
    }
    return 1;
}

static PyMethodDef methods[] = {{"order", order_events, METH_VARARGS, NULL},
                                {"tally", tally, METH_VARARGS, NULL},
                                {"slots", slots_of, METH_VARARGS, NULL},
                                {"columns", columns, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot module_slots[] = {
#if defined(Py_GIL_DISABLED)
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "Order and tallies of a fleet.", 0, methods,
                                        module_slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
