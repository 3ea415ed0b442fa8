/* SPDX-License-Identifier: MIT */
/* Saving, loading and verifying a monitor of one small shape, by CBMC: any bytes, any size, any damage of counters
 * and ring, all params that have the ranges of tcuq_fields.h. The shape is given as to whole.c.
 *
 * run.py puts contracts in place of some functions. Checksums and sums of bytes read what they are given and may
 * have any value (their own reads are proved below); lemmas.c proves what is said here of times_steps() and
 * debt_rest(), rates.c and map.c what is said of the bounds of the debt. */
#include <stdlib.h>

#include "prove.h"
#include "shape.h"

/* CBMC does not know it, and would take any pointer. */
#define __builtin_assume_aligned(pointer, bytes) (pointer)

#include "tcuq.h"

static uint32_t contract_crc_add(uint32_t crc, const uint8_t *bytes, size_t size)
{
    (void)crc;
    PROVE(size == 0u || __CPROVER_r_ok(bytes, size));
    return nondet_u32();
}

/* Not 0: the first sum, of the params themselves, is another one. */
static uint32_t known_sum;

static uint32_t contract_add_bytes(uint32_t sum, const void *from, size_t size)
{
    uint32_t result = nondet_u32();
    (void)sum;
    PROVE(size == 0u || __CPROVER_r_ok(from, size));
    ASSUME(known_sum == 0u || ((result ^ known_sum) & 0xFFFu) != 0u);
    return result;
}

static int32_t contract_times_steps(uint32_t number, uint32_t steps)
{
    int32_t result = nondet_i32();
    (void)steps;
    PROVE(number <= 1000u);
    ASSUME(result >= 0);
    return result;
}

static int32_t contract_debt_rest(const tcuq_params_t *p, int32_t debt, uint32_t steps)
{
    int32_t result = nondet_i32();
    (void)debt;
    (void)steps;
    PROVE(p->level_num >= 1u && p->level_num < p->level_den && p->level_den <= 1000u);
    ASSUME(result >= 0 && result < (int32_t)p->level_den);
    return result;
}

static int32_t least_debt, most_debt;

static void contract_tcuq_debt_bounds(const tcuq_params_t *p, int32_t *low, int32_t *high)
{
    (void)p;
    *low = least_debt;
    *high = most_debt;
}

/* whole.c has the fingerprint. */
#define TCUQ_FINGERPRINT_OF any_fingerprint
uint32_t any_fingerprint(const tcuq_params_t *p)
{
    (void)p;
    return nondet_u32();
}

#include "tcuq_signals.c"
#undef FAST_SHIFT
#undef SLOW_SHIFT
#include "tcuq_params.c" /* this and the next as run.py has changed them */
#include "tcuq_state.c"

static uint8_t lags[] = LAGS;
static uint16_t weights[sizeof lags];
static int16_t offsets[CLASSES];
static uint16_t shares[CLASSES];
static int8_t centers[CLASSES * FEATURES + 1];
static tcuq_evidence_t evidence;
static tcuq_instant_t instant;
static tcuq_params_t p;
static tcuq_t m;

tcuq_params_t nondet_params(void);
tcuq_evidence_t nondet_evidence(void);
tcuq_instant_t nondet_instant(void);
tcuq_t nondet_monitor(void);

/* Pointers are those of the shape, numbers are any. */
static void any_numbers(void)
{
    unsigned i;
    p = nondet_params();
    evidence = nondet_evidence();
    instant = nondet_instant();
    for (i = 0; i < CLASSES; i++) {
        offsets[i] = nondet_i16();
        shares[i] = nondet_u16();
    }
    for (i = 0; i < sizeof lags; i++) {
        weights[i] = nondet_u16();
    }
    p.lags = lags;
    p.lag_weights = weights;
    p.centers = ((MASK)&TCUQ_BIT(TCUQ_DISTANCE)) != 0u ? centers : NULL;
    p.evidence = EVIDENCE ? &evidence : NULL;
    evidence.offset = offsets;
    p.instant = INSTANT ? &instant : NULL;
    instant.class_mix = SHARES ? shares : NULL;
    m = nondet_monitor();
    m.params = &p;
    least_debt = nondet_i32();
    most_debt = nondet_i32();
    ASSUME(least_debt >= -33600000 && least_debt <= 0 && most_debt >= 0 && most_debt <= 33600000);
}

