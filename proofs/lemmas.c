/* SPDX-License-Identifier: MIT */
/* Proofs of single functions of the core by CBMC, for all values of their arguments within what is assumed.
 * Each gives a contract of contracts.h, or shows that an alarm of Eva which run.py names cannot come true.
 * CBMC itself looks for overflow, shifts, division by zero and accesses out of bounds. */
#include "prove.h"

#include "tcuq_beliefs.c"

/* In place of functions that have a proof of their own: what they require is proved, what they ensure is all that is
 * known of their result. */
static int32_t contract_log2(uint32_t value)
{
    int32_t result = nondet_i32();
    PROVE(value >= 1u && value <= 131071u);
    ASSUME(result >= -1048576 && result <= 65536);
    return result;
}

#include "tcuq_signals.c"
#define tcuq_internal_log2 contract_log2
#include "tcuq.c"
#undef tcuq_internal_log2

static tcuq_params_t p;
static tcuq_t m;
static tcuq_evidence_t head;
static tcuq_instant_t instant;

void prove_log2(void)
{
    uint32_t value = nondet_u32();
    int32_t result;
    ASSUME(value >= 1u && value <= 131071u);
    result = tcuq_internal_log2(value);
    PROVE(result >= (value < 128u ? -1048576 : -589824) && result <= 65536);
    END;
}

/* Also: the loops and the instructions that stand for them agree. */
void prove_bits(void)
{
    uint32_t value = nondet_u32();
    uint32_t above, below;
    ASSUME(value != 0u);
    above = bits_above(value);
    PROVE(above <= 16u && value >> above >= 1u && value >> above <= 65535u);
    PROVE(above == 0u || value >> (above - 1u) > 65535u);
    below = bits_below(value);
    PROVE(below <= 16u && value << below >= 65536u);
    PROVE(below == 0u || value << (below - 1u) < 65536u);
    END;
}

void prove_divide_by(void)
{
    divisor_t by;
    uint32_t sum = divide_by(&by, nondet_u32());
    PROVE(sum >= 1u && sum <= 65535u && by.scale <= 16u && by.factor >= 32768u);
    END;
}

void prove_norm_of(void)
{
    uint32_t squares = nondet_u32();
    norm_t norm;
    ASSUME(squares <= 256u * 255u * 255u);
    norm = norm_of(squares);
    PROVE(squares == 0u ? norm.mant == 0u : norm.mant >= 32768u);
    PROVE(norm.exp >= -15 && norm.exp <= 0);
    END;
}

void prove_half_distance(void)
{
    norm_t a, b;
    a.mant = nondet_u16();
    a.exp = nondet_i16();
    b.mant = nondet_u16();
    b.exp = nondet_i16();
    ASSUME((a.mant == 0u || a.mant >= 32768u) && a.exp >= -15 && a.exp <= 0); /* norm_of() of this step */
    PROVE(half_distance(nondet_i32(), a, b) <= 65535u);
    PROVE(half_distance(nondet_i32(), b, a) <= 65535u);
    END;
}

void prove_between(void)
{
    int32_t first = nondet_i32(), second = nondet_i32(), result;
    uint32_t past = nondet_u32();
    ASSUME(first >= -32768 && first <= 32767 && second >= -32768 && second <= 32767 && past <= 32767u);
    result = between(first, second, past);
    PROVE(result >= -32768 && result <= 32767);
    END;
}

void prove_threshold_range(void)
{
    int32_t result;
    p.knee = nondet_i32();
    p.slope = nondet_u32();
    p.steep_slope = nondet_u32();
    p.reference = nondet_u16();
    ASSUME(p.knee >= 0 && p.steep_slope >= 1u);
    result = threshold_at(&p, nondet_i32());
    PROVE(result >= -16777215 && result <= 16842750);
    END;
}

void prove_discount(void)
{
    int32_t evidence = nondet_i32();
    p.evidence = &head;
    m.params = &p;
    m.novelty = nondet_u32();
    head.spread = nondet_u32();
    ASSUME(head.spread >= 16u && head.spread <= 16777216u); /* rule spread_fits; 0 is never below it */
    ASSUME(evidence > 0 && m.novelty < head.spread);
    (void)discount(&m, evidence);
    END;
}

void prove_vary(void)
{
    uint32_t ring[3];
    layout_t at;
    uint32_t doubt = nondet_u32(), answer = nondet_u32();
    ring[0] = nondet_u32();
    ring[1] = nondet_u32();
    ring[2] = nondet_u32();
    at.seen = 1;
    at.mean_words = 3;
    m.ring = ring;
    m.params = &p;
    p.instant = &instant;
    instant.spread = nondet_u32();
    ASSUME(instant.spread <= 262144u && doubt <= 256u && answer < 1000u);
    (void)vary(&m, &at, doubt, answer);
    END;
}

/* Some lags have a past, others do not yet; tcuq_check() has looked at the weights, see rule lag_weights_sum. */
void prove_weight_to(void)
{
    uint16_t weights[5];
    uint32_t count = nondet_u32(), i, weight;
    for (i = 0; i < 5u; i++) {
        weights[i] = nondet_u16();
    }
    p.lag_count = nondet_u16();
    p.lag_weights = weights;
    ASSUME(p.lag_count >= 1u && p.lag_count <= 5u && count >= 1u && count <= p.lag_count && weights_sum(&p));
    weight = weight_to(&p, count);
    PROVE(weight >= 1u && weight <= 32768u);
    END;
}

/* A damaged debt of any size. */
void prove_step_closer(void)
{
    int32_t debt = nondet_i32(), up, down;
    p.level_num = nondet_u16();
    p.level_den = nondet_u16();
    ASSUME(p.level_num >= 1u && p.level_num < p.level_den && p.level_den <= 1000u);
    up = p.level_den - p.level_num;
    down = -(int32_t)p.level_num;
    PROVE(debt < 0 ? debt <= INT32_MAX + down : debt >= INT32_MIN + up);
    END;
}
