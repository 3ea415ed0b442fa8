/* SPDX-License-Identifier: MIT */
/* Python's door to the integer core: buffers in, numbers out, no arithmetic of its own beyond
 * the quantisation of float input (SPEC.md section 13). monitor.py is the face that users see. */
#include <Python.h>

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/tcuq.h"

/* One row of the array that Monitor.run() returns; monitor.py holds the matching dtype. */
typedef struct {
    double risk;
    double threshold;
    double uncertainty;
    int32_t label;
    uint8_t flagged;
    uint8_t abstain;
    uint8_t alarm;
    uint8_t warming_up;
    uint8_t reason;
    uint8_t low_mass;
    uint8_t unused[6]; /* 40 bytes on every ABI */
} row_t;

typedef struct {
    PyObject_HEAD
    tcuq_params_t params;
    uint8_t lags[TCUQ_MAX_LAG];
    uint16_t lag_weights[TCUQ_MAX_LAG];
    float feature_scale;
    tcuq_t monitor;
    uint32_t *ring;
} core_t;

static const char *const signal_names[TCUQ_SIGNAL_COUNT] = {
    "divergence",    "instability", "flips",       "doubt",       "surprise_fast",
    "surprise_slow", "spread_fast", "spread_slow", "displacement"};

static PyObject *signal_strings[TCUQ_SIGNAL_COUNT];
static PyTypeObject *step_type;

/* Input of one stream: rows of int8, uint8, float or double. */
typedef struct {
    Py_buffer view;
    char kind; /* 'b', 'B', 'f' or 'd'; 0: absent */
    Py_ssize_t rows;
    Py_ssize_t width;
} table_t;

static void table_close(table_t *t)
{
    if (t->kind != 0) {
        PyBuffer_Release(&t->view);
        t->kind = 0;
    }
}

static int table_open(table_t *t, PyObject *object, const char *name, Py_ssize_t width,
                      int dimensions)
{
    const char *format;
    t->kind = 0;
    if (PyObject_GetBuffer(object, &t->view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
        /* Exporters differ in what they raise; monitor.py converts and tries again on this one. */
        PyErr_Format(PyExc_BufferError, "%s is not one contiguous array", name);
        return -1;
    }
    format = t->view.format == NULL ? "B" : t->view.format;
    if (*format == '@' || *format == '=' || (PY_LITTLE_ENDIAN && *format == '<')) {
        format++;
    }
    if (strlen(format) != 1 || strchr("bBfd", *format) == NULL) {
        PyErr_Format(PyExc_TypeError, "%s has element type '%s'; int8, uint8, float32 or float64 is accepted",
                     name, t->view.format == NULL ? "?" : t->view.format);
        PyBuffer_Release(&t->view);
        return -1;
    }
    if (t->view.ndim != dimensions) {
        PyErr_Format(PyExc_ValueError, "%s has %d dimensions; %d expected", name, t->view.ndim,
                     dimensions);
        PyBuffer_Release(&t->view);
        return -1;
    }
    t->rows = dimensions == 2 ? t->view.shape[0] : 1;
    t->width = t->view.shape[dimensions - 1];
    if (t->width != width) {
        PyErr_Format(PyExc_ValueError, "%s has %zd values a step; the params say %zd", name, t->width,
                     width);
        PyBuffer_Release(&t->view);
        return -1;
    }
    t->kind = *format;
    return 0;
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

/* Complain about one element; `row` is left out for a single step. */
static void complain(const char *name, const table_t *t, Py_ssize_t row, Py_ssize_t column,
                     double value, const char *accepted)
{
    char number[40];
    PyOS_snprintf(number, sizeof number, "%.9g", value);
    if (t->view.ndim == 2 && column >= 0) {
        PyErr_Format(PyExc_ValueError, "%s[%zd, %zd] is %s; %s", name, row, column, number, accepted);
    } else if (t->view.ndim == 2) {
        PyErr_Format(PyExc_ValueError, "%s[%zd] sums to %s; %s", name, row, number, accepted);
    } else if (column >= 0) {
        PyErr_Format(PyExc_ValueError, "%s[%zd] is %s; %s", name, column, number, accepted);
    } else {
        PyErr_Format(PyExc_ValueError, "%s sums to %s; %s", name, number, accepted);
    }
}

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
                complain("probs", t, row, i, p, "each must be a number in [0, 1]");
                return -1;
            }
            sum += p;
        }
        if (fabs(sum - 1.0) > 0.01) {
            complain("probs", t, row, -1, sum, "float posteriors must sum to 1 within 0.01");
            return -1;
        }
    }
    return 0;
}

