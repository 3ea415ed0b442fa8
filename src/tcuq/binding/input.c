/* SPDX-License-Identifier: MIT */
#include "binding/binding.h"

#include "core/tcuq_gauges.h"

#include <math.h>
#include <stdarg.h>

/* Raise an error of tcuq.base.errors, which has a code for programs. */
static void refuse(const char *kind, const char *code, const char *format, ...)
{
    va_list given;
    PyObject *text, *module, *error;
    va_start(given, format);
    text = PyUnicode_FromFormatV(format, given);
    va_end(given);
    module = text == NULL ? NULL : PyImport_ImportModule("tcuq.base.errors");
    error = module == NULL ? NULL : PyObject_CallMethod(module, kind, "sO", code, text);
    if (error != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    }
    Py_XDECREF(error);
    Py_XDECREF(module);
    Py_XDECREF(text);
}

void table_close(table_t *t)
{
    if (t->kind != 0) {
        PyBuffer_Release(&t->view);
        t->kind = 0;
    }
}

/* Open rows of `width` values (2 dimensions) or one such row (1). Return 0, or -1 with an exception set. */
static int table_open(table_t *t, PyObject *object, const char *name, Py_ssize_t width, int dimensions, const char *kinds)
{
    const char *format;
    t->kind = 0;
    if (PyObject_GetBuffer(object, &t->view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
        /* Exporters differ in what they raise; monitor.py converts and tries again on this one. A lack of memory and an
           interrupt stay what they are. */
        if (PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_MemoryError)) {
            PyErr_Format(PyExc_BufferError, "%s is not one contiguous array", name);
        }
        return -1;
    }
    format = t->view.format == NULL ? "B" : t->view.format;
    if (*format == '@' || *format == '=' || (PY_LITTLE_ENDIAN && *format == '<')) {
        format++;
    }
    if (strlen(format) != 1 || strchr(kinds, *format) == NULL) {
        refuse("InputTypeError", "value", "%s has element type '%s', expected %s", name, t->view.format,
               *kinds == 'h' ? "int16" : "int8, uint8, float32 or float64");
    } else if (t->view.ndim != dimensions) {
        refuse("InputError", "value", "%s has %d dimensions; %d expected", name, t->view.ndim, dimensions);
    } else if (t->view.shape[dimensions - 1] != width) {
        refuse("InputError", "value", "%s has %zd values per step; the params say %zd", name,
               t->view.shape[dimensions - 1], width);
    } else {
        t->rows = dimensions == 2 ? t->view.shape[0] : 1;
        t->width = width;
        t->kind = *format;
        return 0;
    }
    PyBuffer_Release(&t->view);
    return -1;
}

static float value_at(const table_t *t, Py_ssize_t at)
{
    float single;
    double wide;
    if (t->kind == 'f') { /* copied: a buffer need not be aligned */
        memcpy(&single, (const char *)t->view.buf + at * (Py_ssize_t)sizeof single, sizeof single);
        return single;
    }
    memcpy(&wide, (const char *)t->view.buf + at * (Py_ssize_t)sizeof wide, sizeof wide);
    return (float)wide;
}

#define LOGITS_HINT " (are these logits? apply tcuq.softmax first)"

/* Complain about one element, or a row where `column` is negative; the row is left out for a single step. */
static void complain(const char *name, const table_t *t, Py_ssize_t row, Py_ssize_t column, double value,
                     const char *verb, const char *expected, const char *hint)
{
    char number[40];
    char place[48] = "";
    PyOS_snprintf(number, sizeof number, "%.6g", value);
    if (t->view.ndim == 2 && column >= 0) {
        PyOS_snprintf(place, sizeof place, "[%ld, %ld]", (long)row, (long)column);
    } else if (t->view.ndim == 2 || column >= 0) {
        PyOS_snprintf(place, sizeof place, "[%ld]", (long)(column >= 0 ? column : row));
    }
    refuse("InputError", "value", "%s%s %s %s, %s%s", name, place, verb, number, expected, hint);
}

static int in_units(const table_t *t, Py_ssize_t row)
{
    int units = 1;
    Py_ssize_t i;
    for (i = 0; i < t->width; i++) {
        double p = (double)value_at(t, row * t->width + i) * 256.0;
        units &= fabs(p - floor(p + 0.5)) <= 1.0 / 512;
    }
    return units;
}

#define LEAST_TOLERANCE (0.02 + 1e-6) /* the sum 0.98 in single precision is a little less */

/* SPEC section 13. Rounding to int8 moves a class by up to half a unit of 1/256, an integer softmax by up
   to a whole one: a row of such units gets as much. `sum_tolerances` of quantize.py is the same rule. */
static double sum_tolerance(Py_ssize_t classes, int units)
{
    double tolerance = (double)classes / (units ? 256.0 : 512.0);
    return tolerance > LEAST_TOLERANCE ? tolerance : LEAST_TOLERANCE;
}

