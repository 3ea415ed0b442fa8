/* SPDX-License-Identifier: MIT */
/* Flips every bit of every counter and of every byte of the ring, one at a time and at a random moment, and
 * holds what follows against SPEC.md section 12; also two at a time, and every bit of a saved state. Meant to run under
 * sanitizers; run_param_flips.c does the same to params.
 *
 *     run_flips [STRIDE]      every flip, or one of so many
 *
 * Exit status: 0 when everything held, else 1. A monitor beside it, which sees the same inputs without a flip,
 * says what the signals should be. */
#include "flip_sets.h"

enum { DEPTH = 4, WIDE = 10, DEGRADATION = 5, COUNTERS = 14, FILLED = 13, HOSTILE = 80, CALM = 500, PAIRS = 300 };

/* Steps after which a damaged signal is as good as new: lagged ones exactly, others within NEAR / 65536, and a drift
 * that happens to be short, where a unit shows, within DRIFT_NEAR. Slow means forget at a rate of 1/64 where no step is
 * new. */
enum { NEAR = 65, DRIFT_NEAR = 262, SLOW = 700 }; /* 0.001, 0.004 */
static const unsigned recovers[TCUQ_SIGNAL_COUNT] = {DEPTH, DEPTH, DEPTH, 0, 0, SLOW, 0, 0, 0, SLOW};

/* With an instant head, steps after which what was learned of the stream is as good as new. Signals that
 * speak of its answer come back later by as much. */
enum { LEARNED = 800 };

static unsigned stride = 1;

typedef struct {
    tcuq_t monitor;
    uint32_t *ring;
    size_t ring_bytes;
} watch_t;

static void start(watch_t *w, const tcuq_params_t *p)
{
    w->ring_bytes = tcuq_ring_size(p);
    w->ring = malloc(w->ring_bytes); /* the exact size: a sanitizer sees the first byte beyond it */
    need(w->ring != NULL, "out of memory");
    memset(w->ring, 0xA5, w->ring_bytes);
    need(tcuq_init(&w->monitor, p, w->ring, w->ring_bytes) == TCUQ_OK, "init");
}

/* Damage is refused, or what was saved loads and is saved to the same bytes again. Returns whether it was saved. */
static int saved_state_loads(const watch_t *w)
{
    const tcuq_params_t *p = w->monitor.params;
    size_t size = tcuq_state_size(p);
    uint8_t *state = malloc(size), *again = malloc(size);
    tcuq_t before = w->monitor;
    watch_t fresh;
    int saved;
    need(state != NULL && again != NULL, "out of memory");
    saved = tcuq_save(&w->monitor, state, size);
    need(saved == (int)size || saved == TCUQ_ERR_STATE, "save");
    need(memcmp(&before, &w->monitor, sizeof before) == 0, "save changed the monitor");
    if (saved == (int)size) {
        start(&fresh, p);
        need(tcuq_load(&fresh.monitor, state, size) == TCUQ_OK, "the state saved after the flip is refused");
        need(tcuq_save(&fresh.monitor, again, size) == (int)size, "save after load");
        need(memcmp(state, again, size) == 0, "a loaded state is saved otherwise");
        need(tcuq_verify(&fresh.monitor) == TCUQ_OK, "a loaded monitor is not verified");
        free(fresh.ring);
    }
    free(state);
    free(again);
    return saved == (int)size;
}

/* A posterior between certain and flat, sometimes of another sum, and features. */
static void inputs(int8_t *probs, int8_t *features)
{
    uint32_t top = draw() % CLASSES, sure = draw() % 256u, i;
    for (i = 0; i < CLASSES; i++) {
        probs[i] = (int8_t)((i == top ? (int)sure : (int)(255u - sure) / 3) - 128);
        features[i] = (int8_t)(int)(draw() % 256u - 128u);
    }
    if (draw() % 16u == 0u) {
        memset(probs, draw() % 2u == 0u ? 127 : -128, CLASSES);
    }
}

typedef struct {
    tcuq_step_t out;
    uint16_t signals[TCUQ_SIGNAL_COUNT];
} said_t;

static void step_both(watch_t *w, watch_t *twin, const int8_t *probs, const int8_t *features, said_t *a, said_t *b)
{
    const int16_t gauges[2] = {features[0], features[1]};
    tcuq_step_gauges(&w->monitor, probs, features, gauges, &a->out, a->signals);
    tcuq_step_gauges(&twin->monitor, probs, features, gauges, &b->out, b->signals);
}

/* A label that comes three steps late, now and then a wrong one. Returns what it owes where it counts as one of a step
 * that was counted, as far as the debt shows. */
