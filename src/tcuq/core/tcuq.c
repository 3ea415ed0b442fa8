/* SPDX-License-Identifier: MIT */
/* Starting a monitor, and one step of it. Section numbers refer to SPEC.md. */
#include "tcuq_internal.h"

/* A debug build may define TCUQ_ASSERT to trap misuse of tcuq_step(). */
#ifndef TCUQ_ASSERT
#define TCUQ_ASSERT(condition) ((void)0)
#endif

/* Most of steep_slope * debt: the whole range of a threshold, and one step more. */
#define STEEP_LIMIT 33554432u

/* Signals that a step may read: those of the paper are the first. */
#define OWN_COUNT (HAS_EVIDENCE ? TCUQ_SIGNAL_COUNT : 4u)

/* Signals that need more of the ring than its first words; a build for those of the paper does not ask. */
#define LAID_OUT (TCUQ_LAGGED_SIGNALS | TCUQ_BIT(TCUQ_DRIFT))

/* Whether params are accepted: one answer for all fields and rules, as every firmware carries it. */
#define OR_REFUSED(error, of, name, type, low, high, bytes, usual) || OUTSIDE(type, (of)->name, low, high)
#define AND_RULE(name, field, condition, expected) && (condition)
static int accepted(const tcuq_params_t *p)
{
    const tcuq_evidence_t *evidence = evidence_head(p);
    const tcuq_instant_t *instant = instant_head(p);
    const tcuq_feedback_t *feedback = feedback_head(p);
    const tcuq_sight_t *sight = sight_head(p);
    if (0 TCUQ_PARAM_NUMBERS(OR_REFUSED)) {
        return 0;
    }
    if (evidence != NULL && (0 TCUQ_EVIDENCE_NUMBERS(OR_REFUSED))) {
        return 0;
    }
    if (instant != NULL && (0 TCUQ_INSTANT_NUMBERS(OR_REFUSED))) {
        return 0;
    }
    if (sight != NULL && (0 TCUQ_SIGHT_NUMBERS(OR_REFUSED))) {
        return 0;
    }
    if (!(1 TCUQ_RULES(AND_RULE))) {
        return 0;
    }
    return feedback == NULL || !(0 TCUQ_FEEDBACK_NUMBERS(OR_REFUSED));
}

int tcuq_internal_check(const tcuq_params_t *p)
{
    if (p->version != TCUQ_PARAMS_VERSION) {
        return TCUQ_ERR_VERSION;
    }
    if (!accepted(p)) {
        return TCUQ_ERR_PARAMS;
    }
    return build_can(p) ? TCUQ_OK : TCUQ_ERR_SIGNALS;
}

COLD int tcuq_init(tcuq_t *m, const tcuq_params_t *p, uint32_t *ring, size_t ring_bytes)
{
    layout_t at;
    int status = tcuq_internal_check(p);
    if (status != TCUQ_OK) {
        return status;
    }
    if (ring == NULL || ring_bytes < tcuq_ring_size(p)) {
        return TCUQ_ERR_SIZE;
    }
    tcuq_internal_layout(&at, p);
    memset(m, 0, sizeof *m);
    memset(ring, 0, (size_t)(4u * mean_words(&at)));
    m->params = p;
    m->ring = ring;
    m->accuracy = (uint32_t)p->expected_start << 8;
    return TCUQ_OK;
}

void tcuq_reset(tcuq_t *m)
{
    m->slot = 0;
    m->fill = 0;
    m->filled &= FILLED_STREAM;
    m->stillness = 0;
}

/* Uncertainty, risk and reason (sections 7 and 8). */

/* The logistic function of z (Q16.16), Q0.16. */
static uint16_t logistic(int32_t z)
{
    uint32_t size = z < 0 ? 0u - (uint32_t)z : (uint32_t)z;
    uint32_t value = Q16_MAX;
    if (size < 12u * ONE) {
        uint32_t at = size >> 13;
        uint32_t low = tcuq_sigmoid[at];
        value = low + ((tcuq_sigmoid[at + 1u] - low) * (size & 8191u) >> 13);
    }
    return (uint16_t)(z < 0 ? ONE - value : value);
}

/* From one number to another, as far as the past counts (in 1/32768). */
static int32_t between(int32_t instant, int32_t steady, uint32_t past)
{
    return instant + shift_floor((steady - instant) * (int32_t)past, 15);
}