/* Refuse what is no posterior, or not finite: 0, or -1 with an exception set. Integers are always fine. */
static int check_probs(const table_t *t)
{
    Py_ssize_t row;
    Py_ssize_t i;
    if (t->kind == 'b' || t->kind == 'B') {
        return 0;
    }
    for (row = 0; row < t->rows; row++) {
        double sum = 0;
        for (i = 0; i < t->width; i++) {
            float p = value_at(t, row * t->width + i);
            if (!(p >= 0.0f && p <= 1.0f)) {
                complain("probs", t, row, i, p, "is", "expected 0 to 1", isfinite(p) ? LOGITS_HINT : "");
                return -1;
            }
            sum += p;
        }
        if (fabs(sum - 1.0) > sum_tolerance(t->width, 0)) { /* few rows: looking for units costs as much again */
            double tolerance = sum_tolerance(t->width, in_units(t, row));
            if (fabs(sum - 1.0) > tolerance) {
                char expected[40];
                PyOS_snprintf(expected, sizeof expected, "expected 1.00 \xc2\xb1 %.3g", tolerance);
                complain("probs", t, row, -1, sum, "sum to", expected, LOGITS_HINT);
                return -1;
            }
        }
    }
    return 0;
}

static int check_features(const table_t *t)
{
    Py_ssize_t i;
    if (t->kind == 0 || t->kind == 'b') { /* uint8 was refused before */
        return 0;
    }
    for (i = 0; i < t->rows * t->width; i++) {
        float x = value_at(t, i);
        if (!isfinite(x)) {
            complain("features", t, i / t->width, i % t->width, x, "is", "expected a finite number", "");
            return -1;
        }
    }
    return 0;
}

#define REAL "bBfd"

static int check_rows(const table_t *t, const table_t *probs, const char *name)
{
    if (t->rows != probs->rows) {
        refuse("InputError", "value", "%s have %zd rows, probs have %zd", name, t->rows, probs->rows);
        return -1;
    }
    return 0;
}

void inputs_close(inputs_t *in)
{
    table_close(&in->probs);
    table_close(&in->features);
    table_close(&in->gauges);
}

/* A fit may drop features that no weight reads, or gauges: as in C, a caller that still passes them loses nothing. */
int inputs_open(const tcuq_params_t *params, PyObject *const *from, PyObject *gauges, int dimensions, inputs_t *in)
{
    int count = params->sight == NULL ? 0 : params->sight->gauges, status;
    in->features.kind = 0;
    in->gauges.kind = 0;
    if (table_open(&in->probs, from[0], "probs", params->classes, dimensions, REAL) < 0) {
        return -1;
    }
    status = 0;
    if (from[1] != Py_None && params->features != 0) {
        status = table_open(&in->features, from[1], "features", params->features, dimensions, REAL);
        if (status == 0 && in->features.kind == 'B') {
            refuse("InputTypeError", "value", "features are uint8, expected int8, float32 or float64");
            status = -1;
        }
        status = status == 0 ? check_rows(&in->features, &in->probs, "features") : -1;
    } else if ((params->signals & TCUQ_FEATURE_SIGNALS) != 0u) {
        refuse("InputError", "missing", "features are missing; these params were fitted with %d of them", params->features);
        status = -1;
    }
    if (status == 0 && gauges != Py_None && count != 0) {
        status = table_open(&in->gauges, gauges, "gauges", count, dimensions, "h");
        status = status == 0 ? check_rows(&in->gauges, &in->probs, "gauges") : -1;
    }
    if (status == 0 && check_probs(&in->probs) == 0 && check_features(&in->features) == 0) {
        return 0;
    }
    inputs_close(in);
    return -1;
}

/* A copy: the core reads a row several times, and another thread may write to the caller's memory meanwhile. */
static const int8_t *copied(const table_t *t, Py_ssize_t row, int8_t *space)
{
    memcpy(space, (const int8_t *)t->view.buf + row * t->width, (size_t)t->width);
    return space;
}

static const int8_t *probs_row(const table_t *t, Py_ssize_t row, int8_t *space)
{
    Py_ssize_t i;
    if (t->kind == 'b') {
        return copied(t, row, space);
    }
    for (i = 0; i < t->width; i++) {
        Py_ssize_t at = row * t->width + i;
        int u;
        if (t->kind == 'B') {
            u = ((const uint8_t *)t->view.buf)[at];
        } else {
            /* Confined before it is an integer: another thread may have changed what was checked. */
            double units = (double)value_at(t, at) * 256.0 + 0.5;
            u = units >= 255.0 ? 255 : units >= 0.0 ? (int)units : 0;
        }
        space[i] = (int8_t)(u - 128);
    }
    return space;
}

int scale_ok(double scale)
{
    if (isfinite((float)scale) && (float)scale > 0.0f) {
        return 1;
    }
    PyErr_SetString(PyExc_ValueError, "feature_scale must be a positive float32");
    return 0;
}

static const int8_t *features_row(const table_t *t, Py_ssize_t row, float scale, int zero, int8_t *space)
{
    Py_ssize_t i;
    if (t->kind == 0) {
        return NULL;
    }
    if (t->kind == 'b') {
        return copied(t, row, space);
    }
    for (i = 0; i < t->width; i++) {
        float q = roundf(value_at(t, row * t->width + i) / scale) + (float)zero;
        space[i] = (int8_t)(q >= 127.0f ? 127.0f : q > -128.0f ? q : -128.0f);
    }
    return space;
}

