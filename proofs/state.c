/* SPDX-License-Identifier: MIT */
/* Saving, loading and verifying a monitor of one small shape, by CBMC: any bytes, any size, any damage of counters
 * and ring, all params that have the ranges of tcuq_fields.h. The shape is given as to whole.c.
 *
 * run.py puts contracts in place of some functions. Checksums read what they are given and may have any value (their
 * own reads are proved below); rates.c and map.c prove what is said of the bounds of the debt. */
#include <stdlib.h>

#include "prove.h"
#include "shape.h"

/* CBMC does not know it, and would take any pointer. */
#define __builtin_assume_aligned(pointer, bytes) (pointer)
#define __builtin_memcpy memcpy

#include "tcuq.h"

static uint32_t contract_crc_add(uint32_t crc, const uint8_t *bytes, size_t size)
{
    (void)crc;
    PROVE(size == 0u || __CPROVER_r_ok(bytes, size));
    return nondet_u32();
}

static int32_t least_debt, most_debt;

static void contract_tcuq_debt_bounds(const tcuq_params_t *p, int32_t *low, int32_t *high)
{
    (void)p;
    *low = least_debt;
    *high = most_debt;
}

#include "tcuq_signals.c"
#include "tcuq_beliefs.c"
#include "tcuq.c"
#include "tcuq_state.c" /* as run.py has changed it */

static uint8_t lags[] = LAGS;
static uint16_t weights[sizeof lags];
static int16_t offsets[CLASSES];
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
#define IN_RANGE(error, of, name, type, low, high, bytes, usual) ASSUME(of.name >= (type)(low) && of.name <= (type)(high));
    TCUQ_PARAM_NUMBERS(IN_RANGE)
    TCUQ_EVIDENCE_NUMBERS(IN_RANGE)
    TCUQ_INSTANT_NUMBERS(IN_RANGE)
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
        PROVE(m.debt >= least_debt && m.debt <= most_debt && m.alarm >> 2 <= p.least_raised);
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
    int status;
    any_monitor();
    whole = tcuq_state_size(&p);
    ASSUME(size < whole);
    PROVE(tcuq_save(&m, NULL, size) == TCUQ_ERR_SIZE);
    bytes = malloc(whole);
    ASSUME(bytes != NULL);
    status = tcuq_save(&m, bytes, whole);
    PROVE(status == (int)whole || status == TCUQ_ERR_STATE);
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
        PROVE(m.credit >= 0 && m.credit <= 10000000 && m.alarm >> 2 <= p.least_raised);
        END;
    }
}

/* The checksum itself. */
void prove_crc(void)
{
    size_t size = nondet_size();
    uint8_t *bytes;
    ASSUME(size <= 6u);
    bytes = malloc(size);
    ASSUME(bytes != NULL);
    (void)crc_add(nondet_u32(), bytes, size);
    END;
}