static void score(const tcuq_params_t *p, const inference_t *now, const uint16_t *signals, tcuq_step_t *out)
{
    const tcuq_instant_t *instant = instant_head(p);
    uint32_t past = (uint32_t)out->persistence >> 1;
    int32_t z = p->bias;
    int32_t best = 0;
    uint32_t left = used(p);
    uint32_t i;
    if (instant != NULL) {
        /* The last ten bits are left out, so that the product fits. */
        z = instant->bias + shift_floor(shift_floor(z - instant->bias, 10) * (int32_t)past, 5);
    }
    out->reason = TCUQ_REASON_NONE;
    for (i = 0; left != 0u; i++, left >>= 1) {
        if ((left & 1u) != 0u) {
            int32_t coef = instant == NULL ? p->coef[i] : between(instant->coef[i], p->coef[i], past);
            int32_t share = coef * ((int32_t)signals[i] - p->clean_mean[i]);
            z += shift_floor(coef * signals[i], 9);
            if (share > best) {
                best = share;
                out->reason = (uint8_t)i;
            }
        }
    }
    out->uncertainty = logistic(z);
    if (asks_novelty(p) && now->frozen) { /* as good as a guess */
        uint32_t guess = ONE - ONE / p->classes;
        out->uncertainty = (uint16_t)(out->uncertainty > guess ? out->uncertainty : guess);
    }
    out->risk = (uint16_t)mix(out->uncertainty, saturate(ONE - now->anchor), p->blend);
}

/* How likely the answer is right, Q0.16: by the head, or by that, what risk leans on and how far clean data are. */
static uint32_t certainty_of(const tcuq_params_t *p, const inference_t *now, const uint16_t *signals, const tcuq_step_t *out)
{
    uint32_t leaned = p->anchor == TCUQ_ANCHOR_BELIEF ? TCUQ_DISBELIEF : TCUQ_ODDS; /* the signal that says it */
    uint32_t against;
    if (sight_head(p) == NULL || p->sight->accuracy_odds == 0 || now->frozen) {
        return Q16_MAX - (uint32_t)out->uncertainty; /* that of a frozen input is at least a guess's */
    }
    against = log_odds(out->uncertainty);
    against += uses(p, (uint32_t)TCUQ_BIT(leaned)) ? signals[leaned] : log_odds(ONE - now->anchor);
    return logistic(tcuq_internal_right(p->sight, 32768 - (int32_t)(against >> 1), now->far));
}

/* The expected accuracy: a mean of past certainties. Returns that of this step where anybody asks. */
static uint32_t expect(tcuq_t *m, const inference_t *now, const uint16_t *signals, uint32_t *labels, tcuq_step_t *out)
{
    uint32_t horizon = m->params->horizon, right = 0;
    out->expected_accuracy = 0;
    if (horizon != 0u || labels != NULL) {
        right = certainty_of(m->params, now, signals, out);
    }
    if (horizon != 0u) {
        int32_t certainty = (int32_t)((right + 1u) << 8);
        m->accuracy = (uint32_t)moved((int32_t)(m->accuracy & 0xFFFFFFu), certainty, horizon);
        out->expected_accuracy = saturate((m->accuracy + 128u) >> 8);
        if (labels != NULL) {
            int32_t expected = out->expected_accuracy + 2 * signed_at(feedback_numbers(labels), CORRECTION);
            out->expected_accuracy = saturate(expected > 0 ? (uint32_t)expected : 0u);
        }
    }
    return right;
}

/* The threshold at a debt, section 9. */
static NOT_INLINE int32_t threshold_at(const tcuq_params_t *p, int32_t debt)
{
    uint32_t sign = debt < 0 ? 0xFFFFFFFFu : 0u;
    uint32_t size = ((uint32_t)debt ^ sign) - sign;
    uint32_t near = size < (uint32_t)p->knee ? size : (uint32_t)p->knee;
    uint32_t far = size - near;
    uint32_t distance;
    /* No input leads as far as the limit, but damage may, and a product that wraps would hide it. Most
     * debts are so small that this needs no division. */
    if (far > 255u) {
        uint32_t most = STEEP_LIMIT / p->steep_slope;
        far = far < most ? far : most;
    }
    distance = (p->slope * near + p->steep_slope * far) >> 8;
    return p->reference + (int32_t)((distance ^ sign) - sign);
}