int space_open(Py_buffer *view, PyObject *object, Py_ssize_t size)
{
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0) {
        return -1;
    }
    if (view->len != size) {
        PyErr_Format(PyExc_ValueError, "output has %zd bytes, %zd needed", view->len, size);
    } else if (((uintptr_t)view->buf & 7u) != 0u) { /* where numbers of the structs of this binding may not lie */
        PyErr_SetString(PyExc_ValueError, "output is not aligned to 8 bytes");
    } else {
        return 0;
    }
    PyBuffer_Release(view);
    return -1;
}

int run_open(run_tables_t *run, const tcuq_params_t *params, Py_ssize_t rows, PyObject *const *args,
             PyObject *gauges)
{
    run->signals = NULL;
    if (inputs_open(params, args, gauges, 2, &run->in) < 0) {
        return -1;
    }
    if (rows >= 0 && run->in.probs.rows != rows) {
        refuse("InputError", "value", "probs have %zd rows, expected %zd, one for each of the slots",
               run->in.probs.rows, rows);
        goto close_tables;
    }
    rows = run->in.probs.rows;
    if (space_open(&run->out, args[2], rows * (Py_ssize_t)sizeof(step_row_t)) < 0) {
        goto close_tables;
    }
    if (args[3] != Py_None) {
        if (space_open(&run->kept, args[3], rows * TCUQ_SIGNAL_COUNT * 2) < 0) {
            PyBuffer_Release(&run->out);
            goto close_tables;
        }
        run->signals = run->kept.buf;
    }
    return 0;
close_tables:
    inputs_close(&run->in);
    return -1;
}

void inputs_take(const inputs_t *in, tcuq_t *monitor, float scale, Py_ssize_t row, tcuq_step_t *step,
                 uint16_t *signals)
{
    int8_t probs[TCUQ_MAX_CLASSES], features[TCUQ_MAX_FEATURES];
    int16_t gauges[TCUQ_MAX_GAUGES];
    if (in->gauges.kind != 0) { /* a copy, like the others */
        size_t size = (size_t)in->gauges.width * sizeof gauges[0];
        memcpy(gauges, (const char *)in->gauges.view.buf + (size_t)row * size, size);
    }
    tcuq_step_gauges(monitor, probs_row(&in->probs, row, probs),
                     features_row(&in->features, row, scale, monitor->params->zero_point, features),
                     in->gauges.kind != 0 ? gauges : NULL, step, signals);
}

void run_take(const run_tables_t *run, tcuq_t *monitor, float scale, Py_ssize_t row)
{
    tcuq_step_t step;
    inputs_take(&run->in, monitor, scale, row, &step,
                run->signals == NULL ? NULL : run->signals + row * TCUQ_SIGNAL_COUNT);
    step_row((step_row_t *)run->out.buf + row, &step, monitor->params->horizon);
}

void run_close(run_tables_t *run)
{
    if (run->signals != NULL) {
        PyBuffer_Release(&run->kept);
    }
    PyBuffer_Release(&run->out);
    inputs_close(&run->in);
}

/* Fill int8 rows from a table: of features, or with a scale of 0 of posteriors. */
static PyObject *quantized(PyObject *source, PyObject *target, Py_ssize_t width, float scale, int zero)
{
    PyObject *result = NULL;
    Py_buffer out;
    table_t t;
    Py_ssize_t i;
    if (table_open(&t, source, scale > 0.0f ? "features" : "probs", width, 2, REAL) < 0) {
        return NULL;
    }
    if (scale > 0.0f && (t.kind == 'b' || t.kind == 'B')) {
        PyErr_SetString(PyExc_TypeError, "features are integers already, expected float32 or float64");
    } else if ((scale > 0.0f ? check_features(&t) : check_probs(&t)) == 0 &&
               space_open(&out, target, t.rows * t.width) == 0) {
        for (i = 0; i < t.rows; i++) {
            int8_t *row = (int8_t *)out.buf + i * width;
            (void)(scale > 0.0f ? features_row(&t, i, scale, zero, row) : probs_row(&t, i, row));
        }
        PyBuffer_Release(&out);
        result = Py_NewRef(Py_None);
    }
    table_close(&t);
    return result;
}

PyObject *quantize_probs(PyObject *module, PyObject *args)
{
    PyObject *source, *target;
    Py_ssize_t width;
    (void)module;
    return PyArg_ParseTuple(args, "OOn", &source, &target, &width) ? quantized(source, target, width, 0, 0) : NULL;
}

PyObject *quantize_features(PyObject *module, PyObject *args)
{
    PyObject *source, *target;
    Py_ssize_t width;
    double scale;
    int zero;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOndi", &source, &target, &width, &scale, &zero) || !scale_ok(scale)) {
        return NULL;
    }
    return quantized(source, target, width, (float)scale, zero);
}
