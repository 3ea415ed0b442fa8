/* SPDX-License-Identifier: MIT */
/* The monitor alone: parameters and steps come from the input, and every integer that the core gives goes out, a line
 * each. device/tests/support/device_replay.py writes the input and says what it holds.
 *
 * REPLAY_BYTES is the room for a ring, and for a saved state; a multiple of 4. REPLAY_CLASSES and
 * REPLAY_CENTERS are the most classes and bytes of centers that a case may have. */
#include "harness.h"
#include "harness_step.h"
#include "tcuq.h"

static tcuq_params_t params;
static tcuq_evidence_t evidence;
static uint8_t lags[TCUQ_MAX_LAG];
static uint16_t lag_weights[TCUQ_MAX_LAG];
static tcuq_instant_t instant;
static int16_t offsets[REPLAY_CLASSES];
static uint16_t class_mix[REPLAY_CLASSES];
static tcuq_feedback_t feedback;
static int8_t centers[REPLAY_CENTERS];
static int8_t row[REPLAY_CLASSES + TCUQ_MAX_FEATURES];
static tcuq_t monitor;
static uint32_t ring[REPLAY_BYTES / 4u];
static uint8_t saved[REPLAY_BYTES];

static int32_t word(void)
{
    uint8_t bytes[4];
    if (!harness_read(bytes, sizeof bytes)) {
        harness_exit(HARNESS_REFUSED);
    }
    return (int32_t)(bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24);
}

/* A number that tells how much follows. */
static uint32_t count_up_to(uint32_t most)
{
    uint32_t value = (uint32_t)word();
    if (value > most) {
        harness_exit(HARNESS_REFUSED);
    }
    return value;
}

static void read_evidence(void)
{
    uint32_t i;
    evidence.clip = (uint32_t)word();
    evidence.reach = (uint32_t)word();
    evidence.still = (uint32_t)word();
    evidence.bias = word();
    evidence.allowance = (uint32_t)word();
    evidence.own_looks = (uint32_t)word();
    evidence.own_mean = word();
    evidence.own_most = (uint32_t)word();
    evidence.bet_base = (uint32_t)word();
    evidence.bet_slope = (uint32_t)word();
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        evidence.coef[i] = (int16_t)word();
    }
    for (i = 0; i < params.classes; i++) {
        offsets[i] = (int16_t)word();
    }
    evidence.offset = offsets;
}

static void read_instant(void)
{
    uint32_t i;
    instant.bias = word();
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        instant.coef[i] = (int16_t)word();
    }
    instant.class_mix = NULL;
    if (word() != 0) {
        for (i = 0; i < params.classes; i++) {
            class_mix[i] = (uint16_t)word();
        }
        instant.class_mix = class_mix;
    }
}

#define FEEDBACK_VALUE(name, type, low, high, bytes) feedback.name = (type)word();

static void read_feedback(void)
{
    TCUQ_FEEDBACK_FIELDS(FEEDBACK_VALUE, TCUQ_NO_LIST, TCUQ_NO_LIST)
    params.feedback = &feedback;
}

static void read_centers(void)
{
    uint32_t size = (uint32_t)params.classes * params.features;
    if (size > sizeof centers || !harness_read(centers, size)) {
        harness_exit(HARNESS_REFUSED);
    }
    params.centers = centers;
}

