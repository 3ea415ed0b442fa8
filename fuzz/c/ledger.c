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

int64_t ledger_error_bound(const tcuq_params_t *p)
{
    const tcuq_feedback_t *head = p->feedback;
    return head == NULL ? 0 : (int64_t)head->error_shut - 1 + (int64_t)head->memory * (head->error_den - head->error_num);
}

/* One of the 16-bit numbers that labels need, as a monitor holds it. */
static unsigned held_number(const ledger_t *l, const tcuq_t *m, unsigned at)
{
    uint16_t value;
    memcpy(&value, (const uint8_t *)(m->ring + l->place + 1u) + 2u * (size_t)at, sizeof value);
    return value;
}

static int64_t level_of(const ledger_t *l)
{
    return (int64_t)(l->level % 16u) - (l->level % 16u >= 14u ? 16 : 0);
}

const char *ledger_open(ledger_t *l, const tcuq_t *m)
{
    const tcuq_params_t *p = m->params;
    unsigned words = p->evidence == NULL ? 0u : (p->signals >> 7 & 1u) != 0u ? 8u : 1u, n;
    int32_t low, high;
    int64_t open = 0; /* steps that are vouched for and have no label */
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
    l->stillness = m->stillness;
    l->own = (int32_t)m->own;
    l->own_seen = m->own_seen;
    l->accuracy = m->accuracy;
    l->alarm = m->alarm & 3u;
    l->hold = m->alarm >> 2;
    l->past = (m->held & 1u) != 0u;
    for (n = 0; n < words && l->past; n++) {
        l->last[n] = (int32_t)m->ring[n];
    }
    for (n = 0; n < 8u && (p->signals >> 9 & 1u) != 0u; n++) {
        l->slow[n] = (int32_t)m->ring[words + n];
    }
    l->place = words + ((p->signals >> 9 & 1u) != 0u ? 8u : 0u);
    if (p->feedback != NULL) {
        l->error = l->opening_error = (int32_t)m->ring[l->place];
        l->correction = (int16_t)held_number(l, m, 0);
        l->against = (int16_t)held_number(l, m, 1);
        l->next = held_number(l, m, 2);
        l->level = held_number(l, m, 3);
        memcpy(l->entries, (const uint8_t *)(m->ring + l->place + 3u), 2u * (size_t)p->feedback->memory);
        NEED(l->error >= -(int64_t)p->feedback->error_shut && l->error <= ledger_error_bound(p), "the error debt begins within its bounds");
        NEED(l->next < p->feedback->memory, "labels begin within their ranges");
        for (n = 0; n < p->feedback->memory; n++) {
            open += (l->entries[n] & 0xC000u) == 0x4000u ? 1 : 0;
        }
        l->reachable = l->error + open * (p->feedback->error_den - p->feedback->error_num) <= ledger_error_bound(p) &&
                       (int64_t)(l->level / 16u) * p->feedback->error_num <= ledger_error_bound(p);
    }
    NEED(tcuq_error_bound(p) == ledger_error_bound(p), "tcuq_error_bound() is that of section 19");
    l->bet_gap = 1e9;
    tcuq_debt_bounds(p, &low, &high);
    NEED(low == l->low && high == l->high, "tcuq_debt_bounds() are those of section 9");
    NEED(m->debt >= low && m->debt <= high, "the debt begins within its bounds");
    NEED(m->credit >= 0 && m->credit <= (int64_t)p->burst * p->budget_den, "the credit begins within its range");
    return NULL;
}