static int64_t label_both(watch_t *w, watch_t *twin, uint32_t word)
{
    int32_t label = word % 8u == 0u ? TCUQ_WRONG : TCUQ_RIGHT, before;
    if (w->monitor.params->feedback == NULL) {
        return 0;
    }
    (void)tcuq_feedback(&twin->monitor, tcuq_steps(&twin->monitor) - 4u, label);
    before = tcuq_error_debt(&w->monitor);
    (void)tcuq_feedback(&w->monitor, tcuq_steps(&w->monitor) - 4u, label);
    need(tcuq_error_debt(&w->monitor) <= tcuq_error_bound(w->monitor.params), "the error debt left its bound");
    need(tcuq_error_debt(&w->monitor) >= -(int32_t)w->monitor.params->feedback->error_shut, "the error debt left its range");
    return tcuq_error_debt(&w->monitor) - before;
}

/* Debts up to 0 at which the threshold is exactly 0: so far below its bounds a debt may begin. */
static int64_t idle(const tcuq_params_t *p)
{
    int64_t size, count = 0;
    for (size = 0; size < 100000; size++) {
        int64_t near = size < p->knee ? size : p->knee;
        count += p->reference == (p->slope * near + p->steep_slope * (size - near)) >> 8;
    }
    return count;
}

static void flip(watch_t *w, unsigned target, unsigned bit)
{
#define COUNTER(field) {#field, offsetof(tcuq_t, field)}
    static const struct {
        const char *name;
        size_t offset;
    } counters[COUNTERS] = {
        COUNTER(steps), COUNTER(debt), COUNTER(credit), COUNTER(rise), COUNTER(fall), COUNTER(degradation),
        COUNTER(stillness), COUNTER(baseline), COUNTER(baseline_seen), COUNTER(accuracy), COUNTER(alarm), COUNTER(slot),
        COUNTER(fill), COUNTER(filled),
    };
    static char name[32];
    uint8_t *bytes = (uint8_t *)&w->monitor;
    uint32_t word;
    target_bit = bit;
    if (target >= COUNTERS) {
        sprintf(name, "ring byte %u", target - COUNTERS);
        target_name = name;
        ((uint8_t *)w->ring)[target - COUNTERS] ^= (uint8_t)(1u << bit);
        return;
    }
    target_name = counters[target].name;
    if (target >= WIDE) {
        bytes[counters[target].offset] ^= (uint8_t)(1u << bit);
        return;
    }
    memcpy(&word, bytes + counters[target].offset, sizeof word);
    word ^= (uint32_t)1 << bit;
    memcpy(bytes + counters[target].offset, &word, sizeof word);
}

/* One bit to flip. */
typedef struct {
    unsigned target;
    unsigned bit;
} flip_t;

/* Steps after which a signal is as good as new, when what was learned of the stream is so after `learned`. They count
 * from where the rise side of the alarm, which the weights of the experts follow, is that of the twin. */
static unsigned due(const tcuq_params_t *p, unsigned signal, unsigned learned)
{
    const uint32_t of_answer = 0x3B0u; /* 4, 5, 7, 8 and 9 */
    uint32_t late = p->about == TCUQ_ABOUT_ANSWER ? of_answer : TCUQ_BIT(TCUQ_DISBELIEF) | TCUQ_BIT(TCUQ_DEGRADATION);
    return recovers[signal] + ((late & TCUQ_BIT(signal)) != 0u ? learned : 0u);
}

