/* SPDX-License-Identifier: MIT */
/* The bound of the flag rate, by CBMC: whatever the risk, a step leaves the debt within tcuq_debt_bounds(), and the
 * start anew after damage never takes place there. Of the map from debt to threshold this needs only what map.c
 * proves of it; run.py puts the map below in place of threshold_at() and debt_at(). */
#include "prove.h"

#include "tcuq.h"

/* Least debt, without its sign, where the threshold is above 65535, and where it is 0 or less. */
static int32_t shut, open;

static int32_t contract_debt_at(const tcuq_params_t *p, uint32_t distance)
{
    /* Both are the same where both distances are. */
    return distance == 65536u - p->reference ? shut : open;
}

/* Any map that obeys `shut`, `open` and `slope` of map.c. */
static int32_t asked[2], raws[2];
static unsigned calls;

static int32_t contract_threshold_at(const tcuq_params_t *p, int32_t debt)
{
    int32_t raw = nondet_i32(), threshold; /* 256 times the way from the reference */
    unsigned i;
    /* Where `slope` holds: less than level_den units beyond the last debt within reach. */
    PROVE(debt <= shut - 1 + p->level_den - 1 && -debt <= (open > 1 ? open : 1) - 1 + p->level_den - 1);
    ASSUME(raw >= -33554432 && raw <= 33554432);
    ASSUME(debt > 0 ? raw >= 0 : debt < 0 ? raw <= 0 : raw == 0);
    threshold = p->reference + raw / 256;
    ASSUME(debt < 0 || (debt >= shut) == (threshold > 65535));
    ASSUME(debt > 0 || p->reference == 0u || (debt <= -open) == (threshold <= 0));
    for (i = 0; i < calls; i++) {
        int64_t far = (int64_t)debt - asked[i], moved = (int64_t)raw - raws[i];
        /* One step: less than level_den units of at most steep_slope <= 2^24 / level_den, level_den <= 1000. */
        ASSUME(far < 0 || far >= p->level_den || (moved >= 0 && moved <= 16777216 / 1000 * 999 + 999));
        ASSUME(far > 0 || -far >= p->level_den || (moved <= 0 && -moved <= 16777216 / 1000 * 999 + 999));
    }
    asked[calls] = debt;
    raws[calls++] = raw;
    return threshold;
}

#include "tcuq.c" /* as run.py has changed it */

static tcuq_params_t p;
static tcuq_t m;
static tcuq_step_t out;

void prove_flag(void)
{
    int32_t before = nondet_i32(), low, high;
    p.level_num = nondet_u16();
    p.level_den = nondet_u16();
    p.reference = nondet_u16();
    shut = nondet_i32();
    open = nondet_i32();
    ASSUME(p.level_num >= 1u && p.level_num < p.level_den && p.level_den <= 1000u);
    ASSUME(shut >= 1 && shut <= 33554432);
    ASSUME(p.reference == 0u ? open == 0 : open >= 1 && open <= 33554432);
    ASSUME(p.reference != 32768u || open == shut); /* the same distance to both ends */
    m.params = &p;
    tcuq_debt_bounds(&p, &low, &high);
    PROVE(low <= 0 && high >= 0); /* where a monitor begins */
    ASSUME(before >= low && before <= high);
    m.debt = before;
    out.risk = nondet_u16();
    flag(&m, &out);
    PROVE(out.flagged == (out.risk >= out.threshold ? 1u : 0u));
    PROVE(m.debt == before + (out.flagged != 0u ? p.level_den : 0) - p.level_num);
    PROVE(m.debt >= low && m.debt <= high);
    END;
}
