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

/* What the alarm sums without a bet, with or without a reference of the device's own, of any damaged content; rates.c
 * has the rest. */
void prove_excess_of(void)
{
    uint16_t signals[TCUQ_SIGNAL_COUNT];
    inference_t now;
    int32_t result;
    p.signals = nondet_u16();
    head.clip = nondet_u32();
    head.bias = nondet_i32();
    head.allowance = nondet_u32();
    head.bet_slope = 0;
    head.coef[TCUQ_DEGRADATION] = nondet_i16();
    head.coef[TCUQ_DRIFT] = nondet_i16();
    signals[TCUQ_DEGRADATION] = nondet_u16();
    signals[TCUQ_DRIFT] = nondet_u16();
    head.baseline_inputs = nondet_u32();
    head.baseline_mean = nondet_i32();
    head.baseline_most = nondet_u32();
    m.params = &p;
    m.baseline = nondet_u32();
    m.baseline_seen = nondet_u32();
    now.novelty = nondet_u32();
    ASSUME(head.baseline_inputs <= 1000u && head.baseline_most <= 524288u && head.baseline_mean >= -524288 && head.baseline_mean <= 524288);
    ASSUME(head.baseline_inputs != 0u || head.baseline_most == 0u); /* rule baseline_used */
    ASSUME(head.clip >= 1u && head.clip <= 524288u && head.allowance <= 16777216u);
    ASSUME(head.bias >= -16777216 && head.bias <= 16777216);
    ASSUME(now.novelty >= 32u && now.novelty <= 256u); /* prove_novelty */
    result = excess_of(&m, &head, &now, signals);
    PROVE(result >= -(int32_t)(head.clip + head.baseline_most + head.allowance) && result <= (int32_t)head.clip);
    PROVE(head.baseline_inputs == 0u || m.baseline_seen < head.baseline_inputs << 8 ||
          (m.baseline_seen == head.baseline_inputs << 8 && m.baseline <= head.baseline_most));
    END;
}

/* Sums of first inputs stay within what a saved state may hold, and within 32 bits. */
void prove_baseline_sum(void)
{
    uint32_t novelty = nondet_u32();
    int32_t value = nondet_i32();
    int64_t sum, seen;
    head.baseline_inputs = nondet_u32();
    head.baseline_mean = nondet_i32();
    head.baseline_most = nondet_u32();
    m.baseline = nondet_u32();
    m.baseline_seen = nondet_u32();
    ASSUME(head.baseline_inputs >= 1u && head.baseline_inputs <= 1000u && head.baseline_most <= 524288u);
    ASSUME(head.baseline_mean >= -524288 && head.baseline_mean <= 524288 && value >= -524288 && value <= 524288);
    ASSUME(novelty >= 32u && novelty <= 256u && m.baseline_seen < head.baseline_inputs << 8);
    ASSUME((int32_t)m.baseline >= -4096 * (int64_t)m.baseline_seen && (int32_t)m.baseline <= 4096 * (int64_t)m.baseline_seen);
    (void)less_baseline(&m, &head, value, novelty);
    sum = (int32_t)m.baseline;
    seen = (int64_t)m.baseline_seen;
    PROVE(seen >= novelty && seen <= (int64_t)head.baseline_inputs << 8);
    PROVE(seen == (int64_t)head.baseline_inputs << 8 ? sum >= 0 && sum <= head.baseline_most
                                               : sum >= -4096 * seen && sum <= 4096 * seen);
    END;
}

/* Any sum and any alarm, as after damage; sides that are on or off, see rules rise_order and clear_order. */
static void any_side(uint32_t limit, uint32_t cap, uint32_t clear)
{
    ASSUME(cap <= 1073741824u);
    ASSUME(limit != 0u ? cap >= limit && clear < limit : cap == 0u && clear == 0u);
}

/* A sum stays below its cap; a side is raised at its limit, and not below what clears it unless it is kept. */
void prove_add_up(void)
{
    uint32_t sum = nondet_u32(), limit = nondet_u32(), cap = nondet_u32(), clear = nondet_u32();
    int raised = nondet_bool(), kept = nondet_bool();
    uint8_t result;
    any_side(limit, cap, clear);
    result = add_up(&sum, nondet_i32(), limit, cap, clear, raised, kept);
    PROVE(sum <= cap && result <= 1u);
    PROVE(limit != 0u || (result == 0u && sum == 0u));
    PROVE(result != 0u || limit == 0u || sum < limit);
    PROVE(result == 0u || sum >= limit || raised);
    PROVE(result == 0u || kept || sum > clear);
    PROVE(result != 0u || !raised || limit == 0u || (!kept && sum == 0u));
    END;
}

