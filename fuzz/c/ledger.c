/* SPDX-License-Identifier: MIT */
/* Section numbers refer to SPEC.md. Order matters: bounds are checked on what was counted, before the monitor's own
 * numbers are looked at, so that a broken bound is reported as such. */
#include "ledger.h"

#include <math.h>
#include <string.h>

#define NEED(holds, what) \
    do {                  \
        if (!(holds)) {   \
            return what;  \
        }                 \
    } while (0)

/* Floor of value / 2^shift. */
static int64_t shifted(int64_t value, unsigned shift)
{
    return value >= 0 ? value >> shift : -((-value + (((int64_t)1 << shift) - 1)) >> shift);
}

static int64_t clip(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

int64_t ledger_threshold(const tcuq_params_t *p, int64_t debt)
{
    int64_t size = debt < 0 ? -debt : debt;
    int64_t near = size < p->knee ? size : p->knee;
    int64_t moved = ((int64_t)p->slope * near + (int64_t)p->steep_slope * (size - near)) >> 8;
    return debt < 0 ? p->reference - moved : p->reference + moved;
}

/* Section 9: the least debt that is shut, or the least size of a debt that is open. */
static int64_t least(const tcuq_params_t *p, int open)
{
    int64_t no = -1, yes = (int64_t)1 << 34;
    while (yes - no > 1) {
        int64_t middle = (no + yes) / 2;
        if (open ? ledger_threshold(p, -middle) <= 0 : ledger_threshold(p, middle) > 65535) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    return yes;
}

const char *ledger_open(ledger_t *l, const tcuq_t *m)
{
    const tcuq_params_t *p = m->params;
    int32_t low, high;
    memset(l, 0, sizeof *l);
    l->params = p;
    l->low = 1 - least(p, 1) - p->level_num;
    l->high = least(p, 0) - 1 + p->level_den - p->level_num;
    l->steps = m->steps;
    l->debt = l->opening_debt = l->debt_low = l->debt_high = m->debt;
    l->credit = l->opening_credit = m->credit;
    l->rise = m->rise;
    l->fall = m->fall;
    l->severity = m->severity;
    l->accuracy = m->accuracy;
    l->alarm = m->alarm & 3u;
    l->held = m->alarm >> 2;
    l->bet_gap = 1e9;
    tcuq_debt_bounds(p, &low, &high);
    NEED(low == l->low && high == l->high, "tcuq_debt_bounds() are those of section 9");
    NEED(m->debt >= low && m->debt <= high, "the debt begins within its bounds");
    NEED(m->credit >= 0 && m->credit <= (int64_t)p->burst * p->budget_den, "the credit begins within its range");
    return NULL;
}

/* Sections 3 and 8: what a step says of its input. */
static const char *check_reading(const ledger_t *l, const int8_t *probs, const tcuq_step_t *out, const uint16_t *signals)
{
    const tcuq_params_t *p = l->params;
    int64_t mass = 0, past = out->persistence >> 1, best = 0;
    unsigned prediction = 0, reason = TCUQ_REASON_NONE, n;
    for (n = 0; n < p->classes; n++) {
        mass += probs[n] + 128;
        prediction = probs[n] > probs[prediction] ? n : prediction;
    }
    NEED(out->prediction == prediction, "prediction is the largest posterior, the lowest index on a tie");
    NEED(out->answer < p->classes, "answer is a class");
    NEED(out->low_mass == (mass < 128 ? 1u : 0u), "low_mass says that more than half is lost");
    NEED(p->about != 0u || out->answer == prediction, "the answer is the prediction where steps are about that");
    NEED(p->instant != NULL || out->persistence == 0u, "no persistence without an instant head");
    NEED(p->evidence != NULL || out->look == 0u, "no look without evidence");
    NEED(out->risk >= 1u && out->uncertainty >= 1u, "risk and uncertainty are never 0");
    if (p->anchor == 0u) {
        unsigned subject = p->about != 0u ? out->answer : prediction;
        int64_t doubt = clip(65536 - 256 * (int64_t)(probs[subject] + 128), 0, 65535);
        int64_t risk = (out->uncertainty * (int64_t)p->blend + doubt * (65536 - (int64_t)p->blend) + 32768) >> 16;
        NEED(out->risk == risk, "risk is a blend of uncertainty and doubt");
    }
    for (n = 0; n < TCUQ_SIGNAL_COUNT; n++) {
        if ((p->signals >> n & 1u) == 0u) {
            NEED(signals[n] == 0u, "an unused signal is 0");
        } else if (out->flagged != 0u) {
            int64_t coef = p->coef[n];
            if (p->instant != NULL) {
                coef = p->instant->coef[n] + shifted((coef - p->instant->coef[n]) * past, 15);
            }
            if (coef * ((int64_t)signals[n] - p->clean_mean[n]) > best) {
                best = coef * ((int64_t)signals[n] - p->clean_mean[n]);
                reason = n;
            }
        }
    }
    NEED(out->reason == reason, "reason is the signal that adds most");
    return NULL;
}

/* Section 9. */
static const char *check_flag(ledger_t *l, const tcuq_t *m, const tcuq_step_t *out)
{
    const tcuq_params_t *p = l->params;
    int64_t threshold = ledger_threshold(p, l->debt);
    NEED(out->flagged <= 1u, "flagged is 0 or 1");
    l->flagged += out->flagged;
    l->debt = l->opening_debt + p->level_den * l->flagged - p->level_num * l->taken;
    NEED(l->debt <= l->high, "flags stay below the upper bound");
    NEED(l->debt >= l->low, "flags stay above the lower bound");
    l->debt_low = l->debt < l->debt_low ? l->debt : l->debt_low;
    l->debt_high = l->debt > l->debt_high ? l->debt : l->debt_high;
    NEED(out->threshold == threshold, "threshold is the map at the debt");
    NEED(threshold >= -65536 && threshold <= 131071, "threshold is within one step of 0..65535");
    NEED(out->flagged == (out->risk >= threshold ? 1u : 0u), "a step is flagged when risk >= threshold");
    NEED(m->debt == l->debt, "debt = den * flagged - num * steps");
    return NULL;
}

/* Section 10. */
static const char *check_budget(ledger_t *l, const tcuq_t *m, const tcuq_step_t *out)
{
    const tcuq_params_t *p = l->params;
    int64_t cap = (int64_t)p->burst * p->budget_den, credit;
    int warming_up = l->steps < (int64_t)p->warmup;
    NEED(out->abstain <= out->flagged, "only a flagged step abstains");
    NEED(out->warming_up == (warming_up ? 1u : 0u), "warming_up on the first `warmup` steps");
    NEED(out->abstain == 0u || !warming_up, "no step of the warm-up abstains");
    l->abstained += out->abstain;
    l->spent += (int64_t)p->budget_den * out->abstain - p->budget_num;
    NEED(l->spent - l->spent_low <= cap, "abstentions in any n steps <= burst + budget * n");
    NEED(l->spent <= l->opening_credit, "abstentions from the start <= budget * t");
    l->window = l->spent - l->spent_low > l->window ? l->spent - l->spent_low : l->window;
    l->spent_low = l->spent < l->spent_low ? l->spent : l->spent_low;
    l->steps += l->steps < 0xFFFFFFFF ? 1 : 0;
    NEED((int64_t)m->steps == l->steps, "steps are counted up to 2^32 - 1");
    credit = l->credit + p->budget_num;
    credit = credit < cap ? credit : cap;
    l->credit_high = credit > l->credit_high ? credit : l->credit_high;
    NEED(out->abstain == (out->flagged != 0u && !warming_up && credit >= p->budget_den ? 1u : 0u),
         "a flagged step abstains when the budget allows it");
    l->credit = credit - (int64_t)p->budget_den * out->abstain;
    NEED(m->credit == l->credit && m->credit >= 0, "credit is a token bucket");
    return NULL;
}

/* log2(x / 65536) in Q16.16 of section 6, x in 1..2^31. */
static int64_t wide_log(int64_t x)
{
    int64_t up = 0, down = 0, f, g, h;
    for (; x > 65535; up++) {
        x >>= 1;
    }
    for (; x < 65536; down++) {
        x *= 2;
    }
    f = x - 65536;
    g = (f * (65536 - f)) >> 16;
    h = 28752 - ((f * (15667 - ((5383 * f) >> 16))) >> 16);
    return f + ((g * h) >> 16) + 65536 * (up - down);
}

/* What the rise side sums with evidence, section 11. Returns what is broken. */
static const char *check_evidence(ledger_t *l, const tcuq_step_t *out, const uint16_t *signals, int64_t *sum)
{
    const tcuq_params_t *p = l->params;
    const tcuq_evidence_t *head = p->evidence;
    int64_t most = head->clip, x = 256 * (int64_t)head->offset[p->about != 0u ? out->answer : out->prediction], gap;
    int64_t look = out->look == 65535u ? 256 : out->look >> 8, slow = head->bias, pull;
    unsigned n;
    NEED(look >= 32 && look <= 256 && (look == 256 || (out->look & 255u) == 0u), "a look is 1/8 to 1");
    for (n = 0; n < TCUQ_SIGNAL_COUNT; n++) {
        pull = (p->signals >> n & 1u) != 0u ? shifted((int64_t)head->coef[n] * signals[n], 9) : 0;
        *(n == 5u || n == 9u ? &slow : &x) += pull;
    }
    x = clip(x, -most, most);
    l->severity += shifted((x - l->severity) * look + 1024, 11);
    NEED(l->severity >= -most && l->severity <= most, "severity stays within -clip..clip");
    gap = l->severity < 0 ? -l->severity : l->severity;
    l->severity_high = gap > l->severity_high ? gap : l->severity_high;
    NEED((p->signals >> 5 & 1u) == 0u || signals[5] == clip(32768 + shifted(l->severity, 4), 0, 65535),
         "signal 5 is the severity");
    if (head->bet_slope != 0u) {
        int64_t factor = head->bet_base + shifted((int64_t)head->bet_slope * shifted(x, 8), 8);
        double exact;
        NEED(factor >= 128 && factor < 1 << 20, "a bet multiplies by 1/512 at least and by less than 16");
        x = shifted(shifted(wide_log(factor) - 12, 4) * 45426, 12);
        exact = log((double)factor / 65536.0) * 65536.0 - (double)x;
        NEED(exact >= 0.0, "what a bet adds is never above its logarithm");
        l->bet_gap = exact < l->bet_gap ? exact : l->bet_gap;
        x = x > 0 ? shifted(x * look, 8) : x;
    } else {
        x = shifted(clip(slow, -most, most) * look, 8);
    }
    *sum = x - head->allowance;
    return NULL;
}

static unsigned side(int64_t *sum, int64_t excess, uint32_t limit, uint32_t cap, unsigned raised)
{
    *sum = limit == 0u ? 0 : clip(*sum + excess, 0, cap);
    return limit != 0u && *sum >= limit ? 1u : raised;
}

/* Section 11, and the expected accuracy. */
static const char *check_alarm(ledger_t *l, const tcuq_t *m, const tcuq_step_t *out, const uint16_t *signals)
{
    const tcuq_params_t *p = l->params;
    int64_t excess = (int64_t)out->risk - p->rise_reference;
    unsigned rise, fall, was = l->alarm & 1u;
    if (p->evidence != NULL) {
        const char *broken = check_evidence(l, out, signals, &excess);
        NEED(broken == NULL, broken);
    }
    rise = side(&l->rise, excess, p->rise_limit, p->rise_cap, was);
    if (was == 0u) {
        l->held = rise != 0u ? p->hold : 0u;
    } else if (l->held != 0u) {
        l->held--;
    } else if (l->rise <= (int64_t)p->rise_clear) {
        rise = 0;
        l->rise = 0;
    }
    fall = side(&l->fall, (int64_t)p->fall_reference - out->risk, p->fall_limit, p->fall_cap, l->alarm >> 1);
    fall = l->fall == 0 ? 0u : fall;
    l->alarm = rise | fall << 1;
    l->rise_high = l->rise > l->rise_high ? l->rise : l->rise_high;
    l->fall_high = l->fall > l->fall_high ? l->fall : l->fall_high;
    NEED(m->rise <= p->rise_cap && m->fall <= p->fall_cap, "alarm sums stay below their caps");
    NEED((int64_t)m->rise == l->rise && (int64_t)m->fall == l->fall, "alarm sums are those of section 11");
    NEED(out->alarm == l->alarm && m->alarm == (l->alarm | l->held << 2),
         "alarm is raised at its limit, held, and cleared at its clear sum");
    NEED(out->severity == l->severity && m->severity == l->severity, "severity is a mean of the evidence");
    if (p->horizon != 0u) {
        int64_t certain = (65536 - (int64_t)out->uncertainty) * 256;
        l->accuracy += shifted(certain - l->accuracy + ((int64_t)1 << (p->horizon - 1)), p->horizon);
        NEED(l->accuracy >= 0 && l->accuracy <= 0xFFFFFF, "the expected accuracy is at most 1");
        NEED((int64_t)m->accuracy == l->accuracy, "the expected accuracy is a mean of certainties");
        NEED(out->expected_accuracy == clip((l->accuracy + 128) >> 8, 0, 65535), "expected_accuracy is its mean, rounded");
    } else {
        NEED(out->expected_accuracy == 0u, "expected_accuracy is 0 without a horizon");
    }
    return NULL;
}

const char *ledger_step(ledger_t *l, const tcuq_t *m, const int8_t *probs, const tcuq_step_t *out,
                        const uint16_t *signals)
{
    const char *broken;
    l->taken++;
    broken = check_flag(l, m, out);
    broken = broken != NULL ? broken : check_budget(l, m, out);
    broken = broken != NULL ? broken : check_reading(l, probs, out, signals);
    return broken != NULL ? broken : check_alarm(l, m, out, signals);
}
