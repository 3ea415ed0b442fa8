/* SPDX-License-Identifier: MIT */
#include "sets.h"

#include <string.h>

#include "tcuq_fields.h"

enum { POWER_24 = 16777216, POWER_30 = 1073741824 };

/* Masks that fits give, and some that nobody asks for. */
static const uint32_t masks[] = {TCUQ_PROFILE_STANDARD, TCUQ_PROFILE_PAPER, 0x130u, 13u, 0x18u, 0x7Au,
                                 TCUQ_ALL_SIGNALS,      8u,                 0x10u,  0x40u, 0x2B0u};

static int16_t coefficient(source_t *from)
{
    return (int16_t)(below(from, 3) == 0u ? edge(from, -32768, 32767) : (int32_t)below(from, 4096) - 1024);
}

static void fill_table(int16_t *coef, source_t *from)
{
    unsigned n;
    for (n = 0; n < TCUQ_SIGNAL_COUNT; n++) {
        coef[n] = coefficient(from);
    }
}

/* Long lists come from a seed, so that a fuzzer need not spend bytes on them. */
static void fill_bytes(void *list, size_t size, source_t *from)
{
    uint64_t seed = (uint64_t)take(from, 2) + 1u;
    uint8_t *bytes = (uint8_t *)list;
    size_t i;
    for (i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(random64(&seed) >> 56);
    }
}

static void set_lags(set_t *set, source_t *from)
{
    tcuq_params_t *p = &set->params;
    unsigned wanted = (unsigned)edge(from, (p->signals & TCUQ_LAGGED_SIGNALS) != 0u ? 1 : 0, below(from, 8) == 0u ? 64 : 4);
    unsigned last = 0, left = 32768u, i;
    for (i = 0; i < wanted && last + (wanted - i) <= TCUQ_MAX_LAG; i++) {
        unsigned room = TCUQ_MAX_LAG - last - (wanted - i) + 1u; /* the others must fit too */
        last += below(from, 4) == 0u ? 1u + below(from, room) : 1u;
        set->lags[i] = (uint8_t)last;
        set->lag_weights[i] = (uint16_t)(i + 1u == wanted ? left : (unsigned)edge(from, i == 0u ? 1 : 0, left));
        left -= set->lag_weights[i];
    }
    p->lag_count = (uint16_t)wanted;
    p->lags = wanted != 0u || below(from, 2) == 0u ? set->lags : NULL;
    p->lag_weights = p->lags != NULL ? set->lag_weights : NULL;
}

