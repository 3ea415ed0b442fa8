/* SPDX-License-Identifier: MIT */
#include "binding/step.h"

#include <string.h>

#define ONE 65536.0

static const char *const signal_names[TCUQ_SIGNAL_COUNT] = {
    "divergence",    "instability", "flips",       "doubt",       "surprise_fast",
    "surprise_slow", "spread_fast", "spread_slow", "displacement", "odds",
    "disbelief_fast", "disbelief_slow", "strain_fast", "strain_slow", "magnitude",
    "distance", "disbelief"};

static PyObject *signal_strings[TCUQ_SIGNAL_COUNT];
static PyTypeObject *step_type;

static PyStructSequence_Field step_fields[] = {
    {"label", "class with the largest posterior"},
    {"risk", "in [0, 1)"},
    {"threshold", "what risk was compared with; may lie outside [0, 1)"},
    {"uncertainty", "in [0, 1)"},
    {"flagged", "risk >= threshold"},
    {"abstain", "do not act on the answer: flagged, and the budget allows it"},
    {"alarm", "0 quiet, 1 risk or evidence has risen, 2 risk has fallen, 3 both"},
    {"warming_up", "among the first steps, which never abstain"},
    {"reason", "name of the signal that speaks most against this step, or None"},
    {"low_mass", "the int8 posterior sums to less than a half"},
    {"signals", "all signals by number when asked for, else None"},
    {"answer", "class to act on: the label, or what the last steps make more likely"},
    {"persistence", "0 where neighboring steps have nothing to do with each other, up to 1"},
    {"severity", "slow mean of the evidence: how bad the stream is"},
    {"expected_accuracy", "over the last steps, or None where the fit had no labels"},
    {"variety", "0 where neighboring steps repeat each other, as on one object, up to 1"},
    {NULL, NULL}};

static PyStructSequence_Desc step_desc = {
    "tcuq.Step", "What the monitor says of one inference.", step_fields, 16};

int step_add_to(PyObject *module)
{
    PyObject *names = PyTuple_New(TCUQ_SIGNAL_COUNT);
    int i;
    step_type = PyStructSequence_NewType(&step_desc);
    if (names == NULL || step_type == NULL) {
        return -1;
    }
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        signal_strings[i] = PyUnicode_InternFromString(signal_names[i]);
        if (signal_strings[i] == NULL) {
            return -1;
        }
        Py_INCREF(signal_strings[i]);
        PyTuple_SetItem(names, i, signal_strings[i]);
    }
    Py_INCREF((PyObject *)step_type);
    if (PyModule_AddObject(module, "Step", (PyObject *)step_type) < 0) {
        return -1;
    }
    return PyModule_AddObject(module, "SIGNAL_NAMES", names);
}

static PyObject *signal_values(const uint16_t *signals)
{
    PyObject *values = PyTuple_New(TCUQ_SIGNAL_COUNT);
    int i;
    for (i = 0; values != NULL && i < TCUQ_SIGNAL_COUNT; i++) {
        PyTuple_SetItem(values, i, PyFloat_FromDouble(signals[i] / ONE));
    }
    return values;
}

PyObject *step_new(const tcuq_step_t *s, const uint16_t *signals, int horizon)
{
    PyObject *step = PyStructSequence_New(step_type);
    PyObject *reason = s->reason < TCUQ_SIGNAL_COUNT ? signal_strings[s->reason] : Py_None;
    PyObject *values = Py_None;
    PyObject *expected = Py_None;
    if (step == NULL) {
        return NULL;
    }
    Py_INCREF(reason);
    if (horizon != 0) {
        expected = PyFloat_FromDouble(s->expected_accuracy / ONE);
    } else {
        Py_INCREF(expected);
    }
    if (signals == NULL) {
        Py_INCREF(values);
    } else {
        values = signal_values(signals);
    }
    PyStructSequence_SetItem(step, 0, PyLong_FromLong(s->label));
    PyStructSequence_SetItem(step, 1, PyFloat_FromDouble(s->risk / ONE));
    PyStructSequence_SetItem(step, 2, PyFloat_FromDouble(s->threshold / ONE));
    PyStructSequence_SetItem(step, 3, PyFloat_FromDouble(s->uncertainty / ONE));
    PyStructSequence_SetItem(step, 4, PyBool_FromLong(s->flagged));
    PyStructSequence_SetItem(step, 5, PyBool_FromLong(s->abstain));
    PyStructSequence_SetItem(step, 6, PyLong_FromLong(s->alarm));
    PyStructSequence_SetItem(step, 7, PyBool_FromLong(s->warming_up));
    PyStructSequence_SetItem(step, 8, reason);
    PyStructSequence_SetItem(step, 9, PyBool_FromLong(s->low_mass));
    PyStructSequence_SetItem(step, 10, values);
    PyStructSequence_SetItem(step, 11, PyLong_FromLong(s->answer));
    PyStructSequence_SetItem(step, 12, PyFloat_FromDouble(s->persistence / ONE));
    PyStructSequence_SetItem(step, 13, PyFloat_FromDouble(s->severity / ONE));
    PyStructSequence_SetItem(step, 14, expected);
    PyStructSequence_SetItem(step, 15, PyFloat_FromDouble(s->variety / ONE));
    if (PyErr_Occurred() != NULL) {
        Py_DECREF(step);
        return NULL;
    }
    return step;
}

void step_row(step_row_t *row, const tcuq_step_t *s, int horizon)
{
    row->risk = s->risk / ONE;
    row->threshold = s->threshold / ONE;
    row->uncertainty = s->uncertainty / ONE;
    row->persistence = s->persistence / ONE;
    row->variety = s->variety / ONE;
    row->severity = s->severity / ONE;
    row->expected_accuracy = horizon != 0 ? s->expected_accuracy / ONE : Py_NAN;
    row->label = s->label;
    row->answer = s->answer;
    row->flagged = s->flagged;
    row->abstain = s->abstain;
    row->alarm = s->alarm;
    row->warming_up = s->warming_up;
    row->reason = s->reason;
    row->low_mass = s->low_mass;
    memset(row->unused, 0, sizeof row->unused);
}
