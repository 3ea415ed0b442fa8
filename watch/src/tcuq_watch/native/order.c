/* SPDX-License-Identifier: MIT */
/* The order of events: each device's by (boot, seq), with a bounded number of them held back. All memory is Python's;
 * what is said of one event depends on that device's earlier events alone. */
#include "native.h"

#include <string.h>

#define MOST ((int64_t)1 << 40) /* events of a call: bytes of them still fit a size_t */
#define END ((int64_t)1 << 62)  /* boots and numbers are below it: one more is still a number */

/* Where a device stands. engine/order.py holds the matching dtype. */
typedef struct {
    int64_t boot; /* of the last released event; -1 before the first */
    int64_t seq;
    uint64_t seen; /* bit k: the event k before the last released one was released */
    uint64_t received;
    uint64_t missing;
    uint64_t late;
    uint64_t duplicates;
    uint32_t reboots;
    uint16_t held;
    uint16_t unused;
} place_t;

/* Where a device's events wait: `hold` cells. */
typedef struct {
    int64_t slot; /* -1: vacant */
    uint64_t used; /* bit k: cell k holds an event */
} reorder_slot_t;

typedef struct {
    int64_t boot;
    int64_t seq;
} mark_t;

/* Numbers of a call, in and out. */
enum { NEXT, RELEASED, VACANT, HOLD, BRIDGE, WIDTH, CAPACITY, RELEASING, NUMBERS };

enum { A_NUMBERS, A_PLACES, A_REORDER_SLOT_OF, A_REORDER_SLOTS, A_KEYS, A_CELLS, A_VACANT, A_SLOTS, A_BOOTS, A_SEQS,
       A_ROWS, A_OUT_SLOTS, A_OUT_BOOTS, A_OUT_SEQS, A_OUT_ROWS, A_OUT_RESETS, ARRAYS };

typedef struct {
    int64_t *numbers;
    place_t *places;
    int32_t *reorder_slot_of; /* of a slot; -1: none */
    reorder_slot_t *reorder_slots;
    mark_t *keys;
    uint8_t *cells;
    int32_t *vacant; /* a stack */
    const int64_t *slots;
    const int64_t *boots;
    const int64_t *seqs;
    const uint8_t *rows;
    int64_t *out_slots;
    int64_t *out_boots;
    int64_t *out_seqs;
    uint8_t *out_rows;
    uint8_t *out_resets;
    size_t hold;
    size_t width;
    size_t count;   /* devices */
    size_t events;
} order_t;

static int before(mark_t one, mark_t other)
{
    return one.boot < other.boot || (one.boot == other.boot && one.seq < other.seq);
}

static void release(order_t *o, size_t slot, mark_t mark, const uint8_t *row)
{
    place_t *place = o->places + slot;
    size_t at = (size_t)o->numbers[RELEASED];
    uint64_t gap = 0;
    int reset = 0;
    if (place->boot == mark.boot) {
        uint64_t ahead = (uint64_t)(mark.seq - place->seq);
        gap = ahead - 1u;
        place->seen = ahead < 64u ? place->seen << ahead : 0u;
    } else {
        place->seen = 0u;
        if (place->boot >= 0) { /* what came before a device's first event is not known to be missing */
            gap = (uint64_t)mark.seq;
            reset = 1;
            place->reboots += place->reboots < UINT32_MAX ? 1u : 0u;
        }
    }
    reset |= gap > (uint64_t)o->numbers[BRIDGE];
    place->missing = gap > UINT64_MAX - place->missing ? UINT64_MAX : place->missing + gap;
    place->seen |= 1u;
    place->boot = mark.boot;
    place->seq = mark.seq;
    o->out_slots[at] = (int64_t)slot;
    o->out_boots[at] = mark.boot;
    o->out_seqs[at] = mark.seq;
    o->out_resets[at] = (uint8_t)reset;
    memcpy(o->out_rows + at * o->width, row, o->width);
    o->numbers[RELEASED]++;
}

