/* SPDX-License-Identifier: MIT */
/* Python's door to the integer core, the module `tcuq._core`: buffers in, numbers out. */
#include <Python.h>

#include "binding/bank.h"
#include "binding/core.h"
#include "binding/fields.h"
#include "binding/frames.h"
#include "binding/input.h"
#include "binding/order.h"
#include "binding/step.h"
#include "binding/tally.h"
#include "core/tcuq.h"

static const struct {
    const char *name;
    long value;
} constants[] = {
    {"PARAMS_VERSION", TCUQ_PARAMS_VERSION},
    {"STATE_VERSION", TCUQ_STATE_VERSION},
    {"LAGGED_SIGNALS", TCUQ_LAGGED_SIGNALS},
    {"FEATURE_SIGNALS", TCUQ_FEATURE_SIGNALS},
    {"ERR_SIZE", TCUQ_ERR_SIZE},
    {"ERR_STATE", TCUQ_ERR_STATE},
    {"ERR_VERSION", TCUQ_ERR_VERSION},
    {"ERR_OTHER", TCUQ_ERR_OTHER},
};

static PyMethodDef module_methods[] = {{"order", order_events, METH_VARARGS, NULL},
                                       {"quantize_probs", quantize_probs, METH_VARARGS, NULL},
                                       {"quantize_features", quantize_features, METH_VARARGS, NULL},
                                       {"tally", tally, METH_VARARGS, NULL},
                                       {"decision_rows", decision_rows, METH_VARARGS, NULL},
                                       {NULL, NULL, 0, NULL}};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "_core", "Binding to the integer core.", -1, module_methods, NULL, NULL, NULL, NULL};

/* Takes over the reference; NULL is an exception already. */
static int add(PyObject *module, const char *name, PyObject *object)
{
    if (object == NULL || PyModule_AddObject(module, name, object) < 0) {
        Py_XDECREF(object);
        return -1;
    }
    return 0;
}

PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = PyModule_Create(&module_def);
    int status = module == NULL ? -1 : step_add_to(module);
    size_t i;
    if (status == 0) {
        status = add(module, "Core", core_type());
    }
    if (status == 0) {
        status = add(module, "Bank", bank_type());
    }
    if (status == 0) {
        status = add(module, "FIELDS", fields_table());
    }
    for (i = 0; status == 0 && i < sizeof constants / sizeof constants[0]; i++) {
        status = PyModule_AddIntConstant(module, constants[i].name, constants[i].value);
    }
    if (status < 0) {
        Py_CLEAR(module);
    }
    return module;
}