static int check_features(const table_t *t)
{
    Py_ssize_t i;
    if (t->kind == 0 || t->kind == 'b' || t->kind == 'B') {
        return 0;
    }
    for (i = 0; i < t->rows * t->width; i++) {
        float x = value_at(t, i);
        if (!isfinite(x)) {
            complain("features", t, i / t->width, i % t->width, x, "each must be finite");
            return -1;
        }
    }
    return 0;
}

/* Row of posteriors as int8: in place when it is, else through `space`. */
static const int8_t *probs_row(const table_t *t, Py_ssize_t row, int8_t *space)
{
    Py_ssize_t i;
    if (t->kind == 'b') {
        return (const int8_t *)t->view.buf + row * t->width;
    }
    for (i = 0; i < t->width; i++) {
        Py_ssize_t at = row * t->width + i;
        int u;
        if (t->kind == 'B') {
            u = ((const uint8_t *)t->view.buf)[at];
        } else {
            u = (int)((double)value_at(t, at) * 256.0 + 0.5);
            u = u > 255 ? 255 : u;
        }
        space[i] = (int8_t)(u - 128);
    }
    return space;
}

/* A scale that float32 holds as a positive number: others would divide by zero or give NaN. */
static int scale_ok(double scale)
{
    if (isfinite((float)scale) && (float)scale > 0.0f) {
        return 1;
    }
    PyErr_SetString(PyExc_ValueError, "feature_scale must be a positive float32");
    return 0;
}

static int8_t quantize_feature(float x, float scale, int zero)
{
    float q = roundf(x / scale) + (float)zero;
    return (int8_t)(q < -128.0f ? -128.0f : q > 127.0f ? 127.0f : q);
}

static const int8_t *features_row(const core_t *self, const table_t *t, Py_ssize_t row,
                                  int8_t *space)
{
    Py_ssize_t i;
    if (t->kind == 0) {
        return NULL;
    }
    if (t->kind == 'b') {
        return (const int8_t *)t->view.buf + row * t->width;
    }
    for (i = 0; i < t->width; i++) {
        space[i] = quantize_feature(value_at(t, row * t->width + i), self->feature_scale,
                                    self->params.zero_point);
    }
    return space;
}

static int open_pair(core_t *self, PyObject *probs, PyObject *features, int dimensions,
                     table_t *p, table_t *f)
{
    f->kind = 0;
    if (table_open(p, probs, "probs", self->params.classes, dimensions) < 0) {
        return -1;
    }
    if (features != Py_None) {
        if (self->params.features == 0) {
            PyErr_SetString(PyExc_ValueError, "features were given; these params use none");
            goto fail;
        }
        if (table_open(f, features, "features", self->params.features, dimensions) < 0) {
            goto fail;
        }
        if (f->kind == 'B') {
            PyErr_SetString(PyExc_TypeError,
                            "features are uint8; int8, float32 or float64 is accepted");
            goto fail;
        }
        if (f->rows != p->rows) {
            PyErr_Format(PyExc_ValueError, "features have %zd rows, probs have %zd", f->rows, p->rows);
            goto fail;
        }
    } else if ((self->params.signals &
                (TCUQ_BIT(TCUQ_INSTABILITY) | TCUQ_BIT(TCUQ_DISPLACEMENT))) != 0) {
        PyErr_Format(PyExc_ValueError,
                     "features are missing; these params were fitted with %d of them",
                     self->params.features);
        goto fail;
    }
    if (check_probs(p) < 0 || check_features(f) < 0) {
        goto fail;
    }
    return 0;
fail:
    table_close(p);
    table_close(f);
    return -1;
}

