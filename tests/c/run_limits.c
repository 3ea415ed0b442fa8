/* SPDX-License-Identifier: MIT */
/* The edges of states, in numbers of SPEC.md and not of the headers: counters and words of the ring just inside and
 * just outside their ranges, what labels are answered, sizes of states.
 * Exit status: 0 when all is as promised, else 1. */
#include "good_params.h"

static uint32_t ring[256];

/* A counter just inside and just outside what tcuq_verify() lets pass. */
#define VERIFIED(expected, change)                          \
    do {                                                    \
        tcuq_t m = sound;                                   \
        change;                                             \
        same(#change, expected, tcuq_verify(&m));           \
    } while (0)
#define PASSES(change) VERIFIED(TCUQ_OK, change)
#define FAILS(change) VERIFIED(TCUQ_ERR_STATE, change)

/* A monitor after some steps; each of them leaves it sound, also where the ring is about to turn. */
static tcuq_t stepped(unsigned steps)
{
    tcuq_t m;
    unsigned i;
    memset(ring, 0xA5, sizeof ring);
    p.fingerprint = tcuq_fingerprint(&p);
    same("init", TCUQ_OK, tcuq_init(&m, &p, ring, sizeof ring));
    for (i = 0; i < steps; i++) {
        int8_t probs[4] = {-128, -118, -108, -38}, features[4] = {4, -9, 77, 1};
        tcuq_step_t out;
        probs[i / 3u % 4u] = (int8_t)(i % 5u);
        features[i % 4u] = (int8_t)(i * 7u % 100u);
        tcuq_step(&m, probs, features, &out, NULL);
        same("verify after a step", TCUQ_OK, tcuq_verify(&m));
    }
    return m;
}

static void counters(void)
{
    int32_t low, high;
    tcuq_t sound;
    good();
    sound = stepped(7);
    tcuq_debt_bounds(&p, &low, &high);
    PASSES(m.debt = low);
    FAILS(m.debt = low - 1);
    PASSES(m.debt = high);
    FAILS(m.debt = high + 1);
    PASSES(m.credit = 0);
    FAILS(m.credit = -1);
    PASSES(m.credit = 60);
    FAILS(m.credit = 61);
    FAILS(m.alarm = 4);
    PASSES((m.rise = 150000, m.alarm = 1));
    FAILS((m.rise = 150001, m.alarm = 1));
    FAILS((m.rise = 60000, m.alarm = 0));
    PASSES((m.rise = 59999, m.alarm = 0));
    PASSES((m.rise = 1, m.alarm = 1));
    FAILS((m.rise = 0, m.alarm = 1));
    FAILS((m.rise = 0, m.alarm = 2));
    FAILS((m.fall = 1, m.alarm = 0));
    PASSES(m.degradation = 262144);
    FAILS(m.degradation = 262145);
    PASSES(m.degradation = -262144);
    FAILS(m.degradation = -262145);
    PASSES(m.stillness = 2097152);
    FAILS(m.stillness = 2097153);
    PASSES((m.baseline = 5, m.baseline_seen = 5)); /* nobody reads them */
    PASSES(m.accuracy = 0xFFFFFF);
    FAILS(m.accuracy = 0x1000000);
    PASSES(m.slot = 0);
    PASSES(m.slot = 2);
    FAILS(m.slot = 3);
    FAILS(m.fill = 3);
    FAILS(m.fill = 0);
    FAILS(m.filled = 2);
    FAILS(m.filled = 1);
    FAILS(m.filled = 0);
    FAILS(m.filled = 4);
    PASSES((m.filled = 2, m.fill = 0));
    FAILS((m.steps = 1, m.fill = 2));
    PASSES((m.steps = 1, m.fill = 1));
    FAILS((m.steps = 0, m.fill = 0, m.filled = 2));
    PASSES((m.steps = 0, m.fill = 0, m.filled = 0));
    FAILS(m.ring = NULL);
    FAILS(m.params = NULL);
    p.fingerprint ^= 1u;
    VERIFIED(TCUQ_ERR_OTHER, (void)0);
    p.fingerprint ^= 1u;
    same("no monitor", TCUQ_ERR_STATE, tcuq_verify(NULL));
}

#if ((TCUQ_SIGNALS) & TCUQ_SIGHT) != 0
/* A distance in place of a sum: the first stays raise its limit, the cap is that of the params alone. */
static void distances(void)
{
    tcuq_t sound;
    seeing();
    sight.baseline_inputs = 5;
    sound = stepped(7);
    PASSES((m.rise = 92767, m.alarm = 0));
    FAILS((m.rise = 92768, m.alarm = 0));
    PASSES((m.rise = 150000, m.alarm = 1));
    FAILS((m.rise = 150001, m.alarm = 1));
    PASSES((m.rise = 0, m.alarm = 1));
    FAILS(m.alarm = 2);
    FAILS((m.fall = 1));
    PASSES(m.degradation = 7); /* nobody reads it, nor the next */
    PASSES(m.baseline = 7);
    PASSES(m.stillness = 2097152);
    FAILS(m.stillness = 2097153);
    PASSES(m.baseline_seen = 1280);
    FAILS(m.baseline_seen = 1281);
    sight.baseline_inputs = 0;
    sound = stepped(7);
    PASSES(m.baseline_seen = 1281);
}
#endif

/* A raised side above what clears it, or with any sum where it may be kept. */
static void holds(void)
{
    tcuq_t sound;
    good();
    p.rise_clear = 5000;
    sound = stepped(3);
    PASSES((m.rise = 5001, m.alarm = 1));
    FAILS((m.rise = 5000, m.alarm = 1));
    FAILS((m.rise = 5001, m.alarm = 1 + 4));
    p.least_raised = 63;
    sound = stepped(3);
    PASSES((m.rise = 0, m.alarm = 1));
    PASSES((m.rise = 0, m.alarm = 1 + 4 * 63));
    FAILS((m.rise = 0, m.alarm = 4));
    FAILS((m.rise = 150001, m.alarm = 1 + 4));
    p.least_raised = 5;
    sound = stepped(3);
    PASSES((m.rise = 0, m.alarm = 1 + 4 * 5));
    FAILS((m.rise = 0, m.alarm = 1 + 4 * 6));
    FAILS((m.rise = 0, m.alarm = 3));
    p.rise_limit = p.rise_cap = p.rise_clear = 0; /* off: never raised */
    sound = stepped(3);
    PASSES(m.rise = 0);
    FAILS((m.rise = 0, m.alarm = 1));
    FAILS((m.rise = 0, m.alarm = 1 + 4));
}

/* Words of the ring just inside and just outside what is saved: those of the last input, then mean gaps of features. */
static void saved_words(void)
{
    static const struct {
        unsigned first, count;
        uint32_t low, high;
    } words[] = {{0, 8, 0u - 32768u, 32767}, {8, 8, 0u - 2097152u, 2097152}};
    static uint8_t state[1000];
    unsigned i, j, k;
    tcuq_t m;
    good();
    m = stepped(5);
    for (i = 0; i < 2u; i++) {
        for (j = 0; j < words[i].count; j++) {
            uint32_t *word = &ring[words[i].first + j], kept = *word, ends[4];
            ends[0] = words[i].low;
            ends[1] = words[i].high;
            ends[2] = words[i].low - 1u;
            ends[3] = words[i].high + 1u;
            for (k = 0; k < 4u; k++) {
                *word = ends[k];
                same("save of a word at its end", k < 2u, tcuq_save(&m, state, sizeof state) > 0);
            }
            *word = kept;
        }
    }
}

/* One of the 16-bit numbers that labels need, behind eight words of the last input and eight gaps. */
static void set_number(unsigned at, unsigned value)
{
    uint16_t kept = (uint16_t)value;
    memcpy((uint8_t *)&ring[17] + 2u * at, &kept, sizeof kept);
}

/* What labels need, just inside and just outside what is saved: 3 * 9 + 24 is the most that the error debt may be. */
static void saved_labels(void)
{
    static const struct {
        int32_t value;
        int sound;
    } debts[] = {{-25, 1}, {-26, 0}, {51, 1}, {52, 0}};
    static const struct {
        unsigned at, value;
        int sound;
    } numbers[] = {{2, 2, 1}, {2, 3, 0}, {3, 65535, 1}, {4, 3, 1}, {4, 4, 0}, {6, 0xFFC3, 1}, {6, 0xFFC4, 0}, {7, 1, 1}};
    static uint8_t state[1000];
    unsigned i;
    for (i = 0; i < 4u; i++) {
        tcuq_t m;
        labeled();
        same("error bound", 51, tcuq_error_bound(&p));
        m = stepped(5);
        ring[16] = (uint32_t)debts[i].value;
        same("save of an error debt", debts[i].sound, tcuq_save(&m, state, sizeof state) > 0);
        same("the error debt", debts[i].sound ? debts[i].value : 0, tcuq_error_debt(&m));
        same("save after that", 1, tcuq_save(&m, state, sizeof state) > 0);
    }
    for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        tcuq_t m;
        labeled();
        m = stepped(5);
        set_number(numbers[i].at, numbers[i].value);
        same("save of what labels need", numbers[i].sound, tcuq_save(&m, state, sizeof state) > 0);
        m = stepped(2); /* fewer than are remembered */
        set_number(2, 1);
        same("save of a place that steps did not lead to", 0, tcuq_save(&m, state, sizeof state) > 0);
        set_number(2, 2);
        set_number(6, 1);
        same("save of an entry that no step has filled", 0, tcuq_save(&m, state, sizeof state) > 0);
    }
}