static void trial(const tcuq_params_t *p, const flip_t *flips, unsigned count, int64_t room, int reset)
{
    static const int8_t calm[CLASSES] = {100, -120, -120, -128};
    static const int8_t still[FEATURES] = {9, -4, 77, 0};
    unsigned before = draw() % 50u, t, n, i, longest = HOSTILE, since = 1u << 16, ties = 0, warming = 0, slow = 0, apart = 0;
    unsigned learned = p->instant != NULL ? LEARNED : 0u;
    int8_t probs[CLASSES], features[FEATURES];
    int64_t flags = 0, abstained = 0, owed = 0;
    int32_t low, high;
    watch_t w, twin;
    said_t a, b;
    tcuq_debt_bounds(p, &low, &high);
    start(&w, p);
    start(&twin, p);
    for (t = 0; t < before; t++) {
        inputs(probs, features);
        step_both(&w, &twin, probs, features, &a, &b);
        (void)label_both(&w, &twin, t);
    }
    if (reset) {
        tcuq_reset(&w.monitor);
        tcuq_reset(&twin.monitor);
    }
    for (i = 0; i < count; i++) {
        flip(&w, flips[i].target, flips[i].bit);
        /* Other counters have no part in slow signals, nor have single past steps. */
        slow |= flips[i].target >= COUNTERS || flips[i].target == DEGRADATION || flips[i].target == FILLED ? 1u : 0u;
    }
    (void)tcuq_verify(&w.monitor);
    (void)saved_state_loads(&w);
    for (n = 0; n < TCUQ_SIGNAL_COUNT; n++) {
        if (slow != 0u && (p->signals & TCUQ_BIT(n)) != 0u && due(p, n, learned) + 20u > longest) {
            longest = due(p, n, learned) + 20u;
        }
    }
    for (t = 1; t <= longest; t++) {
        int64_t over;
        inputs(probs, features);
        step_both(&w, &twin, probs, features, &a, &b);
        owed += label_both(&w, &twin, t);
        need(p->feedback == NULL || owed <= tcuq_error_bound(p) + feedback.error_shut, "errors left their bound");
        flags += a.out.flagged;
        abstained += a.out.abstain;
        warming += a.out.warming_up;
        need(warming <= p->warmup, "a warm-up has begun twice");
        over = p->level_den * flags - (int64_t)p->level_num * t;
        need(over <= high - low + room && -over <= high - low, "the flag rate left its bound");
        need(p->budget_den * abstained <= (int64_t)p->burst * p->budget_den + (int64_t)p->budget_num * t,
             "abstentions left their bound");
        need(a.out.alarm <= 3u && a.out.prediction == b.out.prediction && a.out.answer < CLASSES, "a step says what none can");
        /* Beliefs that differ by a unit may answer otherwise where two classes tie, and then the signals
         * speak of another class for once, and means of them for a while. */
        since = a.out.answer == b.out.answer ? since + 1u : 0u;
        ties += since == 0u && t > apart + learned ? 1u : 0u;
        need(t <= apart + learned + 1u || since <= 1u || a.out.novelty == b.out.novelty, "the novelty has not come back");
        for (n = 0; n < TCUQ_SIGNAL_COUNT; n++) {
            int gap = abs((int)a.signals[n] - (int)b.signals[n]);
            need(t <= apart + due(p, n, learned) || (p->about == TCUQ_ABOUT_ANSWER && since <= recovers[n]) ||
                     gap <= (due(p, n, learned) <= DEPTH ? 0 : n == TCUQ_DRIFT ? DRIFT_NEAR : NEAR), "a signal has not come back");
        }
        if (learned != 0u && (w.monitor.rise != twin.monitor.rise || w.monitor.alarm != twin.monitor.alarm)) {
            apart = t;
        }
    }
    need(ties <= longest / 100u, "the answer has not come back");
    (void)saved_state_loads(&w);
    for (t = 0; t < CALM; t++) {
        step_both(&w, &twin, calm, still, &a, &b);
        (void)label_both(&w, &twin, t);
    }
    need(a.out.alarm == b.out.alarm, "the alarm has not come back");
    need(abs((int)a.out.expected_accuracy - (int)b.out.expected_accuracy) <= NEAR, "the accuracy has not come back");
    need(labs((long)a.out.degradation - (long)b.out.degradation) <= 10 * NEAR, "the degradation has not come back");
    need(tcuq_verify(&w.monitor) == TCUQ_OK, "a counter has not come back into its range");
    need(saved_state_loads(&w), "a monitor that has come back is not saved");
    free(w.ring);
    free(twin.ring);
}

/* A ring of anything at all: nothing is promised of the signals, but rates, memory and states hold. */
static void garbage(const tcuq_params_t *p, int64_t room)
{
    static const uint32_t words[] = {0xFFFFFFFFu, 0x7FFFFFFFu, 0x80000000u, 0x80008000u, 0x7FFF7FFFu, 0u};
    unsigned pattern, t;
    target_name = "whole ring";
    for (pattern = 0; pattern < 6u + 394u / stride; pattern++) {
        int8_t probs[CLASSES], features[FEATURES];
        int64_t flags = 0;
        int32_t low, high;
        tcuq_step_t out;
        watch_t w;
        size_t i;
        tcuq_debt_bounds(p, &low, &high);
        start(&w, p);
        for (i = 0; i < w.ring_bytes / 4u; i++) {
            w.ring[i] = pattern < 6u ? words[pattern] : draw() << 16 ^ draw();
        }
        w.monitor.filled = 3;
        w.monitor.fill = 255;
        target_bit = pattern;
        for (t = 1; t <= 60u; t++) {
            (void)saved_state_loads(&w);
            inputs(probs, features);
            tcuq_step(&w.monitor, probs, features, &out, NULL);
            (void)tcuq_feedback(&w.monitor, tcuq_steps(&w.monitor) - 1u - t % 8u, TCUQ_WRONG);
            flags += out.flagged;
            need(llabs(p->level_den * flags - (int64_t)p->level_num * t) <= high - low + room,
                 "the flag rate left its bound");
        }
        free(w.ring);
    }
}

