/* SPDX-License-Identifier: MIT */
/* The type `Core`: one monitor of the integer core, without arithmetic of its own. */
#include "binding/core.h"

#include "binding/alone.h"
#include "binding/fields.h"
#include "binding/input.h"
#include "binding/step.h"

typedef struct {
    PyObject_HEAD
    held_params_t held;
    const step_kind_t *kind; /* part of the module, which the type keeps */
    float feature_scale;
    tcuq_t monitor;
    uint32_t *ring;
} core_t;

static void take(core_t *self, const table_t *p, const table_t *f, Py_ssize_t row, tcuq_step_t *step, uint16_t *signals)
{
    int8_t probs[TCUQ_MAX_CLASSES];
    int8_t features[TCUQ_MAX_FEATURES];
    tcuq_step(&self->monitor, probs_row(p, row, probs),
              features_row(f, row, self->feature_scale, self->held.params.zero_point, features), step, signals);
}

/* step(probs, features, want_signals, names) -> Step. Without memory for it the step counts all the same. */
static PyObject *core_step(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    core_t *self = (core_t *)object;
    uint16_t signals[TCUQ_SIGNAL_COUNT];
    tcuq_step_t step;
    PyObject *names;
    table_t p;
    table_t f;
    int wanted;
    names = count == 4 && args[3] != Py_None ? args[3] : NULL;
    if (count < 3 || count > 4 || (names != NULL && !PyTuple_Check(names))) {
        PyErr_SetString(PyExc_TypeError, "step takes probs, features, signals and a tuple of names");
        return NULL;
    }
    wanted = PyObject_IsTrue(args[2]);
    if (wanted < 0 || pair_open(&self->held.params, args[0], args[1], 1, &p, &f) < 0) {
        return NULL;
    }
    ALONE_BEGIN(self)
    take(self, &p, &f, 0, &step, wanted ? signals : NULL);
    ALONE_END()
    table_close(&p);
    table_close(&f);
    return step_new(self->kind, &step, wanted ? signals : NULL, self->held.params.horizon, names);
}

/* run(probs, features, out, signals or None): fills `out`, and uint16 signals. */
static PyObject *core_run(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    core_t *self = (core_t *)object;
    Py_buffer out;
    Py_buffer signals;
    PyObject *result = NULL;
    uint16_t *values = NULL;
    table_t p;
    table_t f;
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "run takes probs, features, out and signals");
        return NULL;
    }
    if (pair_open(&self->held.params, args[0], args[1], 2, &p, &f) < 0) {
        return NULL;
    }
    if (space_open(&out, args[2], p.rows * (Py_ssize_t)sizeof(step_row_t)) < 0) {
        goto close_tables;
    }
    if (args[3] != Py_None) {
        if (space_open(&signals, args[3], p.rows * TCUQ_SIGNAL_COUNT * 2) < 0) {
            goto close_out;
        }
        values = signals.buf;
    }
    ALONE_BEGIN(self)
    Py_ssize_t i;
    for (i = 0; i < p.rows; i++) {
        tcuq_step_t step;
        take(self, &p, &f, i, &step, values == NULL ? NULL : values + i * TCUQ_SIGNAL_COUNT);
        step_row((step_row_t *)out.buf + i, &step, self->held.params.horizon);
    }
    ALONE_END()
    result = Py_NewRef(Py_None);
    if (values != NULL) {
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
    core_t *self = (core_t *)object;
    (void)unused;
    ALONE_BEGIN(self)
    tcuq_reset(&self->monitor);
    ALONE_END()
    Py_RETURN_NONE;
}

static PyObject *core_save(PyObject *object, PyObject *unused)
{
    core_t *self = (core_t *)object;
    Py_ssize_t size = (Py_ssize_t)tcuq_state_size(&self->held.params);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, size);
    int status;
    (void)unused;
    if (bytes == NULL) {
        return NULL;
    }
    ALONE_BEGIN(self)
    status = tcuq_save(&self->monitor, (uint8_t *)PyBytes_AsString(bytes), (size_t)size);
    ALONE_END()
    if (status < 0) {
        Py_DECREF(bytes);
        PyErr_SetString(PyExc_ValueError,
                        "the monitor's memory is damaged, so it is not saved; load a saved state, or start anew");
        return NULL;
    }
    return bytes;
}

/* load(bytes) -> status of tcuq_load() */
static PyObject *core_load(PyObject *object, PyObject *state)
{
    core_t *self = (core_t *)object;
    char *bytes;
    Py_ssize_t size;
    int status;
    if (PyBytes_AsStringAndSize(state, &bytes, &size) < 0) {
        return NULL;
    }
    ALONE_BEGIN(self)
    status = tcuq_load(&self->monitor, (const uint8_t *)bytes, (size_t)size);
    ALONE_END()
    return PyLong_FromLong(status); /* 0 takes no memory: a state that was loaded is never an exception */
}