/* What tcuq_feedback() answers, and what labels do to the debt, an alarm and its limit. */
static void answers(void)
{
    tcuq_t m;
    unsigned i;
    good();
    m = stepped(5);
    same("a label without feedback", TCUQ_ERR_PARAMS, tcuq_feedback(&m, 0, 0));
    same("the error debt without feedback", 0, tcuq_error_debt(&m));
    same("the bound without feedback", 0, tcuq_error_bound(&p));
    labeled();
    m = stepped(2);
    same("no such class", -8, tcuq_feedback(&m, 0, 4));
    same("no such word", -8, tcuq_feedback(&m, 0, -3));
    same("the least label", -8, tcuq_feedback(&m, 9, INT32_MIN));
    same("the most label", -8, tcuq_feedback(&m, 9, INT32_MAX));
    same("a step to come", -7, tcuq_feedback(&m, 2, 0));
    same("no such step", -7, tcuq_feedback(&m, 0xFFFFFFFFu, 0));
    same("the first step", 0, tcuq_feedback(&m, 0, TCUQ_WRONG));
    same("again", -9, tcuq_feedback(&m, 0, TCUQ_RIGHT));
    m = stepped(0);
    same("before the first step", -7, tcuq_feedback(&m, 0xFFFFFFFFu, 0));
    m = stepped(5);
    same("steps", 5, tcuq_steps(&m));
    same("long ago", -7, tcuq_feedback(&m, 1, 0));
    for (i = 2; i < 5u; i++) {
        same("a label", 0, tcuq_feedback(&m, i, TCUQ_WRONG));
    }
    m = stepped(5);
    m.steps = 0xFFFFFFFFu; /* here the count ends, and with it the numbers */
    same("when numbers have ended", -7, tcuq_feedback(&m, 0xFFFFFFFEu, 0));
    m.steps--;
    same("the last number", 0, tcuq_feedback(&m, 0xFFFFFFFDu, TCUQ_WRONG));
    m = stepped(5);
    for (i = 2; i < 5u; i++) {
        (void)tcuq_feedback(&m, i, TCUQ_WRONG);
    }
    same("three errors", 27, tcuq_error_debt(&m));
    feedback.error_num = 0;
    m = stepped(3);
    (void)tcuq_feedback(&m, 2, TCUQ_WRONG);
    same("no debt where any share is allowed", 0, tcuq_error_debt(&m));
    labeled();
    feedback.wrong_score = 1;
    m = stepped(5);
    m.alarm = 0;
    set_number(1, 0);
    set_number(4, 0x8000); /* the least that has a label */
    set_number(5, 0);
    set_number(6, 0);
    same("the label of an empty entry", -9, tcuq_feedback(&m, 3, 1));
    same("another entry", 0, tcuq_feedback(&m, 4, 1));
    same("the least case", 1, ring[17] >> 16);
    labeled();
    feedback.wrong_score = 24575;
    m = stepped(5);
    m.alarm = 0;
    set_number(1, 0);
    set_number(3, 15);
    for (i = 0; i < 3u; i++) {
        set_number(4u + i, 0x4000);
    }
    (void)tcuq_feedback(&m, 4, 1);
    same("not yet", 15, ring[18] >> 16);
    (void)tcuq_feedback(&m, 3, 1);
    same("a shift that was missed", 14, ring[18] >> 16);
    set_number(1, 24575);
    (void)tcuq_feedback(&m, 2, 1);
    same("as low as it goes", 14, ring[18] >> 16);
    for (i = 0; i < 3u; i++) {
        set_number(4u + i, 0x6000);
    }
    m.alarm = 1;
    m.rise = 70000;
    set_number(1, (unsigned)-16384);
    set_number(3, 12);
    (void)tcuq_feedback(&m, 4, 0);
    same("a false alarm is withdrawn", 0, m.alarm);
    same("with its sum", 0, m.rise);
    same("and its limit is the most", 13, ring[18] >> 16);
    (void)tcuq_feedback(&m, 3, 0);
    same("a step of the alarm that was says nothing of none", 0, ring[17] >> 16);
}