static PyObject *make_step(const tcuq_step_t *s, const uint16_t *signals)
{
    PyObject *step = PyStructSequence_New(step_type);
    PyObject *reason = Py_None;
    PyObject *values = Py_None;
    int i;
    if (step == NULL) {
        return NULL;
    }
    if (s->reason < TCUQ_SIGNAL_COUNT) {
        reason = signal_strings[s->reason];
    }
    Py_INCREF(reason);
    Py_INCREF(values);
    if (signals != NULL) {
        Py_DECREF(values);
        values = PyTuple_New(TCUQ_SIGNAL_COUNT);
        for (i = 0; values != NULL && i < TCUQ_SIGNAL_COUNT; i++) {
            PyTuple_SetItem(values, i, PyFloat_FromDouble(signals[i] / 65536.0));
        }
    }
    PyStructSequence_SetItem(step, 0, PyLong_FromLong(s->label));
    PyStructSequence_SetItem(step, 1, PyFloat_FromDouble(s->risk / 65536.0));
    PyStructSequence_SetItem(step, 2, PyFloat_FromDouble(s->threshold / 65536.0));
    PyStructSequence_SetItem(step, 3, PyFloat_FromDouble(s->uncertainty / 65536.0));
    PyStructSequence_SetItem(step, 4, PyBool_FromLong(s->flagged));
    PyStructSequence_SetItem(step, 5, PyBool_FromLong(s->abstain));
    PyStructSequence_SetItem(step, 6, PyLong_FromLong(s->alarm));
    PyStructSequence_SetItem(step, 7, PyBool_FromLong(s->warming_up));
    PyStructSequence_SetItem(step, 8, reason);
    PyStructSequence_SetItem(step, 9, PyBool_FromLong(s->low_mass));
    PyStructSequence_SetItem(step, 10, values);
    if (PyErr_Occurred() != NULL) {
        Py_DECREF(step);
        return NULL;
    }
    return step;
}

/* step(probs, features, want_signals) -> Step */
static PyObject *core_step(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    core_t *self = (core_t *)object;
    int8_t probs_space[TCUQ_MAX_CLASSES];
    int8_t features_space[TCUQ_MAX_FEATURES];
    uint16_t signals[TCUQ_SIGNAL_COUNT];
    tcuq_step_t step;
    table_t p;
    table_t f;
    int wanted;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "step takes probs, features and signals");
        return NULL;
    }
    wanted = PyObject_IsTrue(args[2]);
    if (wanted < 0 || open_pair(self, args[0], args[1], 1, &p, &f) < 0) {
        return NULL;
    }
    tcuq_step(&self->monitor, probs_row(&p, 0, probs_space),
              features_row(self, &f, 0, features_space), &step, wanted ? signals : NULL);
    table_close(&p);
    table_close(&f);
    return make_step(&step, wanted ? signals : NULL);
}

/* Writable memory of exactly `size` bytes. */
static int space_open(Py_buffer *view, PyObject *object, Py_ssize_t size)
{
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0) {
        return -1;
    }
    if (view->len != size) {
        PyErr_Format(PyExc_ValueError, "output has %zd bytes, %zd needed", view->len, size);
        PyBuffer_Release(view);
        return -1;
    }
    return 0;
}

