/* SPDX-License-Identifier: MIT */
/* The type `Core`: one monitor of the integer core, without arithmetic of its own. */
#include "binding/binding.h"

typedef struct {
    base_t base;
    const step_kind_t *kind; /* part of the module, which the type keeps */
    tcuq_t monitor;
    uint32_t *ring;
} core_t;

/* step(probs, features, want_signals, names = None, gauges = None) -> Step. Without memory for it the step counts all the same. */
static PyObject *core_step(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    core_t *self = (core_t *)object;
    const tcuq_params_t *params = &self->base.owned.params;
    uint16_t signals[TCUQ_SIGNAL_COUNT];
    tcuq_step_t step;
    inputs_t in;
    int wanted;
    PyObject *names = count > 3 && args[3] != Py_None ? args[3] : NULL;
    if (count < 3 || count > 5 || (names != NULL && !PyTuple_Check(names))) {
        PyErr_SetString(PyExc_TypeError, "step takes probs, features, signals, a tuple of names and gauges");
        return NULL;
    }
    wanted = PyObject_IsTrue(args[2]);
    if (wanted < 0 || inputs_open(params, args, count > 4 ? args[4] : Py_None, 1, &in) < 0) {
        return NULL;
    }
    LOCK_BEGIN(self)
    inputs_take(&in, &self->monitor, self->base.feature_scale, 0, &step, wanted ? signals : NULL);
    LOCK_END()
    inputs_close(&in);
    return step_new(self->kind, &step, wanted ? signals : NULL, params->horizon, names);
}

/* run(probs, features, out, signals or None, gauges = None): fills `out`, and uint16 signals. */
static PyObject *core_run(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    core_t *self = (core_t *)object;
    run_tables_t tables;
    Py_ssize_t i;
    if (count < 4 || count > 5) {
        PyErr_SetString(PyExc_TypeError, "run takes probs, features, out, signals and gauges");
        return NULL;
    }
    if (run_open(&tables, &self->base.owned.params, -1, args, count > 4 ? args[4] : Py_None) < 0) {
        return NULL;
    }
    LOCK_BEGIN(self)
    for (i = 0; i < tables.in.probs.rows; i++) {
        run_take(&tables, &self->monitor, self->base.feature_scale, i);
    }
    LOCK_END()
    run_close(&tables);
    Py_RETURN_NONE;
}

static PyObject *core_reset(PyObject *object, PyObject *unused)
{
    core_t *self = (core_t *)object;
    (void)unused;
    LOCK_BEGIN(self)
    tcuq_reset(&self->monitor);
    LOCK_END()
    Py_RETURN_NONE;
}

static PyObject *core_save(PyObject *object, PyObject *unused)
{
    core_t *self = (core_t *)object;
    Py_ssize_t size = (Py_ssize_t)tcuq_state_size(&self->base.owned.params);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, size);
    int status;
    (void)unused;
    if (bytes == NULL) {
        return NULL;
    }
    LOCK_BEGIN(self)
    status = tcuq_save(&self->monitor, (uint8_t *)PyBytes_AsString(bytes), (size_t)size);
    LOCK_END()
    if (status < 0) {
        Py_DECREF(bytes);
        PyErr_SetString(PyExc_ValueError,
                        "the monitor's memory is damaged, so it is not saved; load a saved state, or start over");
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
    LOCK_BEGIN(self)
    status = tcuq_load(&self->monitor, (const uint8_t *)bytes, (size_t)size);
    LOCK_END()
    return PyLong_FromLong(status); /* 0 takes no memory: a state that was loaded is never an exception */
}

/* verify() -> status of tcuq_verify() */
static PyObject *core_verify(PyObject *object, PyObject *unused)
{
    core_t *self = (core_t *)object;
    int status;
    (void)unused;
    LOCK_BEGIN(self)
    status = tcuq_verify(&self->monitor);
    LOCK_END()
    return PyLong_FromLong(status);
}

/* feedback(step, label) -> status of tcuq_feedback() */
static PyObject *core_feedback(PyObject *object, PyObject *args)
{
    core_t *self = (core_t *)object;
    unsigned int step;
    int label, status;
    if (!PyArg_ParseTuple(args, "Ii", &step, &label)) {
        return NULL;
    }
    LOCK_BEGIN(self)
    status = tcuq_feedback(&self->monitor, step, label);
    LOCK_END()
    return PyLong_FromLong(status);
}

/* fingerprint(version) -> CRC-32 of the params, as if they were of this layout */
static PyObject *core_fingerprint(PyObject *object, PyObject *args)
{
    tcuq_params_t p = ((base_t *)object)->owned.params;
    if (!PyArg_ParseTuple(args, "|H", &p.version)) {
        return NULL;
    }
    return PyLong_FromUnsignedLong(tcuq_fingerprint(&p));
}

/* sizes() -> (ring bytes, state bytes, lowest debt, highest debt) */
static PyObject *core_sizes(PyObject *object, PyObject *unused)
{
    const tcuq_params_t *p = &((base_t *)object)->owned.params;
    int32_t low, high;
    (void)unused;
    tcuq_debt_bounds(p, &low, &high);
    return Py_BuildValue("nnii", (Py_ssize_t)tcuq_ring_size(p), (Py_ssize_t)tcuq_state_size(p), low, high);
}

/* counters() -> (steps, debt, credit, alarm, error debt, its bound) */
static PyObject *core_counters(PyObject *object, PyObject *unused)
{
    core_t *self = (core_t *)object;
    int32_t error_debt;
    tcuq_t m;
    (void)unused;
    LOCK_BEGIN(self)
    m = self->monitor;
    error_debt = tcuq_error_debt(&self->monitor);
    LOCK_END()
    return Py_BuildValue("(IiiIii)", m.steps, m.debt, m.credit, m.alarm, error_debt, tcuq_error_bound(m.params));
}

/* Core(fields, feature_scale) */
static PyObject *core_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    core_t *self = (core_t *)base_new(type, args, kwargs);
    size_t ring_bytes;
    if (self == NULL) {
        return NULL;
    }
    self->kind = PyType_GetModuleState(type);
    ring_bytes = tcuq_ring_size(&self->base.owned.params); /* a multiple of 4 */
    self->ring = PyMem_Calloc(1, ring_bytes);
    if (self->ring == NULL) {
        Py_DECREF((PyObject *)self);
        return PyErr_NoMemory();
    }
    tcuq_init(&self->monitor, &self->base.owned.params, self->ring, ring_bytes);
    return (PyObject *)self;
}

static void core_dealloc(PyObject *object)
{
    PyMem_Free(((core_t *)object)->ring);
    base_free(object);
}

static PyMethodDef core_methods[] = {
    {"step", (PyCFunction)(void (*)(void))core_step, METH_FASTCALL, NULL},
    {"run", (PyCFunction)(void (*)(void))core_run, METH_FASTCALL, NULL},
    {"reset", core_reset, METH_NOARGS, NULL},
    {"save", core_save, METH_NOARGS, NULL},
    {"load", core_load, METH_O, NULL},
    {"verify", core_verify, METH_NOARGS, NULL},
    {"feedback", core_feedback, METH_VARARGS, NULL},
    {"fingerprint", core_fingerprint, METH_VARARGS, NULL},
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
