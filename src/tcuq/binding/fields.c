/* SPDX-License-Identifier: MIT */
#include "binding/fields.h"

#include "binding/input.h"

#include <stddef.h>
#include <string.h>

/* A member of tcuq_params_t or of a head, as tcuq_fields.h lists it. */
typedef enum { PARAM_NUMBER, EVIDENCE_NUMBER, INSTANT_NUMBER, FEEDBACK_NUMBER, MANY } kind_t;

typedef struct {
    const char *of; /* "evidence ", "instant " or "feedback " for those of a head */
    const char *name;
    kind_t kind;
    long long low;
    long long high;
    int printed;   /* bytes of a number in the fingerprint */
    size_t offset; /* of a number in its struct */
    size_t size;   /* bytes of a number, or of one in a list */
} row_t;

#define PARAM_ROW(name, type, low, high, bytes) \
    {"", #name, PARAM_NUMBER, low, high, bytes, offsetof(tcuq_params_t, name), sizeof(type)},
#define EVIDENCE_ROW(name, type, low, high, bytes) \
    {"evidence ", #name, EVIDENCE_NUMBER, low, high, bytes, offsetof(tcuq_evidence_t, name), sizeof(type)},
#define INSTANT_ROW(name, type, low, high, bytes) \
    {"instant ", #name, INSTANT_NUMBER, low, high, bytes, offsetof(tcuq_instant_t, name), sizeof(type)},
#define FEEDBACK_ROW(name, type, low, high, bytes) \
    {"feedback ", #name, FEEDBACK_NUMBER, low, high, bytes, offsetof(tcuq_feedback_t, name), sizeof(type)},
#define PARAM_MANY(name, type, low, high) {"", #name, MANY, low, high, 0, 0, sizeof(type)},
#define EVIDENCE_MANY(name, type, low, high) {"evidence ", #name, MANY, low, high, 0, 0, sizeof(type)},
#define INSTANT_MANY(name, type, low, high) {"instant ", #name, MANY, low, high, 0, 0, sizeof(type)},
static const row_t rows[] = {TCUQ_PARAMS_FIELDS(PARAM_ROW, PARAM_MANY, PARAM_MANY, TCUQ_NO_HEAD)
                                 TCUQ_EVIDENCE_FIELDS(EVIDENCE_ROW, EVIDENCE_MANY, EVIDENCE_MANY)
                                     TCUQ_INSTANT_FIELDS(INSTANT_ROW, INSTANT_MANY, INSTANT_MANY)
                                         TCUQ_FEEDBACK_FIELDS(FEEDBACK_ROW, TCUQ_NO_LIST, TCUQ_NO_LIST)};

#define PARAM_PLACE(name, ...) ROW_##name,
#define EVIDENCE_PLACE(name, ...) ROW_evidence_##name,
#define INSTANT_PLACE(name, ...) ROW_instant_##name,
#define FEEDBACK_PLACE(name, ...) ROW_feedback_##name,
enum {
    TCUQ_PARAMS_FIELDS(PARAM_PLACE, PARAM_PLACE, PARAM_PLACE, TCUQ_NO_HEAD)
    TCUQ_EVIDENCE_FIELDS(EVIDENCE_PLACE, EVIDENCE_PLACE, EVIDENCE_PLACE)
    TCUQ_INSTANT_FIELDS(INSTANT_PLACE, INSTANT_PLACE, INSTANT_PLACE)
    TCUQ_FEEDBACK_FIELDS(FEEDBACK_PLACE, TCUQ_NO_LIST, TCUQ_NO_LIST)
    ROW_COUNT
};

/* Put a number of 8, 16 or 32 bits where it belongs; two's complement serves both signs. */
static void store(void *target, size_t size, long long value)
{
    uint8_t byte = (uint8_t)value;
    uint16_t half = (uint16_t)value;
    uint32_t word = (uint32_t)value;
    memcpy(target, size == 1u ? (void *)&byte : size == 2u ? (void *)&half : (void *)&word, size);
}

/* A new reference to an entry, or NULL with an exception. Entries are never borrowed: reading a number
 * may run Python code, which may change the dict. */
static PyObject *entry_of(PyObject *fields, const char *name)
{
    PyObject *key = PyUnicode_FromString(name);
    PyObject *entry = key == NULL ? NULL : PyObject_GetItem(fields, key);
    Py_XDECREF(key);
    return entry;
}

/* The same for an entry that may be missing: None then. */
static PyObject *entry_or_none(PyObject *fields, const char *name)
{
    PyObject *entry = entry_of(fields, name);
    if (entry == NULL && PyErr_ExceptionMatches(PyExc_KeyError)) {
        PyErr_Clear();
        entry = Py_NewRef(Py_None);
    }
    return entry;
}

/* Read a number in the range of its row; `where` is its place in a list. Return 0, or -1 with an
 * exception. */
static int as_number(PyObject *item, const row_t *row, const char *where, long long *value)
{
    int overflow;
    *value = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (*value == -1 && overflow == 0 && PyErr_Occurred() != NULL) {
        return -1;
    }
    if (overflow == 0 && *value >= row->low && *value <= row->high) {
        return 0;
    }
    if (row->low == row->high) {
        PyErr_Format(PyExc_ValueError, "%s%s%s is %S, expected %lld", row->of, row->name, where, item, row->low);
    } else {
        PyErr_Format(PyExc_ValueError, "%s%s%s is %S, expected %lld to %lld", row->of, row->name, where, item,
                     row->low, row->high);
    }
    return -1;
}

static int read_number(void *target, PyObject *fields, const row_t *row)
{
    PyObject *item = entry_of(fields, row->name);
    long long value;
    int status = item == NULL ? -1 : as_number(item, row, "", &value);
    Py_XDECREF(item);
    if (status == 0) {
        store((char *)target + row->offset, row->size, value);
    }
    return status;
}

/* Read all numbers of one struct, but those that are not for Python to say. */
static int read_numbers(void *target, PyObject *fields, kind_t kind)
{
    int i;
    for (i = 0; i < ROW_COUNT; i++) {
        if (rows[i].kind == kind && i != ROW_lag_count && i != ROW_fingerprint &&
            read_number(target, fields, &rows[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Read `least` to `most` numbers into `target`. Return how many, or -1 with an exception. */
static Py_ssize_t read_list(void *target, PyObject *fields, int number, Py_ssize_t least, Py_ssize_t most)
{
    const row_t *row = &rows[number];
    PyObject *list = entry_of(fields, row->name);
    Py_ssize_t count = list == NULL ? -1 : PySequence_Size(list);
    Py_ssize_t i;
    if (count >= 0 && (count < least || count > most)) {
        PyErr_Format(PyExc_ValueError, "%s%s has %zd entries, expected %s%zd", row->of, row->name, count,
                     least == most ? "" : "at most ", most);
        count = -1;
    }
    for (i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        char where[32];
        long long value;
        PyOS_snprintf(where, sizeof where, "[%ld]", (long)i);
        if (item == NULL || as_number(item, row, where, &value) < 0) {
            count = -1;
        } else {
            store((char *)target + (size_t)i * row->size, row->size, value);
        }
        Py_XDECREF(item);
    }
    Py_XDECREF(list);
    return count;
}

static int read_evidence(held_params_t *held, PyObject *head)
{
    tcuq_evidence_t *e = &held->evidence;
    Py_ssize_t classes = held->params.classes;
    e->offset = held->offset;
    held->params.evidence = e;
    if (read_numbers(e, head, EVIDENCE_NUMBER) < 0 ||
        read_list(e->coef, head, ROW_evidence_coef, TCUQ_SIGNAL_COUNT, TCUQ_SIGNAL_COUNT) < 0 ||
        read_list(held->offset, head, ROW_evidence_offset, classes, classes) < 0) {
        return -1;
    }
    return 0;
}

/* Say which parameter breaks a rule between fields. */
static int refuse_rule(PyObject *fields, int error)
{
    PyObject *value = entry_of(fields, tcuq_error_name(error));
    if (value != NULL) {
        PyErr_Format(PyExc_ValueError, "%s is %R, expected %s", tcuq_error_name(error), value,
                     tcuq_error_text(error));
        Py_DECREF(value);
    }
    return -1;
}

static int read_instant(held_params_t *held, PyObject *head)
{
    tcuq_instant_t *instant = &held->instant;
    held->params.instant = instant;
    if (read_numbers(instant, head, INSTANT_NUMBER) < 0 ||
        read_list(instant->coef, head, ROW_instant_coef, TCUQ_SIGNAL_COUNT, TCUQ_SIGNAL_COUNT) < 0) {
        return -1;
    }
    return 0;
}

static int read_feedback(held_params_t *held, PyObject *head)
{
    held->params.feedback = &held->feedback;
    return read_numbers(&held->feedback, head, FEEDBACK_NUMBER);
}

/* A head that may be missing. */
static int read_optional(held_params_t *held, PyObject *fields, const char *name,
                         int (*read)(held_params_t *, PyObject *))
{
    PyObject *head = entry_or_none(fields, name);
    int status = -1;
    if (head == Py_None) {
        status = 0;
    } else if (head != NULL && PyDict_Check(head)) {
        status = read(held, head);
    } else if (head != NULL) {
        PyErr_Format(PyExc_TypeError, "%s must be a dict or None", name);
    }
    Py_XDECREF(head);
    return status;
}

static int take_centers(held_params_t *held, PyObject *bytes)
{
    Py_ssize_t size = (Py_ssize_t)held->params.classes * held->params.features;
    Py_ssize_t given;
    char *from;
    if (PyBytes_AsStringAndSize(bytes, &from, &given) < 0) {
        return -1;
    }
    if (given != size) {
        PyErr_Format(PyExc_ValueError, "centers has %zd entries, expected %zd", given, size);
        return -1;
    }
    held->centers = PyMem_Malloc((size_t)size + 1u);
    if (held->centers == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(held->centers, from, (size_t)size);
    held->params.centers = held->centers;
    return 0;
}

/* Centers come as bytes, class by class, or None. */
static int read_centers(held_params_t *held, PyObject *fields)
{
    PyObject *bytes = entry_or_none(fields, "centers");
    int status = bytes == NULL ? -1 : bytes == Py_None ? 0 : take_centers(held, bytes);
    Py_XDECREF(bytes);
    return status;
}

/* Read what `Params.integers` gives, and check it. Return 0, or -1 with an exception that names the parameter, its value
 * and what was expected. */
static int fields_read(held_params_t *held, PyObject *fields)
{
    tcuq_params_t *p = &held->params;
    Py_ssize_t lag_count;
    int error;
    lag_count = read_list(held->lags, fields, ROW_lags, 0, TCUQ_MAX_LAG);
    if (lag_count < 0 || read_numbers(p, fields, PARAM_NUMBER) < 0 ||
        read_list(held->lag_weights, fields, ROW_lag_weights, lag_count, lag_count) < 0 ||
        read_list(p->coef, fields, ROW_coef, TCUQ_SIGNAL_COUNT, TCUQ_SIGNAL_COUNT) < 0 ||
        read_list(p->clean_mean, fields, ROW_clean_mean, TCUQ_SIGNAL_COUNT, TCUQ_SIGNAL_COUNT) < 0 ||
        read_optional(held, fields, "evidence", read_evidence) < 0 ||
        read_optional(held, fields, "instant", read_instant) < 0 ||
        read_optional(held, fields, "feedback", read_feedback) < 0 || read_centers(held, fields) < 0) {
        return -1;
    }
    p->lag_count = (uint16_t)lag_count;
    p->lags = held->lags;
    p->lag_weights = held->lag_weights;
    error = tcuq_check(p);
    if (error != TCUQ_OK) {
        return refuse_rule(fields, error);
    }
    p->fingerprint = tcuq_fingerprint(p);
    return 0;
}

PyObject *base_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    base_t *self;
    PyObject *fields;
    double scale = 1.0;
    if (kwargs != NULL && PyDict_Size(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "Core and Bank take no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O!|d", &PyDict_Type, &fields, &scale) || !scale_ok(scale)) {
        return NULL;
    }
    self = (base_t *)PyType_GenericAlloc(type, 0); /* filled with zeros */
    if (self == NULL) {
        return NULL;
    }
    self->feature_scale = (float)scale;
    if (fields_read(&self->held, fields) < 0) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

void fields_free(held_params_t *held)
{
    PyMem_Free(held->centers);
    held->centers = NULL;
}

PyObject *fields_table(void)
{
    PyObject *table = PyTuple_New(ROW_COUNT);
    int i;
    for (i = 0; table != NULL && i < ROW_COUNT; i++) {
        const row_t *row = &rows[i];
        PyObject *name = PyUnicode_FromFormat("%s%s", row->of, row->name);
        PyObject *item = Py_BuildValue("(NLLi)", name, row->low, row->high, row->printed);
        if (item == NULL) {
            Py_DECREF(table);
            table = NULL;
        } else {
            PyTuple_SetItem(table, i, item);
        }
    }
    return table;
}