/* The held event that comes first, if it is not after `bound`; else `hold`. */
static size_t first_up_to(const order_t *o, size_t reorder_slot, mark_t bound)
{
    const mark_t *keys = o->keys + reorder_slot * o->hold;
    size_t best = o->hold;
    size_t k;
    for (k = 0; k < o->hold; k++) {
        if ((o->reorder_slots[reorder_slot].used >> k & 1u) != 0u && !before(bound, keys[k])) {
            best = k;
            bound = keys[k];
        }
    }
    return best;
}

static void release_held(order_t *o, size_t slot, size_t reorder_slot, size_t k)
{
    size_t cell = reorder_slot * o->hold + k;
    release(o, slot, o->keys[cell], o->cells + cell * o->width);
    o->reorder_slots[reorder_slot].used &= ~((uint64_t)1u << k);
    o->places[slot].held--;
    if (o->reorder_slots[reorder_slot].used == 0u) {
        o->reorder_slots[reorder_slot].slot = -1;
        o->reorder_slot_of[slot] = -1;
        o->vacant[o->numbers[VACANT]++] = (int32_t)reorder_slot;
    }
}

static void release_up_to(order_t *o, size_t slot, mark_t bound)
{
    while (o->reorder_slot_of[slot] >= 0) {
        size_t reorder_slot = (size_t)o->reorder_slot_of[slot];
        size_t k = first_up_to(o, reorder_slot, bound);
        if (k == o->hold) {
            break;
        }
        release_held(o, slot, reorder_slot, k);
    }
}

/* Release held events for as long as the next one is there. None that is held comes before it. */
static void release_next(order_t *o, size_t slot)
{
    mark_t next;
    do {
        next.boot = o->places[slot].boot;
        next.seq = o->places[slot].seq + 1;
        release_up_to(o, slot, next);
    } while (o->places[slot].seq == next.seq);
}

static void hold_back(order_t *o, size_t slot, mark_t mark, const uint8_t *row)
{
    size_t reorder_slot;
    size_t k = 0;
    size_t cell;
    if (o->reorder_slot_of[slot] < 0) {
        o->reorder_slot_of[slot] = o->vacant[--o->numbers[VACANT]];
        o->reorder_slots[o->reorder_slot_of[slot]].slot = (int64_t)slot;
        o->reorder_slots[o->reorder_slot_of[slot]].used = 0u;
    }
    reorder_slot = (size_t)o->reorder_slot_of[slot];
    while ((o->reorder_slots[reorder_slot].used >> k & 1u) != 0u) {
        k++;
    }
    cell = reorder_slot * o->hold + k;
    o->reorder_slots[reorder_slot].used |= (uint64_t)1u << k;
    o->keys[cell] = mark;
    memcpy(o->cells + cell * o->width, row, o->width);
    o->places[slot].held++;
}

static int is_held(const order_t *o, size_t slot, mark_t mark)
{
    size_t reorder_slot = (size_t)o->reorder_slot_of[slot];
    size_t k;
    for (k = 0; k < o->hold; k++) {
        const mark_t *key = o->keys + reorder_slot * o->hold + k;
        if ((o->reorder_slots[reorder_slot].used >> k & 1u) != 0u && key->boot == mark.boot && key->seq == mark.seq) {
            return 1;
        }
    }
    return 0;
}

/* What a device leaves open (-1): a seq is the next one; a boot is the last one, or one more where the seq goes back to
 * 0, or by so much that `seen` cannot tell a repeat from a new start. */
static mark_t told(const place_t *place, mark_t mark)
{
    if (mark.boot < 0) {
        int back = mark.seq == 0 ? place->seq > 0 : mark.seq > 0 && place->seq - mark.seq >= 64;
        mark.boot = place->boot < 0 ? 0 : place->boot + back;
    }
    if (mark.seq < 0) {
        mark.seq = mark.boot == place->boot ? place->seq + 1 : 0;
    }
    return mark;
}