/* At least all params of the shape that tcuq_check() accepts. */
static void any_monitor(void)
{
    any_numbers();
#define TCUQ_FIELD(name, type, low, high, bytes) ASSUME(p.name >= (type)(low) && p.name <= (type)(high));
#define TCUQ_HEAD_FIELD(name, type, low, high) ASSUME(evidence.name >= (type)(low) && evidence.name <= (type)(high));
#define TCUQ_INSTANT_FIELD(name, type, low, high) ASSUME(instant.name >= (type)(low) && instant.name <= (type)(high));
#include "tcuq_fields.h"
    ASSUME(p.level_num < p.level_den && p.budget_num <= p.budget_den);
    p.signals = MASK;
    p.classes = CLASSES;
    p.features = FEATURES;
    p.lag_count = sizeof lags;
    m.ring = malloc(tcuq_ring_size(&p));
    ASSUME(m.ring != NULL);
}

/* Any bytes of the right size. */
void prove_load(void)
{
    size_t whole;
    uint8_t *bytes;
    int status;
    any_monitor();
    whole = tcuq_state_size(&p);
    bytes = malloc(whole);
    ASSUME(bytes != NULL);
    status = tcuq_load(&m, bytes, whole);
    PROVE(status <= TCUQ_OK && m.params == &p);
    if (status == TCUQ_OK) {
        PROVE(m.debt >= least_debt && m.debt <= most_debt && m.alarm <= 3u);
        END;
    }
}

/* Any bytes of every other size up to one more than the right one: refused, and nothing behind them is read. */
void prove_load_sizes(void)
{
    size_t whole, size;
    uint8_t *bytes;
    any_monitor();
    whole = tcuq_state_size(&p);
    for (size = 0; size <= whole + 1u; size++) {
        if (size != whole) {
            bytes = malloc(size);
            ASSUME(bytes != NULL);
            PROVE(tcuq_load(&m, bytes, size) != TCUQ_OK);
        }
    }
    END;
}

/* Any monitor, damaged as it may be; a buffer that is too small is not touched. */
void prove_save(void)
{
    size_t size = nondet_size(), whole;
    uint8_t *bytes;
    any_monitor();
    whole = tcuq_state_size(&p);
    ASSUME(size < whole);
    PROVE(tcuq_save(&m, NULL, size) == TCUQ_ERR_SIZE);
    bytes = malloc(whole);
    ASSUME(bytes != NULL);
    PROVE(tcuq_save(&m, bytes, whole) == (int)whole);
    END;
}

/* Any monitor and any params: only the pointers, and the lengths that they stand for, are sound. */
void prove_verify(void)
{
    int status;
    any_numbers();
    ASSUME(p.classes <= CLASSES && p.features <= FEATURES && p.lag_count <= sizeof lags);
    m.ring = nondet_bool() ? NULL : malloc(4);
    m.params = nondet_bool() ? NULL : &p;
    status = tcuq_verify(nondet_bool() ? NULL : &m);
    PROVE(status <= TCUQ_OK);
    if (status == TCUQ_OK) {
        PROVE(m.params == &p && m.ring != NULL && m.debt >= least_debt && m.debt <= most_debt);
        PROVE(m.credit >= 0 && m.credit <= 10000000 && m.alarm <= 3u);
        END;
    }
}

/* Params of any content, pointers too, whose sum is not that of tcuq_init(): none is followed. */
void prove_verify_damaged(void)
{
    p = nondet_params();
    m = nondet_monitor();
    m.params = &p;
    ASSUME(m.params_sum != 0u && m.ring != NULL);
    known_sum = m.params_sum;
    PROVE(tcuq_verify(&m) == TCUQ_ERR_OTHER);
    END;
}

/* A sum in its low bits, as verify compares it: it is another one after another byte, and stays another one. */
void prove_sum_differs(void)
{
    uint32_t sum = nondet_u32(), other = nondet_u32();
    uint8_t byte[1], changed[1];
    byte[0] = nondet_u8();
    changed[0] = nondet_u8();
    if (nondet_bool()) {
        ASSUME(((sum ^ other) & SUM_PARAMS) != 0u && byte[0] == changed[0]);
    } else {
        ASSUME(sum == other && byte[0] != changed[0]);
    }
    PROVE(((add_bytes(sum, byte, 1) ^ add_bytes(other, changed, 1)) & SUM_PARAMS) != 0u);
    END;
}

/* The checksum and the sum of bytes themselves. */
void prove_sums(void)
{
    size_t size = nondet_size();
    uint8_t *bytes;
    ASSUME(size <= 6u);
    bytes = malloc(size);
    ASSUME(bytes != NULL);
    (void)crc_add(nondet_u32(), bytes, size);
    (void)add_bytes(nondet_u32(), bytes, size);
    END;
}
