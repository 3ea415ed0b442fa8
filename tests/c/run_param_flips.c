/* SPDX-License-Identifier: MIT */
/* Flips every bit of the params that is no pointer or length, and of all that they point to: tcuq_verify() finds it
 * (SPEC.md section 12). Meant to run under sanitizers. Exit status: 0 when all were found, else 1. */
#include "flip_sets.h"

static unsigned long found;

/* Every bit of some bytes that a monitor reads: verify finds it. */
static void verify_finds(const tcuq_t *m, const char *name, void *from, size_t size)
{
    uint8_t *bytes = from;
    target_name = name;
    for (target_bit = 0; target_bit < 8u * (unsigned)size; target_bit++) {
        bytes[target_bit / 8u] ^= (uint8_t)(1u << target_bit % 8u);
        need(tcuq_verify(m) == TCUQ_ERR_OTHER, "not found");
        bytes[target_bit / 8u] ^= (uint8_t)(1u << target_bit % 8u);
        found++;
    }
    need(tcuq_verify(m) == TCUQ_OK, "sound again");
}

/* Lists that params point to, in memory that can be damaged. */
enum { LISTS = 12 };
static struct {
    const char *name;
    size_t size;
    uint32_t bytes[32];
} lists[LISTS];
static unsigned list_count;

static void *owned(const char *name, const void *from, size_t size)
{
    need(list_count < LISTS && size <= sizeof lists[0].bytes, "no room for a list");
    lists[list_count].name = name;
    lists[list_count].size = size;
    return memcpy(lists[list_count++].bytes, from, size);
}

/* Params and all that they point to. Pointers and lengths are followed: they belong in read-only memory. */
static void verify_finds_every_bit(const tcuq_params_t *good)
{
    static tcuq_params_t p;
    static tcuq_evidence_t evidence;
    static tcuq_instant_t own_instant;
    static tcuq_feedback_t own_feedback;
    static tcuq_sight_t own_sight;
    tcuq_t m;
    uint32_t *ring;
    list_count = 0;
    p = *good;
    p.lags = owned("lags", lags, p.lag_count * sizeof lags[0]);
    p.lag_weights = owned("lag_weights", lag_weights, p.lag_count * sizeof lag_weights[0]);
    if (p.centers != NULL) {
        p.centers = owned("centers", centers, sizeof centers);
    }
    if (p.evidence != NULL) {
        evidence = *p.evidence;
        evidence.offset = owned("offset", offsets, sizeof offsets);
        p.evidence = &evidence;
    }
    if (p.instant != NULL) {
        own_instant = *p.instant;
        p.instant = &own_instant;
    }
    if (p.feedback != NULL) {
        own_feedback = *p.feedback;
        p.feedback = &own_feedback;
    }
    if (p.sight != NULL) {
        own_sight = *p.sight;
        own_sight.mean = owned("sight mean", sight_mean, sizeof sight_mean);
        own_sight.scale = owned("sight scale", sight_scale, sizeof sight_scale);
        own_sight.shift = owned("sight shift", sight_shift, sizeof sight_shift);
        own_sight.class_mean = owned("sight class_mean", sight_class_mean, sizeof sight_class_mean);
        own_sight.matrix = owned("sight matrix", sight_matrix, sizeof sight_matrix);
        p.sight = &own_sight;
    }
    ring = malloc(tcuq_ring_size(&p));
    need(ring != NULL && tcuq_init(&m, &p, ring, tcuq_ring_size(&p)) == TCUQ_OK, "init");
#define FINDS(of, name) verify_finds(&m, #of " " #name, &of.name, sizeof of.name);
#define FINDS_PARAM(error, of, name, type, low, high, bytes, usual)                \
    if (offsetof(tcuq_params_t, name) < offsetof(tcuq_params_t, classes) || \
        offsetof(tcuq_params_t, name) > offsetof(tcuq_params_t, lag_count)) { \
        FINDS(of, name)                                                            \
    }
#define FINDS_HEAD(error, of, name, type, low, high, bytes, usual) FINDS(of, name)
#define FINDS_OWN(error, of, name, type, low, high, bytes, usual) FINDS(own_##of, name)
#define FINDS_SIGHT(error, of, name, type, low, high, bytes, usual)          \
    if (offsetof(tcuq_sight_t, name) != offsetof(tcuq_sight_t, gauges)) { \
        FINDS(own_sight, name)                                               \
    }
    TCUQ_PARAM_NUMBERS(FINDS_PARAM)
    FINDS(p, coef)
    FINDS(p, clean_mean)
    if (p.evidence != NULL) {
        TCUQ_EVIDENCE_NUMBERS(FINDS_HEAD)
        FINDS(evidence, coef)
    }
    if (p.instant != NULL) {
        TCUQ_INSTANT_NUMBERS(FINDS_OWN)
        FINDS(own_instant, coef)
    }
    if (p.feedback != NULL) {
        TCUQ_FEEDBACK_NUMBERS(FINDS_OWN)
    }
    if (p.sight != NULL) {
        TCUQ_SIGHT_NUMBERS(FINDS_SIGHT)
    }
    while (list_count != 0u) {
        list_count--;
        verify_finds(&m, lists[list_count].name, lists[list_count].bytes, lists[list_count].size);
    }
    free(ring);
}

int main(void)
{
    static set_t all[SETS];
    unsigned count = sets(all), i;
    for (i = 0; i < count; i++) {
        all[i].params.fingerprint = tcuq_fingerprint(&all[i].params);
        set_name = all[i].name;
        verify_finds_every_bit(&all[i].params);
    }
    printf("%lu flips, all found\n", found);
    return 0;
}