/* Threshold, budget and alarm: what the rates depend on. */
static void set_rates(set_t *set, source_t *from)
{
    tcuq_params_t *p = &set->params;
    p->level_den = (uint16_t)edge(from, 2, 1000);
    p->level_num = (uint16_t)edge(from, 1, p->level_den - 1);
    p->reference = (uint16_t)edge(from, 0, 65535);
    p->steep_slope = (uint32_t)edge(from, 1, POWER_24 / p->level_den);
    p->slope = (uint32_t)edge(from, 0, p->steep_slope);
    p->knee = (int32_t)edge(from, 0, p->slope == 0u ? POWER_24 : POWER_24 / p->slope);
    if (below(from, 4) == 0u) { /* as a fit gives them: about one threshold a few flags wide */
        p->steep_slope = 1u + take(from, 3) % (uint32_t)(POWER_24 / p->level_den);
        p->slope = p->steep_slope / (1u + below(from, 32));
        p->knee = (int32_t)below(from, 10u * p->level_den);
        p->knee = p->slope != 0u && (uint32_t)p->knee > POWER_24 / p->slope ? 0 : p->knee;
    }
    p->budget_den = (uint16_t)edge(from, 1, 1000);
    p->budget_num = (uint16_t)edge(from, 0, p->budget_den);
    p->burst = (uint16_t)(below(from, 2) == 0u ? 1 + below(from, 20) : edge(from, 1, 10000));
    p->warmup = below(from, 8) == 0u ? (uint32_t)edge(from, 0, 0xFFFFFFFF) : below(from, 2) * below(from, 64);
    p->rise_reference = (uint16_t)edge(from, 0, 65535);
    p->fall_reference = (uint16_t)edge(from, 0, 65535);
    p->rise_limit = below(from, 5) == 0u ? 0u : (uint32_t)edge(from, 1, below(from, 4) == 0u ? POWER_30 : 1 << 20);
    p->rise_cap = p->rise_limit == 0u ? 0u : (uint32_t)edge(from, p->rise_limit, below(from, 4) == 0u ? POWER_30 : 2 * (int64_t)p->rise_limit);
    p->rise_cap = p->rise_cap > POWER_30 ? POWER_30 : p->rise_cap;
    p->rise_clear = p->rise_limit == 0u || below(from, 2) == 0u ? 0u : (uint32_t)edge(from, 0, p->rise_limit - 1u);
    p->least_raised = (uint16_t)(below(from, 2) == 0u ? 0 : edge(from, 0, 63));
    if (p->sight != NULL) {
        uint32_t least = p->sight->changed > 16384u ? p->sight->changed : 16384u;
        p->rise_limit = (uint32_t)edge(from, least, 4194304);
        p->rise_cap = (uint32_t)edge(from, p->rise_limit, 4194304);
        p->rise_clear = (uint32_t)edge(from, 0, p->rise_limit - 1u);
    }
    p->fall_limit = below(from, 3) == 0u || p->evidence != NULL || p->sight != NULL ? 0u : (uint32_t)edge(from, 1, 1 << 20);
    p->fall_cap = p->fall_limit == 0u ? 0u : (uint32_t)edge(from, p->fall_limit, 2 * (int64_t)p->fall_limit);
}

static void set_evidence(set_t *set, source_t *from)
{
    tcuq_evidence_t *head = &set->evidence;
    uint32_t most;
    fill_table(head->coef, from);
    fill_bytes(set->offset, below(from, 2) * sizeof set->offset, from);
    head->offset = set->offset;
    head->clip = (uint32_t)edge(from, 1, below(from, 2) == 0u ? 4 * 65536 : 8 * 65536);
    /* Squared distances: of a few units, of features far apart, of odds, of more than there is. */
    head->reach = (uint32_t)(below(from, 4) == 0u ? edge(from, 256, 0xFFFFFFFF) : 256u << below(from, 22));
    head->bias = (int32_t)(below(from, 4) == 0u ? edge(from, -POWER_24, POWER_24) : edge(from, -65536, 65536));
    head->allowance = (uint32_t)edge(from, 0, below(from, 4) == 0u ? POWER_24 : 65536);
    if (below(from, 2) == 0u) {
        head->bet_slope = (uint32_t)edge(from, 1, 32767);
        most = head->bet_slope * (head->clip >> 8) >> 8;
        while (2u * most + 257u >= 1048576u) {
            head->bet_slope = head->bet_slope / 2u + 1u;
            head->clip /= 2u;
            most = head->bet_slope * (head->clip >> 8) >> 8;
        }
        head->bet_base = (uint32_t)edge(from, most + 257u, 1048575u - most);
    } else if (below(from, 2) == 0u) { /* few inputs, or no program reaches their end */
        head->baseline_inputs = (uint32_t)(below(from, 4) == 0u ? edge(from, 1, 1000) : 1u + below(from, 32));
        head->baseline_mean = (int32_t)edge(from, -524288, 524288);
        head->baseline_most = (uint32_t)edge(from, 0, 524288);
    }
    /* In doublings: as a fit gives them, or anything. */
    head->frozen = below(from, 2) == 0u ? 32768u * below(from, 16) : (uint32_t)edge(from, 0, 2097152);
    set->params.evidence = head;
}

