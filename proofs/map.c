/* SPDX-License-Identifier: MIT */
/* The map from debt to threshold, by CBMC, for all parameters that tcuq_check() accepts: the debts where the
 * threshold leaves 0..65535 are those that tcuq_debt_bounds() computes, and one step moves it by less than 65536.
 * flag.c needs no more than this of the map.
 *
 * Each product of two unknown numbers is any number that obeys the law of products here: with the same first
 * factor, another unit of the second adds the first factor, and a * (b + c) = a * b + a * c where `slope` says so. What holds for every such number holds for
 * the true product. That no product leaves 32 bits is proved too. run.py puts MUL and DIV into the source. */
#include "prove.h"

/* Products of one first factor. */
enum { MADE = 8 };
typedef struct {
    uint32_t b[MADE];
    uint64_t r[MADE];
    unsigned count;
} products_t;

static products_t of_slope, of_steep;

static uint64_t product(products_t *of, uint32_t a, uint32_t b)
{
    uint64_t r = nondet_u64();
    unsigned i;
    ASSUME(r < (1uLL << 57));
    ASSUME(a == 0u || b == 0u ? r == 0u : r >= (uint64_t)a + b - 1u);
    ASSUME(b > 255u || r <= ((uint64_t)a << 8) - a); /* a * 255 */
    for (i = 0; i < of->count; i++) {
        ASSUME(of->b[i] != b || of->r[i] == r);
        ASSUME(of->b[i] >= b || of->r[i] + a <= r);
        ASSUME(of->b[i] <= b || r + a <= of->r[i]);
        ASSUME((uint64_t)of->b[i] + 1u != b || of->r[i] + a == r);
    }
    of->b[of->count] = b;
    of->r[of->count] = r;
    of->count++;
    return r;
}

/* 256 times what the last threshold was moved by, without its sign. */
static uint32_t raw;

static uint32_t MUL(products_t *of, uint32_t a, uint32_t b)
{
    uint64_t r = product(of, a, b);
    PROVE(r <= 0xFFFFFFFFu);
    return (uint32_t)r;
}

static uint32_t DIV(products_t *of, uint32_t n, uint32_t d)
{
    uint32_t q = nondet_u32();
    uint64_t r;
    PROVE(d != 0u);
    r = product(of, d, q);
    ASSUME(r <= n && n < r + d);
    return q;
}

#include "tcuq.c" /* as run.py has changed it */

static tcuq_params_t p;

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
    ASSUME(p.level_num >= 1u && p.level_den >= 2u && p.level_den <= 1000u);
    ASSUME(p.level_num < p.level_den);
    ASSUME(p.steep_slope >= 1u && p.slope <= p.steep_slope);
    ASSUME(p.steep_slope <= 16777216u / 2u); /* level_den is at least 2 */
    ASSUME(p.knee >= 0 && p.knee <= 16777216);
    ASSUME(product(&of_slope, p.slope, (uint32_t)p.knee) <= 16777216u);
}

/* At `shut` and above no risk is flagged, below it the threshold is within reach. */
void prove_shut(void)
{
    int32_t shut, debt = nondet_i32(), threshold;
    any_map();
    shut = debt_at(&p, ONE - p.reference);
    ASSUME(debt >= 0 && debt <= 33600000);
    threshold = threshold_at(&p, debt);
    PROVE(shut >= 1 && shut <= 33554432);
    PROVE(threshold >= (int32_t)p.reference);
    PROVE(debt < shut || threshold > 65535);
    PROVE(debt >= shut || threshold <= 65535);
    END;
}

/* At -open and below every risk is flagged, above it one of 0 is not. */
void prove_open(void)
{
    int32_t open, debt = nondet_i32(), threshold;
    any_map();
    ASSUME(p.reference != 0u);
    open = debt_at(&p, p.reference);
    ASSUME(debt <= 0 && debt >= -33600000);
    threshold = threshold_at(&p, debt);
    PROVE(open >= 1 && open <= 33554432);
    PROVE(threshold <= (int32_t)p.reference);
    PROVE(debt > -open || threshold <= 0);
    PROVE(debt <= -open || threshold > 0);
    END;
}

/* One unit of debt moves the threshold by at most steep_slope / 256, as long as the debt is in its bounds. So the
 * less than level_den units of one step move it by less than 65536: steep_slope * level_den <= 2^24. The map is odd,
 * so `distance` is that to 1 or to 0, and `up` is what a flag adds or what a step takes off. */
void prove_slope(void)
{
    int32_t shut, debt = nondet_i32(), low, high;
    uint32_t up = nondet_u32(), distance = nondet_u32();
    uint64_t sum, ups;
    any_map();
    ASSUME(up >= 1u && up < p.level_den && distance >= 1u && distance <= ONE);
    ASSUME(product(&of_steep, p.steep_slope, p.level_den) <= 16777216u);
    ups = product(&of_steep, p.steep_slope, up);
    shut = debt_at(&p, distance);
    ASSUME(debt >= 0 && debt < shut - 1 + (int32_t)up);
    if (shut > p.knee) { /* debt_at() has made steep_slope * (shut - knee) last */
        PROVE(of_steep.b[of_steep.count - 1u] == (uint32_t)(shut - p.knee));
        sum = of_steep.r[of_steep.count - 1u] + ups;
        ASSUME(product(&of_steep, p.steep_slope, (uint32_t)(shut - p.knee) + up) == sum);
    }
    (void)threshold_at(&p, debt);
    low = (int32_t)raw;
    (void)threshold_at(&p, debt + 1);
    high = (int32_t)raw;
    PROVE(low >= 0 && high >= 0 && high <= 33554432);
    PROVE(high >= low);
    PROVE((uint32_t)(high - low) <= p.steep_slope);
    END;
}
