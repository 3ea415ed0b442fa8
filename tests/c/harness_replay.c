/* SPDX-License-Identifier: MIT */
/* The monitor alone: parameters and steps come from the input, and every integer that the core gives goes out, a line
 * each. device/tests/support/device_replay.py writes the input and says what it holds.
 *
 * REPLAY_BYTES is the room for a ring, and for a saved state; a multiple of 4. REPLAY_CLASSES and
 * REPLAY_CENTERS are the most classes and bytes of centers that a case may have. */
#include "harness.h"
#include "harness_step.h"

#define CASE_CLASSES REPLAY_CLASSES
#include "case.h"

static int8_t centers[REPLAY_CENTERS];
static int8_t row[REPLAY_CLASSES + TCUQ_MAX_FEATURES];
static int16_t gauges[TCUQ_MAX_SIGHT];
static tcuq_t monitor;
static uint32_t ring[REPLAY_BYTES / 4u];
static uint8_t saved[REPLAY_BYTES];

static void need(int holds)
{
    if (!holds) {
        harness_exit(HARNESS_REFUSED);
    }
}

static long long number(void)
{
    uint8_t bytes[4];
    need(harness_read(bytes, sizeof bytes));
    return (int32_t)(bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24);
}

#define READ_PARAM(error, of, name, type, low, high, bytes, usual) params.name = (type)number();

static void read_params(void)
{
    TCUQ_PARAM_NUMBERS(READ_PARAM)
    need(params.classes <= REPLAY_CLASSES && params.features <= TCUQ_MAX_FEATURES && params.lag_count <= TCUQ_MAX_LAG);
    READ_NUMBERS(lags, uint8_t, params.lag_count);
    READ_NUMBERS(lag_weights, uint16_t, params.lag_count);
    READ_NUMBERS(params.coef, int16_t, TCUQ_SIGNAL_COUNT);
    READ_NUMBERS(params.clean_mean, uint16_t, TCUQ_SIGNAL_COUNT);
    params.lags = lags;
    params.lag_weights = lag_weights;
    params.evidence = NULL;
    params.instant = NULL;
    params.sight = NULL;
    params.feedback = NULL;
    params.centers = NULL;
    if (number() != 0) {
        read_evidence();
    }
    if (number() != 0) {
        read_instant();
    }
    if (number() != 0) {
        read_sight();
    }
    if (number() != 0) {
        read_feedback();
    }
    if (number() != 0) {
        uint32_t size = (uint32_t)params.classes * params.features;
        need(size <= sizeof centers && harness_read(centers, size));
        params.centers = centers;
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
    need(status == TCUQ_OK);
}

static void step(int seen)
{
    const int8_t *features = params.features == 0u ? NULL : row + params.classes;
    uint16_t signals[TCUQ_SIGNAL_COUNT];
    tcuq_step_t out;
    uint32_t i;
    need(harness_read(row, (uint32_t)params.classes + params.features));
    if (seen) {
        READ_NUMBERS(gauges, int16_t, params.sight == NULL ? 0u : params.sight->gauges);
    }
    tcuq_step_gauges(&monitor, row, features, seen ? gauges : NULL, &out, signals);
    harness_text("step");
    harness_step(&out);
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        harness_number(signals[i]);
    }
    harness_text("\n");
}

static void take_label(void)
{
    uint32_t step = (uint32_t)number();
    harness_text("label");
    harness_number(tcuq_feedback(&monitor, step, (int32_t)number())); /* a build with every signal and TCUQ_FEEDBACK */
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
            step(0);
            break;
        case 'g':
            step(1);
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
