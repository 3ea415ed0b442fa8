/* SPDX-License-Identifier: MIT */
/* The order of events: each device's by (boot, seq), with a bounded number of them held back. What is said of one event
 * depends on that device's earlier events alone. Boots and seqs are below 2^62, which engine/order.py sees to. */
#include "native.h"

#include <string.h>

typedef struct {
    int64_t boot, seq;
} mark_t;

/* Where a device stands. engine/order.py holds the matching dtype. */
typedef struct {
    mark_t last;   /* the last released event; -1 before the first */
    uint64_t seen; /* bit k: the event k before the last released one was released */
    uint64_t received, missing, late, duplicates;
    uint32_t reboots;
    uint16_t held, run; /* run: events up to the last one of which none is missing, up to 65535 */
} place_t;

/* A held event; its row follows. The cells of a device are a ring in the order of release, entered by the last one:
 * most events come behind it. Vacant ones are a list. */
typedef struct {
    mark_t mark;
    int64_t next; /* the first one after the last; -1 at the end of the vacant ones */
} cell_t;

/* Numbers of a call, in and out. */
typedef struct {
    int64_t released;
    int64_t held;   /* of all devices */
    int64_t vacant; /* first of the list; -1: none */
    int64_t top;    /* cells from here on were never in use */
    int64_t hold, bridge;
    int64_t width;     /* bytes of a row */
    int64_t releasing; /* whether events only say up to where to release */
} numbers_t;

typedef struct {
    numbers_t *n;
    place_t *places;
    int32_t *last; /* held event of a device; -1: none */
    uint8_t *cells;
    int64_t *out; /* slots, boots, seqs, and whether the monitor forgets its past */
    uint8_t *out_rows;
    size_t room; /* events that `out` can take */
    size_t width;
    size_t stride; /* bytes of a cell */
} order_t;

static int before(mark_t one, mark_t other)
{
    return one.boot < other.boot || (one.boot == other.boot && one.seq < other.seq);
}

static int follows(mark_t mark, mark_t last)
{
    return mark.boot == last.boot && mark.seq == last.seq + 1;
}

static cell_t *cell_at(const order_t *o, int64_t number)
{
    return (cell_t *)(void *)(o->cells + (size_t)number * o->stride);
}

static void release(order_t *o, size_t slot, mark_t mark, const uint8_t *row)
{
    place_t *place = o->places + slot;
    size_t at = (size_t)o->n->released++;
    uint64_t gap = 0;
    int reset = 0;
    if (place->last.boot == mark.boot) {
        uint64_t ahead = (uint64_t)(mark.seq - place->last.seq);
        gap = ahead - 1u;
        place->seen = ahead < 64u ? place->seen << ahead : 0u;
        place->run = gap != 0u ? 0u : place->run;
    } else {
        place->seen = 0u;
        place->run = 0u;
        if (place->last.boot >= 0) { /* what came before a device's first event is not known to be missing */
            gap = (uint64_t)mark.seq;
            reset = 1;
            place->reboots += place->reboots < UINT32_MAX ? 1u : 0u;
        }
    }
    reset |= gap > (uint64_t)o->n->bridge;
    place->missing = gap > UINT64_MAX - place->missing ? UINT64_MAX : place->missing + gap;
    place->seen |= 1u;
    place->run = (uint16_t)(place->run + (place->run < UINT16_MAX ? 1u : 0u));
    place->last = mark;
    o->out[at] = (int64_t)slot;
    o->out[o->room + at] = mark.boot;
    o->out[2 * o->room + at] = mark.seq;
    o->out[3 * o->room + at] = reset;
    memcpy(o->out_rows + at * o->width, row, o->width);
}

static int64_t first_of(const order_t *o, size_t slot)
{
    return cell_at(o, o->last[slot])->next;
}

static void release_first(order_t *o, size_t slot)
{
    int64_t number = first_of(o, slot);
    cell_t *cell = cell_at(o, number);
    release(o, slot, cell->mark, (const uint8_t *)(cell + 1));
    if (number == o->last[slot]) {
        o->last[slot] = -1;
    } else {
        cell_at(o, o->last[slot])->next = cell->next;
    }
    cell->next = o->n->vacant;
    o->n->vacant = number;
    o->n->held--;
    o->places[slot].held--;
}

static void release_up_to(order_t *o, size_t slot, mark_t bound)
{
    while (o->last[slot] >= 0 && !before(bound, cell_at(o, first_of(o, slot))->mark)) {
        release_first(o, slot);
    }
}

