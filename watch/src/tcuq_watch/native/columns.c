/* SPDX-License-Identifier: MIT */
/* Names to slots, and rows of steps to columns. */
#include "native.h"

#include <string.h>

PyObject *slots_of(PyObject *module, PyObject *args)
{
    PyObject *out, *names, *slot_of, *result = NULL;
    Py_buffer to, from;
    Py_ssize_t i;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOO!", &out, &names, &PyDict_Type, &slot_of) ||
        PyObject_GetBuffer(out, &to, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0) {
        return NULL;
    }
    if (PyObject_GetBuffer(names, &from, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0) {
        if (from.format == NULL || strcmp(from.format, "O") != 0 || to.len / 8 != from.len / from.itemsize) {
            PyErr_SetString(PyExc_ValueError, "names are no objects, or not as many as slots");
        } else {
            for (i = 0; i < from.len / from.itemsize; i++) {
                PyObject *name = ((PyObject **)from.buf)[i];
                PyObject *slot = PyUnicode_CheckExact(name) ? PyDict_GetItemWithError(slot_of, name) : NULL;
                ((int64_t *)to.buf)[i] = slot == NULL ? -1 : PyLong_AsLongLong(slot);
            }
            result = PyErr_Occurred() == NULL ? Py_NewRef(Py_None) : NULL;
        }
        PyBuffer_Release(&from);
    }
    PyBuffer_Release(&to);
    return result;
}

PyObject *columns(PyObject *module, PyObject *args)
{
    enum { FRACTIONS, DEGRADATIONS, CLASSES, REST, WRITTEN, STEPS = WRITTEN, ARRAYS };
    static const size_t unit[ARRAYS] = {6 * sizeof(float), sizeof(double), 2 * sizeof(int32_t), 9, sizeof(step_row_t)};
    Py_buffer v[ARRAYS];
    size_t count, i, k;
    int fit = 1;
    (void)module;
    if (open_arrays(args, ARRAYS, WRITTEN, v) < 0) {
        return NULL;
    }
    count = (size_t)v[STEPS].len / sizeof(step_row_t);
    for (i = 0; i < ARRAYS; i++) {
        fit &= (size_t)v[i].len == count * unit[i];
    }
    if (fit) {
        const step_row_t *s = v[STEPS].buf;
        float *fractions = v[FRACTIONS].buf;
        int32_t *classes = v[CLASSES].buf;
        uint8_t *rest = v[REST].buf;
        for (i = 0; i < count; i++, s++) {
            const double values[] = {s->risk, s->threshold, s->uncertainty, s->persistence, s->novelty, s->expected_accuracy};
            for (k = 0; k < 6; k++) {
                fractions[k * count + i] = (float)values[k];
            }
            for (k = 0; k < 9; k++) {
                rest[k * count + i] = (&s->flagged)[k];
            }
            ((double *)v[DEGRADATIONS].buf)[i] = s->degradation;
            classes[i] = s->prediction;
            classes[count + i] = s->answer;
        }
    } else {
        PyErr_SetString(PyExc_ValueError, "arrays of the columns do not belong together");
    }
    close_arrays(v, ARRAYS);
    return fit ? Py_NewRef(Py_None) : NULL;
}