/* Least debt at which the threshold has moved by `distance` (Q0.16), section 9. */
COLD static int32_t debt_at(const tcuq_params_t *p, uint32_t distance)
{
    uint32_t need = distance << 8;
    uint32_t shallow = p->slope * (uint32_t)p->knee;
    uint32_t rest;
    if (need <= shallow) {
        return (int32_t)((need + p->slope - 1u) / p->slope);
    }
    rest = need - shallow;
    return p->knee + (int32_t)((rest + p->steep_slope - 1u) / p->steep_slope);
}

COLD void tcuq_debt_bounds(const tcuq_params_t *p, int32_t *low, int32_t *high)
{
    int32_t shut = debt_at(p, ONE - p->reference);
    int32_t open = p->reference == 0u ? 0 : debt_at(p, p->reference);
    *high = shut - 1 + p->level_den - p->level_num;
    *low = 1 - open - p->level_num;
}

static void flag(tcuq_t *m, tcuq_step_t *out)
{
    const tcuq_params_t *p = m->params;
    int32_t up = p->level_den - p->level_num;
    int32_t down = -(int32_t)p->level_num;
    out->threshold = threshold_at(p, m->debt);
    /* One step closer to 0 the threshold is in 0..65535 again, or no input led here: start over. */
    if ((uint32_t)out->threshold > Q16_MAX &&
        (uint32_t)threshold_at(p, m->debt - (m->debt < 0 ? down : up)) > Q16_MAX) {
        m->debt = 0;
        out->threshold = p->reference;
    }
    out->flagged = out->risk >= out->threshold ? 1u : 0u;
    out->reason = out->flagged != 0u ? out->reason : (uint8_t)TCUQ_REASON_NONE;
    m->debt += out->flagged != 0u ? up : down;
}

/* Whether labels make a step doubtful (section 19): risk >= reference * (1 - debt / shut), without a division. */
static int doubtful_at(const tcuq_feedback_t *head, int32_t debt, uint32_t risk)
{
    int32_t left = head->error_shut - debt;
    return head->error_num != 0u &&
           (left <= 0 || risk * head->error_shut >= (uint32_t)head->error_reference * (uint32_t)left);
}

/* The budget, section 10. */
static void spend(tcuq_t *m, tcuq_step_t *out, int doubtful)
{
    const tcuq_params_t *p = m->params;
    uint32_t cap = (uint32_t)p->burst * p->budget_den;
    uint32_t credit;
    out->warming_up = m->steps < p->warmup ? 1u : 0u;
    m->steps += m->steps != 0xFFFFFFFFu ? 1u : 0u;
    /* Unsigned, so that a damaged credit of either sign is at most a full one. */
    credit = (uint32_t)m->credit + p->budget_num;
    m->credit = (int32_t)(credit < cap ? credit : cap);
    out->abstain = doubtful && feedback_head(p)->error_first != 0u ? 1u : 0u;
    if ((out->flagged != 0u || doubtful) && out->warming_up == 0u && m->credit >= p->budget_den) {
        m->credit -= p->budget_den;
        out->abstain = 1;
    }
    if (doubtful && out->abstain != 0u && out->reason == TCUQ_REASON_NONE) {
        out->reason = TCUQ_REASON_ERROR;
    }
}

/* Logarithm of what a bet on the evidence of a step multiplies the stake by, never above it, Q16.16. */
static int32_t bet_of(const tcuq_evidence_t *head, int32_t evidence)
{
    int32_t gain = shift_floor((int32_t)head->bet_slope * shift_floor(evidence, 8), 8);
    uint32_t factor = (uint32_t)((int32_t)head->bet_base + gain);
    uint32_t scale = bits_above(factor);
    int32_t log;
    /* 12 is more than the error of the logarithm and of its factor. */
    log = tcuq_internal_log2(factor >> scale) + (int32_t)(scale << 16) - 12;
    return shift_floor(shift_floor(log, 4) * 45426, 12);
}

/* What is summed, less what the first new inputs of this device had more of it than clean input. Until they are over,
 * `baseline` adds it up, Q16.16. */
