/* SPDX-License-Identifier: MIT */
/* The two promises of tcuq.h, by CBMC, for all parameters that tcuq_check() accepts, all risks and all states.
 *
 * Products and quotients of two unknown numbers are out of reach of a solver that thinks in bits. run.py
 * therefore replaces the few of them in threshold_at() and debt_at() by MUL and DIV, each exactly where it
 * stands. A product is then any number that obeys what is known of products of naturals:
 *
 *   a * (b + 1) = a * b + a
 *   b < c  implies  a * b + a <= a * c         b = c  implies  a * b = a * c
 *   a < d  implies  a * b + b <= d * b         a * b <= a * 255 where b <= 255
 *   a * b >= a + b - 1 where both are above 0    d * (n / d) <= n < d * (n / d) + d
 *
 * What holds for every such number holds for the true one. That no product leaves 32 bits is proved too.
 * Likewise CAP stands for burst * budget_den in spend(). */
#include "prove.h"

/* Products so far, each at a place of its own: those of rules, of two calls of debt_at() and of two calls of
 * threshold_at(). Those that are not made are 0 * 0 = 0. */
enum { RULES = 0, BOUNDS = 2, MAP = 8, PRODUCTS = 14 };
static struct {
    uint32_t a, b;
    uint64_t r;
} made[PRODUCTS];
static unsigned bounds_call, map_call;

static uint64_t product(unsigned place, uint32_t a, uint32_t b)
{
    uint64_t r = nondet_u64();
    unsigned i;
    ASSUME(r < (1uLL << 57));
    ASSUME(a == 0u || b == 0u ? r == 0u : r >= (uint64_t)a + b - 1u);
    ASSUME(b > 255u || r <= ((uint64_t)a << 8) - a); /* a * 255 */
    for (i = 0; i < PRODUCTS; i++) {
        if (made[i].a == a) {
            ASSUME(made[i].b != b || made[i].r == r);
            ASSUME(made[i].b >= b || made[i].r + a <= r);
            ASSUME(made[i].b <= b || r + a <= made[i].r);
            ASSUME((uint64_t)made[i].b + 1u != b || made[i].r + a == r);
        }
        if (made[i].b == b) {
            ASSUME(made[i].a >= a || made[i].r + b <= r);
            ASSUME(made[i].a <= a || r + b <= made[i].r);
        }
    }
    made[place].a = a;
    made[place].b = b;
    made[place].r = r;
    return r;
}

static uint32_t MUL(unsigned place, uint32_t a, uint32_t b)
{
    uint64_t r = product(place, a, b);
    PROVE(r <= 0xFFFFFFFFu);
    return (uint32_t)r;
}

/* burst * budget_den, of 1..10000 and 1..1000. */
static uint32_t CAP;

/* A product of a natural and a signed number. */
static int32_t SMUL(unsigned place, uint32_t a, int32_t b)
{
    uint64_t r = product(place, a, b < 0 ? 0u - (uint32_t)b : (uint32_t)b);
    PROVE(r <= 0x7FFFFFFFu);
    return b < 0 ? -(int32_t)r : (int32_t)r;
}

static uint32_t DIV(unsigned place, uint32_t n, uint32_t d)
{
    uint32_t q = nondet_u32();
    uint64_t r;
    PROVE(d != 0u);
    r = product(place, d, q);
    ASSUME(r <= n && n < r + d);
    return q;
}

/* In place of the logarithm, which lemmas.c proves. */
static int32_t contract_log2(uint32_t value)
{
    int32_t result = nondet_i32();
    PROVE(value >= 1u && value <= 131071u);
    ASSUME(result >= (value < 128u ? -1048576 : -589824) && result <= 65536);
    return result;
}

#include "tcuq_internal.h"
#define tcuq_internal_log2 contract_log2
#include "tcuq.c" /* as run.py has changed it */

static tcuq_params_t p;
static tcuq_t m;
static tcuq_step_t out;

/* What tcuq_check() asks of the map: ranges of fields, and the rules level_below_one, steep_slope_fits,
 * slope_order and knee_fits. */
static void any_map(void)
{
    p.level_num = nondet_u16();
    p.level_den = nondet_u16();
    p.reference = nondet_u16();
    p.slope = nondet_u32();
    p.steep_slope = nondet_u32();
    p.knee = nondet_i32();
    m.params = &p;
    out.risk = nondet_u16();
    ASSUME(p.level_num >= 1u && p.level_den >= 2u && p.level_den <= 1000u);
    ASSUME(p.level_num < p.level_den);
    ASSUME(p.steep_slope >= 1u && p.slope <= p.steep_slope);
    ASSUME(p.steep_slope <= 16777216u / 2u); /* level_den is at least 2 */
    ASSUME(product(RULES, p.steep_slope, p.level_den) <= 16777216u);
    ASSUME(p.knee >= 0 && p.knee <= 16777216);
    ASSUME(product(RULES + 1, p.slope, (uint32_t)p.knee) <= 16777216u);
}