/* verify() -> status of tcuq_verify() */
static PyObject *core_verify(PyObject *object, PyObject *unused)
{
    core_t *self = (core_t *)object;
    int status;
    (void)unused;
    ALONE_BEGIN(self)
    status = tcuq_verify(&self->monitor);
    ALONE_END()
    return PyLong_FromLong(status);
}

/* feedback(ago, label) -> status of tcuq_feedback() */
static PyObject *core_feedback(PyObject *object, PyObject *args)
{
    core_t *self = (core_t *)object;
    unsigned int ago;
    int label, status;
    if (!PyArg_ParseTuple(args, "Ii", &ago, &label)) {
        return NULL;
    }
    ALONE_BEGIN(self)
    status = tcuq_feedback(&self->monitor, ago, label);
    ALONE_END()
    return PyLong_FromLong(status);
}

/* errors() -> (error debt, its bound) */
static PyObject *core_errors(PyObject *object, PyObject *unused)
{
    core_t *self = (core_t *)object;
    int32_t debt;
    (void)unused;
    ALONE_BEGIN(self)
    debt = tcuq_error_debt(&self->monitor);
    ALONE_END()
    return Py_BuildValue("ii", debt, tcuq_error_bound(&self->held.params));
}

/* fingerprint() -> CRC-32 of the params */
static PyObject *core_fingerprint(PyObject *object, PyObject *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLong(((core_t *)object)->held.params.fingerprint);
}

/* sizes() -> (ring bytes, state bytes, lowest debt, highest debt) */
static PyObject *core_sizes(PyObject *object, PyObject *unused)
{
    core_t *self = (core_t *)object;
    int32_t low;
    int32_t high;
    (void)unused;
    tcuq_debt_bounds(&self->held.params, &low, &high);
    return Py_BuildValue("nnii", (Py_ssize_t)tcuq_ring_size(&self->held.params),
                         (Py_ssize_t)tcuq_state_size(&self->held.params), low, high);
}

/* counters() -> (steps, debt, credit, rise, fall, alarm, fill) */
static PyObject *core_counters(PyObject *object, PyObject *unused)
{
    core_t *self = (core_t *)object;
    tcuq_t m;
    (void)unused;
    ALONE_BEGIN(self)
    m = self->monitor;
    ALONE_END()
    return Py_BuildValue("(IiiIIii)", m.steps, m.debt, m.credit, m.rise, m.fall, m.alarm, m.fill);
}

/* Core(fields, feature_scale) */
static PyObject *core_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    core_t *self;
    PyObject *fields;
    double scale = 1.0;
    size_t ring_bytes;
    if (kwargs != NULL && PyDict_Size(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "Core takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O!|d", &PyDict_Type, &fields, &scale) || !scale_ok(scale)) {
        return NULL;
    }
    self = (core_t *)PyType_GenericAlloc(type, 0); /* filled with zeros */
    if (self == NULL) {
        return NULL;
    }
    self->kind = PyType_GetModuleState(type);
    self->feature_scale = (float)scale;
    if (fields_read(&self->held, fields) < 0) {
        goto fail;
    }
    ring_bytes = tcuq_ring_size(&self->held.params); /* a multiple of 4 */
    self->ring = PyMem_Calloc(1, ring_bytes);
    if (self->ring == NULL) {
        PyErr_NoMemory();
        goto fail;
    }
    tcuq_init(&self->monitor, &self->held.params, self->ring, ring_bytes);
    return (PyObject *)self;
fail:
    Py_DECREF((PyObject *)self);
    return NULL;
}

static void core_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyMem_Free(((core_t *)object)->ring);
    fields_free(&((core_t *)object)->held);
    PyObject_Free(object);
    Py_DECREF((PyObject *)type);
}

static PyMethodDef core_methods[] = {
    {"step", (PyCFunction)(void (*)(void))core_step, METH_FASTCALL, NULL},
    {"run", (PyCFunction)(void (*)(void))core_run, METH_FASTCALL, NULL},
    {"reset", core_reset, METH_NOARGS, NULL},
    {"save", core_save, METH_NOARGS, NULL},
    {"load", core_load, METH_O, NULL},
    {"verify", core_verify, METH_NOARGS, NULL},
    {"feedback", core_feedback, METH_VARARGS, NULL},
    {"errors", core_errors, METH_NOARGS, NULL},
    {"fingerprint", core_fingerprint, METH_NOARGS, NULL},
    {"sizes", core_sizes, METH_NOARGS, NULL},
    {"counters", core_counters, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot core_slots[] = {{Py_tp_new, SLOT(core_new)},
                                   {Py_tp_dealloc, SLOT(core_dealloc)},
                                   {Py_tp_methods, core_methods},
                                   {0, NULL}};

static PyType_Spec core_spec = {"tcuq._core.Core", sizeof(core_t), 0, Py_TPFLAGS_DEFAULT, core_slots};

PyObject *core_type(PyObject *module)
{
    return PyType_FromModuleAndSpec(module, &core_spec, NULL);
}