/* What nobody reads may be anything: no horizon, no heads, no ring. */
static void baselines(void)
{
    tcuq_t sound;
    good();
    evidence.baseline_inputs = 100;
    evidence.baseline_most = 3000;
    sound = stepped(7);
    PASSES((m.baseline_seen = 25599, m.baseline = 4096u * 25599u));
    FAILS((m.baseline_seen = 25599, m.baseline = 4096u * 25599u + 1u));
    PASSES((m.baseline_seen = 25599, m.baseline = 0u - 4096u * 25599u));
    FAILS((m.baseline_seen = 25599, m.baseline = 0u - 4096u * 25599u - 1u));
    PASSES((m.baseline_seen = 25600, m.baseline = 3000));
    FAILS((m.baseline_seen = 25600, m.baseline = 3001));
    FAILS((m.baseline_seen = 25600, m.baseline = 0xFFFFFFFFu));
    FAILS((m.baseline_seen = 25601, m.baseline = 0));
}

static void unread(void)
{
    tcuq_t sound;
    good();
    p.horizon = p.expected_start = 0;
    p.evidence = NULL;
    p.instant = NULL;
    p.centers = NULL;
    p.signals = 0x18;
    p.fall_limit = 5000;
    p.fall_cap = 9000;
    sound = stepped(5);
    PASSES(m.accuracy = 0xFFFFFFFFu);
    PASSES((m.degradation = -5, m.stillness = 0xFFFFFFFFu));
    PASSES((m.slot = 200, m.fill = 200));
    PASSES((m.fall = 9000, m.alarm = 2));
    FAILS((m.fall = 9001, m.alarm = 2));
    FAILS((m.fall = 5000, m.alarm = 0));
    PASSES((m.fall = 4999, m.alarm = 2));
    PASSES(m.filled = 0);
    FAILS(m.filled = 2);
    FAILS(m.filled = 3);
}

