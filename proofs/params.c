/* SPDX-License-Identifier: MIT */
/* Params of any content, by CBMC: tcuq_check() and tcuq_init() read no memory that they may not, whatever the
 * numbers say, and what they accept has the ranges that the other proofs begin with. Lists have the lengths that
 * tcuq.h asks of a caller: 64 lags, `classes` shares. */
#include "prove.h"

#include "tcuq_error.c"
#include "tcuq.c"

#define MOST_CLASSES 3

tcuq_params_t nondet_params(void);
tcuq_evidence_t nondet_evidence(void);
tcuq_instant_t nondet_instant(void);

void prove_check(void)
{
    static uint8_t lags[TCUQ_MAX_LAG];
    static uint16_t weights[TCUQ_MAX_LAG];
    static int16_t offsets[MOST_CLASSES];
    static int8_t centers[1];
    tcuq_params_t p = nondet_params();
    tcuq_evidence_t evidence = nondet_evidence();
    tcuq_instant_t instant = nondet_instant();
    int i, status;
    for (i = 0; i < TCUQ_MAX_LAG; i++) {
        lags[i] = nondet_u8();
        weights[i] = nondet_u16();
    }
    ASSUME(p.classes <= MOST_CLASSES);
    p.lags = nondet_bool() ? lags : NULL;
    p.lag_weights = nondet_bool() ? weights : NULL;
    p.centers = nondet_bool() ? centers : NULL;
    p.evidence = nondet_bool() ? &evidence : NULL;
    p.instant = nondet_bool() ? &instant : NULL;
    evidence.offset = nondet_bool() ? offsets : NULL;
    status = tcuq_check(&p);
    PROVE((status == TCUQ_OK) == (tcuq_internal_check(&p) == TCUQ_OK));
    if (status == TCUQ_OK) {
        /* What whole.c, lemmas.c and rates.c begin with. */
#define IN_RANGE(error, of, name, type, low, high, bytes, usual) PROVE(of.name >= (type)(low) && of.name <= (type)(high));
        TCUQ_PARAM_NUMBERS(IN_RANGE)
        PROVE(p.level_num <= 999u && p.budget_num <= 1000u && p.anchor <= 1u && p.about <= 1u);
        PROVE(p.steep_slope <= 16777216u / 2u && p.slope <= p.steep_slope);
        PROVE(p.evidence == NULL || (evidence.clip >= 1u && evidence.clip <= 524288u && evidence.reach >= 256u));
        PROVE(p.rise_clear == 0u || p.rise_clear < p.rise_limit);
    }
    END;
}
