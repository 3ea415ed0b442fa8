/* SPDX-License-Identifier: MIT */
/* Fuzz target: arbitrary bytes into tcuq_load(). What is refused changes nothing; what is accepted is saved as the same
 * bytes, is sound, and keeps every guarantee from there on. The first byte chooses the parameters. */
#include "forge.h"
#include "target.h"

enum { SETS = 24, STEPS = 40 };

static set_t set;

static void choose_set(unsigned number)
{
    source_t from;
    number %= SETS;
    from.bytes = NULL;
    from.left = 0;
    from.seed = number + 1u;
    if (number < 2u) {
        make_direct_set(&set, &from);
    } else {
        make_set(&set, &from, number % 6u == 5u ? SET_MIDDLE : SET_SMALL);
    }
}

/* Some steps with labels; their bounds are checked where they are open. */
static void walk(subject_t *s, unsigned steps, uint64_t seed, bounds_t *bounds)
{
    unsigned i;
    for (i = 0; i < steps; i++) {
        make_input(s, &set.params, (unsigned)(seed + i / 5u), seed * 97u + i);
        if (set.params.feedback != NULL) {
            uint32_t step = tcuq_steps(&s->monitor) - 1u - (uint32_t)(seed + 3u * i) % (2u + set.params.feedback->memory);
            int32_t label = (int32_t)((seed + i) % 5u) - 2;
            const char *broken = NULL;
            if (bounds != NULL) {
                broken = bounds_label(bounds, &s->monitor, step, label);
            } else {
                (void)tcuq_feedback(&s->monitor, step, label);
            }
            NEED(broken == NULL, broken);
        }
        subject_step(s);
        if (bounds != NULL) {
            const char *broken = bounds_step(bounds, &s->monitor, s->error_debt, &s->step);
            NEED(broken == NULL, broken);
        }
    }
}

/* Without this, no mutation would pass the checksum. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    source_t from;
    subject_t fresh;
    size_t whole;
    from.bytes = NULL;
    from.left = 0;
    from.seed = (uint64_t)seed + 1u;
    if (size == 0u || below(&from, 8) == 0u) {
        size = LLVMFuzzerMutate(data, size, most);
    }
    if (size == 0u || below(&from, 32) == 0u) {
        return size;
    }
    choose_set(data[0]);
    whole = tcuq_state_size(&set.params);
    if (whole + 1u > most) {
        return size;
    }
    if (size != whole + 1u || below(&from, 16) == 0u) {
        subject_begin(&fresh, &set.params);
        walk(&fresh, below(&from, 3) * below(&from, 80), seed, NULL);
        subject_save(&fresh);
        memcpy(data + 1, fresh.state.bytes, whole);
        subject_end(&fresh);
        size = whole + 1u;
    }
    if (below(&from, 3) != 0u) {
        forge_counter(data + 1, &set.params, &from);
    } else {
        LLVMFuzzerMutate(data + 1u + STATE_STEPS, whole - STATE_STEPS - STATE_CRC, whole - STATE_STEPS - STATE_CRC);
    }
    if (below(&from, 16) != 0u) {
        seal(data + 1, whole);
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const tcuq_params_t *p = &set.params;
    subject_t one, twin;
    bounds_t bounds;
    tcuq_t before;
    guarded_t state;
    const char *broken;
    uint8_t *ring;
    int status;
    if (size == 0u) {
        return 0;
    }
    choose_set(data[0]);
    subject_begin(&one, p);
    subject_begin(&twin, p);
    walk(&one, data[0] / SETS, data[0], NULL); /* a fresh monitor, or one that has gone on for a while */
    state = guarded(size - 1u); /* exactly, so that a read past the end is seen */
    memcpy(state.bytes, data + 1, size - 1u);
    ring = (uint8_t *)malloc(one.ring.size);
    NEED(ring != NULL, "there is memory");
    memcpy(ring, one.ring.bytes, one.ring.size);
    before = one.monitor;
    status = tcuq_load(&one.monitor, state.bytes, state.size);
    if (status != TCUQ_OK) {
        NEED(status >= TCUQ_ERR_OTHER && status <= TCUQ_ERR_SIZE, "a state has errors of its own");
        NEED(memcmp(&before, &one.monitor, sizeof before) == 0 && memcmp(ring, one.ring.bytes, one.ring.size) == 0,
             "a refused state changes nothing");
        NEED(tcuq_verify(&one.monitor) == TCUQ_OK, "a monitor is sound after a refusal");
    } else {
        NEED(state.size == one.state.size, "an accepted state has its size");
        subject_save(&one);
        NEED(memcmp(state.bytes, one.state.bytes, state.size) == 0, "an accepted state is saved as the same bytes");
        NEED(tcuq_verify(&one.monitor) == TCUQ_OK, "a loaded monitor is sound");
        NEED(tcuq_load(&twin.monitor, state.bytes, state.size) == TCUQ_OK, "a state loads into any monitor of its params");
        broken = bounds_open(&bounds, &one.monitor);
        NEED(broken == NULL, broken);
        walk(&one, STEPS, size, &bounds);
        walk(&twin, STEPS, size, NULL);
        subject_save(&one);
        subject_save(&twin);
        NEED(same_step(&one.step, &twin.step) && memcmp(one.state.bytes, twin.state.bytes, state.size) == 0,
             "what a monitor held before it loaded leaves no trace");
        NEED(tcuq_verify(&one.monitor) == TCUQ_OK, "a loaded monitor stays sound");
        NEED(tcuq_load(&twin.monitor, one.state.bytes, one.state.size) == TCUQ_OK, "a state saved after loading loads");
    }
    free(ring);
    release(&state);
    subject_end(&one);
    subject_end(&twin);
    return 0;
}