/* run(probs, features, out, signals or None): fills `out`, and uint16 signals. */
static PyObject *core_run(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    core_t *self = (core_t *)object;
    int8_t probs_space[TCUQ_MAX_CLASSES];
    int8_t features_space[TCUQ_MAX_FEATURES];
    Py_buffer out;
    Py_buffer signals = {0};
    PyObject *result = NULL;
    int has_signals = 0;
    table_t p;
    table_t f;
    Py_ssize_t i;
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "run takes probs, features, out and signals");
        return NULL;
    }
    if (open_pair(self, args[0], args[1], 2, &p, &f) < 0) {
        return NULL;
    }
    if (space_open(&out, args[2], p.rows * (Py_ssize_t)sizeof(row_t)) < 0) {
        goto close_tables;
    }
    if (args[3] != Py_None) {
        if (space_open(&signals, args[3], p.rows * TCUQ_SIGNAL_COUNT * 2) < 0) {
            goto close_out;
        }
        has_signals = 1;
    }
    for (i = 0; i < p.rows; i++) {
        row_t *row = (row_t *)out.buf + i;
        uint16_t *values = has_signals ? (uint16_t *)signals.buf + i * TCUQ_SIGNAL_COUNT : NULL;
        tcuq_step_t s;
        tcuq_step(&self->monitor, probs_row(&p, i, probs_space),
                  features_row(self, &f, i, features_space), &s, values);
        row->risk = s.risk / 65536.0;
        row->threshold = s.threshold / 65536.0;
        row->uncertainty = s.uncertainty / 65536.0;
        row->label = s.label;
        row->flagged = s.flagged;
        row->abstain = s.abstain;
        row->alarm = s.alarm;
        row->warming_up = s.warming_up;
        row->reason = s.reason;
        row->low_mass = s.low_mass;
        memset(row->unused, 0, sizeof row->unused);
    }
    result = Py_None;
    Py_INCREF(result);
    if (has_signals) {
        PyBuffer_Release(&signals);
    }
close_out:
    PyBuffer_Release(&out);
close_tables:
    table_close(&p);
    table_close(&f);
    return result;
}

static PyObject *core_reset(PyObject *object, PyObject *unused)
{
    (void)unused;
    tcuq_reset(&((core_t *)object)->monitor);
    Py_RETURN_NONE;
}

static PyObject *core_save(PyObject *object, PyObject *unused)
{
    core_t *self = (core_t *)object;
    Py_ssize_t size = (Py_ssize_t)tcuq_state_size(&self->params);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, size);
    (void)unused;
    if (bytes != NULL) {
        tcuq_save(&self->monitor, (uint8_t *)PyBytes_AsString(bytes), (size_t)size);
    }
    return bytes;
}

/* load(bytes) -> status of tcuq_load() */
static PyObject *core_load(PyObject *object, PyObject *state)
{
    char *bytes;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(state, &bytes, &size) < 0) {
        return NULL;
    }
    return PyLong_FromLong(
        tcuq_load(&((core_t *)object)->monitor, (const uint8_t *)bytes, (size_t)size));
}

/* sizes() -> (ring bytes, state bytes, lowest debt, highest debt) */
static PyObject *core_sizes(PyObject *object, PyObject *unused)
{
    core_t *self = (core_t *)object;
    int32_t low;
    int32_t high;
    (void)unused;
    tcuq_debt_bounds(&self->params, &low, &high);
    return Py_BuildValue("nnii", (Py_ssize_t)tcuq_ring_size(&self->params),
                         (Py_ssize_t)tcuq_state_size(&self->params), low, high);
}

/* counters() -> (steps, debt, credit, rise, fall, alarm, fill) */
static PyObject *core_counters(PyObject *object, PyObject *unused)
{
    const tcuq_t *m = &((core_t *)object)->monitor;
    (void)unused;
    return Py_BuildValue("(IiiIIii)", m->steps, m->debt, m->credit, m->rise, m->fall, m->alarm, m->fill);
}

static int get_number(PyObject *fields, const char *name, long long low, long long high,
                      long long *value)
{
    PyObject *item = PyDict_GetItemString(fields, name);
    if (item == NULL) {
        PyErr_Format(PyExc_KeyError, "%s", name);
        return -1;
    }
    *value = PyLong_AsLongLong(item);
    if (*value == -1 && PyErr_Occurred() != NULL) {
        return -1;
    }
    if (*value < low || *value > high) {
        PyErr_Format(PyExc_ValueError, "%s is %lld; %lld to %lld is accepted", name, *value, low, high);
        return -1;
    }
    return 0;
}

