/* SPDX-License-Identifier: MIT */
#include "binding/binding.h"

/* Numbers of a part of the params: what is read where, and what is accepted. */
typedef enum { OF_p, OF_evidence, OF_instant, OF_sight, OF_feedback } part_t;
typedef enum { ONE, BY_signal, BY_class, BY_lag, BY_number, BY_triangle } kind_t;
typedef tcuq_params_t p_t;
typedef tcuq_evidence_t evidence_t;
typedef tcuq_instant_t instant_t;
typedef tcuq_sight_t sight_t;
typedef tcuq_feedback_t feedback_t;

typedef struct {
    part_t part;
    kind_t kind;
    const char *name;
    long long low;
    long long high;
    size_t offset; /* in the struct of the part; of lists that it points to, in owned_params_t */
    size_t size;   /* bytes of one number */
} row_t;

#define NUMBER_ROW(error, of, name, type, low, high, bytes, usual) \
    {OF_##of, ONE, #name, low, high, offsetof(of##_t, name), sizeof(type)},
#define LIST_ROW(of, name, type, low, high, by) \
    {OF_##of, BY_##by, #name, low, high, PLACE_##by(of, name), sizeof(type)},
#define PLACE_signal(of, name) offsetof(of##_t, name)
#define PLACE_class(of, name) offsetof(owned_params_t, name)
#define PLACE_lag(of, name) offsetof(owned_params_t, name)
#define PLACE_number(of, name) offsetof(owned_params_t, name)
#define PLACE_triangle(of, name) offsetof(owned_params_t, name)
/* Single numbers first: some say how long a list is. */
static const row_t rows[] = {TCUQ_NUMBERS(NUMBER_ROW) TCUQ_LISTS(LIST_ROW)};

static const char *const prefixes[] = {"", "evidence ", "instant ", "sight ", "feedback "};

/* Put a number of 8, 16 or 32 bits where it belongs; two's complement serves both signs. */
static void store(void *target, size_t size, long long value)
{
    uint8_t byte = (uint8_t)value;
    uint16_t half = (uint16_t)value;
    uint32_t word = (uint32_t)value;
    memcpy(target, size == 1u ? (void *)&byte : size == 2u ? (void *)&half : (void *)&word, size);
}

/* A new reference to an entry, None for one that is missing where it may be, or NULL with an exception. Entries are
 * never borrowed: reading a number may run Python code, which may change the dict. */
static PyObject *entry_of(PyObject *fields, const char *name, int may_miss)
{
    PyObject *key = PyUnicode_FromString(name);
    PyObject *entry = key == NULL ? NULL : PyObject_GetItem(fields, key);
    Py_XDECREF(key);
    if (entry == NULL && may_miss && PyErr_ExceptionMatches(PyExc_KeyError)) {
        PyErr_Clear();
        entry = Py_NewRef(Py_None);
    }
    return entry;
}

/* Read a number in the range of its row; `where` is its place in a list. Return 0, or -1 with an exception. */
static int read_number(void *target, PyObject *item, const row_t *row, const char *where)
{
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (value == -1 && overflow == 0 && PyErr_Occurred() != NULL) {
        return -1;
    }
    if (overflow == 0 && value >= row->low && value <= row->high) {
        store(target, row->size, value);
        return 0;
    }
    if (row->low == row->high) {
        PyErr_Format(PyExc_ValueError, "%s%s%s is %S, expected %lld", prefixes[row->part], row->name, where, item,
                     row->low);
    } else {
        PyErr_Format(PyExc_ValueError, "%s%s%s is %S, expected %lld to %lld", prefixes[row->part], row->name, where,
                     item, row->low, row->high);
    }
    return -1;
}

/* Read `least` to `most` numbers into `target`. Return how many, or -1 with an exception. */
static Py_ssize_t read_list(char *target, PyObject *list, const row_t *row, Py_ssize_t least, Py_ssize_t most)
{
    Py_ssize_t count = PySequence_Size(list);
    Py_ssize_t i;
    if (count >= 0 && (count < least || count > most)) {
        PyErr_Format(PyExc_ValueError, "%s%s has %zd entries, expected %s%zd", prefixes[row->part], row->name, count,
                     least == most ? "" : "at most ", most);
        return -1;
    }
    for (i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        char where[32];
        PyOS_snprintf(where, sizeof where, "[%ld]", (long)i);
        if (item == NULL || read_number(target + (size_t)i * row->size, item, row, where) < 0) {
            count = -1;
        }
        Py_XDECREF(item);
    }
    return count;
}

/* Entries of a list. */
static Py_ssize_t count_of(const owned_params_t *owned, kind_t kind)
{
    const tcuq_params_t *p = &owned->params;
    Py_ssize_t numbers = (Py_ssize_t)TCUQ_SIGHT_COUNT(p);
    switch (kind) {
    case BY_signal:
        return TCUQ_SIGNAL_COUNT;
    case BY_class:
        return p->classes;
    case BY_number:
        return numbers;
    case BY_triangle:
        return numbers * (numbers + 1) / 2;
    default:
        return p->lag_count;
    }
}

static int read_row(owned_params_t *owned, void *part, PyObject *item, const row_t *row)
{
    tcuq_params_t *p = &owned->params;
    char *target = (char *)(row->kind == ONE || row->kind == BY_signal ? part : (void *)owned) + row->offset;
    Py_ssize_t count = count_of(owned, row->kind);
    if (row->kind == ONE) {
        return read_number(target, item, row, "");
    }
    if (row->kind == BY_lag && p->lags == NULL) { /* the first list of them says how many */
        count = read_list(target, item, row, 0, TCUQ_MAX_LAG);
        p->lag_count = (uint16_t)(count < 0 ? 0 : count);
        p->lags = owned->lags;
        return count < 0 ? -1 : 0;
    }
    return read_list(target, item, row, count, count) < 0 ? -1 : 0;
}

/* Read all numbers of a part, but those that are not for Python to say. Return whether it is there (a head may be None
 * or missing), or -1 with an exception. */
static int read_part(owned_params_t *owned, PyObject *fields, part_t which)
{
    static const char *const names[] = {"params", "evidence", "instant", "sight", "feedback"};
    void *const parts[] = {&owned->params, &owned->evidence, &owned->instant, &owned->sight, &owned->feedback};
    PyObject *numbers = which == OF_p ? Py_NewRef(fields) : entry_of(fields, names[which], 1);
    int status = numbers == NULL ? -1 : numbers != Py_None;
    size_t i;
    if (status > 0 && !PyDict_Check(numbers)) {
        PyErr_Format(PyExc_TypeError, "%s must be a dict or None", names[which]);
        status = -1;
    }
    for (i = 0; status > 0 && i < sizeof rows / sizeof rows[0]; i++) {
        const row_t *row = &rows[i];
        if (row->part == which && strcmp(row->name, "lag_count") != 0 && strcmp(row->name, "fingerprint") != 0) {
            PyObject *item = entry_of(numbers, row->name, 0);
            status = item == NULL || read_row(owned, parts[which], item, row) < 0 ? -1 : 1;
            Py_XDECREF(item);
        }
    }
    Py_XDECREF(numbers);
    return status;
}

/* Say which parameter breaks a rule between fields. */
static int refuse_rule(PyObject *fields, int error)
{
    PyObject *value = entry_of(fields, tcuq_error_name(error), 0);
    if (value != NULL) {
        PyErr_Format(PyExc_ValueError, "%s is %R, expected %s", tcuq_error_name(error), value,
                     tcuq_error_text(error));
        Py_DECREF(value);
    }
    return -1;
}

/* A table of int8 comes as bytes, class by class, or None. Its memory goes to `owned`, 0 or -1 with an exception. */
static int read_bytes(int8_t **owned, PyObject *fields, const char *name, Py_ssize_t size)
{
    Py_ssize_t given;
    PyObject *bytes = entry_of(fields, name, 1);
    int status = bytes == NULL ? -1 : 0;
    char *from;
    if (bytes != NULL && bytes != Py_None) {
        status = PyBytes_AsStringAndSize(bytes, &from, &given);
        if (status == 0 && given != size) {
            PyErr_Format(PyExc_ValueError, "%s has %zd entries, expected %zd", name, given, size);
            status = -1;
        } else if (status == 0 && (*owned = PyMem_Malloc((size_t)size + 1u)) == NULL) {
            PyErr_NoMemory();
            status = -1;
        } else if (status == 0) {
            memcpy(*owned, from, (size_t)size);
        }
    }
    Py_XDECREF(bytes);
    return status;
}

/* The tables that there are: centers, and the class means of sight. */
static int read_tables(owned_params_t *owned, PyObject *fields)
{
    tcuq_params_t *p = &owned->params;
    PyObject *sight;
    int status = read_bytes(&owned->centers, fields, "centers", (Py_ssize_t)p->classes * p->features);
    p->centers = owned->centers;
    if (status == 0 && p->sight != NULL) {
        sight = entry_of(fields, "sight", 0);
        status = sight == NULL ? -1
                               : read_bytes(&owned->class_mean, sight, "class_mean",
                                            (Py_ssize_t)p->classes * (Py_ssize_t)TCUQ_SIGHT_COUNT(p));
        Py_XDECREF(sight);
        owned->sight.class_mean = owned->class_mean;
    }
    return status;
}

/* Read what `Params.integers` gives, and check it. Return 0, or -1 with an exception that names the parameter, its value
 * and what was expected. */
static int fields_read(owned_params_t *owned, PyObject *fields)
{
    tcuq_params_t *p = &owned->params;
    int there[OF_feedback + 1], part, error;
    p->sight = &owned->sight; /* its number of gauges says how long lists are */
    for (part = OF_p; part <= OF_feedback; part++) {
        there[part] = read_part(owned, fields, (part_t)part);
        if (there[part] < 0) {
            return -1;
        }
    }
    p->lag_weights = owned->lag_weights;
    owned->evidence.offset = owned->offset;
    owned->sight.mean = owned->mean;
    owned->sight.scale = owned->scale;
    owned->sight.shift = owned->shift;
    owned->sight.matrix = owned->matrix;
    p->evidence = there[OF_evidence] ? &owned->evidence : NULL;
    p->instant = there[OF_instant] ? &owned->instant : NULL;
    p->sight = there[OF_sight] ? &owned->sight : NULL;
    if (read_tables(owned, fields) < 0) {
        return -1;
    }
    p->feedback = there[OF_feedback] ? &owned->feedback : NULL;
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
    if (fields_read(&self->owned, fields) < 0) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

void base_free(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyMem_Free(((base_t *)object)->owned.centers);
    PyMem_Free(((base_t *)object)->owned.class_mean);
    PyObject_Free(object);
    Py_DECREF((PyObject *)type);
}
