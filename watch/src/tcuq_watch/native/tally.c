/* SPDX-License-Identifier: MIT */
#include "native.h"

#include <string.h>

/* engine/tallies.py holds the matching dtypes and numbers. All sums are integers, so no result depends on how steps
 * are batched. */
#define BUCKETS 512
#define DOUBLINGS 14
#define HOUR 3600.0
#define DAY 86400.0
#define DAY_BUCKETS 24
#define END_OF_TIME 8589934592.0 /* 2^33 seconds: DOUBLINGS are enough up to there */
#define MOST_GAP 4294967295.0    /* milliseconds */
#define ONE 65536.0
#define NONE (-1)
#define NOT_MOVED 255 /* in `moved` of a step */

typedef struct {
    uint64_t steps, flagged, abstained, alarm_steps;
    uint64_t risk;      /* sum, in 1/65536 */
    double last_time;   /* NaN: none yet */
    double alarm_since; /* NaN: quiet, or unknown */
    uint32_t onsets;
    uint32_t gap;                      /* usual pause, ms */
    int32_t recent_risk, recent_alarm; /* slow means, Q0.24 */
    int32_t degradation;                  /* slow mean, Q16.16 */
    int32_t bucket, alarm_bucket;      /* last hours in which it was counted, at all and in alarm; NONE before */
    uint16_t accuracy;                 /* expected, Q0.16; 0 where there is none */
    uint8_t alarm;
    uint8_t cause; /* 255 less what had moved last in this alarm; 0 where nothing had. 88 bytes on every ABI */
} device_t;

typedef struct {
    uint64_t steps, flagged, abstained, risk, predictions;
} class_t;

enum { STEPS, FLAGGED, ABSTAINED, ALARM_STEPS, ONSETS, RISK, ACCURACY, SUMS };
typedef uint64_t bucket_t[SUMS];

/* Buckets are a ring: hour h is at (h >> doublings) % BUCKETS. first > last: nothing yet. */
typedef struct {
    int64_t first, last, doublings;
} clock_row_t;

typedef struct {
    device_t *devices;
    class_t *classes;
    bucket_t *buckets;
    uint32_t (*seen)[DOUBLINGS][BUCKETS]; /* devices, then devices in alarm */
    clock_row_t *clock;
} tally_t;

/* A slow mean over 2^shift values after one more; between both, so it fits. */
static int32_t nearer(int32_t mean, int64_t value, int shift)
{
    int64_t ahead = value - mean + ((int64_t)1 << (shift - 1));
    return (int32_t)(mean + (ahead >= 0 ? ahead >> shift : ~(~ahead >> shift))); /* rounded down */
}

/* Join buckets in pairs. The counts of devices are kept at every width already: sums would count a device twice. */
static void widen(tally_t *t)
{
    bucket_t old[BUCKETS];
    int64_t at;
    memcpy(old, t->buckets, sizeof old);
    memset(t->buckets, 0, sizeof old);
    memset(t->seen[0][t->clock->doublings], 0, sizeof t->seen[0][0]);
    memset(t->seen[1][t->clock->doublings], 0, sizeof t->seen[1][0]);
    for (at = t->clock->first >> t->clock->doublings; at <= t->clock->last >> t->clock->doublings; at++) {
        int k;
        for (k = 0; k < SUMS; k++) {
            t->buckets[(at >> 1) % BUCKETS][k] += old[at % BUCKETS][k];
        }
    }
    t->clock->doublings++;
}

/* Make room for an hour: 1, or 0 where it lies so far back that all buckets would have to become wider. */
static int place(tally_t *t, int64_t hour)
{
    clock_row_t *c = t->clock;
    if (c->first > c->last) {
        c->first = hour;
        c->last = hour;
    } else if (hour > c->last) {
        while ((hour >> c->doublings) - (c->first >> c->doublings) >= BUCKETS) {
            widen(t);
        }
        c->last = hour;
    } else if (hour < c->first) {
        if ((c->last >> c->doublings) - (hour >> c->doublings) >= BUCKETS) {
            return 0;
        }
        c->first = hour;
    }
    return 1;
}

/* Count a device once an hour, and once in each of the wider buckets. A clock that went back by less than a day does
 * not count it again. */
static void count_device(tally_t *t, int which, int32_t *before, int32_t hour)
{
    int64_t doublings;
    if (*before != NONE && hour <= *before && hour >= (int64_t)*before - DAY_BUCKETS) {
        return;
    }
    for (doublings = t->clock->doublings; doublings < DOUBLINGS; doublings++) {
        if (*before != NONE && *before >> doublings == hour >> doublings) {
            break;
        }
        t->seen[which][doublings][(hour >> doublings) % BUCKETS]++;
    }
    *before = hour;
}

/* The usual pause follows long ones quickly and short ones slowly: steps often come in bursts. */
static void take_time(device_t *d, double time)
{
    double before = d->last_time;
    if (time > before) {
        double ms = (time - before) * 1000.0;
        uint32_t gap = ms < MOST_GAP ? (uint32_t)ms : UINT32_MAX;
        if (gap > d->gap) {
            d->gap += d->gap == 0 ? gap : (gap - d->gap) / 4u;
        } else {
            d->gap -= (d->gap - gap) / 256u;
        }
        d->last_time = time;
    } else if (!(time >= before - DAY)) { /* the first time, or the clock was set back */
        d->last_time = time;
    }
}