/* Read up to `most` numbers; return how many, or -1. */
static Py_ssize_t get_numbers(PyObject *fields, const char *name, long long low, long long high,
                              Py_ssize_t most, long long *values)
{
    PyObject *list = PyDict_GetItemString(fields, name);
    Py_ssize_t count;
    Py_ssize_t i;
    if (list == NULL) {
        PyErr_Format(PyExc_KeyError, "%s", name);
        return -1;
    }
    Py_INCREF(list); /* an entry's __index__ could take it out of `fields` */
    count = PySequence_Size(list);
    if (count > most) {
        PyErr_Format(PyExc_ValueError, "%s has %zd entries; at most %zd are accepted", name, count, most);
        count = -1;
    }
    for (i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        values[i] = item == NULL ? -1 : PyLong_AsLongLong(item);
        Py_XDECREF(item);
        if (values[i] == -1 && PyErr_Occurred() != NULL) {
            count = -1;
        } else if (values[i] < low || values[i] > high) {
            PyErr_Format(PyExc_ValueError, "%s[%zd] is %lld; %lld to %lld is accepted", name, i,
                         values[i], low, high);
            count = -1;
        }
    }
    Py_DECREF(list);
    return count;
}

#define TAKE(name, type, low, high)                                     \
    if (get_number(fields, #name, low, high, &value) < 0) {             \
        return -1;                                                      \
    }                                                                   \
    p->name = (type)value

static int fill_params(core_t *self, PyObject *fields)
{
    tcuq_params_t *p = &self->params;
    long long values[TCUQ_MAX_LAG];
    long long value;
    Py_ssize_t count;
    Py_ssize_t i;
    TAKE(version, uint16_t, 0, 65535);
    TAKE(signals, uint16_t, 0, 65535);
    TAKE(classes, uint16_t, 0, 65535);
    TAKE(features, uint16_t, 0, 65535);
    TAKE(zero_point, int16_t, -32768, 32767);
    TAKE(bias, int32_t, INT32_MIN, INT32_MAX);
    TAKE(doubt_mix, uint32_t, 0, UINT32_MAX);
    TAKE(blend, uint32_t, 0, UINT32_MAX);
    TAKE(spread_scale, uint32_t, 0, UINT32_MAX);
    TAKE(level_num, uint16_t, 0, 65535);
    TAKE(level_den, uint16_t, 0, 65535);
    TAKE(reference, uint16_t, 0, 65535);
    TAKE(slope, uint32_t, 0, UINT32_MAX);
    TAKE(steep_slope, uint32_t, 0, UINT32_MAX);
    TAKE(knee, int32_t, INT32_MIN, INT32_MAX);
    TAKE(budget_num, uint16_t, 0, 65535);
    TAKE(budget_den, uint16_t, 0, 65535);
    TAKE(burst, uint16_t, 0, 65535);
    TAKE(rise_reference, uint16_t, 0, 65535);
    TAKE(fall_reference, uint16_t, 0, 65535);
    TAKE(warmup, uint32_t, 0, UINT32_MAX);
    TAKE(rise_limit, uint32_t, 0, UINT32_MAX);
    TAKE(rise_cap, uint32_t, 0, UINT32_MAX);
    TAKE(fall_limit, uint32_t, 0, UINT32_MAX);
    TAKE(fall_cap, uint32_t, 0, UINT32_MAX);
    count = get_numbers(fields, "lags", 0, 255, TCUQ_MAX_LAG, values);
    if (count < 0) {
        return -1;
    }
    for (i = 0; i < count; i++) {
        self->lags[i] = (uint8_t)values[i];
    }
    p->lag_count = (uint16_t)count;
    if (get_numbers(fields, "lag_weights", 0, 65535, count, values) != count) {
        if (PyErr_Occurred() == NULL) {
            PyErr_SetString(PyExc_ValueError, "lag_weights must have one entry a lag");
        }
        return -1;
    }
    for (i = 0; i < count; i++) {
        self->lag_weights[i] = (uint16_t)values[i];
    }
    p->lags = self->lags;
    p->lag_weights = self->lag_weights;
    if (get_numbers(fields, "coef", -32768, 32767, TCUQ_SIGNAL_COUNT, values) != TCUQ_SIGNAL_COUNT) {
        if (PyErr_Occurred() == NULL) {
            PyErr_SetString(PyExc_ValueError, "coef must have nine entries");
        }
        return -1;
    }
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        p->coef[i] = (int16_t)values[i];
    }
    if (get_numbers(fields, "clean_mean", 0, 65535, TCUQ_SIGNAL_COUNT, values) != TCUQ_SIGNAL_COUNT) {
        if (PyErr_Occurred() == NULL) {
            PyErr_SetString(PyExc_ValueError, "clean_mean must have nine entries");
        }
        return -1;
    }
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        p->clean_mean[i] = (uint16_t)values[i];
    }
    return 0;
}