/* Lists of any numbers that are allowed, or such that alarms come and go. */
static void set_sight(set_t *set, source_t *from)
{
    tcuq_sight_t *head = &set->sight;
    tcuq_params_t *p = &set->params;
    uint64_t seed = (uint64_t)take(from, 2) + 1u;
    unsigned wild = below(from, 3), i, count;
    head->gauges = (uint16_t)edge(from, 0, 16);
    head->reach = (uint32_t)(below(from, 4) == 0u ? edge(from, 256, 0xFFFFFFFF) : 256u << below(from, 22));
    head->frozen = below(from, 2) == 0u ? 32768u * below(from, 16) : (uint32_t)edge(from, 0, 2097152);
    head->baseline_inputs = (uint32_t)(below(from, 4) == 0u ? edge(from, 0, 1000) : below(from, 32));
    head->odds_weight = (uint16_t)edge(from, 0, 4096);
    head->clear_weight = (uint16_t)edge(from, 16, 4095);
    head->matrix_shift = (uint16_t)(wild != 0u ? 8 + below(from, 6) : edge(from, 0, 15));
    head->changed = (uint32_t)edge(from, 0, below(from, 2) == 0u ? 4194304 : 65536);
    head->accuracy_bias = (int32_t)edge(from, -1048576, 1048576);
    head->accuracy_odds = coefficient(from);
    head->accuracy_far = coefficient(from);
    head->accuracy_both = coefficient(from);
    p->sight = head;
    count = TCUQ_SIGHT_COUNT(p);
    for (i = 0; i < count; i++) {
        uint32_t any = (uint32_t)(random64(&seed) >> 32);
        set->sight_mean[i] = wild == 2u ? (int32_t)(any % 2097153u) - 1048576 : wild == 1u ? 1048576 - (int32_t)(any % 2u) * 2097152 : (int32_t)(any % 65536u);
        set->sight_scale[i] = (uint16_t)(wild == 1u ? 1023u : 1u + any % 1023u);
        set->sight_shift[i] = (uint8_t)(wild == 1u ? 0u : any % 25u);
    }
    fill_bytes(set->sight_matrix, sizeof set->sight_matrix, from);
    fill_bytes(set->sight_class_mean, (size_t)p->classes * count, from);
    if (wild == 1u) { /* the largest products */
        for (i = 0; i < count * (count + 1u) / 2u; i++) {
            set->sight_matrix[i] = (int16_t)(set->sight_matrix[i] < 0 ? -32768 : 32767);
        }
    }
    head->mean = set->sight_mean;
    head->scale = set->sight_scale;
    head->shift = set->sight_shift;
    head->class_mean = set->sight_class_mean;
    head->matrix = set->sight_matrix;
}

const int16_t *gauges_of(const tcuq_params_t *p, const int8_t *probs, const int8_t *features)
{
    static int16_t gauges[TCUQ_MAX_SIGHT];
    uint64_t seed = 1;
    unsigned i, kind;
    for (i = 0; i < p->classes; i++) {
        seed = seed * 31u + (uint8_t)probs[i];
    }
    for (i = 0; i < p->features; i++) {
        seed = seed * 31u + (uint8_t)features[i];
    }
    kind = (unsigned)(random64(&seed) % 4u);
    for (i = 0; p->sight != NULL && i < p->sight->gauges; i++) {
        int32_t near = p->sight->mean[i] / 16 + (int32_t)(random64(&seed) % 201u) - 100;
        gauges[i] = (int16_t)(kind == 0u ? (int32_t)(random64(&seed) % 65536u) - 32768 : near > 32767 ? 32767 : near < -32768 ? -32768 : near);
    }
    return p->sight == NULL || kind == 1u ? NULL : gauges;
}

static void set_instant(set_t *set, source_t *from)
{
    tcuq_instant_t *head = &set->instant;
    head->bias = (int32_t)(below(from, 4) == 0u ? edge(from, -POWER_24, POWER_24) : edge(from, -65536, 65536));
    fill_table(head->coef, from);
    set->params.instant = head;
    set->params.anchor = (uint16_t)below(from, 2);
    set->params.about = (uint16_t)below(from, 2);
}