/* Hold an event: 1, or 0 where it is held already. */
static int hold_back(order_t *o, size_t slot, mark_t mark, const uint8_t *row)
{
    int64_t previous = o->last[slot];
    int64_t number = o->n->vacant;
    int behind = previous < 0 || before(cell_at(o, previous)->mark, mark); /* all that are held */
    cell_t *cell;
    if (!behind) {
        while (before(cell_at(o, cell_at(o, previous)->next)->mark, mark)) {
            previous = cell_at(o, previous)->next;
        }
        if (!before(mark, cell_at(o, cell_at(o, previous)->next)->mark)) {
            return 0;
        }
    }
    if (number < 0) {
        number = o->n->top++;
    } else {
        o->n->vacant = cell_at(o, number)->next;
    }
    cell = cell_at(o, number);
    cell->mark = mark;
    cell->next = previous < 0 ? number : cell_at(o, previous)->next;
    memcpy(cell + 1, row, o->width);
    if (previous >= 0) {
        cell_at(o, previous)->next = number;
    }
    if (behind) {
        o->last[slot] = (int32_t)number;
    }
    o->n->held++;
    o->places[slot].held++;
    return 1;
}

/* What a device leaves open (-1): a seq is the next one; a boot is the last one, or one more where the seq goes back to
 * 0, or by so much that `seen` cannot tell a repeat from a new start. */
static mark_t completed(mark_t last, mark_t mark)
{
    if (mark.boot < 0) {
        int back = mark.seq == 0 ? last.seq > 0 : mark.seq > 0 && last.seq - mark.seq >= 64;
        mark.boot = last.boot < 0 ? 0 : last.boot + back;
    }
    if (mark.seq < 0) {
        mark.seq = mark.boot == last.boot ? last.seq + 1 : 0;
    }
    return mark;
}

static void take(order_t *o, size_t slot, mark_t mark, const uint8_t *row)
{
    place_t *place = o->places + slot;
    mark_t last = place->last;
    mark = completed(last, mark);
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
    if (follows(mark, last)) {
        release(o, slot, mark, row);
    } else if (!hold_back(o, slot, mark, row)) {
        place->duplicates++;
        return;
    } else if (mark.seq == 0) { /* a new boot: nothing more is waited for of those before */
        release_up_to(o, slot, mark);
    } else if (place->held < o->n->hold) {
        return;
    } else {
        release_first(o, slot);
    }
    while (o->last[slot] >= 0 && follows(cell_at(o, first_of(o, slot))->mark, place->last)) {
        release_first(o, slot);
    }
}

PyObject *order_events(PyObject *module, PyObject *args)
{
    enum { NUMBERS, PLACES, LAST, CELLS, OUT, OUT_ROWS, WRITTEN, EVENTS = WRITTEN, ROWS, ARRAYS };
    Py_buffer v[ARRAYS];
    size_t len[ARRAYS];
    size_t i;
    int done = 0;
    (void)module;
    if (open_arrays(args, ARRAYS, WRITTEN, v) < 0) {
        return NULL;
    }
    for (i = 0; i < ARRAYS; i++) {
        len[i] = (size_t)v[i].len;
    }
    if (len[NUMBERS] == sizeof(numbers_t)) {
        numbers_t *n = v[NUMBERS].buf;
        const int64_t *events = v[EVENTS].buf;
        size_t count = len[EVENTS] / (3 * sizeof(int64_t));
        size_t width = (size_t)n->width;
        size_t stride = (sizeof(cell_t) + width + 7u) / 8u * 8u;
        size_t room = count + (size_t)n->held;
        order_t o = {n, v[PLACES].buf, v[LAST].buf, v[CELLS].buf, v[OUT].buf, v[OUT_ROWS].buf, room, width, stride};
        if (len[PLACES] / sizeof(place_t) != len[LAST] / sizeof(int32_t) ||
            len[CELLS] / stride < (size_t)n->top + count || len[OUT] != 4 * room * sizeof(int64_t) ||
            len[OUT_ROWS] != room * width || len[ROWS] != (n->releasing != 0 ? 0u : count * width)) {
            PyErr_SetString(PyExc_ValueError, "arrays of the order do not belong together");
        } else if (slots_fit(events, count, len[LAST] / sizeof(int32_t))) {
            for (i = 0; i < count; i++) { /* with Python's lock: nobody else may see these arrays half done */
                mark_t mark = {events[count + i], events[2 * count + i]};
                if (n->releasing != 0) {
                    release_up_to(&o, (size_t)events[i], mark);
                } else {
                    take(&o, (size_t)events[i], mark, (const uint8_t *)v[ROWS].buf + i * width);
                }
            }
            done = 1;
        }
    } else {
        PyErr_SetString(PyExc_ValueError, "numbers of the order are out of range");
    }
    close_arrays(v, ARRAYS);
    return done ? Py_NewRef(Py_None) : NULL;
}