/* Take one event. The caller has made sure of room for it. */
static void take(order_t *o, size_t slot, mark_t mark, const uint8_t *row)
{
    place_t *place = o->places + slot;
    mark_t last;
    mark = told(place, mark);
    last.boot = place->boot;
    last.seq = place->seq;
    place->received++;
    if (!before(last, mark)) {
        uint64_t back = (uint64_t)(last.seq - mark.seq); /* of use only in the same boot */
        if (last.boot == mark.boot && back < 64u && (place->seen >> back & 1u) != 0u) {
            place->duplicates++;
        } else {
            place->late++;
        }
        return;
    }
    if (mark.boot == last.boot && mark.seq == last.seq + 1) {
        release(o, slot, mark, row);
    } else if (o->reorder_slot_of[slot] >= 0 && is_held(o, slot, mark)) {
        place->duplicates++;
        return;
    } else if (mark.seq == 0) { /* a new boot: nothing more is waited for of those before */
        mark_t bound;
        bound.boot = mark.boot - 1;
        bound.seq = INT64_MAX;
        release_up_to(o, slot, bound);
        release(o, slot, mark, row);
    } else {
        mark_t all;
        all.boot = all.seq = INT64_MAX;
        hold_back(o, slot, mark, row);
        if (place->held < o->hold) {
            return;
        }
        release_held(o, slot, (size_t)o->reorder_slot_of[slot], first_up_to(o, (size_t)o->reorder_slot_of[slot], all));
    }
    release_next(o, slot);
}

/* Go on until all is done, or until there is no room for what one event may release or need. */
static void run(order_t *o)
{
    for (; (size_t)o->numbers[NEXT] < o->events; o->numbers[NEXT]++) {
        size_t i = (size_t)o->numbers[NEXT];
        size_t slot = (size_t)o->slots[i];
        mark_t mark;
        mark.boot = o->boots[i];
        mark.seq = o->seqs[i];
        if ((size_t)o->numbers[RELEASED] + o->hold + 1u > (size_t)o->numbers[CAPACITY]) {
            return;
        }
        if (o->numbers[RELEASING] != 0) {
            release_up_to(o, slot, mark);
        } else if (o->numbers[VACANT] == 0 && o->reorder_slot_of[slot] < 0) {
            return;
        } else {
            take(o, slot, mark, o->rows + i * o->width);
        }
    }
}

static int place_ok(const order_t *o, size_t i)
{
    const place_t *place = o->places + o->slots[i];
    return place->boot >= -1 && place->boot < END && place->seq >= -1 && place->seq < END;
}

/* A place up to which is released may lie behind every event. */
static int event_ok(const order_t *o, size_t i)
{
    return o->numbers[RELEASING] != 0 ||
           (o->boots[i] >= -1 && o->boots[i] < END && o->seqs[i] >= -1 && o->seqs[i] < END);
}

/* Check that every array is as large as the others say, that every event is one of a device, and that no number can
 * overflow. What only this file writes (reorder slots, their keys, which of them are vacant) is taken as it is;
 * engine/order.py looks at what it restores. */
static int fits(const order_t *o, const Py_buffer *views)
{
    size_t n = o->events;
    size_t slots = (size_t)views[A_REORDER_SLOTS].len / sizeof(reorder_slot_t);
    size_t most = (size_t)o->numbers[CAPACITY];
    const size_t wanted[ARRAYS] = {
        NUMBERS * sizeof(int64_t), o->count * sizeof(place_t), o->count * sizeof(int32_t),
        slots * sizeof(reorder_slot_t), slots * o->hold * sizeof(mark_t), slots * o->hold * o->width,
        slots * sizeof(int32_t), n * sizeof(int64_t),
        n * sizeof(int64_t), n * sizeof(int64_t), o->numbers[RELEASING] != 0 ? 0u : n * o->width,
        most * sizeof(int64_t), most * sizeof(int64_t), most * sizeof(int64_t), most * o->width, most};
    size_t i;
    for (i = 0; i < ARRAYS; i++) {
        int bytes = i == A_CELLS || i == A_ROWS || i == A_OUT_ROWS || i == A_OUT_RESETS;
        if ((size_t)views[i].len != wanted[i] || (!bytes && !ALIGNED(&views[i]))) {
            PyErr_Format(PyExc_ValueError, "array %zu of the order has %zd bytes, expected %zu, numbers aligned to 8", i,
                         views[i].len, wanted[i]);
            return -1;
        }
    }
    if ((size_t)o->numbers[VACANT] > slots) {
        PyErr_Format(PyExc_ValueError, "vacant reorder slots are %lld, expected at most %zu",
                     (long long)o->numbers[VACANT], slots);
        return -1;
    }
    for (i = 0; i < n; i++) {
        if (o->slots[i] < 0 || (uint64_t)o->slots[i] >= o->count) {
            PyErr_Format(PyExc_IndexError, "slots[%zu] is %lld, expected 0 to %lld", i, (long long)o->slots[i],
                         (long long)o->count - 1);
            return -1;
        }
        if (!event_ok(o, i) || !place_ok(o, i)) {
            PyErr_Format(PyExc_ValueError, "boot and seq of event %zu, or of its device, are out of range, expected -1 "
                         "to 2^62 - 1", i);
            return -1;
        }
    }
    return 0;
}