static int32_t less_baseline(tcuq_t *m, const tcuq_evidence_t *head, int32_t value, uint32_t novelty)
{
    uint32_t whole = head->baseline_inputs << 8;
    if (m->baseline_seen < whole) {
        m->baseline += (uint32_t)(shift_floor(value - head->baseline_mean, 8) * (int32_t)novelty);
        m->baseline_seen += novelty;
        if (m->baseline_seen < whole) {
            return value;
        }
        m->baseline = (int32_t)m->baseline > 0 ? m->baseline / m->baseline_seen << 8 : 0u;
    }
    m->baseline_seen = whole;
    m->baseline = m->baseline < head->baseline_most ? m->baseline : head->baseline_most;
    return value - (int32_t)m->baseline;
}

/* What the alarm adds: how much more likely the last inputs are on degraded input, by the novelty of this one. */
static int32_t excess_of(tcuq_t *m, const tcuq_evidence_t *head, const inference_t *now, const uint16_t *signals)
{
    const tcuq_params_t *p = m->params;
    int32_t value;
    if (head->bet_slope != 0u) {
        value = bet_of(head, now->evidence);
        value = value > 0 ? shift_floor(value * (int32_t)now->novelty, 8) : value; /* less than it won: still fair */
    } else {
        value = head->bias;
        if (uses(p, TCUQ_BIT(TCUQ_DEGRADATION))) {
            value += shift_floor((int32_t)head->coef[TCUQ_DEGRADATION] * signals[TCUQ_DEGRADATION], 9);
        }
        if (uses(p, TCUQ_BIT(TCUQ_DRIFT))) {
            value += shift_floor((int32_t)head->coef[TCUQ_DRIFT] * signals[TCUQ_DRIFT], 9);
        }
        value = clipped(value, head->clip);
        if (HAS_BASELINE && head->baseline_inputs != 0u) {
            value = less_baseline(m, head, value, now->novelty);
        }
        value = shift_floor(value * (int32_t)now->novelty, 8);
    }
    return value - (int32_t)head->allowance;
}

/* One side of the alarm: a sum between 0 and cap, raised at limit. Once raised it stays so while it is kept, then
 * until the sum is down at `clear`, and starts again at 0. */
NOT_INLINE static uint8_t add_up(uint32_t *sum, int32_t excess, uint32_t limit, uint32_t cap, uint32_t clear, int raised, int kept)
{
    int32_t value = (int32_t)(*sum + (uint32_t)excess); /* a damaged sum is cut like a large one */
    value = value < 0 ? 0 : (uint32_t)value > cap ? (int32_t)cap : value;
    *sum = (uint32_t)value;
    if (limit == 0u) { /* this side is off */
        return 0;
    }
    if (raised && !kept && (uint32_t)value <= clear) {
        *sum = 0;
        return 0;
    }
    return raised || (uint32_t)value >= limit ? 1 : 0;
}

/* What a label may be for later. */
static NOT_INLINE void remember(const tcuq_params_t *p, uint32_t right, int8_t *numbers, tcuq_step_t *out, int doubtful)
{
    uint32_t next = number_at(numbers, NEXT);
    uint32_t entry = (right >> 3) & ~answer_mask(p); /* in 1/8192 */
    entry |= (out->alarm & TCUQ_ALARM_RISE) != 0u ? STEP_ALARM : 0u;
    entry |= out->abstain == 0u && !doubtful ? STEP_COUNTED : 0u;
    number_put(numbers, ENTRIES + next, entry | out->answer);
    next++;
    number_put(numbers, NEXT, next < p->feedback->memory ? next : 0u);
}

