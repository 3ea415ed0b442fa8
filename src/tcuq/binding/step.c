/* SPDX-License-Identifier: MIT */
#include "binding/binding.h"

#define ONE 65536.0

#define SIGNAL_NAME(name) #name,
static const char *const signal_names[] = {TCUQ_SIGNAL_NAMES(SIGNAL_NAME)};

static PyStructSequence_Field step_fields[] = {
    {"prediction", "class with the largest posterior"},
    {"risk", "in [0, 1)"},
    {"threshold", "what risk was compared with; may lie outside [0, 1)"},
    {"uncertainty", "in [0, 1)"},
    {"flagged", "risk >= threshold"},
    {"abstain", "do not act on the answer: flagged, and the budget allows it, or labels have shown too many errors"},
    {"alarm", "0 quiet, 1 risk has risen or evidence has added up, 2 risk has fallen, 3 both"},
    {"warming_up", "among the first steps, which abstain only for the error limit"},
    {"reason", "name of the signal that speaks most against this step, error_limit, or None"},
    {"low_mass", "the int8 posterior sums to less than a half"},
    {"signals", "all signals by number when asked for, else None"},
    {"answer", "class to act on: the prediction, or what the last steps make more likely"},
    {"persistence", "0 where neighboring steps have nothing to do with each other, up to 1"},
    {"degradation", "how bad the stream is: slow mean of the evidence, or distance from clean data over the limit"},
    {"expected_accuracy", "over the last steps, or None: a fit without labels whose alarm does not see the input"},
    {"novelty", "how new this input is beside the last one: 1 for another example, 1/8 for one that is held"},
    {"action", "what to do: act on the answer, ask (this answer is not sure), or hold (no answer counts for now)"},
    {"changed", "the input or the outputs are not like the clean log, harmful or not"},
    {"moved", "number that moved most while changed, 128 more where it fell, 254 a frozen input, else 255"},
    {"answer_name", "name of the answer, or None where classes have no names"},
    {"prediction_name", "the same of the class with the largest posterior"},
    {NULL, NULL}};

static const char *const action_names[] = {"act", "ask", "hold"};

#define ITEMS (sizeof step_fields / sizeof step_fields[0] - 1u)
#define NAMED 2u /* the last items, which are not part of the tuple */

static PyStructSequence_Desc step_desc = {
    "tcuq.Step",
    "What the monitor says of one inference; `Monitor.step` returns it.\n"
    "\n"
    "A tuple with names: each field says what it means.\n"
    "\n"
    "Examples\n"
    "--------\n"
    ">>> from tcuq import Monitor, Params\n"
    ">>> step = Monitor(Params(classes=3)).step([0.1, 0.8, 0.1])\n"
    ">>> step.prediction, step.answer, step.abstain, step.alarm\n"
    "(1, 1, False, 0)\n",
    step_fields, ITEMS - NAMED};

int step_add_to(step_kind_t *kind, PyObject *module)
{
    int i;
    kind->type = PyStructSequence_NewType(&step_desc);
    kind->names = PyTuple_New(TCUQ_SIGNAL_COUNT);
    if (kind->type == NULL || kind->names == NULL) {
        return -1;
    }
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        PyObject *name = PyUnicode_InternFromString(signal_names[i]);
        if (name == NULL) {
            return -1;
        }
        PyTuple_SetItem(kind->names, i, name);
    }
    if (PyModule_AddObjectRef(module, "Step", (PyObject *)kind->type) < 0) {
        return -1;
    }
    return PyModule_AddObjectRef(module, "SIGNAL_NAMES", kind->names);
}

static PyObject *signal_values(const uint16_t *signals)
{
    PyObject *values = PyTuple_New(TCUQ_SIGNAL_COUNT);
    int i;
    for (i = 0; values != NULL && i < TCUQ_SIGNAL_COUNT; i++) {
        PyObject *value = PyFloat_FromDouble(signals[i] / ONE);
        if (value == NULL) {
            Py_DECREF(values);
            values = NULL;
        } else {
            PyTuple_SetItem(values, i, value);
        }
    }
    return values;
}

static PyObject *reason_of(const step_kind_t *kind, uint8_t reason)
{
    if (reason == TCUQ_REASON_ERROR) {
        return PyUnicode_InternFromString("error_limit");
    }
    return Py_NewRef(reason < TCUQ_SIGNAL_COUNT ? PyTuple_GetItem(kind->names, reason) : Py_None);
}

static PyObject *name_of(PyObject *names, int number)
{
    return Py_NewRef(names != NULL && number < PyTuple_Size(names) ? PyTuple_GetItem(names, number) : Py_None);
}

PyObject *step_new(const step_kind_t *kind, const tcuq_step_t *s, const uint16_t *signals, int horizon,
                   PyObject *names)
{
    PyObject *items[ITEMS] = {
        PyLong_FromLong(s->prediction),
        PyFloat_FromDouble(s->risk / ONE),
        PyFloat_FromDouble(s->threshold / ONE),
        PyFloat_FromDouble(s->uncertainty / ONE),
        PyBool_FromLong(s->flagged),
        PyBool_FromLong(s->abstain),
        PyLong_FromLong(s->alarm),
        PyBool_FromLong(s->warming_up),
        reason_of(kind, s->reason),
        PyBool_FromLong(s->low_mass),
        signals != NULL ? signal_values(signals) : Py_NewRef(Py_None),
        PyLong_FromLong(s->answer),
        PyFloat_FromDouble(s->persistence / ONE),
        PyFloat_FromDouble(s->degradation / ONE),
        horizon != 0 ? PyFloat_FromDouble(s->expected_accuracy / ONE) : Py_NewRef(Py_None),
        PyFloat_FromDouble(s->novelty / ONE),
        PyUnicode_InternFromString(action_names[s->action]),
        PyBool_FromLong(s->changed),
        PyLong_FromLong(s->moved),
        name_of(names, s->answer),
        name_of(names, s->prediction)};
    PyObject *step = PyStructSequence_New(kind->type);
    int whole = step != NULL;
    size_t i;
    for (i = 0; i < ITEMS; i++) {
        whole &= items[i] != NULL;
    }
    for (i = 0; i < ITEMS; i++) {
        if (whole) {
            PyStructSequence_SetItem(step, (Py_ssize_t)i, items[i]);
        } else {
            Py_XDECREF(items[i]);
        }
    }
    if (!whole) {
        Py_CLEAR(step);
    }
    return step;
}

void step_row(step_row_t *row, const tcuq_step_t *s, int horizon)
{
    row->risk = s->risk / ONE;
    row->threshold = s->threshold / ONE;
    row->uncertainty = s->uncertainty / ONE;
    row->persistence = s->persistence / ONE;
    row->novelty = s->novelty / ONE;
    row->degradation = s->degradation / ONE;
    row->expected_accuracy = horizon != 0 ? s->expected_accuracy / ONE : Py_NAN;
    row->prediction = s->prediction;
    row->answer = s->answer;
    row->flagged = s->flagged;
    row->abstain = s->abstain;
    row->alarm = s->alarm;
    row->warming_up = s->warming_up;
    row->reason = s->reason;
    row->low_mass = s->low_mass;
    row->action = s->action;
    row->changed = s->changed;
    row->moved = s->moved;
    memset(row->unused, 0, sizeof row->unused);
}