static void take(tally_t *t, size_t slot, double time, const step_row_t *step)
{
    device_t *d = t->devices + slot;
    class_t *c = t->classes + step->answer;
    uint32_t risk = (uint32_t)(step->risk * ONE + 0.5);
    int timed = time >= 0.0 && time < END_OF_TIME;
    unsigned onset = step->alarm != 0 && d->alarm == 0;
    unsigned in_alarm = step->alarm != 0;
    int32_t degradation = (int32_t)(step->degradation * ONE + (step->degradation < 0 ? -0.5 : 0.5));
    d->accuracy = step->expected_accuracy > 0 ? (uint16_t)(step->expected_accuracy * ONE + 0.5) : (uint16_t)0;
    d->recent_risk = d->steps == 0 ? (int32_t)(risk << 8)
                                   : nearer(d->recent_risk, (int64_t)risk << 8, 8);
    d->degradation = d->steps == 0 ? degradation : nearer(d->degradation, degradation, 7);
    d->recent_alarm = nearer(d->recent_alarm, in_alarm ? 1 << 24 : 0, 12);
    d->steps++;
    d->flagged += step->flagged;
    d->abstained += step->abstain;
    d->alarm_steps += in_alarm;
    d->risk += risk;
    d->onsets += onset;
    if (onset) {
        d->alarm_since = timed ? time : Py_NAN;
    } else if (!in_alarm) {
        d->alarm_since = Py_NAN;
    }
    d->alarm = step->alarm;
    if (!in_alarm) {
        d->cause = 0;
    } else if (step->moved != NOT_MOVED) {
        d->cause = (uint8_t)(NOT_MOVED - step->moved);
    }
    c->steps++;
    c->flagged += step->flagged;
    c->abstained += step->abstain;
    c->risk += risk;
    t->classes[step->prediction].predictions++;
    if (timed) {
        int32_t hour = (int32_t)(time / HOUR);
        take_time(d, time);
        if (place(t, hour)) {
            const bucket_t sums = {1, step->flagged, step->abstain, in_alarm, onset, risk, d->accuracy};
            int k;
            count_device(t, 0, &d->bucket, hour);
            if (in_alarm) {
                count_device(t, 1, &d->alarm_bucket, hour);
            }
            for (k = 0; k < SUMS; k++) {
                t->buckets[(hour >> t->clock->doublings) % BUCKETS][k] += sums[k];
            }
        }
    }
}

/* Whether these are steps of a monitor: 1, or 0 with an exception. */
static int steps_fit(const step_row_t *steps, size_t count, int32_t classes)
{
    size_t i;
    for (i = 0; i < count; i++) {
        const step_row_t *s = steps + i;
        if (s->answer < 0 || s->answer >= classes || s->prediction < 0 || s->prediction >= classes ||
            !(s->risk >= 0 && s->risk < 1) || !(s->degradation > -32768 && s->degradation < 32768) ||
            s->expected_accuracy >= 1) {
            PyErr_Format(PyExc_ValueError, "steps[%zu] is not a step of a monitor of %d classes", i, (int)classes);
            return 0;
        }
    }
    return 1;
}

PyObject *tally(PyObject *module, PyObject *args)
{
    enum { DEVICES, CLASSES, BUCKET_ROWS, SEEN, CLOCK, WRITTEN, SLOTS = WRITTEN, TIMES, STEP_ROWS, ARRAYS };
    static const size_t unit[ARRAYS] = {sizeof(device_t),    sizeof(class_t), sizeof(bucket_t), sizeof(uint32_t),
                                        sizeof(clock_row_t), sizeof(int64_t), sizeof(double),   sizeof(step_row_t)};
    Py_buffer v[ARRAYS];
    size_t count[ARRAYS];
    size_t i;
    int done = 0;
    (void)module;
    if (open_arrays(args, ARRAYS, WRITTEN, v) < 0) {
        return NULL;
    }
    for (i = 0; i < ARRAYS; i++) {
        count[i] = (size_t)v[i].len / unit[i];
    }
    if (count[BUCKET_ROWS] != BUCKETS || count[SEEN] != 2 * DOUBLINGS * BUCKETS || count[CLOCK] != 1 ||
        count[TIMES] != count[SLOTS] || count[STEP_ROWS] != count[SLOTS]) {
        PyErr_SetString(PyExc_ValueError, "arrays of the tallies do not belong together");
    } else if (slots_fit(v[SLOTS].buf, count[SLOTS], count[DEVICES]) &&
               steps_fit(v[STEP_ROWS].buf, count[SLOTS], (int32_t)count[CLASSES])) {
        tally_t t = {v[DEVICES].buf, v[CLASSES].buf, v[BUCKET_ROWS].buf, v[SEEN].buf, v[CLOCK].buf};
        const int64_t *slots = v[SLOTS].buf;
        const double *times = v[TIMES].buf;
        const step_row_t *steps = v[STEP_ROWS].buf;
        for (i = 0; i < count[SLOTS]; i++) { /* with Python's lock: what was checked is what is counted */
            take(&t, (size_t)slots[i], times[i], steps + i);
        }
        done = 1;
    }
    close_arrays(v, ARRAYS);
    return done ? Py_NewRef(Py_None) : NULL;
}