/* Every bit of a saved state: refused, and nothing changes; two bits likewise. What was damaged in memory is as
 * it was after a sound state was loaded. */
static void between_save_and_load(const tcuq_params_t *p)
{
    size_t size = tcuq_state_size(p);
    uint8_t *state = malloc(size);
    uint32_t *ring = malloc(tcuq_ring_size(p));
    int8_t probs[CLASSES], features[FEATURES];
    tcuq_t before;
    watch_t w, twin;
    said_t a, b;
    unsigned t, n, bit, two, targets = COUNTERS + (unsigned)tcuq_ring_size(p);
    need(state != NULL && ring != NULL, "out of memory");
    start(&w, p);
    start(&twin, p);
    for (t = 0; t < 60u; t++) {
        inputs(probs, features);
        step_both(&w, &twin, probs, features, &a, &b);
    }
    need(tcuq_save(&w.monitor, state, size) == (int)size, "save");
    before = w.monitor;
    memcpy(ring, w.ring, w.ring_bytes);
    target_name = "state";
    for (bit = 0; bit < 8u * (unsigned)size; bit++) {
        target_bit = bit;
        two = draw() % (8u * (unsigned)size);
        state[bit / 8u] ^= (uint8_t)(1u << bit % 8u);
        need(tcuq_load(&w.monitor, state, size) != TCUQ_OK, "a damaged state is loaded");
        state[two / 8u] ^= (uint8_t)(1u << two % 8u);
        need(two == bit || tcuq_load(&w.monitor, state, size) != TCUQ_OK, "a state with two errors is loaded");
        state[bit / 8u] ^= (uint8_t)(1u << bit % 8u);
        state[two / 8u] ^= (uint8_t)(1u << two % 8u);
        need(memcmp(&before, &w.monitor, sizeof before) == 0 && memcmp(ring, w.ring, w.ring_bytes) == 0,
             "a refused state has changed something");
    }
    for (n = 0; n < 4u * targets / stride; n++) {
        unsigned target = draw() % targets;
        flip(&w, target, draw() % (target < WIDE ? 32u : 8u));
        need(tcuq_load(&w.monitor, state, size) == TCUQ_OK, "a sound state is refused after a flip");
        need(tcuq_load(&twin.monitor, state, size) == TCUQ_OK, "load");
        for (t = 0; t < 12u; t++) {
            inputs(probs, features);
            memset(&a, 0, sizeof a);
            memset(&b, 0, sizeof b);
            step_both(&w, &twin, probs, features, &a, &b);
            need(memcmp(&a, &b, sizeof a) == 0, "a flip has outlived a load");
        }
        need(tcuq_verify(&w.monitor) == TCUQ_OK, "a loaded monitor is not verified");
    }
    free(w.ring);
    free(twin.ring);
    free(ring);
    free(state);
}

int main(int count_args, char **args)
{
    static set_t all[SETS];
    unsigned count = sets(all), i, n, bit;
    unsigned long trials = 0, seen = 0;
    flip_t flips[2];
    stride = count_args > 1 ? (unsigned)strtoul(args[1], NULL, 10) : 1u;
    need(stride > 0u, "STRIDE is 0, expected at least 1");
    for (i = 0; i < count; i++) {
        all[i].params.fingerprint = tcuq_fingerprint(&all[i].params);
    }
    for (i = 0; i < count; i++) {
        const tcuq_params_t *p = &all[i].params;
        unsigned targets = COUNTERS + (unsigned)tcuq_ring_size(p);
        int64_t room = idle(p);
        set_name = all[i].name;
        between_save_and_load(p);
        garbage(p, room);
        for (flips[0].target = 0; flips[0].target < targets; flips[0].target++) {
            for (bit = 0; bit < (flips[0].target < WIDE ? 32u : 8u); bit++) {
                /* Counters also between a reset and the first step, and once more: it depends on the step. */
                for (n = 0; n < (flips[0].target < COUNTERS ? 3u : 1u); n++) {
                    flips[0].bit = bit;
                    if (seen++ % stride == 0u) {
                        trial(p, flips, 1, room, n == 1u);
                        trials++;
                    }
                }
            }
        }
        for (n = 0; n < PAIRS / stride + 1u; n++) {
            unsigned k;
            for (k = 0; k < 2u; k++) {
                flips[k].target = draw() % targets;
                flips[k].bit = draw() % (flips[k].target < WIDE ? 32u : 8u);
            }
            trial(p, flips, 2, room, 0);
            trials++;
        }
    }
    printf("%lu flips, all came back\n", trials);
    return 0;
}