/* What is left of the least steps: all of it where the alarm begins, one less with each step, nothing without an alarm. */
void prove_least_raised(void)
{
    inference_t now;
    tcuq_step_t out;
    uint8_t before = nondet_u8();
    uint32_t left;
    p.least_raised = nondet_u16();
    p.rise_limit = nondet_u32();
    p.rise_cap = nondet_u32();
    p.rise_clear = nondet_u32();
    p.fall_limit = nondet_u32();
    p.fall_cap = nondet_u32();
    p.rise_reference = nondet_u16();
    p.fall_reference = nondet_u16();
    ASSUME(p.least_raised <= 63u);
    any_side(p.rise_limit, p.rise_cap, p.rise_clear);
    any_side(p.fall_limit, p.fall_cap, 0);
    p.evidence = NULL;
    m.params = &p;
    m.alarm = before;
    m.rise = nondet_u32();
    m.fall = nondet_u32();
    out.risk = nondet_u16();
    alarm(&m, NULL, &now, NULL, NULL, &out);
    left = m.alarm >> 2;
    PROVE(out.alarm <= 3u && (m.alarm & 3u) == out.alarm && left <= p.least_raised);
    PROVE((out.alarm & 1u) != 0u || left == 0u);
    PROVE((before & 1u) != 0u || (out.alarm & 1u) == 0u || left == p.least_raised);
    PROVE((before & 1u) == 0u || left < p.least_raised || p.least_raised == 0u);
    PROVE((before & 1u) == 0u || before >> 2 == 0u || p.least_raised == 0u || p.rise_limit == 0u || (out.alarm & 1u) != 0u);
    END;
}

/* Both means of section 6: neither leaves the range of what it has seen. */
void prove_toward(void)
{
    int32_t mean = nondet_i32(), value = nondet_i32(), result;
    uint32_t novelty = nondet_u32();
    ASSUME(mean >= -SLOW_MAX && mean <= SLOW_MAX);
    ASSUME(value >= -32 * 255 * 256 && value <= 32 * 255 * 256); /* of 32 features; evidence is less */
    ASSUME(novelty >= 32u && novelty <= 256u);
    result = toward(mean, value, novelty);
    PROVE(mean <= value ? result >= mean && result <= value : result <= mean && result >= value);
    END;
}

/* Mean gaps of any content, as after damage, and gaps of 32 features. */
void prove_drift_of(void)
{
    uint32_t slow[BLOCKS], novelty = nondet_u32(), i, squares;
    int32_t gaps[BLOCKS];
    for (i = 0; i < BLOCKS; i++) {
        slow[i] = nondet_u32();
        gaps[i] = nondet_i32();
        ASSUME(gaps[i] >= -32 * 255 && gaps[i] <= 32 * 255);
    }
    ASSUME(novelty >= 32u && novelty <= 256u);
    squares = drift_of(slow, gaps, novelty);
    PROVE(squares >= 1u && squares <= 1u + 8u * 16383u * 16383u);
    for (i = 0; i < BLOCKS; i++) {
        PROVE((int32_t)slow[i] >= -SLOW_MAX && (int32_t)slow[i] <= SLOW_MAX);
    }
    END;
}

/* Features of one block, after any number of those of the widest monitor: each adds no more than its share. */
void prove_read_block(void)
{
    int8_t features[3], centers[3];
    uint32_t count = nondet_u32(), squares = nondet_u32(), apart = nondet_u32(), i;
    blocks_t blocks;
    for (i = 0; i < 3u; i++) {
        features[i] = nondet_i8();
        centers[i] = nondet_i8();
    }
    ASSUME(count <= 3u && squares <= 253u * 128u * 128u && apart >= 1u && apart <= 1u + 253u * 255u * 255u);
    blocks.next = features;
    blocks.center = centers;
    blocks.squares = squares;
    blocks.apart = apart;
    read_block(&blocks, 7, features + count);
    PROVE(blocks.next == features + count);
    PROVE(blocks.squares >= squares && blocks.squares - squares <= count * 128u * 128u);
    PROVE(blocks.apart >= apart && blocks.apart - apart <= count * 255u * 255u);
    PROVE(blocks.sums[7] >= -128 * (int32_t)count && blocks.sums[7] <= 127 * (int32_t)count);
    PROVE(blocks.gaps[7] >= -255 * (int32_t)count && blocks.gaps[7] <= 255 * (int32_t)count);
    END;
}

/* Novelty, evidence, degradation and stillness, of any distance and any damaged degradation and stillness. */
void prove_novelty(void)
{
    uint16_t signals[TCUQ_SIGNAL_COUNT];
    int16_t offset = nondet_i16();
    inference_t now;
    int32_t clip;
    uint32_t i;
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        signals[i] = nondet_u16();
        head.coef[i] = nondet_i16();
    }
    p.signals = nondet_u16();
    p.evidence = &head;
    head.offset = &offset;
    head.clip = nondet_u32();
    head.reach = nondet_u32();
    now.subject = 0;
    m.params = &p;
    m.filled = nondet_u8();
    m.degradation = nondet_i32();
    m.stillness = nondet_u32();
    head.frozen = nondet_u32();
    ASSUME((p.signals & ~0x1FFu) == 0u); /* drift: prove_drift_of */
    ASSUME(head.clip >= 1u && head.clip <= 524288u && head.reach >= 256u);
    compare(&m, head.reach, head.frozen, &now, nondet_u32());
    slow_signals(&m, NULL, &head, &now, NULL, signals);
    clip = (int32_t)head.clip;
    PROVE(now.novelty >= 32u && now.novelty <= 256u);
    PROVE(now.evidence >= -clip && now.evidence <= clip);
    PROVE(m.degradation >= -clip && m.degradation <= clip);
    PROVE(m.stillness <= STILL_MAX);
    PROVE(!now.frozen || (now.novelty == 256u && now.evidence == clip));
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