/* Bytes behind a list are no part of the fingerprint, and the order of those in it is. */
static void sums(void)
{
    tcuq_t m;
    good();
    m = stepped(1);
    offset[4] ^= 1; /* of no class */
    same("verify with a changed byte behind a list", TCUQ_OK, tcuq_verify(&m));
    offset[0] = 10; /* two numbers change their places: the sum of all stays */
    offset[1] = 100;
    same("verify with swapped offsets", TCUQ_ERR_OTHER, tcuq_verify(&m));
}

static void state_sizes(void)
{
    static uint8_t state[1000];
    tcuq_t m;
    int size;
    good();
    m = stepped(5);
    size = tcuq_save(&m, state, sizeof state);
    same("63 bytes of a state", TCUQ_ERR_SIZE, tcuq_load(&m, state, 63));
    same("64 bytes of a state", TCUQ_ERR_STATE, tcuq_load(&m, state, 64));
    same("a state and a byte", TCUQ_ERR_STATE, tcuq_load(&m, state, (size_t)size + 1u));
}

int main(void)
{
    counters();
#if ((TCUQ_SIGNALS) & TCUQ_SIGHT) != 0
    distances();
#endif
    holds();
    saved_words();
    saved_labels();
    answers();
    baselines();
    unread();
    sums();
    state_sizes();
    if (!failed) {
        printf("all limits hold\n");
    }
    return failed;
}
