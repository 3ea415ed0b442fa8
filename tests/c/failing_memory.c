/* SPDX-License-Identifier: MIT */
/* A Python module whose call(function, n, lasting) calls a function and lets the n-th request for memory in it fail, or all
 * from there on. All of Python's memory goes through it: objects, buffers, and what extensions ask Python for. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static const PyMemAllocatorDomain domains[] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
static PyMemAllocatorEx real[3];
static long left;    /* requests until the one that fails */
static int lasting;  /* whether those after it fail too */
static int armed;
static int failed;
static long long live; /* blocks that were given out and not taken back */

static int refused(void)
{
    if (!armed || left > 1) {
        left -= armed;
        return 0;
    }
    failed = 1;
    armed = lasting;
    return 1;
}

static void *take_malloc(void *which, size_t size)
{
    PyMemAllocatorEx *from = which;
    void *found = refused() ? NULL : from->malloc(from->ctx, size);
    live += found != NULL;
    return found;
}

static void *take_calloc(void *which, size_t count, size_t size)
{
    PyMemAllocatorEx *from = which;
    void *found = refused() ? NULL : from->calloc(from->ctx, count, size);
    live += found != NULL;
    return found;
}

static void *take_realloc(void *which, void *old, size_t size)
{
    PyMemAllocatorEx *from = which;
    void *found = refused() ? NULL : from->realloc(from->ctx, old, size);
    live += found != NULL && old == NULL;
    return found;
}

static void give_back(void *which, void *old)
{
    PyMemAllocatorEx *from = which;
    live -= old != NULL;
    from->free(from->ctx, old);
}

/* call(function, n, lasting) -> its result */
static PyObject *call(PyObject *module, PyObject *args)
{
    PyObject *function;
    PyObject *result;
    long n;
    int keep;
    (void)module;
    if (!PyArg_ParseTuple(args, "Olp", &function, &n, &keep)) {
        return NULL;
    }
    failed = 0;
    left = n;
    lasting = keep;
    armed = 1;
    result = PyObject_CallNoArgs(function);
    armed = 0;
    return result;
}

/* Whether a request of the last call failed. */
static PyObject *was_refused(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(failed);
}

static PyObject *blocks(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromLongLong(live);
}

static PyMethodDef methods[] = {
    {"call", call, METH_VARARGS, NULL}, {"failed", was_refused, METH_NOARGS, NULL}, {"blocks", blocks, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "failing_memory", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_failing_memory(void)
{
    int i;
    for (i = 0; i < 3; i++) {
        PyMemAllocatorEx ours = {&real[i], take_malloc, take_calloc, take_realloc, give_back};
        PyMem_GetAllocator(domains[i], &real[i]);
        PyMem_SetAllocator(domains[i], &ours);
    }
    return PyModule_Create(&definition);
}