void ledger_reset(ledger_t *l)
{
    l->past = 0;
    l->stillness = 0;
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

/* Signals 6, 7 and 9 of section 6, from a sum of squares. */
static int64_t log_signal(int64_t squares)
{
    int64_t x = wide_log(squares + 1) + 16 * 65536;
    return clip(((x >> 4) * 2731) >> 12, 0, 65535);
}

/* Signals 6 and 7. */
static const char *check_lengths(const tcuq_params_t *p, const int8_t *features, const tcuq_step_t *out,
                                 const uint16_t *signals)
{
    unsigned subject = p->about != 0u ? out->answer : out->prediction, n;
    int64_t length = 0, apart = 0;
    for (n = 0; n < p->features && (p->signals & (1u << 6 | 1u << 7)) != 0u; n++) {
        int64_t gap = p->centers != NULL ? features[n] - p->centers[(size_t)subject * p->features + n] : 0;
        length += (int64_t)(features[n] - p->zero_point) * (features[n] - p->zero_point);
        apart += gap * gap;
    }
    NEED((p->signals >> 6 & 1u) == 0u || signals[6] == log_signal(length), "magnitude is the length of the features");
    NEED((p->signals >> 7 & 1u) == 0u || signals[7] == log_signal(apart), "distance is that from a center");
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
    NEED(p->about != 0u || out->answer == prediction, "answer is the prediction where that is spoken of");
    NEED(p->instant != NULL || out->persistence == 0u, "persistence is 0 without an instant head");
    NEED(p->evidence != NULL || out->look == 0u, "look is 0 without evidence");
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
    reason = reason == TCUQ_REASON_NONE && l->doubtful && out->abstain != 0u ? TCUQ_REASON_ERROR : reason;
    NEED(out->reason == reason, "reason is the signal that adds most, or the errors that held a step back");
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

int ledger_doubts(const ledger_t *l, int64_t risk)
{
    const tcuq_feedback_t *head = l->params->feedback;
    return head != NULL && head->error_num > 0u &&
           (l->error >= head->error_shut || risk * head->error_shut >= head->error_reference * (head->error_shut - l->error));
}

/* An error debt that no label led to is 0 at the next step or label. */
static void settle(ledger_t *l)
{
    if (l->params->feedback != NULL && l->error > ledger_error_bound(l->params)) {
        l->error = 0;
    }
}

/* Section 10, with the doubt of section 19. */
static const char *check_budget(ledger_t *l, const tcuq_t *m, const tcuq_step_t *out)
{
    const tcuq_params_t *p = l->params;
    int64_t cap = (int64_t)p->burst * p->budget_den, credit;
    int warming_up = l->steps < (int64_t)p->warmup;
    int always, paid;
    settle(l);
    l->doubtful = ledger_doubts(l, out->risk);
    always = l->doubtful && p->feedback->error_first != 0u;
    NEED(out->abstain <= 1u && (out->abstain == 0u || out->flagged != 0u || l->doubtful),
         "only a flagged or doubtful step abstains");
    NEED(out->warming_up == (warming_up ? 1u : 0u), "warming_up on the first `warmup` steps");
    NEED(out->abstain == 0u || !warming_up || always, "no step of the warm-up abstains but for its errors");
    NEED(out->abstain == 1u || !always, "a doubtful step abstains where errors come first");
    credit = l->credit + p->budget_num;
    credit = credit < cap ? credit : cap;
    paid = always ? !warming_up && credit >= p->budget_den : out->abstain != 0u;
    l->abstained += paid;
    l->spent += (int64_t)p->budget_den * paid - p->budget_num;
    NEED(l->spent - l->spent_low <= cap, "abstentions in any n steps <= burst + budget * n");
    NEED(l->spent <= l->opening_credit, "abstentions from the start <= budget * t");
    l->window = l->spent - l->spent_low > l->window ? l->spent - l->spent_low : l->window;
    l->spent_low = l->spent < l->spent_low ? l->spent : l->spent_low;
    l->steps += l->steps < 0xFFFFFFFF ? 1 : 0;
    NEED((int64_t)m->steps == l->steps, "steps are counted up to 2^32 - 1");
    l->credit_high = credit > l->credit_high ? credit : l->credit_high;
    NEED(paid == ((out->flagged != 0u || l->doubtful) && !warming_up && credit >= p->budget_den),
         "a flagged or doubtful step abstains when the budget allows it");
    l->credit = credit - (int64_t)p->budget_den * paid;
    NEED(m->credit == l->credit && m->credit >= 0, "credit is a token bucket");
    return NULL;
}

/* Binary digits of a number. */
static int64_t digits(int64_t value)
{
    int64_t count = 0;
    for (; value > 0; value >>= 1) {
        count++;
    }
    return count;
}

/* Look, stillness and mean gaps, section 6. Returns what is broken. */
static const char *check_look(ledger_t *l, const int8_t *features, const tcuq_step_t *out, const uint16_t *signals,
                              unsigned subject, int64_t *look, int *still)
{
    const tcuq_params_t *p = l->params;
    int64_t own[8] = {0}, gaps[8] = {0}, apart = 0, squares = 0, short_of;
    unsigned j, i;
    own[0] = signals[4];
    for (j = 0; j < 8u && (p->signals >> 7 & 1u) != 0u; j++) {
        own[j] = 0;
        for (i = j * p->features / 8u; i < (j + 1u) * p->features / 8u; i++) {
            own[j] += features[i];
            gaps[j] += features[i] - p->centers[(size_t)subject * p->features + i];
        }
    }
    for (j = 0; j < 8u; j++) {
        apart += (own[j] - l->last[j]) * (own[j] - l->last[j]);
        l->last[j] = own[j];
    }
    *look = l->past ? clip(apart / (p->evidence->reach >> 8), 32, 256) : 256;
    l->past = 1;
    short_of = *look == 256 ? 0 : digits(p->evidence->reach) - digits(apart);
    l->stillness += shifted(65536 * short_of - l->stillness + 8, 4);
    NEED(l->stillness >= 0 && l->stillness <= 1 << 21, "stillness stays within 0..2^21");
    l->stillness_high = l->stillness > l->stillness_high ? l->stillness : l->stillness_high;
    *still = p->evidence->still != 0u && l->stillness > (int64_t)p->evidence->still;
    *look = *still ? 256 : *look;
    NEED(out->look == clip(256 * *look, 0, 65535), "look says how far the input is from the last one");
    for (j = 0; j < 8u && (p->signals >> 9 & 1u) != 0u; j++) {
        int64_t size;
        l->slow[j] += shifted((256 * gaps[j] - l->slow[j]) * *look + 1024, 11);
        NEED(l->slow[j] >= -(1 << 21) && l->slow[j] <= 1 << 21, "mean gaps stay within 2^21");
        size = (l->slow[j] < 0 ? -l->slow[j] : l->slow[j]) >> 6;
        size = size < 16383 ? size : 16383;
        squares += size * size;
    }
    NEED((p->signals >> 9 & 1u) == 0u || signals[9] == log_signal(squares), "drift is the length of the mean gaps");
    return NULL;
}

/* A reference of the device's own, section 11, taken off what is summed. Returns what is broken. */
static const char *check_own(ledger_t *l, int64_t *x, int64_t look)
{
    const tcuq_evidence_t *head = l->params->evidence;
    int64_t whole = 256 * (int64_t)head->own_looks;
    if (whole != 0 && l->own_seen < whole) {
        l->own += shifted(*x - head->own_mean, 8) * look;
        l->own_seen += look;
        NEED(l->own >= -4096 * l->own_seen && l->own <= 4096 * l->own_seen, "first looks add up within their bounds");
        NEED(4096 * l->own_seen < (int64_t)1 << 31, "first looks add up within 32 bits");
        if (l->own_seen >= whole) {
            l->own = l->own > 0 ? 256 * (l->own / l->own_seen) : 0;
        }
    }
    if (whole != 0 && l->own_seen >= whole) {
        l->own_seen = whole;
        l->own = clip(l->own, 0, head->own_most);
        l->own_high = l->own > l->own_high ? l->own : l->own_high;
        *x -= l->own;
    }
    return NULL;
}

/* What the rise side sums with evidence, section 11. Returns what is broken. */
static const char *check_evidence(ledger_t *l, const int8_t *features, const tcuq_step_t *out, const uint16_t *signals,
                                  int64_t *sum)
{
    const tcuq_params_t *p = l->params;
    const tcuq_evidence_t *head = p->evidence;
    unsigned subject = p->about != 0u ? out->answer : out->prediction, n;
    int64_t most = head->clip, e = 256 * (int64_t)head->offset[subject], x = head->bias, look, size;
    int still;
    const char *broken = check_look(l, features, out, signals, subject, &look, &still);
    NEED(broken == NULL, broken);
    NEED(!still || out->uncertainty >= 65536 - 65536 / p->classes, "an answer to input that stands still is a guess");
    for (n = 0; n < TCUQ_SIGNAL_COUNT; n++) {
        int64_t part = (p->signals >> n & 1u) != 0u ? shifted((int64_t)head->coef[n] * signals[n], 9) : 0;
        *(n == 5u || n == 9u ? &x : &e) += part;
    }
    e = still ? most : clip(e, -most, most);
    l->severity += shifted((e - l->severity) * look + 1024, 11);
    NEED(l->severity >= -most && l->severity <= most, "severity stays within -clip..clip");
    NEED((p->signals >> 5 & 1u) == 0u || signals[5] == clip(32768 + shifted(l->severity, 4), 0, 65535),
         "signal 5 is the severity, in 16 nats");
    size = l->severity < 0 ? -l->severity : l->severity;
    l->severity_high = size > l->severity_high ? size : l->severity_high;
    if (head->bet_slope != 0u) {
        int64_t factor = head->bet_base + shifted((int64_t)head->bet_slope * shifted(e, 8), 8);
        double exact;
        NEED(factor >= 128 && factor < 1 << 20, "a bet multiplies by 1/512 at least and by less than 16");
        x = shifted(shifted(wide_log(factor) - 12, 4) * 45426, 12);
        exact = log((double)factor / 65536.0) * 65536.0 - (double)x;
        NEED(exact >= 0.0, "what a bet adds is never above its logarithm");
        l->bet_gap = exact < l->bet_gap ? exact : l->bet_gap;
        x = x > 0 ? (x * look) >> 8 : x;
    } else {
        x = clip(x, -most, most);
        broken = check_own(l, &x, look);
        NEED(broken == NULL, broken);
        x = shifted(x * look, 8);
    }
    *sum = x - head->allowance;
    return NULL;
}

static unsigned side(int64_t *sum, int64_t excess, uint32_t limit, uint32_t cap, uint32_t clear, unsigned raised,
                     unsigned hold)
{
    *sum = limit == 0u ? 0 : clip(*sum + excess, 0, cap);
    if (raised != 0u && hold == 0u && *sum <= clear) {
        *sum = 0;
        return 0;
    }
    return limit != 0u && (raised != 0u || *sum >= limit) ? 1u : 0u;
}

/* Section 11, and the expected accuracy. */
static const char *check_alarm(ledger_t *l, const tcuq_t *m, const int8_t *features, const tcuq_step_t *out,
                               const uint16_t *signals)
{
    const tcuq_params_t *p = l->params;
    int64_t excess = (int64_t)out->risk - p->rise_reference;
    int64_t move = p->feedback != NULL ? (int64_t)(p->rise_limit >> 2) * level_of(l) : 0;
    unsigned rise, fall;
    if (p->evidence != NULL) {
        const char *broken = check_evidence(l, features, out, signals, &excess);
        NEED(broken == NULL, broken);
    }
    rise = side(&l->rise, excess, (uint32_t)(p->rise_limit + move), (uint32_t)(p->rise_cap + move),
                (uint32_t)clip(p->rise_clear + move, 0, INT32_MAX), l->alarm & 1u, l->hold);
    l->against = (l->alarm & 1u) != rise ? 0 : l->against;
    fall = side(&l->fall, (int64_t)p->fall_reference - out->risk, p->fall_limit, p->fall_cap, 0, l->alarm >> 1, 0);
    l->hold = rise == 0u ? 0u : (l->alarm & 1u) == 0u ? p->hold : l->hold > 0u ? l->hold - 1u : 0u;
    l->alarm = rise | fall << 1;
    l->rise_high = l->rise > l->rise_high ? l->rise : l->rise_high;
    l->fall_high = l->fall > l->fall_high ? l->fall : l->fall_high;
    NEED((int64_t)m->rise <= p->rise_cap + move && m->fall <= p->fall_cap, "alarm sums stay below their caps");
    NEED((int64_t)m->rise == l->rise && (int64_t)m->fall == l->fall, "alarm sums are those of section 11");
    NEED(out->alarm == l->alarm && m->alarm == l->alarm + 4u * l->hold,
         "alarm is raised at its limit, held, and cleared when its sum is down");
    NEED(out->severity == l->severity && m->severity == l->severity, "severity is a mean of the evidence");
    NEED(m->stillness == l->stillness, "stillness is a mean of how often the movement must be doubled");
    NEED((int64_t)(int32_t)m->own == l->own && (int64_t)m->own_seen == l->own_seen,
         "the own reference is what the first looks have more than clean ones, within its bound");
    if (p->horizon != 0u) {
        int64_t certain = (65536 - (int64_t)out->uncertainty) * 256;
        l->accuracy += shifted(certain - l->accuracy + ((int64_t)1 << (p->horizon - 1)), p->horizon);
        NEED(l->accuracy >= 0 && l->accuracy <= 0xFFFFFF, "the expected accuracy is at most 1");
        NEED((int64_t)m->accuracy == l->accuracy, "the expected accuracy is a mean of certainties");
        NEED(out->expected_accuracy == clip(clip((l->accuracy + 128) >> 8, 0, 65535) + 2 * l->correction, 0, 65535),
             "expected_accuracy is its mean, rounded, and corrected by labels");
    } else {
        NEED(out->expected_accuracy == 0u, "expected_accuracy is 0 without a horizon");
    }
    return NULL;
}

/* What a monitor holds for labels. */
static const char *check_numbers(const ledger_t *l, const tcuq_t *m, unsigned touched)
{
    NEED((int32_t)m->ring[l->place] == l->error && (l->error > ledger_error_bound(l->params) || tcuq_error_debt(m) == l->error), "the error debt is den * wrong - num * labeled");
    NEED((int16_t)held_number(l, m, 0) == l->correction, "the correction follows labels at 1/32");
    NEED((int16_t)held_number(l, m, 1) == l->against, "a case is what labels say against the alarm");
    NEED(held_number(l, m, 2) == l->next && held_number(l, m, 3) == l->level, "next and level are those of section 19");
    NEED(held_number(l, m, 4u + touched) == l->entries[touched], "an entry is what a step leaves for its label");
    return NULL;
}

/* Section 19: what a step leaves for a label. */
static const char *check_entry(ledger_t *l, const tcuq_t *m, const tcuq_step_t *out)
{
    const tcuq_params_t *p = l->params;
    unsigned bits = p->classes <= 64u ? 6u : 10u, at = l->next;
    if (p->feedback == NULL) {
        return NULL;
    }
    l->entries[at] = (uint16_t)(out->answer + ((65535u - out->uncertainty) >> (3u + bits) << bits) + 8192u * (out->alarm & 1u) +
                                16384u * (out->abstain == 0u && !l->doubtful ? 1u : 0u));
    NEED(p->feedback->error_first == 0u || p->feedback->error_num == 0u || out->abstain != 0u || (l->entries[at] & 16384u) != 0u,
         "every accepted step is vouched for where errors come first");
    l->next = (at + 1u) % p->feedback->memory;
    return check_numbers(l, m, at);
}

const char *ledger_label(ledger_t *l, const tcuq_t *m, uint32_t step, int32_t label, int answered)
{
    const tcuq_params_t *p = l->params;
    const tcuq_feedback_t *head = p->feedback;
    unsigned bits = p->classes <= 64u ? 6u : 10u, at, entry;
    int64_t owed, sure, behind = l->steps - (int64_t)step; /* 1 for the last step */
    int right, back, raised = (l->alarm & 1u) != 0u;
    if (head == NULL || label < -2 || label >= (int32_t)p->classes) {
        NEED(answered == (head == NULL ? TCUQ_ERR_PARAMS : TCUQ_ERR_LABEL), "a label that there is not is refused");
        return NULL;
    }
    if (behind < 1 || behind > head->memory || l->steps == 0xFFFFFFFF) {
        NEED(answered == TCUQ_ERR_STEP, "a label of a step that is not remembered is refused");
        return NULL;
    }
    settle(l);
    at = (l->next + head->memory - (unsigned)behind) % head->memory;
    entry = l->entries[at];
    if (entry >= 32768u) {
        NEED(answered == TCUQ_ERR_LABELED, "the first label of a step counts");
        return check_numbers(l, m, at);
    }
    NEED(answered == TCUQ_OK, "a label of a remembered step is taken");
    l->entries[at] = (uint16_t)(entry | 32768u);
    l->labels++;
    right = label == -2 || label == (int32_t)(entry % (1u << bits));
    back = right && (entry & 16384u) == 0u && 4 * l->error >= 3 * (int64_t)head->error_shut && head->error_num > 0u &&
           (int64_t)(entry % 8192u | ((1u << bits) - 1u)) >= 8192 - (int64_t)(head->error_reference >> 5) &&
           l->level / 16u < 4095u && (int64_t)(l->level / 16u + 1u) * head->error_num <= ledger_error_bound(p);
    l->level += back ? 16u : 0u;
    if (((entry & 16384u) != 0u || back) && head->error_num > 0u) {
        l->vouched++;
        l->led_back += back;
        l->wrong += !right;
        l->level -= right && l->error == -(int64_t)head->error_shut && l->level >= 16u ? 16u : 0u;
        l->error += (right ? 0 : head->error_den) - head->error_num;
        l->error = l->error < -(int64_t)head->error_shut ? -(int64_t)head->error_shut : l->error;
        owed = head->error_den * l->wrong - head->error_num * l->vouched;
        NEED(!l->reachable || l->opening_error + owed <= ledger_error_bound(p), "errors stay below max_error * labels + the bound");
        NEED(!l->reachable || owed - l->owed_low <= ledger_error_bound(p) + head->error_shut, "errors in any stretch stay below their bound");
        l->owed_window = owed - l->owed_low > l->owed_window ? owed - l->owed_low : l->owed_window;
        l->owed_low = owed < l->owed_low ? owed : l->owed_low;
        NEED(!l->reachable || (l->opening_error + owed <= l->error && l->error <= ledger_error_bound(p)), "the error debt stays within its bounds");
        l->owed_high = owed > l->owed_high ? owed : l->owed_high;
        owed += head->error_num * l->led_back; /* of vouched steps alone */
        NEED(!l->reachable || l->opening_error + owed <= 2 * ledger_error_bound(p), "labels that lead back pay for no more than the bound");
        l->paid_high = owed > l->paid_high ? owed : l->paid_high;
    }
    sure = (int64_t)(entry % 8192u >> bits << bits) + ((int64_t)1 << (bits - 1u));
    l->correction += shifted(32768 * right - 4 * sure - l->correction + 16, 5);
    if (((entry & 8192u) != 0u) == raised) {
        int64_t level = level_of(l);
        l->against += right ? -(int64_t)head->right_score : (int64_t)head->wrong_score;
        l->against = (l->against > 0) == raised ? 0 : l->against;
        if (l->against <= -24576) {
            l->alarm &= 2u;
            l->hold = 0;
            l->rise = 0;
            l->against = 0;
            level = level + 2 > 13 ? 13 : level + 2;
        } else if (l->against >= 24576) {
            l->against = 0;
            level -= level > (p->evidence != NULL && p->evidence->bet_slope != 0u ? 0 : -2);
        }
        l->level = l->level / 16u * 16u + (unsigned)(level + 16) % 16u;
    }
    NEED((int64_t)m->rise == l->rise && m->alarm == l->alarm + 4u * l->hold, "a label withdraws a false alarm, and nothing else");
    return check_numbers(l, m, at);
}

const char *ledger_step(ledger_t *l, const tcuq_t *m, const int8_t *probs, const int8_t *features,
                        const tcuq_step_t *out, const uint16_t *signals)
{
    const char *broken;
    l->taken++;
    broken = check_flag(l, m, out);
    broken = broken != NULL ? broken : check_budget(l, m, out);
    broken = broken != NULL ? broken : check_reading(l, probs, out, signals);
    broken = broken != NULL ? broken : check_lengths(l->params, features, out, signals);
    broken = broken != NULL ? broken : check_alarm(l, m, features, out, signals);
    return broken != NULL ? broken : check_entry(l, m, out);
}
