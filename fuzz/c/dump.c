/* SPDX-License-Identifier: MIT */
/* Prints random programs and what the core says to them, as lines of a vector file (SPEC.md section 15), for
 * fuzz/against_reference.py:
 *
 *     dump SEED FIRST COUNT STEPS
 *
 * Beside the lines of that section, `look` is printed after `persistence`, `features` as signals see them, and
 * `try RESULT STATE` tells what tcuq_load() answered to a forged state; the program goes on from an accepted one. */
#include "forge.h"
#include "target.h"
#include "tcuq_fields.h"

static set_t set;

static void print_bytes(const uint8_t *bytes, size_t size)
{
    size_t i;
    for (i = 0; i < size; i++) {
        printf("%02x", bytes[i]);
    }
    printf(size == 0u ? "-" : "");
}

#define PRINT_PARAM(error, of, name, type, least, most, bytes) printf(" " #name "=%lld", (long long)p->name);
#define PRINT_EVIDENCE(error, of, name, type, least, most, bytes) printf(" %lld", (long long)p->evidence->name);
#define PRINT_FEEDBACK(error, of, name, type, least, most, bytes) printf(" %lld", (long long)p->feedback->name);

static void print_params(void)
{
    const tcuq_params_t *p = &set.params;
    unsigned i;
    int32_t low, high;
    printf("params");
    TCUQ_PARAM_NUMBERS(PRINT_PARAM)
    printf("\nlags");
    for (i = 0; i < p->lag_count; i++) {
        printf(" %u", p->lags[i]);
    }
    printf("\nlag_weights");
    for (i = 0; i < p->lag_count; i++) {
        printf(" %u", p->lag_weights[i]);
    }
    printf("\ncoef");
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        printf(" %d", p->coef[i]);
    }
    printf("\nclean_mean");
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        printf(" %u", p->clean_mean[i]);
    }
    if (p->evidence != NULL) {
        printf("\nevidence");
        TCUQ_EVIDENCE_NUMBERS(PRINT_EVIDENCE)
        for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
            printf(" %d", p->evidence->coef[i]);
        }
        for (i = 0; i < p->classes; i++) {
            printf(" %d", p->evidence->offset[i]);
        }
    }
    if (p->instant != NULL) {
        printf("\ninstant %ld", (long)p->instant->bias);
        for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
            printf(" %d", p->instant->coef[i]);
        }
    }
    if (p->feedback != NULL) {
        printf("\nfeedback");
        TCUQ_FEEDBACK_NUMBERS(PRINT_FEEDBACK)
    }
    if (p->centers != NULL) {
        printf("\ncenters ");
        print_bytes((const uint8_t *)p->centers, (size_t)p->classes * p->features);
    }
    tcuq_debt_bounds(p, &low, &high);
    printf("\nsizes %lu %lu\nbounds %ld %ld\n", (unsigned long)tcuq_ring_size(p), (unsigned long)tcuq_state_size(p),
           (long)low, (long)high);
}

static void print_step(const subject_t *s)
{
    const tcuq_step_t *o = &s->step;
    unsigned i;
    printf("step ");
    print_bytes(s->probs.bytes, s->probs.size);
    printf(" ");
    print_bytes(s->features.bytes, s->features.size);
    printf(" %ld %ld %u %u %u %u %u %u %u %u %u %u %u %u %u", (long)o->threshold, (long)o->severity, o->prediction, o->answer,
           o->risk, o->uncertainty, o->persistence, o->look, o->expected_accuracy, o->flagged, o->abstain, o->alarm,
           o->warming_up, o->reason, o->low_mass);
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        printf(" %u", s->signals[i]);
    }
    printf("\n");
}

static void save(subject_t *s)
{
    subject_save(s);
    printf("save ");
    print_bytes(s->state.bytes, s->state.size);
    printf("\n");
}

/* Print what a forged state is answered with. */
static void try_state(subject_t *s, source_t *from)
{
    unsigned changes = 1u + below(from, 2);
    size_t body = s->state.size - STATE_CRC;
    subject_save(s);
    for (; changes > 0u; changes--) {
        if (below(from, 2) == 0u) {
            forge_counter(s->state.bytes, &set.params, from);
        } else {
            s->state.bytes[take(from, 4) % body] = (uint8_t)(below(from, 2) == 0u ? take(from, 1) : 0u);
        }
    }
    if (below(from, 8) != 0u) {
        seal(s->state.bytes, s->state.size);
    }
    printf("try %d ", tcuq_load(&s->monitor, s->state.bytes, s->state.size));
    print_bytes(s->state.bytes, s->state.size);
    printf("\n");
}

/* Print what a label is answered with: of a step that is remembered, or of none. */
static void say(subject_t *s, source_t *from)
{
    uint32_t reach = set.params.feedback != NULL ? set.params.feedback->memory + 2u : 2u;
    uint32_t step = tcuq_steps(&s->monitor) - 1u - below(from, below(from, 2) == 0u ? 3u : reach);
    int32_t label = below(from, 2) == 0u ? -2 : (int32_t)below(from, set.params.classes + 4u) - 3;
    int answered = tcuq_feedback(&s->monitor, step, label);
    printf("label %lu %ld %d\n", (unsigned long)step, (long)label, answered);
}

int main(int count, char **words)
{
    unsigned long seed, first, programs, steps, n, t, label;
    if (count != 5) {
        fprintf(stderr, "dump SEED FIRST COUNT STEPS\n");
        return 2;
    }
    seed = strtoul(words[1], NULL, 10);
    first = strtoul(words[2], NULL, 10);
    programs = strtoul(words[3], NULL, 10);
    steps = strtoul(words[4], NULL, 10);
    for (n = first; n < first + programs; n++) {
        source_t from;
        subject_t s;
        unsigned kind = 0;
        from.bytes = NULL;
        from.left = 0;
        from.seed = (uint64_t)seed * 1000003u + n + 1u;
        from.seed = random64(&from.seed) | 1u;
        if (n % 8u == 0u) {
            make_direct_set(&set, &from);
        } else {
            make_set(&set, &from, n % 512u == 511u ? SET_ANY : n % 32u == 31u ? SET_MIDDLE : SET_SMALL);
        }
        printf("case %lu\n", n);
        print_params();
        subject_begin(&s, &set.params);
        for (t = 0; t < (n % 512u == 511u ? 4u : steps); t++) {
            unsigned order = below(&from, 32);
            if (order == 0u) {
                tcuq_reset(&s.monitor);
                printf("reset\n");
            } else if (order == 1u) {
                save(&s);
                NEED(tcuq_load(&s.monitor, s.state.bytes, s.state.size) == TCUQ_OK, "a monitor loads its own state");
                printf("load\n");
            } else if (order <= 3u) {
                try_state(&s, &from);
            }
            for (label = below(&from, 3) * below(&from, 4); label > 0u; label--) {
                say(&s, &from);
            }
            kind = below(&from, 3) == 0u ? take(&from, 1) : kind;
            make_input(&s, &set.params, kind, below(&from, 2) == 0u ? kind : random64(&from.seed));
            subject_step(&s);
            print_step(&s);
        }
        save(&s);
        printf("end\n");
        subject_end(&s);
    }
    return 0;
}