/* A step counts exactly, from where the debt was or, after damage, from 0. */
void prove_counts(void)
{
    int32_t before = nondet_i32();
    any_map();
    m.debt = before;
    flag(&m, &out);
    PROVE(out.threshold >= 0 || out.flagged == 1u);
    PROVE(out.threshold <= 65535 || out.flagged == 0u);
    PROVE(m.debt == (int64_t)before + (out.flagged != 0u ? p.level_den : 0) - p.level_num ||
          m.debt == (out.flagged != 0u ? p.level_den : 0) - (int32_t)p.level_num);
    END;
}

/* The credit stays in 0..burst * budget_den, and pays for every abstention: what a step abstains, times
 * budget_den, is at most what the credit lost and the budget_num that it got. Added up over n steps:
 * budget_den * abstentions <= burst * budget_den + budget_num * n. */
void prove_budget(void)
{
    int32_t before, cap;
    p.budget_num = nondet_u16();
    p.budget_den = nondet_u16();
    p.warmup = nondet_u32();
    m.params = &p;
    m.steps = nondet_u32();
    out.flagged = nondet_u8();
    ASSUME(p.budget_den >= 1u && p.budget_den <= 1000u && p.budget_num <= p.budget_den);
    ASSUME(out.flagged <= 1u);
    CAP = nondet_u32();
    ASSUME(CAP >= p.budget_den && CAP <= 10000u * 1000u);
    cap = (int32_t)CAP;
    before = nondet_i32();
    ASSUME(before >= 0 && before <= cap);
    m.credit = before;
    spend(&m, &out, 0);
    PROVE(m.credit >= 0 && m.credit <= cap);
    PROVE((out.abstain != 0u ? p.budget_den : 0) <= before + p.budget_num - m.credit);
    PROVE(out.abstain == 0u || (out.flagged == 1u && out.warming_up == 0u));
    END;
}

/* A damaged credit of any value: in its range after the step, and at most one abstention was given. */
void prove_damaged_credit(void)
{
    int32_t cap;
    p.budget_num = nondet_u16();
    p.budget_den = nondet_u16();
    p.warmup = nondet_u32();
    m.params = &p;
    m.steps = nondet_u32();
    m.credit = nondet_i32();
    out.flagged = nondet_u8();
    ASSUME(p.budget_den >= 1u && p.budget_den <= 1000u && p.budget_num <= p.budget_den);
    ASSUME(out.flagged <= 1u);
    CAP = nondet_u32();
    ASSUME(CAP >= p.budget_den && CAP <= 10000u * 1000u);
    cap = (int32_t)CAP;
    spend(&m, &out, 0);
    PROVE(m.credit >= 0 && m.credit <= cap && out.abstain <= 1u);
    PROVE(out.abstain == 0u || m.credit <= cap - p.budget_den);
    END;
}

/* A damaged debt of any value: nothing overflows, and after the step the debt is where the bound of any
 * stretch of steps holds again. */
void prove_damaged_debt(void)
{
    any_map();
    m.debt = nondet_i32();
    flag(&m, &out);
    PROVE(m.debt >= -33600000 && m.debt <= 33600000);
    END;
}

/* What tcuq_debt_bounds() computes is in range. */
void prove_bounds(void)
{
    int32_t low, high;
    any_map();
    tcuq_debt_bounds(&p, &low, &high);
    PROVE(low <= 0 && high >= 0 && low >= -33600000 && high <= 33600000);
    END;
}

/* A bet on any evidence within the clip, counted by any novelty. */
void prove_bet(void)
{
    static tcuq_evidence_t head;
    static uint16_t signals[TCUQ_SIGNAL_COUNT];
    inference_t now;
    uint64_t most;
    now.evidence = nondet_i32();
    now.novelty = nondet_u32();
    head.allowance = nondet_u32();
    head.clip = nondet_u32();
    head.bet_base = nondet_u32();
    head.bet_slope = nondet_u32();
    ASSUME(head.clip >= 1u && head.clip <= 524288u && head.bet_base <= 1048576u);
    ASSUME(head.bet_slope >= 1u && head.bet_slope <= 32767u);
    ASSUME(now.evidence >= -(int32_t)head.clip && now.evidence <= (int32_t)head.clip);
    ASSUME(now.novelty >= 32u && now.novelty <= 256u && head.allowance <= 16777216u); /* novelty of lemmas.c */
    most = product(RULES, head.bet_slope, head.clip >> 8);
    ASSUME(most <= 32767uLL * 2048uLL); /* the product of the largest two */
    most >>= 8;
    ASSUME(head.bet_base >= most + 257u && head.bet_base + most < 1048576u); /* rule bet_fits */
    m.params = &p;
    (void)excess_of(&m, &head, &now, signals);
    END;
}