/* Core(fields, feature_scale) */
static PyObject *core_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    core_t *self;
    PyObject *fields;
    double scale = 1.0;
    size_t ring_bytes;
    int status;
    if (kwargs != NULL && PyDict_Size(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "Core takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O!|d", &PyDict_Type, &fields, &scale)) {
        return NULL;
    }
    if (!scale_ok(scale)) {
        return NULL;
    }
    self = (core_t *)alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->ring = NULL;
    self->feature_scale = (float)scale;
    if (fill_params(self, fields) < 0) {
        goto fail;
    }
    status = tcuq_check(&self->params);
    if (status != TCUQ_OK) {
        PyErr_Format(PyExc_ValueError, "the core refuses these params (error %d)", status);
        goto fail;
    }
    ring_bytes = tcuq_ring_size(&self->params);
    self->ring = PyMem_Calloc(1, ring_bytes);
    if (self->ring == NULL) {
        PyErr_NoMemory();
        goto fail;
    }
    tcuq_init(&self->monitor, &self->params, self->ring, ring_bytes);
    return (PyObject *)self;
fail:
    Py_DECREF((PyObject *)self);
    return NULL;
}

static void core_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    PyMem_Free(((core_t *)object)->ring);
    release(object);
    Py_DECREF((PyObject *)type);
}