static void read_params(void)
{
    uint32_t i;
    params.version = (uint16_t)word();
    params.signals = (uint32_t)word();
    params.classes = (uint16_t)count_up_to(REPLAY_CLASSES);
    params.features = (uint16_t)count_up_to(TCUQ_MAX_FEATURES);
    params.zero_point = (int16_t)word();
    params.bias = word();
    params.doubt_mix = (uint32_t)word();
    params.blend = (uint32_t)word();
    params.level_num = (uint16_t)word();
    params.level_den = (uint16_t)word();
    params.reference = (uint16_t)word();
    params.anchor = (uint16_t)word();
    params.about = (uint16_t)word();
    params.horizon = (uint16_t)word();
    params.expected_start = (uint16_t)word();
    params.slope = (uint32_t)word();
    params.steep_slope = (uint32_t)word();
    params.knee = word();
    params.budget_num = (uint16_t)word();
    params.budget_den = (uint16_t)word();
    params.burst = (uint16_t)word();
    params.warmup = (uint32_t)word();
    params.rise_reference = (uint16_t)word();
    params.fall_reference = (uint16_t)word();
    params.hold = (uint16_t)word();
    params.rise_limit = (uint32_t)word();
    params.rise_cap = (uint32_t)word();
    params.rise_clear = (uint32_t)word();
    params.fall_limit = (uint32_t)word();
    params.fall_cap = (uint32_t)word();
    params.lag_count = (uint16_t)count_up_to(TCUQ_MAX_LAG);
    for (i = 0; i < params.lag_count; i++) {
        lags[i] = (uint8_t)word();
    }
    for (i = 0; i < params.lag_count; i++) {
        lag_weights[i] = (uint16_t)word();
    }
    params.lags = lags;
    params.lag_weights = lag_weights;
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        params.coef[i] = (int16_t)word();
    }
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        params.clean_mean[i] = (uint16_t)word();
    }
    params.evidence = NULL;
    if (word() != 0) {
        read_evidence();
        params.evidence = &evidence;
    }
    params.instant = NULL;
    if (word() != 0) {
        read_instant();
        params.instant = &instant;
    }
    params.feedback = NULL;
    if (word() != 0) {
        read_feedback();
    }
    params.centers = NULL;
    if (word() != 0) {
        read_centers();
    }
    params.fingerprint = tcuq_fingerprint(&params);
}

static int start(void)
{
    uint32_t i;
    for (i = 0; i < sizeof ring / sizeof ring[0]; i++) {
        ring[i] = 0xA5A5A5A5u; /* nothing may rely on cleared memory */
    }
    return tcuq_init(&monitor, &params, ring, sizeof ring);
}

static void begin_case(void)
{
    int32_t low, high;
    int status;
    read_params();
    status = start();
    harness_text("case");
    harness_number(status);
    if (status == TCUQ_OK) {
        tcuq_debt_bounds(&params, &low, &high);
        harness_number((int32_t)tcuq_ring_size(&params));
        harness_number((int32_t)tcuq_state_size(&params));
        harness_number(low);
        harness_number(high);
    }
    harness_text("\n");
    if (status != TCUQ_OK) {
        harness_exit(HARNESS_REFUSED);
    }
}

static void step(void)
{
    uint16_t signals[TCUQ_SIGNAL_COUNT];
    tcuq_step_t out;
    uint32_t i;
    if (!harness_read(row, (uint32_t)params.classes + params.features)) {
        harness_exit(HARNESS_REFUSED);
    }
    tcuq_step(&monitor, row, params.features == 0u ? NULL : row + params.classes, &out, signals);
    harness_text("step");
    harness_step(&out);
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        harness_number(signals[i]);
    }
    harness_text("\n");
}

static void take_label(void)
{
    uint32_t ago = (uint32_t)word();
    harness_text("label");
    harness_number(tcuq_feedback(&monitor, ago, word())); /* a build with every signal and TCUQ_FEEDBACK */
    harness_text("\n");
}

static void save(void)
{
    int bytes = tcuq_save(&monitor, saved, sizeof saved);
    harness_text("save ");
    harness_hex(saved, bytes > 0 ? (uint32_t)bytes : 0u);
    harness_text("\n");
}

static void load(void)
{
    int status = start();
    harness_text("load");
    harness_number(status == TCUQ_OK ? tcuq_load(&monitor, saved, tcuq_state_size(&params)) : status);
    harness_text("\n");
}

int main(void)
{
    uint8_t what;
    harness_open();
    while (harness_read(&what, 1)) {
        switch (what) {
        case 'c':
            begin_case();
            break;
        case 's':
            step();
            break;
        case 'r':
            tcuq_reset(&monitor);
            break;
        case 'f':
            take_label();
            break;
        case 'w':
            save();
            break;
        case 'l':
            load();
            break;
        default:
            return HARNESS_REFUSED;
        }
    }
    return 0;
}
