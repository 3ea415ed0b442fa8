/* SPDX-License-Identifier: MIT */
/* Many monitors of the same params: records of one size in one block of memory. Loops over events run without
 * Python's lock; a second call that comes meanwhile is turned away, from another thread or from an object whose memory
 * is about to be read. */
#include "binding/binding.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

/* The fewest events that are worth another thread. */
#define WORTH_A_THREAD 2048u
#define MOST_THREADS 64

typedef struct {
    base_t base;
    uint8_t *records; /* a tcuq_t each, then its ring */
    uint8_t *fresh;   /* a record as a new monitor has it */
    size_t record;    /* bytes, a multiple of 8 */
    size_t count;
    size_t room; /* records that there is memory for */
    int busy;
} bank_t;

/* The arrays of one call: slots, copied, because the caller's array may change while the lock is given up, and memory
 * that has some bytes for each of them. */
#define MOST_SPACES 3
typedef struct {
    uint32_t *slots;
    size_t count;
    Py_buffer spaces[MOST_SPACES];
    int open; /* so many spaces */
} call_t;

/* The events of one call. */
typedef struct {
    const bank_t *bank;
    const uint32_t *slots; /* whose event it is */
    const run_tables_t *tables;
} run_t;

#define MONITOR_BYTES ((sizeof(tcuq_t) + 7u) & ~(size_t)7u)

static tcuq_t *monitor_at(const bank_t *self, size_t slot)
{
    return (tcuq_t *)(void *)(self->records + slot * self->record);
}

static uint32_t *ring_of(uint8_t *record)
{
    return (uint32_t *)(void *)(record + MONITOR_BYTES);
}

static void renew(bank_t *self, size_t slot)
{
    uint8_t *record = self->records + slot * self->record;
    memcpy(record, self->fresh, self->record);
    ((tcuq_t *)(void *)record)->ring = ring_of(record);
}

/* Keep others out until end(): 0, or -1 with an exception. */
static int begin(bank_t *self)
{
    int busy;
    LOCK_BEGIN(self)
    busy = self->busy;
    self->busy = 1;
    LOCK_END()
    if (busy) {
        PyErr_SetString(PyExc_RuntimeError, "the bank is in use by another thread, or was when this process was forked; "
                                            "give each thread and process one of its own");
        return -1;
    }
    return 0;
}

static void end(bank_t *self)
{
    LOCK_BEGIN(self)
    self->busy = 0;
    LOCK_END()
}