static PyMethodDef core_methods[] = {
    {"step", (PyCFunction)(void (*)(void))core_step, METH_FASTCALL, NULL},
    {"run", (PyCFunction)(void (*)(void))core_run, METH_FASTCALL, NULL},
    {"reset", core_reset, METH_NOARGS, NULL},
    {"save", core_save, METH_NOARGS, NULL},
    {"load", core_load, METH_O, NULL},
    {"sizes", core_sizes, METH_NOARGS, NULL},
    {"counters", core_counters, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot core_slots[] = {{Py_tp_new, (void *)core_new},
                                   {Py_tp_dealloc, (void *)core_dealloc},
                                   {Py_tp_methods, core_methods},
                                   {0, NULL}};

static PyType_Spec core_spec = {"tcuq._core.Core", sizeof(core_t), 0, Py_TPFLAGS_DEFAULT, core_slots};

static PyStructSequence_Field step_fields[] = {
    {"label", "class with the largest posterior"},
    {"risk", "in [0, 1)"},
    {"threshold", "what risk was compared with; may lie outside [0, 1)"},
    {"uncertainty", "in [0, 1)"},
    {"flagged", "risk >= threshold"},
    {"abstain", "do not act on the label: flagged, and the budget allows it"},
    {"alarm", "0 quiet, 1 risk has risen, 2 risk has fallen, 3 both"},
    {"warming_up", "among the first steps, which never abstain"},
    {"reason", "name of the signal that speaks most against this step, or None"},
    {"low_mass", "the int8 posterior sums to less than a half"},
    {"signals", "the nine signals when asked for, else None"},
    {NULL, NULL}};

static PyStructSequence_Desc step_desc = {
    "tcuq.Step", "What the monitor says of one inference.", step_fields, 11};

/* quantize_probs(table, out, width): fills int8 rows as an int8 softmax would leave them. */
static PyObject *quantize_probs(PyObject *module, PyObject *args)
{
    PyObject *source;
    PyObject *target;
    PyObject *result = NULL;
    Py_ssize_t width;
    Py_buffer out;
    table_t t;
    Py_ssize_t i;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOn", &source, &target, &width) ||
        table_open(&t, source, "probs", width, 2) < 0) {
        return NULL;
    }
    if (check_probs(&t) == 0 && space_open(&out, target, t.rows * t.width) == 0) {
        for (i = 0; i < t.rows; i++) {
            int8_t *row = (int8_t *)out.buf + i * width;
            const int8_t *done = probs_row(&t, i, row);
            if (done != row) {
                memcpy(row, done, (size_t)width);
            }
        }
        PyBuffer_Release(&out);
        result = Py_None;
        Py_INCREF(result);
    }
    table_close(&t);
    return result;
}

/* quantize_features(table, out, width, scale, zero point) */
static PyObject *quantize_features(PyObject *module, PyObject *args)
{
    PyObject *source;
    PyObject *target;
    PyObject *result = NULL;
    Py_ssize_t width;
    double scale;
    int zero;
    Py_buffer out;
    table_t t;
    Py_ssize_t i;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOndi", &source, &target, &width, &scale, &zero) ||
        !scale_ok(scale) || table_open(&t, source, "features", width, 2) < 0) {
        return NULL;
    }
    if (t.kind == 'b' || t.kind == 'B') {
        PyErr_SetString(PyExc_TypeError, "features are integers already; float32 or float64 is accepted");
    } else if (check_features(&t) == 0 && space_open(&out, target, t.rows * t.width) == 0) {
        for (i = 0; i < t.rows * t.width; i++) {
            ((int8_t *)out.buf)[i] = quantize_feature(value_at(&t, i), (float)scale, zero);
        }
        PyBuffer_Release(&out);
        result = Py_None;
        Py_INCREF(result);
    }
    table_close(&t);
    return result;
}

static PyMethodDef module_methods[] = {{"quantize_probs", quantize_probs, METH_VARARGS, NULL},
                                       {"quantize_features", quantize_features, METH_VARARGS, NULL},
                                       {NULL, NULL, 0, NULL}};

static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT,
                                        "_core",
                                        "Binding to the integer core.",
                                        -1,
                                        module_methods,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = PyModule_Create(&module_def);
    PyObject *core_type;
    PyObject *names;
    int i;
    if (module == NULL) {
        return NULL;
    }
    core_type = PyType_FromSpec(&core_spec);
    step_type = PyStructSequence_NewType(&step_desc);
    names = PyTuple_New(TCUQ_SIGNAL_COUNT);
    if (core_type == NULL || step_type == NULL || names == NULL) {
        return NULL;
    }
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        signal_strings[i] = PyUnicode_InternFromString(signal_names[i]);
        if (signal_strings[i] == NULL) {
            return NULL;
        }
        Py_INCREF(signal_strings[i]);
        PyTuple_SetItem(names, i, signal_strings[i]);
    }
    Py_INCREF((PyObject *)step_type);
    if (PyModule_AddObject(module, "Core", core_type) < 0 ||
        PyModule_AddObject(module, "Step", (PyObject *)step_type) < 0 ||
        PyModule_AddObject(module, "SIGNAL_NAMES", names) < 0 ||
        PyModule_AddIntConstant(module, "PARAMS_VERSION", TCUQ_PARAMS_VERSION) < 0 ||
        PyModule_AddIntConstant(module, "STATE_VERSION", TCUQ_STATE_VERSION) < 0) {
        return NULL;
    }
    return module;
}
