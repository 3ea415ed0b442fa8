/* SPDX-License-Identifier: MIT */
/* Fuzz target: bytes become parameters and a program of steps, resets, saves and loads. Every step is held against
 * the bounds of SPEC.md, and against a second monitor that goes on from a saved state. */
#include "target.h"

enum { MOST_STEPS = 512, MOST_WORK = 1 << 17 };

static set_t set;

/* tcuq_check() and tcuq_init() agree on what is accepted, and every refusal has its words. (Whether it is what SPEC.md
 * allows is asked by fuzz/against_reference.py.) */
static int accepted(const tcuq_params_t *p)
{
    static uint32_t little[1];
    tcuq_t monitor, before;
    int error = tcuq_check(p), status;
    memset(&monitor, 0x33, sizeof monitor);
    before = monitor;
    status = tcuq_init(&monitor, p, little, 0); /* a size of 0 is refused after the parameters */
    NEED(memcmp(&monitor, &before, sizeof monitor) == 0, "a refusal leaves the monitor alone");
    if (error == TCUQ_OK) {
        NEED(status == TCUQ_ERR_SIZE, "tcuq_init() asks for memory once parameters are accepted");
        return 1;
    }
    if (error == TCUQ_ERR_VERSION || error == TCUQ_ERR_SIGNALS) {
        NEED(status == error, "tcuq_init() and tcuq_check() agree");
    } else {
        NEED(error > TCUQ_ERR_FIRST_PARAM && error < TCUQ_ERR_LAST_PARAM, "an error of parameters is in their range");
        NEED(status == TCUQ_ERR_PARAMS, "tcuq_init() refuses what tcuq_check() refuses");
    }
    NEED(tcuq_error_name(error)[0] != '\0' && tcuq_error_text(error)[0] != '\0', "an error has its words");
    return 0;
}

/* The twin goes on from what the first has saved. */
static void load_twin(subject_t *one, subject_t *twin)
{
    size_t i;
    subject_save(one);
    NEED(tcuq_save(&one->monitor, one->state.bytes, one->state.size - 1u) == TCUQ_ERR_SIZE, "a small buffer is refused");
    NEED(tcuq_load(&twin->monitor, one->state.bytes, one->state.size) == TCUQ_OK, "a saved state loads");
    subject_save(twin);
    NEED(memcmp(one->state.bytes, twin->state.bytes, one->state.size) == 0, "a loaded state is saved as the same bytes");
    NEED(tcuq_load(&twin->monitor, one->state.bytes, one->state.size - 1u) != TCUQ_OK, "a cut state is refused");
    i = one->state.size / 2u;
    twin->state.bytes[i] = (uint8_t)(twin->state.bytes[i] ^ 1u);
    NEED(tcuq_load(&twin->monitor, twin->state.bytes, twin->state.size) != TCUQ_OK, "a flipped bit is refused");
}

static void one_step(subject_t *one, subject_t *twin, int together, bounds_t *bounds)
{
    const char *broken;
    subject_step(one);
    broken = bounds_step(bounds, &one->monitor, one->error_debt, &one->step);
    NEED(broken == NULL, broken);
    if (together) {
        memcpy(twin->probs.bytes, one->probs.bytes, one->probs.size);
        memcpy(twin->features.bytes, one->features.bytes, one->features.size);
        subject_step(twin);
        NEED(same_step(&one->step, &twin->step) && memcmp(one->signals, twin->signals, sizeof one->signals) == 0,
             "a monitor that was saved and loaded says the same");
    }
}

/* The threshold as input: sure of a class by just as much as makes the doubt reach the threshold. */
static void aim(subject_t *one, const tcuq_params_t *p, const bounds_t *bounds, int above)
{
    int64_t u = (65536 - bounds_threshold(p, bounds->debt)) >> 8;
    u += above ? 0 : 1;
    memset(one->probs.bytes, 0x80, one->probs.size);
    one->probs.bytes[0] = (uint8_t)((u < 0 ? 0 : u > 255 ? 255 : u) ^ 0x80);
}

