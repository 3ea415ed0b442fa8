/* SPDX-License-Identifier: MIT */
/* Gauges of many inputs. */
#include "binding/binding.h"

#include "core/tcuq_gauges.h"

PyObject *input_gauges(PyObject *module, PyObject *args)
{
    PyObject *source, *target;
    Py_buffer inputs, out;
    int kind, shape[3], count = 0;
    Py_ssize_t i, rows;
    size_t size;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOiiii", &source, &target, &kind, &shape[0], &shape[1], &shape[2])) {
        return NULL;
    }
    if (PyObject_GetBuffer(source, &inputs, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    size = (size_t)(uint16_t)shape[0] * (uint16_t)shape[1] * (uint16_t)shape[2];
    rows = size != 0u ? inputs.len / (Py_ssize_t)size : 0;
    if (space_open(&out, target, rows * TCUQ_MAX_GAUGES * (Py_ssize_t)sizeof(int16_t)) < 0) {
        PyBuffer_Release(&inputs);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    for (i = 0; i < rows; i++) {
        int16_t *gauges = (int16_t *)out.buf + TCUQ_MAX_GAUGES * i;
        const int8_t *input = (const int8_t *)inputs.buf + size * (size_t)i;
        uint16_t width = (uint16_t)shape[1], channels = (uint16_t)shape[2];
        count = kind == 0   ? tcuq_picture_gauges(gauges, input, (uint16_t)shape[0], width, channels)
                : kind == 1 ? tcuq_signal_gauges(gauges, input, width, channels)
                            : tcuq_table_gauges(gauges, input, width);
    }
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&out);
    PyBuffer_Release(&inputs);
    return PyLong_FromLong(count);
}