/* After set_rates(): what labels change, where the build has it. */
static void set_feedback(set_t *set, source_t *from)
{
    tcuq_feedback_t *head = &set->feedback;
    if (((TCUQ_SIGNALS) & TCUQ_FEEDBACK) == 0u || below(from, 3) == 0u || set->params.rise_cap > 1u << 28) {
        return;
    }
    head->memory = (uint16_t)(below(from, 4) == 0u ? edge(from, 1, 1024) : 1 + below(from, 32));
    head->error_den = (uint16_t)edge(from, 1, 1000);
    head->error_num = (uint16_t)edge(from, 0, head->error_den - 1);
    head->error_reference = (uint16_t)edge(from, 0, 65535);
    head->error_shut = (uint16_t)(below(from, 2) == 0u ? edge(from, 0, 32767) : below(from, 8u * head->error_den));
    head->error_first = (uint16_t)below(from, 2);
    head->wrong_score = (uint16_t)(below(from, 2) == 0u ? edge(from, 0, 65535) : 8192 / (1 + below(from, 4)));
    head->right_score = (uint16_t)(below(from, 2) == 0u ? edge(from, 0, 65535) : 8192 / (1 + below(from, 4)));
    set->params.feedback = head;
}

static void begin_set(set_t *set)
{
    memset(set, 0, sizeof *set); /* nothing is left of the input before, or a finding would not replay */
    set->params.version = TCUQ_PARAMS_VERSION;
}

static void set_shape(tcuq_params_t *p, source_t *from, int size)
{
    static const uint16_t classes[3] = {6, 40, TCUQ_MAX_CLASSES}, features[3] = {4, 32, TCUQ_MAX_FEATURES};
    p->classes = (uint16_t)edge(from, 2, classes[size]);
    p->features = (uint16_t)edge(from, 1, features[size]);
    p->zero_point = (int16_t)edge(from, -128, 127);
}

static void set_horizon(tcuq_params_t *p, source_t *from)
{
    p->horizon = (uint16_t)(below(from, 2) == 0u ? 0 : edge(from, 4, 12));
    p->expected_start = (uint16_t)(p->horizon == 0u ? 0 : edge(from, 0, 65535));
}

void make_set(set_t *set, source_t *from, int size)
{
    tcuq_params_t *p = &set->params;
    unsigned which = below(from, sizeof masks / sizeof masks[0] + 2u);
    unsigned n;
    begin_set(set);
    p->signals = which < sizeof masks / sizeof masks[0] ? masks[which] : 1u + take(from, 3) % TCUQ_ALL_SIGNALS;
    if ((p->signals & TCUQ_BIT(TCUQ_DISTANCE)) == 0u) {
        p->signals &= ~(uint32_t)TCUQ_BIT(TCUQ_DRIFT);
    }
    set_shape(p, from, size);
    if ((p->signals & TCUQ_FEATURE_SIGNALS) == 0u && below(from, 2) == 0u) {
        p->features = 0;
    }
    set_lags(set, from);
    fill_table(p->coef, from);
    for (n = 0; n < TCUQ_SIGNAL_COUNT; n++) {
        p->clean_mean[n] = (uint16_t)edge(from, 0, 65535);
    }
    p->bias = (int32_t)(below(from, 4) == 0u ? edge(from, -POWER_24, POWER_24) : edge(from, -4 * 65536, 65536));
    p->doubt_mix = (uint32_t)edge(from, 0, 65536);
    p->blend = (uint32_t)edge(from, 0, 65536);
    set_horizon(p, from);
    if ((p->signals & TCUQ_BIT(TCUQ_DISBELIEF)) != 0u || below(from, 4) == 0u) {
        set_instant(set, from);
    }
    if (((TCUQ_SIGNALS) & TCUQ_SIGHT) != 0u && (p->signals & TCUQ_BIT(TCUQ_ODDS)) != 0u && below(from, 2) == 0u) {
        p->signals &= ~(uint32_t)TCUQ_BIT(TCUQ_DRIFT);
        set_sight(set, from);
    } else if ((p->signals & (TCUQ_BIT(TCUQ_ODDS) | TCUQ_BIT(TCUQ_DISTANCE))) == 0u) { /* nothing to compare inputs by */
        p->signals &= ~(uint32_t)TCUQ_SLOW_SIGNALS;
        p->signals |= p->signals == 0u ? TCUQ_BIT(TCUQ_DOUBT) : 0u;
    } else if ((p->signals & TCUQ_SLOW_SIGNALS) != 0u || below(from, 3) == 0u) {
        set_evidence(set, from);
    }
    if ((p->signals & TCUQ_BIT(TCUQ_DISTANCE)) != 0u) {
        fill_bytes(set->centers, (size_t)p->classes * p->features, from);
        p->centers = set->centers;
    }
    set_rates(set, from);
    set_feedback(set, from);
    p->fingerprint = tcuq_fingerprint(p);
}