/* Read one dimension of int64, each the number of a monitor. Return 0, or -1 with an exception. */
static int slots_open(const bank_t *self, call_t *call, PyObject *object)
{
    Py_buffer view;
    int status = -1;
    if (PyObject_GetBuffer(object, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
        return -1;
    }
    if (view.ndim != 1 || view.itemsize != 8) {
        PyErr_SetString(PyExc_TypeError, "slots must be one dimension of int64");
    } else if ((call->slots = PyMem_Malloc((size_t)view.shape[0] * sizeof *call->slots + 1u)) == NULL) {
        PyErr_NoMemory();
    } else {
        status = 0;
    }
    for (; status == 0 && call->count < (size_t)view.shape[0]; call->count++) {
        int64_t slot;
        memcpy(&slot, (const char *)view.buf + call->count * sizeof slot, sizeof slot);
        if (slot < 0 || (uint64_t)slot >= self->count) {
            PyErr_Format(PyExc_IndexError, "slots[%zu] is %lld, expected 0 to %lld", call->count, (long long)slot,
                         (long long)self->count - 1);
            status = -1;
            break;
        }
        call->slots[call->count] = (uint32_t)slot;
    }
    PyBuffer_Release(&view);
    return status;
}

static void leave(bank_t *self, call_t *call)
{
    while (call->open > 0) {
        PyBuffer_Release(&call->spaces[--call->open]);
    }
    PyMem_Free(call->slots);
    end(self);
}

/* Keep others out until leave(), read the slots, the first of so many arguments, and open the next ones as spaces of
 * some bytes for each slot, `sizes` up to a 0. Return 0, or -1 with an exception and nobody kept out. */
static int enter(bank_t *self, call_t *call, PyObject *const *args, Py_ssize_t count, Py_ssize_t wanted,
                 const size_t *sizes)
{
    int status;
    call->slots = NULL;
    call->count = 0;
    call->open = 0;
    if (count != wanted) {
        PyErr_Format(PyExc_TypeError, "%zd arguments, expected %zd", count, wanted);
        return -1;
    }
    if (begin(self) < 0) {
        return -1;
    }
    status = slots_open(self, call, args[0]);
    for (; status == 0 && *sizes != 0u; sizes++) {
        status = space_open(&call->spaces[call->open], args[1 + call->open], (Py_ssize_t)(call->count * *sizes));
        call->open += status == 0;
    }
    if (status < 0) {
        leave(self, call);
    }
    return status;
}

static const size_t no_spaces[] = {0};

/* One of several threads: each has monitors of its own, so no order between threads changes a bit. */
typedef struct {
    const run_t *run;
    size_t count;   /* events of all threads */
    uint32_t share; /* which thread, of how many */
    uint32_t shares;
    PyThread_type_lock done; /* NULL: the calling thread does it */
} worker_t;

/* Neighbors share lines of the cache, so four of them a thread; the product scatters these. */
static int is_mine(const worker_t *worker, size_t event)
{
    uint32_t scattered = (worker->run->slots[event] >> 2) * 2654435761u >> 16;
    return scattered * worker->shares >> 16 == worker->share;
}

static void work(void *argument)
{
    const worker_t *worker = argument;
    size_t i;
    for (i = 0; i < worker->count; i++) {
        if (is_mine(worker, i)) {
            const run_t *run = worker->run;
            run_take(run->tables, monitor_at(run->bank, run->slots[i]), run->bank->base.feature_scale, (Py_ssize_t)i);
        }
    }
    if (worker->done != NULL) {
        PyThread_release_lock(worker->done);
    }
}

/* All events; a share whose thread cannot be had is worked on here. */
static void events(const run_t *run, size_t count, size_t threads)
{
    worker_t workers[MOST_THREADS];
    size_t worth = count / WORTH_A_THREAD + 1u, shares = worth < threads ? worth : threads, i;
    for (i = 0; i < shares; i++) {
        worker_t *worker = &workers[i];
        worker_t fresh = {run, count, (uint32_t)i, (uint32_t)shares, NULL};
        *worker = fresh;
        worker->done = i > 0u ? PyThread_allocate_lock() : NULL;
        if (worker->done != NULL) {
            PyThread_acquire_lock(worker->done, WAIT_LOCK);
            if (PyThread_start_new_thread(work, worker) == (unsigned long)-1) {
                PyThread_release_lock(worker->done); /* one that is held may not be freed everywhere */
                PyThread_free_lock(worker->done);
                worker->done = NULL;
            }
        }
    }
    for (i = 0; i < shares; i++) {
        if (workers[i].done == NULL) {
            work(&workers[i]);
        }
    }
    for (i = 1; i < shares; i++) {
        if (workers[i].done != NULL) {
            PyThread_acquire_lock(workers[i].done, WAIT_LOCK);
            PyThread_release_lock(workers[i].done);
            PyThread_free_lock(workers[i].done);
        }
    }
}

/* run(slots, probs, features, out, signals or None, threads = 1, gauges = None): the events of a monitor in their order. */
static PyObject *bank_run(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    bank_t *self = (bank_t *)object;
    PyObject *result = NULL;
    run_tables_t tables;
    call_t call;
    long threads = count > 5 ? PyLong_AsLong(args[5]) : 1;
    if (threads < 1 || threads > MOST_THREADS) {
        if (PyErr_Occurred() == NULL) {
            PyErr_Format(PyExc_ValueError, "threads is %ld, expected 1 to %d", threads, MOST_THREADS);
        }
        return NULL;
    }
    if (enter(self, &call, args, count, count < 5 || count > 7 ? 7 : count, no_spaces) < 0) {
        return NULL;
    }
    if (run_open(&tables, &self->base.owned.params, (Py_ssize_t)call.count, args + 1, count > 6 ? args[6] : Py_None) == 0) {
        run_t run = {self, call.slots, &tables};
        Py_BEGIN_ALLOW_THREADS
        events(&run, call.count, (size_t)threads);
        Py_END_ALLOW_THREADS
        run_close(&tables);
        result = Py_NewRef(Py_None);
    }
    leave(self, &call);
    return result;
}

/* save_many(slots, out): states after each other, as tcuq_save() writes them. ValueError names the first that it refuses. */
static PyObject *bank_save_many(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    bank_t *self = (bank_t *)object;
    const size_t sizes[] = {tcuq_state_size(&self->base.owned.params), 0};
    PyObject *result = NULL;
    call_t call;
    size_t i;
    int status = 0;
    if (enter(self, &call, args, count, 2, sizes) < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    for (i = 0; i < call.count && status >= 0; i++) {
        status = tcuq_save(monitor_at(self, call.slots[i]), (uint8_t *)call.spaces[0].buf + i * sizes[0], sizes[0]);
    }
    Py_END_ALLOW_THREADS
    if (status < 0) {
        PyErr_Format(PyExc_ValueError, "the memory of monitor %zd is damaged, so it is not saved; load a saved state",
                     (Py_ssize_t)call.slots[i - 1u]);
    } else {
        result = Py_NewRef(Py_None);
    }
    leave(self, &call);
    return result;
}

/* Load states; the first pass, into a monitor of nobody, only looks whether all are accepted. Return None, (status of
 * tcuq_load(), place) where one is refused, or NULL with an exception. */
static PyObject *load_all(bank_t *self, const call_t *call, const uint8_t *states, size_t size)
{
    uint8_t *spare = PyMem_Malloc(self->record);
    size_t passes = 2u * call->count, i;
    int status = TCUQ_OK;
    if (spare == NULL) {
        return PyErr_NoMemory();
    }
    memcpy(spare, self->fresh, self->record);
    ((tcuq_t *)(void *)spare)->ring = ring_of(spare);
    Py_BEGIN_ALLOW_THREADS
    for (i = 0; i < passes && status == TCUQ_OK; i++) {
        size_t which = i % call->count;
        tcuq_t *to = i < call->count ? (tcuq_t *)(void *)spare : monitor_at(self, call->slots[which]);
        status = tcuq_load(to, states + which * size, size);
    }
    Py_END_ALLOW_THREADS
    PyMem_Free(spare);
    return status == TCUQ_OK ? Py_NewRef(Py_None) : Py_BuildValue("in", status, (Py_ssize_t)(i - 1u));
}

/* load_many(slots, states) -> None, or (status of tcuq_load(), place) where a state is refused and none was loaded. */
static PyObject *bank_load_many(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    bank_t *self = (bank_t *)object;
    size_t size = tcuq_state_size(&self->base.owned.params);
    PyObject *result = NULL;
    Py_buffer states;
    call_t call;
    if (enter(self, &call, args, count, 2, no_spaces) < 0) {
        return NULL;
    }
    if (PyObject_GetBuffer(args[1], &states, PyBUF_C_CONTIGUOUS) == 0) {
        if ((size_t)states.len != call.count * size) {
            PyErr_Format(PyExc_ValueError, "states have %zd bytes, expected %zu, which is %zu for each of the slots",
                         states.len, call.count * size, size);
        } else {
            result = load_all(self, &call, states.buf, size);
        }
        PyBuffer_Release(&states);
    }
    leave(self, &call);
    return result;
}

/* reset(slots, everything): after a gap (`everything` false), or as a new monitor. */
static PyObject *bank_reset(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    bank_t *self = (bank_t *)object;
    call_t call;
    size_t i;
    int everything = count == 2 ? PyObject_IsTrue(args[1]) : 0;
    if (everything < 0 || enter(self, &call, args, count, 2, no_spaces) < 0) {
        return NULL;
    }
    for (i = 0; i < call.count; i++) {
        if (everything) {
            renew(self, call.slots[i]);
        } else {
            tcuq_reset(monitor_at(self, call.slots[i]));
        }
    }
    leave(self, &call);
    Py_RETURN_NONE;
}

/* feedback(slots, steps, labels, out): int64, int64, int64 and int8 arrays of one length; a status of tcuq_feedback()
 * each. Steps below 0 count back from the last one, -1. */
static PyObject *bank_feedback(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    static const size_t sizes[] = {sizeof(int64_t), sizeof(int64_t), 1, 0};
    bank_t *self = (bank_t *)object;
    call_t call;
    size_t i;
    if (enter(self, &call, args, count, 4, sizes) < 0) {
        return NULL;
    }
    for (i = 0; i < call.count; i++) {
        tcuq_t *monitor = monitor_at(self, call.slots[i]);
        int64_t step = ((const int64_t *)call.spaces[0].buf)[i], label = ((const int64_t *)call.spaces[1].buf)[i];
        step += step < 0 ? (int64_t)tcuq_steps(monitor) : 0;
        ((int8_t *)call.spaces[2].buf)[i] = (int8_t)tcuq_feedback(
            monitor, step < 0 || step > UINT32_MAX ? UINT32_MAX : (uint32_t)step,
            label < TCUQ_RIGHT || label > TCUQ_MAX_CLASSES ? TCUQ_MAX_CLASSES : (int32_t)label);
    }
    leave(self, &call);
    Py_RETURN_NONE;
}

/* Ask for large pages, whose addresses a processor finds sooner; only advice, so nobody looks whether it was taken. */
static void advise(uint8_t *records, size_t bytes)
{
#if defined(MADV_HUGEPAGE)
    const uintptr_t page = (uintptr_t)1 << 21;
    uintptr_t from = ((uintptr_t)records + page - 1u) & ~(page - 1u), to = ((uintptr_t)records + bytes) & ~(page - 1u);
    if (from < to) {
        madvise((void *)from, to - from, MADV_HUGEPAGE);
    }
#else
    (void)records;
    (void)bytes;
#endif
}

/* Have memory for `all` monitors; a bank that grows gets twice what it had, so that growing by one is cheap on
 * average. Return 0, or -1 with an exception. */
static int reserve(bank_t *self, size_t all)
{
    size_t room = self->room > all / 2u && self->room <= (size_t)PY_SSIZE_T_MAX / self->record / 2u ? 2u * self->room : all;
    uint8_t *records;
    size_t i;
    if (all <= self->room && self->records != NULL) {
        return 0;
    }
    records = PyMem_Realloc(self->records, room * self->record + 1u);
    if (records == NULL) {
        room = all;
        records = PyMem_Realloc(self->records, room * self->record + 1u);
    }
    if (records == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    advise(records, room * self->record);
    self->records = records;
    self->room = room;
    for (i = 0; i < self->count; i++) {
        monitor_at(self, i)->ring = ring_of(records + i * self->record);
    }
    return 0;
}

/* Add `more` monitors behind those that are there: 0, or -1 with an exception. */
static int extend(bank_t *self, size_t more)
{
    size_t all = self->count + more;
    size_t i;
    if (more > UINT32_MAX || all > UINT32_MAX || all > (size_t)PY_SSIZE_T_MAX / self->record) {
        PyErr_Format(PyExc_ValueError, "%zu monitors and %zu more are too many", self->count, more);
        return -1;
    }
    if (reserve(self, all) < 0) {
        return -1;
    }
    for (i = self->count; i < all; i++) {
        renew(self, i);
    }
    LOCK_BEGIN(self) /* sizes() may look at any time */
    self->count = all;
    LOCK_END()
    return 0;
}

/* grow(count) -> the first of the new slots */
static PyObject *bank_grow(PyObject *object, PyObject *argument)
{
    bank_t *self = (bank_t *)object;
    size_t more = PyLong_AsSize_t(argument);
    PyObject *first;
    if ((more == (size_t)-1 && PyErr_Occurred() != NULL) || begin(self) < 0) {
        return NULL;
    }
    first = PyLong_FromSize_t(self->count);
    if (first != NULL && extend(self, more) < 0) {
        Py_DECREF(first);
        first = NULL;
    }
    end(self);
    return first;
}

/* sizes() -> (monitors, bytes of each, bytes of a saved state) */
static PyObject *bank_sizes(PyObject *object, PyObject *unused)
{
    bank_t *self = (bank_t *)object;
    size_t count;
    (void)unused;
    LOCK_BEGIN(self)
    count = self->count;
    LOCK_END()
    return Py_BuildValue("nnn", (Py_ssize_t)count, (Py_ssize_t)self->record,
                         (Py_ssize_t)tcuq_state_size(&self->base.owned.params));
}

/* Bank(fields, feature_scale) */
static PyObject *bank_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    bank_t *self = (bank_t *)base_new(type, args, kwargs);
    size_t ring_bytes;
    if (self == NULL) {
        return NULL;
    }
    ring_bytes = tcuq_ring_size(&self->base.owned.params);
    self->record = (MONITOR_BYTES + ring_bytes + 7u) & ~(size_t)7u;
    self->fresh = PyMem_Calloc(1, self->record);
    if (self->fresh == NULL) {
        Py_DECREF((PyObject *)self);
        return PyErr_NoMemory();
    }
    tcuq_init((tcuq_t *)(void *)self->fresh, &self->base.owned.params, ring_of(self->fresh), ring_bytes);
    return (PyObject *)self;
}

static void bank_dealloc(PyObject *object)
{
    PyMem_Free(((bank_t *)object)->records);
    PyMem_Free(((bank_t *)object)->fresh);
    base_free(object);
}

static PyMethodDef bank_methods[] = {
    {"run", (PyCFunction)(void (*)(void))bank_run, METH_FASTCALL, NULL},
    {"save_many", (PyCFunction)(void (*)(void))bank_save_many, METH_FASTCALL, NULL},
    {"load_many", (PyCFunction)(void (*)(void))bank_load_many, METH_FASTCALL, NULL},
    {"reset", (PyCFunction)(void (*)(void))bank_reset, METH_FASTCALL, NULL},
    {"feedback", (PyCFunction)(void (*)(void))bank_feedback, METH_FASTCALL, NULL},
    {"grow", bank_grow, METH_O, NULL},
    {"sizes", bank_sizes, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot bank_slots[] = {{Py_tp_new, SLOT(bank_new)},
                                   {Py_tp_dealloc, SLOT(bank_dealloc)},
                                   {Py_tp_methods, bank_methods},
                                   {0, NULL}};

static PyType_Spec bank_spec = {"tcuq._core.Bank", sizeof(bank_t), 0, Py_TPFLAGS_DEFAULT, bank_slots};

PyObject *bank_type(PyObject *module)
{
    return PyType_FromModuleAndSpec(module, &bank_spec, NULL);
}