/* The alarm, sections 11 and 21. */
static void alarm(tcuq_t *m, const layout_t *at, const inference_t *now, const uint16_t *signals, uint32_t *labels,
                  tcuq_step_t *out)
{
    const tcuq_params_t *p = m->params;
    const tcuq_evidence_t *head = evidence_head(p);
    int32_t excess = (int32_t)out->risk - p->rise_reference;
    int raised = (m->alarm & TCUQ_ALARM_RISE) != 0u;
    uint32_t left = raised ? m->alarm >> 2 : 0u;
    uint32_t move = 0, clear;
    int held;
    uint8_t rise, fall;
    if (asks_novelty(p)) {
        out->novelty = saturate(now->novelty << 8);
    }
    if (head != NULL) {
        excess = excess_of(m, head, now, signals);
        out->degradation = m->degradation;
    } else {
        out->degradation = 0;
    }
    if (labels != NULL) { /* modulo 2^32: quarters may be below 0 */
        move = (p->rise_limit >> 2) * (quarters_above(feedback_numbers(labels)) - QUARTERS_FALL);
    }
    left = left < p->least_raised ? left : p->least_raised;
    if (sight_head(p) != NULL) {
        out->degradation = (int32_t)tcuq_internal_over(m);
        out->changed = m->rise >= p->sight->changed || now->frozen ? 1u : 0u;
        out->moved = (uint8_t)now->moved;
        held = tcuq_internal_hold(m, at, now, move);
        rise = held || left != 0u ? 1 : 0;
        m->fall = 0; /* as it is, unless memory has failed */
        fall = 0;
    } else {
        clear = p->rise_clear + move;
        clear = HAS_FEEDBACK && (int32_t)clear < 0 ? 0u : clear;
        rise = add_up(&m->rise, excess, p->rise_limit + move, p->rise_cap + move, clear, raised, left != 0u);
        fall = add_up(&m->fall, (int32_t)p->fall_reference - out->risk, p->fall_limit, p->fall_cap, 0,
                     (m->alarm & TCUQ_ALARM_FALL) != 0u, 0);
    }
    left = left != 0u ? left - 1u : (uint32_t)!raised * p->least_raised;
    out->alarm = (uint8_t)(rise | (fall << 1));
    out->action = out->alarm != 0u ? (uint8_t)TCUQ_HOLD : out->abstain; /* TCUQ_ASK or TCUQ_ACT */
    m->alarm = (uint8_t)(out->alarm | (left << 2) * rise);
    if (labels != NULL) {
        if (rise != raised) {
            number_put(feedback_numbers(labels), CASE, 0); /* another one */
        }
    }
}

void tcuq_step_gauges(tcuq_t *m, const int8_t *probs, const int8_t *features, const int16_t *gauges,
                      tcuq_step_t *out, uint16_t *signals)
{
    const tcuq_params_t *p = m->params;
    uint16_t own[TCUQ_SIGNAL_COUNT];
    inference_t now;
    layout_t at;
    uint32_t right, i;
    uint32_t *labels; /* what they need; NULL without feedback */
    int doubtful;

    TCUQ_ASSERT(probs != NULL && out != NULL);
    TCUQ_ASSERT(features != NULL || (used(p) & TCUQ_FEATURE_SIGNALS) == 0u);

    memcpy(own, p->clean_mean, OWN_COUNT * sizeof own[0]); /* signals without a past */
    tcuq_internal_read(&now, p, probs, features, gauges, out);
    if (!HAS_EVIDENCE || uses(p, LAID_OUT) || instant_head(p) != NULL || feedback_head(p) != NULL ||
        sight_head(p) != NULL) {
        tcuq_internal_layout(&at, p);
    }
    if (instant_head(p) != NULL) {
        tcuq_internal_beliefs(m, &at, &now, out);
    }
    tcuq_internal_signals(m, &at, &now, own);
    score(p, &now, own, out);
    labels = feedback_head(p) != NULL ? tcuq_internal_feedback(m, &at) : NULL;
    right = expect(m, &now, own, labels, out);
    flag(m, out);
    doubtful = labels != NULL && doubtful_at(feedback_head(p), (int32_t)*labels, out->risk);
    spend(m, out, doubtful);
    alarm(m, &at, &now, own, labels, out);
    if (labels != NULL) {
        remember(p, right, feedback_numbers(labels), out, doubtful);
    }
    if (signals != NULL) {
        for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
            signals[i] = (used(p) & TCUQ_BIT(i)) != 0u ? own[i] : 0u;
        }
    }
}

void tcuq_step(tcuq_t *m, const int8_t *probs, const int8_t *features, tcuq_step_t *out, uint16_t *signals)
{
    tcuq_step_gauges(m, probs, features, NULL, out, signals);
}

void tcuq_two_classes(int8_t sigmoid, int8_t probs[2])
{
    /* 256 - u, with 256 itself out of reach: a sigmoid of 0 leaves 255 / 256. */
    probs[0] = (int8_t)(sigmoid == -128 ? 127 : -sigmoid);
    probs[1] = sigmoid;
}