void make_direct_set(set_t *set, source_t *from)
{
    tcuq_params_t *p = &set->params;
    begin_set(set);
    p->signals = TCUQ_BIT(TCUQ_MAGNITUDE);
    p->classes = 2;
    p->features = 1;
    p->zero_point = -128; /* so that the magnitude is 0..2/3 */
    p->coef[TCUQ_MAGNITUDE] = (int16_t)(below(from, 2) == 0u ? 32767 : 2048 << below(from, 4)); /* -12..12 and more */
    p->bias = -(int32_t)p->coef[TCUQ_MAGNITUDE] * 42;
    p->clean_mean[TCUQ_MAGNITUDE] = 30000;
    p->blend = (uint32_t)edge(from, 0, 65536);
    set_horizon(p, from);
    if (below(from, 4) == 0u) {
        p->signals |= TCUQ_BIT(TCUQ_ODDS); /* without a coefficient: for novelty alone */
        set_evidence(set, from);
    }
    set_rates(set, from);
    set_feedback(set, from);
    p->fingerprint = tcuq_fingerprint(p);
}

#define PLACE(error, of, name, type, low, high, bytes, usual) error##_##name,
enum {
    TCUQ_NUMBERS(PLACE)
    LIST_LAGS,
    LIST_WEIGHTS,
    LIST_CENTERS,
    LIST_OFFSET,
    NO_EVIDENCE,
    NO_INSTANT,
    NO_SIGHT,
    NO_FEEDBACK,
    LIST_MATRIX,
    A_MEAN,
    A_SCALE,
    A_SHIFT,
    A_LAG,
    A_WEIGHT,
    PLACES
};

void spoil_set(set_t *set, source_t *from)
{
    tcuq_params_t *p = &set->params;
    tcuq_evidence_t *evidence = &set->evidence;
    tcuq_instant_t *instant = &set->instant;
    tcuq_feedback_t *feedback = &set->feedback;
    tcuq_sight_t *sight = &set->sight;
    switch (below(from, PLACES)) {
#define SPOIL(error, of, name, type, low, high, bytes, usual) \
    case error##_##name: of->name = (type)edge(from, (int64_t)(low)-2, (int64_t)(high) + 2); break;
        TCUQ_NUMBERS(SPOIL)
    case LIST_LAGS: p->lags = NULL; break;
    case LIST_WEIGHTS: p->lag_weights = NULL; break;
    case LIST_CENTERS: p->centers = p->centers == NULL ? set->centers : NULL; break;
    case LIST_OFFSET: set->evidence.offset = NULL; break;
    case NO_EVIDENCE: p->evidence = p->evidence == NULL ? &set->evidence : NULL; break;
    case NO_INSTANT: p->instant = p->instant == NULL ? &set->instant : NULL; break;
    case NO_SIGHT: p->sight = p->sight == NULL ? &set->sight : NULL; break;
    case LIST_MATRIX: set->sight.matrix = NULL; break;
    case A_MEAN: set->sight_mean[below(from, 4)] = (int32_t)edge(from, -1048578, 1048578); break;
    case A_SCALE: set->sight_scale[below(from, 4)] = (uint16_t)edge(from, 0, 1024); break;
    case A_SHIFT: set->sight_shift[below(from, 4)] = (uint8_t)edge(from, 0, 26); break;
    case NO_FEEDBACK: p->feedback = p->feedback == NULL ? &set->feedback : NULL; break;
    case A_LAG: set->lags[below(from, TCUQ_MAX_LAG)] = (uint8_t)take(from, 1); break;
    default: set->lag_weights[below(from, 4)] = (uint16_t)take(from, 2); break;
    }
}
