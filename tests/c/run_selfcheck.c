/* SPDX-License-Identifier: MIT */
/* Runs the self-check of an exported package named `kws`, once as it is and once for each thing that can go
 * wrong: every way out of it must be taken, with the number that its header promises.
 *
 *     run_selfcheck
 *
 * The self-check is compiled with tcuq_step and the others renamed to the functions below (-Dtcuq_step=bad_step).
 * Exit status: 0 when each answer is the right one, else 1. */
#include <stdio.h>
#include <stdlib.h>

#include "kws.h"
#include "kws_selfcheck.h"

/* What is broken: the output of one step, what is loaded, saved, projected, or made of logits; sizes and bounds;
 * what is found in memory. LOAD and INIT are the n-th call. */
enum { NOTHING, STEP, LOAD, SHORT_SAVE, SMALL_SAVE, SAVE, SOFTMAX, PROJECTION, LOW, HIGH, RING, SMALL_RING, INIT, VERIFY };

static int broken;
static unsigned long steps, loads, inits, bad_at;
static uint32_t ring[KWS_RING_BYTES / 4u];

void bad_step(tcuq_t *m, const int8_t *probs, const int8_t *features, tcuq_step_t *out, uint16_t *signals);
int bad_load(tcuq_t *m, const uint8_t *bytes, size_t size);
int bad_save(const tcuq_t *m, uint8_t *bytes, size_t size);
int bad_init(tcuq_t *m, const tcuq_params_t *p, uint32_t *memory, size_t bytes);
int bad_verify(const tcuq_t *m);
size_t bad_ring_size(const tcuq_params_t *p);
void bad_debt_bounds(const tcuq_params_t *p, int32_t *low, int32_t *high);

void bad_step(tcuq_t *m, const int8_t *probs, const int8_t *features, tcuq_step_t *out, uint16_t *signals)
{
    tcuq_step(m, probs, features, out, signals);
    steps++;
    out->risk ^= broken == STEP && steps == bad_at ? 1u : 0u;
}

int bad_load(tcuq_t *m, const uint8_t *bytes, size_t size)
{
    int status = tcuq_load(m, bytes, size);
    int wrong = status == TCUQ_OK ? TCUQ_ERR_STATE : TCUQ_OK;
    loads++;
    if (broken == LOAD && loads == bad_at) {
        return wrong;
    }
    return status;
}

int bad_save(const tcuq_t *m, uint8_t *bytes, size_t size)
{
    int found = tcuq_save(m, bytes, size);
    bytes[size / 2u] ^= broken == SAVE ? 1u : 0u;
    if (broken == SMALL_SAVE) {
        return (int)size;
    }
    return broken == SHORT_SAVE ? TCUQ_ERR_SIZE : found;
}

int bad_init(tcuq_t *m, const tcuq_params_t *p, uint32_t *memory, size_t bytes)
{
    int status = tcuq_init(m, p, memory, bytes);
    inits++;
    if (broken == INIT && inits == bad_at) {
        return TCUQ_ERR_SIZE;
    }
    return broken == SMALL_RING ? TCUQ_OK : status;
}

int bad_verify(const tcuq_t *m)
{
    return broken == VERIFY ? TCUQ_ERR_STATE : tcuq_verify(m);
}

size_t bad_ring_size(const tcuq_params_t *p)
{
    return tcuq_ring_size(p) + (broken == RING ? 4u : 0u);
}

void bad_debt_bounds(const tcuq_params_t *p, int32_t *low, int32_t *high)
{
    tcuq_debt_bounds(p, low, high);
    *low -= broken == LOW ? 1 : 0;
    *high += broken == HIGH ? 1 : 0;
}

#ifdef KWS_SELFCHECK_SOFTMAX
void bad_softmax(const uint16_t *table, const int8_t *logits, size_t classes, int8_t *probs);
void bad_project(const tcuq_projection_t *projection, const int8_t *wide, int8_t *features);

void bad_softmax(const uint16_t *table, const int8_t *logits, size_t classes, int8_t *probs)
{
    tcuq_softmax(table, logits, classes, probs);
    probs[classes - 1u] ^= broken == SOFTMAX ? 1 : 0;
}

void bad_project(const tcuq_projection_t *projection, const int8_t *wide, int8_t *features)
{
    tcuq_project(projection, wide, features);
    features[0] ^= broken == PROJECTION ? 1 : 0;
}
#endif

static void expect(const char *what, int broke, unsigned long at, size_t bytes, int expected)
{
    int got;
    broken = broke;
    bad_at = at;
    steps = 0;
    loads = 0;
    inits = 0;
    got = kws_selfcheck(ring, bytes);
    if (got != expected) {
        fprintf(stderr, "%s: the self-check gives %d, not %d\n", what, got, expected);
        exit(1);
    }
}

int main(void)
{
    unsigned long all, every_load;
    expect("nothing is broken", NOTHING, 0, sizeof ring, 0);
    all = steps;
    every_load = loads;
    expect("a ring that is too small", NOTHING, 0, sizeof ring - 4u, TCUQ_ERR_SIZE);
    expect("the first step", STEP, 1, sizeof ring, KWS_SELFCHECK_OUTPUT);
    expect("the last step", STEP, all, sizeof ring, KWS_SELFCHECK_OUTPUT);
    expect("a damaged state that is loaded", LOAD, 1, sizeof ring, KWS_SELFCHECK_STATE);
    expect("a changed state that is judged otherwise", LOAD, 2, sizeof ring, KWS_SELFCHECK_STATE);
    expect("a sound state that is refused", LOAD, every_load, sizeof ring, KWS_SELFCHECK_STATE);
    expect("a lower bound", LOW, 0, sizeof ring, KWS_SELFCHECK_LIMITS);
    expect("an upper bound", HIGH, 0, sizeof ring, KWS_SELFCHECK_LIMITS);
    expect("a size of the ring", RING, 0, sizeof ring, KWS_SELFCHECK_LIMITS);
    expect("a small ring that is taken", SMALL_RING, 0, sizeof ring, KWS_SELFCHECK_LIMITS);
    expect("a monitor that does not start again", INIT, 3, sizeof ring, KWS_SELFCHECK_STATE);
    expect("a memory error", VERIFY, 0, sizeof ring, KWS_SELFCHECK_STATE);
    expect("a state that is not saved", SHORT_SAVE, 0, sizeof ring, KWS_SELFCHECK_STATE);
    expect("a small buffer that is taken", SMALL_SAVE, 0, sizeof ring, KWS_SELFCHECK_STATE);
    expect("a byte of a saved state", SAVE, 0, sizeof ring, KWS_SELFCHECK_STATE);
#ifdef KWS_SELFCHECK_SOFTMAX
    expect("a posterior of logits", SOFTMAX, 0, sizeof ring, KWS_SELFCHECK_SOFTMAX);
    expect("a projected feature", PROJECTION, 0, sizeof ring, KWS_SELFCHECK_PROJECTION);
#endif
    printf("%lu steps, every way out\n", all);
    return 0;
}
