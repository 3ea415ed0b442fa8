/* SPDX-License-Identifier: MIT */
/* Python's door to the integer core: buffers in, numbers out, no arithmetic of its own.
 * monitor.py is the face that users see. */
#include <Python.h>

#include <stddef.h>
#include <string.h>

#include "binding/input.h"
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
    tcuq_evidence_t evidence;
    int16_t offsets[TCUQ_MAX_CLASSES];
    float feature_scale;
    tcuq_t monitor;
    uint32_t *ring;
} core_t;

static const char *const signal_names[TCUQ_SIGNAL_COUNT] = {
    "divergence",    "instability", "flips",       "doubt",       "surprise_fast",
    "surprise_slow", "spread_fast", "spread_slow", "displacement", "odds",
    "disbelief_fast", "disbelief_slow", "strain_fast", "strain_slow", "magnitude"};

static PyObject *signal_strings[TCUQ_SIGNAL_COUNT];
static PyTypeObject *step_type;

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
    } else if ((self->params.signals & (TCUQ_BIT(TCUQ_INSTABILITY) | TCUQ_BIT(TCUQ_DISPLACEMENT) |
                                        TCUQ_BIT(TCUQ_MAGNITUDE))) != 0) {
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
              features_row(&f, 0, self->feature_scale, self->params.zero_point,
                           features_space), &step, wanted ? signals : NULL);
    table_close(&p);
    table_close(&f);
    return make_step(&step, wanted ? signals : NULL);
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
                  features_row(&f, i, self->feature_scale, self->params.zero_point,
                               features_space), &s, values);
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

/* The optional head of the alarm: fields["evidence"] is a dict, or None or absent. */
static int fill_evidence(core_t *self, PyObject *fields)
{
    PyObject *head = PyDict_GetItemString(fields, "evidence");
    long long values[TCUQ_MAX_CLASSES];
    long long value;
    Py_ssize_t i;
    self->params.evidence = NULL;
    if (head == NULL || head == Py_None) {
        return 0;
    }
    if (!PyDict_Check(head)) {
        PyErr_SetString(PyExc_TypeError, "evidence must be a dict or None");
        return -1;
    }
    if (get_number(head, "clip", 0, UINT32_MAX, &value) < 0) {
        return -1;
    }
    self->evidence.clip = (uint32_t)value;
    if (get_number(head, "allowance", 0, UINT32_MAX, &value) < 0) {
        return -1;
    }
    self->evidence.allowance = (uint32_t)value;
    if (get_numbers(head, "coef", -32768, 32767, TCUQ_SIGNAL_COUNT, values) != TCUQ_SIGNAL_COUNT) {
        if (PyErr_Occurred() == NULL) {
            PyErr_SetString(PyExc_ValueError, "evidence coef must have one entry a signal");
        }
        return -1;
    }
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        self->evidence.coef[i] = (int16_t)values[i];
    }
    if (get_numbers(head, "offset", -32768, 32767, TCUQ_MAX_CLASSES, values) != self->params.classes) {
        if (PyErr_Occurred() == NULL) {
            PyErr_SetString(PyExc_ValueError, "evidence offset must have one entry a class");
        }
        return -1;
    }
    for (i = 0; i < self->params.classes; i++) {
        self->offsets[i] = (int16_t)values[i];
    }
    self->evidence.offset = self->offsets;
    self->params.evidence = &self->evidence;
    return 0;
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
    TAKE(anchor, uint16_t, 0, 65535);
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
            PyErr_SetString(PyExc_ValueError, "coef must have one entry a signal");
        }
        return -1;
    }
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        p->coef[i] = (int16_t)values[i];
    }
    if (get_numbers(fields, "clean_mean", 0, 65535, TCUQ_SIGNAL_COUNT, values) != TCUQ_SIGNAL_COUNT) {
        if (PyErr_Occurred() == NULL) {
            PyErr_SetString(PyExc_ValueError, "clean_mean must have one entry a signal");
        }
        return -1;
    }
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        p->clean_mean[i] = (uint16_t)values[i];
    }
    return fill_evidence(self, fields);
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
    {"alarm", "0 quiet, 1 risk or evidence has risen, 2 risk has fallen, 3 both"},
    {"warming_up", "among the first steps, which never abstain"},
    {"reason", "name of the signal that speaks most against this step, or None"},
    {"low_mass", "the int8 posterior sums to less than a half"},
    {"signals", "all signals by number when asked for, else None"},
    {NULL, NULL}};

static PyStructSequence_Desc step_desc = {
    "tcuq.Step", "What the monitor says of one inference.", step_fields, 11};

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
