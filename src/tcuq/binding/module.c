/* SPDX-License-Identifier: MIT */
/* Python's door to the integer core, the module `tcuq._core`: buffers in, numbers out. */
#include "binding/binding.h"

static PyMethodDef module_methods[] = {{"quantize_probs", quantize_probs, METH_VARARGS, NULL},
                                       {"quantize_features", quantize_features, METH_VARARGS, NULL},
                                       {"decision_rows", decision_rows, METH_VARARGS, NULL},
                                       {"input_gauges", input_gauges, METH_VARARGS, NULL},
                                       {NULL, NULL, 0, NULL}};

/* Put a new reference into the module; NULL is an exception already. */
static int add(PyObject *module, const char *name, PyObject *object)
{
    int status = object == NULL ? -1 : PyModule_AddObjectRef(module, name, object);
    Py_XDECREF(object);
    return status;
}

static int fill(PyObject *module)
{
    int failed = step_add_to(PyModule_GetState(module), module) < 0 || add(module, "Core", core_type(module)) < 0 ||
                 add(module, "Bank", bank_type(module)) < 0 ||
                 PyModule_AddIntConstant(module, "ERR_SIZE", TCUQ_ERR_SIZE) < 0 ||
                 PyModule_AddIntConstant(module, "ERR_STATE", TCUQ_ERR_STATE) < 0 ||
                 PyModule_AddIntConstant(module, "ERR_VERSION", TCUQ_ERR_VERSION) < 0 ||
                 PyModule_AddIntConstant(module, "ERR_OTHER", TCUQ_ERR_OTHER) < 0 ||
                 PyModule_AddIntConstant(module, "ERR_STEP", TCUQ_ERR_STEP) < 0;
    if (failed && PyErr_Occurred() == NULL) { /* some Pythons make no type and say nothing without memory */
        PyErr_NoMemory();
    }
    return failed ? -1 : 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    step_kind_t *kind = PyModule_GetState(module);
    Py_VISIT(kind->type);
    Py_VISIT(kind->names);
    return 0;
}

static int clear(PyObject *module)
{
    step_kind_t *kind = PyModule_GetState(module);
    Py_CLEAR(kind->type);
    Py_CLEAR(kind->names);
    return 0;
}

static void let_go(void *module)
{
    clear(module);
}

/* No state is shared between monitors, banks or interpreters; lock.h guards that of each object. */
static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, SLOT(fill)},
#if defined(Py_GIL_DISABLED)
                                          {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
                                          {0, NULL}};

static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT,
                                        "_core",
                                        "Binding to the integer core.",
                                        sizeof(step_kind_t),
                                        module_methods,
                                        module_slots,
                                        traverse,
                                        clear,
                                        let_go};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&module_def);
}