static int numbers_fit(const Py_buffer *view)
{
    const int64_t *numbers = view->buf;
    return (size_t)view->len == NUMBERS * sizeof(int64_t) && ALIGNED(view) && numbers[HOLD] >= 1 &&
           numbers[HOLD] <= 64 && numbers[WIDTH] >= 1 && numbers[WIDTH] <= 4096 && numbers[CAPACITY] >= 0 &&
           numbers[CAPACITY] <= MOST && numbers[VACANT] >= 0 && numbers[BRIDGE] >= 0 &&
           (numbers[NEXT] | numbers[RELEASED]) == 0;
}

PyObject *order_events(PyObject *module, PyObject *args)
{
    Py_buffer views[ARRAYS];
    order_t o;
    int opened = 0;
    int done = 0;
    (void)module;
    if (PyTuple_Size(args) != ARRAYS) {
        PyErr_Format(PyExc_TypeError, "order takes %d arrays", (int)ARRAYS);
        return NULL;
    }
    for (; opened < ARRAYS; opened++) {
        int reads = opened >= A_SLOTS && opened <= A_ROWS;
        if (PyObject_GetBuffer(PyTuple_GetItem(args, opened), &views[opened],
                               PyBUF_C_CONTIGUOUS | (reads ? 0 : PyBUF_WRITABLE)) < 0) {
            goto close;
        }
    }
    if (!numbers_fit(&views[A_NUMBERS])) {
        PyErr_SetString(PyExc_ValueError, "numbers of the order are out of range");
        goto close;
    }
    o.numbers = views[A_NUMBERS].buf;
    o.places = views[A_PLACES].buf;
    o.reorder_slot_of = views[A_REORDER_SLOT_OF].buf;
    o.reorder_slots = views[A_REORDER_SLOTS].buf;
    o.keys = views[A_KEYS].buf;
    o.cells = views[A_CELLS].buf;
    o.vacant = views[A_VACANT].buf;
    o.slots = views[A_SLOTS].buf;
    o.boots = views[A_BOOTS].buf;
    o.seqs = views[A_SEQS].buf;
    o.rows = views[A_ROWS].buf;
    o.out_slots = views[A_OUT_SLOTS].buf;
    o.out_boots = views[A_OUT_BOOTS].buf;
    o.out_seqs = views[A_OUT_SEQS].buf;
    o.out_rows = views[A_OUT_ROWS].buf;
    o.out_resets = views[A_OUT_RESETS].buf;
    o.hold = (size_t)o.numbers[HOLD];
    o.width = (size_t)o.numbers[WIDTH];
    o.count = (size_t)views[A_REORDER_SLOT_OF].len / sizeof(int32_t);
    o.events = (size_t)views[A_SLOTS].len / sizeof(int64_t);
    if (fits(&o, views) < 0) {
        goto close;
    }
    run(&o); /* with Python's lock: nobody else may see these arrays half done */
    done = 1;
close:
    while (opened > 0) {
        PyBuffer_Release(&views[--opened]);
    }
    if (!done) {
        return NULL;
    }
    Py_RETURN_NONE;
}