static void run_program(source_t *from)
{
    const tcuq_params_t *p = &set.params;
    subject_t one, twin;
    bounds_t bounds;
    const char *broken;
    int together = 0;
    unsigned done = 0;
    /* Time goes with classes and features: large shapes get fewer steps. */
    unsigned most = MOST_WORK / (64u + 16u * (unsigned)p->classes + (unsigned)p->features * (1u + p->lag_count));
    most = most < MOST_STEPS ? most : MOST_STEPS;
    subject_begin(&one, p);
    subject_begin(&twin, p);
    broken = bounds_open(&bounds, &one.monitor);
    NEED(broken == NULL, broken);
    while (from->left > 0u && done < most) {
        unsigned order = take(from, 1), kind, times;
        switch (order & 15u) {
        case 0:
            tcuq_reset(&one.monitor);
            if (together) {
                tcuq_reset(&twin.monitor);
            }
            break;
        case 1:
            load_twin(&one, &twin);
            together = 1;
            break;
        case 2: /* the first goes on from its own state */
            subject_save(&one);
            NEED(tcuq_load(&one.monitor, one.state.bytes, one.state.size) == TCUQ_OK, "a monitor loads its own state");
            break;
        case 3:
            NEED(tcuq_verify(&one.monitor) == TCUQ_OK, "a monitor that only took steps is sound");
            break;
        case 4: { /* the bytes of the fuzzer are the input */
            size_t i;
            for (i = 0; i < one.probs.size; i++) {
                one.probs.bytes[i] = (uint8_t)take(from, 1);
            }
            for (i = 0; i < one.features.size; i++) {
                one.features.bytes[i] = (uint8_t)take(from, 1);
            }
            one_step(&one, &twin, together, &bounds);
            done++;
            break;
        }
        case 7: { /* labels: of a class, right or wrong, or none that there is; of any step, or of all that are open */
            uint32_t ago = take(from, 2), n;
            int32_t label = (int32_t)(take(from, 2) % (p->classes + 4u)) - 3;
            unsigned count = (order & 16u) != 0u ? 1u : p->feedback != NULL ? p->feedback->memory : 1u;
            for (n = 0; n < count; n++) {
                uint32_t which = tcuq_steps(&one.monitor) - 1u - (count == 1u ? ago % 1100u : n);
                broken = bounds_label(&bounds, &one.monitor, which, label);
                NEED(broken == NULL, broken);
                NEED(!together || tcuq_feedback(&twin.monitor, which, label) == bounds.answered, "a loaded monitor takes the same labels");
            }
            break;
        }
        case 5:
        case 6: /* one side of the threshold */
            for (times = 1u + take(from, 1) % 64u; times > 0u; times--, done++) {
                aim(&one, p, &bounds, (order & 1u) != 0u);
                one_step(&one, &twin, together, &bounds);
            }
            break;
        default: /* a stretch of one kind, the same input or another one each time */
            kind = take(from, 1);
            for (times = 1u + (order >> 4) * (order >> 4); times > 0u; times--, done++) {
                make_input(&one, p, kind, (order & 8u) != 0u ? 0x1234u + kind : done);
                one_step(&one, &twin, together, &bounds);
            }
            break;
        }
    }
    NEED(tcuq_verify(&one.monitor) == TCUQ_OK, "a monitor that only took steps is sound");
    load_twin(&one, &twin);
    subject_end(&one);
    subject_end(&twin);
}

/* Four bytes choose shape, seed and how many bytes the parameters take; what they lack comes from the seed. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source_t from, program;
    unsigned shape;
    size_t given;
    program.bytes = data;
    program.left = size;
    program.seed = 0;
    shape = take(&program, 1);
    from.seed = 1u + take(&program, 2);
    given = 2u * (size_t)take(&program, 1);
    from.bytes = program.bytes;
    from.left = given < program.left ? given : program.left;
    program.bytes += from.left;
    program.left -= from.left;
    if ((shape & 64u) != 0u) {
        make_direct_set(&set, &from);
    } else {
        make_set(&set, &from, shape % 32u == 31u ? SET_ANY : shape % 8u == 7u ? SET_MIDDLE : SET_SMALL);
    }
    NEED(tcuq_check(&set.params) == TCUQ_OK, "make_set() makes what is allowed");
    if ((shape & 128u) != 0u) {
        spoil_set(&set, &from);
    }
    if (accepted(&set.params)) {
        set.params.fingerprint = tcuq_fingerprint(&set.params);
        run_program(&program);
    }
    return 0;
}
