/* SPDX-License-Identifier: MIT */
/* Runs vector files (SPEC.md, section 15) through the core and compares every
 * integer and every byte.
 *
 *     run_vectors FILE...
 *
 * Exit status: 0 all equal, 1 something differs, 2 a file cannot be read.
 * Buffers have the exact size that the core asks for, so that a sanitizer sees
 * the first byte beyond it. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcuq.h"

/* A state of 1000 classes, 256 features and lag 64 fits; centers fit up to 130,000 bytes. */
#define LINE_SIZE (1u << 18)

enum { EXIT_DIFFERENT = 1, EXIT_MALFORMED = 2 };

static const char *file_name = "?";
static unsigned long line_number;
static unsigned long case_count;
static unsigned long step_count;

static void malformed(const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "%s:%lu: ", file_name, line_number);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(EXIT_MALFORMED);
}

static void same_at(unsigned long line, const char *field, long long expected, long long got)
{
    if (expected != got) {
        fprintf(stderr, "%s:%lu: %s: expected %lld, got %lld\n", file_name, line, field, expected, got);
        exit(EXIT_DIFFERENT);
    }
}

static void same(const char *field, long long expected, long long got)
{
    same_at(line_number, field, expected, got);
}

static void *allocate(void *old, size_t size)
{
    void *memory = realloc(old, size > 0u ? size : 1u);
    if (memory == NULL) {
        malformed("out of memory");
    }
    return memory;
}

/* Tokens of the current line. */

static char *cursor;

static char *next_token(void)
{
    char *start = cursor + strspn(cursor, " \t");
    char *stop = start + strcspn(start, " \t");
    if (*start == '\0') {
        malformed("the line is too short");
    }
    cursor = *stop == '\0' ? stop : stop + 1;
    *stop = '\0';
    return start;
}

static void line_ends(void)
{
    if (cursor[strspn(cursor, " \t")] != '\0') {
        malformed("the line is too long");
    }
}

static long long to_number(const char *text, long long low, long long high)
{
    char *stop;
    long long value = strtoll(text, &stop, 10);
    if (stop == text || *stop != '\0' || value < low || value > high) {
        malformed("'%s' is not a number in %lld..%lld", text, low, high);
    }
    return value;
}

static long long next_number(long long low, long long high)
{
    return to_number(next_token(), low, high);
}

static unsigned hex_digit(char digit)
{
    const char *digits = "0123456789abcdef";
    const char *found = digit == '\0' ? NULL : strchr(digits, digit);
    if (found == NULL) {
        malformed("'%c' is not a hexadecimal digit", digit);
        return 0u;
    }
    return (unsigned)(found - digits);
}

static void next_bytes(uint8_t *out, size_t size)
{
    const char *text = next_token();
    size_t i;
    if (size == 0u) {
        if (strcmp(text, "-") != 0) {
            malformed("'-' expected");
        }
        return;
    }
    if (strlen(text) != 2u * size) {
        malformed("%lu bytes expected", (unsigned long)size);
    }
    for (i = 0; i < size; i++) {
        out[i] = (uint8_t)(hex_digit(text[2u * i]) << 4 | hex_digit(text[2u * i + 1u]));
    }
}

static void next_int8(int8_t *out, size_t size)
{
    uint8_t *bytes = allocate(NULL, size);
    size_t i;
    next_bytes(bytes, size);
    for (i = 0; i < size; i++) {
        out[i] = (int8_t)(bytes[i] < 128 ? bytes[i] : bytes[i] - 256);
    }
    free(bytes);
}

/* The case that is read now. */

static tcuq_params_t params;
static uint8_t lags[TCUQ_MAX_LAG];
static uint16_t lag_weights[TCUQ_MAX_LAG];
static tcuq_evidence_t evidence;
static int16_t offsets[TCUQ_MAX_CLASSES];
static tcuq_instant_t instant;
static uint16_t class_mix[TCUQ_MAX_CLASSES];
static tcuq_feedback_t feedback;
static int8_t *centers;
static tcuq_t monitor;
static uint32_t *ring;
static size_t state_size;
static uint8_t *saved;   /* the last saved state */
static uint8_t *current; /* room for another one */
static int has_saved;

/* The steps since the last `save`, to be repeated by a second monitor. */
static struct {
    int active;
    size_t count;
    size_t room;
    int8_t *probs;
    int8_t *features;
    tcuq_step_t *results;
    uint16_t *signals;
    unsigned long *lines;
} batch;

static void start(tcuq_t *new_monitor, uint32_t **memory)
{
    size_t size = tcuq_ring_size(&params);
    *memory = allocate(*memory, size);
    memset(*memory, 0xA5, size); /* nothing may rely on cleared memory */
    memset(new_monitor, 0xA5, sizeof *new_monitor);
    same("result of init", TCUQ_OK, tcuq_init(new_monitor, &params, *memory, size));
}

static void compare_state(const tcuq_t *one, const uint8_t *expected, const char *what)
{
    size_t i;
    memset(current, 0x5A, state_size);
    same("result of save", TCUQ_ERR_SIZE, tcuq_save(one, NULL, 0));
    same("result of save", TCUQ_ERR_SIZE, tcuq_save(one, current, state_size - 1u));
    same("result of save", (long long)state_size, tcuq_save(one, current, state_size));
    for (i = 0; i < state_size; i++) {
        if (expected[i] != current[i]) {
            fprintf(stderr, "%s:%lu: %s, byte %lu: expected %02x, got %02x\n", file_name, line_number, what,
                    (unsigned long)i, (unsigned)expected[i], (unsigned)current[i]);
            exit(EXIT_DIFFERENT);
        }
    }
}

static void compare_step(unsigned long line, const tcuq_step_t *expected, const tcuq_step_t *got)
{
    same_at(line, "threshold", expected->threshold, got->threshold);
    same_at(line, "severity", expected->severity, got->severity);
    same_at(line, "prediction", expected->prediction, got->prediction);
    same_at(line, "answer", expected->answer, got->answer);
    same_at(line, "risk", expected->risk, got->risk);
    same_at(line, "uncertainty", expected->uncertainty, got->uncertainty);
    same_at(line, "persistence", expected->persistence, got->persistence);
    same_at(line, "look", expected->look, got->look);
    same_at(line, "expected_accuracy", expected->expected_accuracy, got->expected_accuracy);
    same_at(line, "flagged", expected->flagged, got->flagged);
    same_at(line, "abstain", expected->abstain, got->abstain);
    same_at(line, "alarm", expected->alarm, got->alarm);
    same_at(line, "warming_up", expected->warming_up, got->warming_up);
    same_at(line, "reason", expected->reason, got->reason);
    same_at(line, "low_mass", expected->low_mass, got->low_mass);
}

static void compare_signals(unsigned long line, const uint16_t *expected, const uint16_t *got)
{
    unsigned n;
    for (n = 0; n < TCUQ_SIGNAL_COUNT; n++) {
        char field[16];
        sprintf(field, "signal %u", n);
        same_at(line, field, expected[n], got[n]);
    }
}

static void batch_add(const int8_t *probs, const int8_t *features, const tcuq_step_t *result,
                      const uint16_t *signals)
{
    size_t n = batch.count;
    if (n == batch.room) {
        batch.room = 2u * n + 16u;
        batch.probs = allocate(batch.probs, batch.room * params.classes);
        batch.features = allocate(batch.features, batch.room * params.features);
        batch.results = allocate(batch.results, batch.room * sizeof *batch.results);
        batch.signals = allocate(batch.signals, batch.room * TCUQ_SIGNAL_COUNT * sizeof *batch.signals);
        batch.lines = allocate(batch.lines, batch.room * sizeof *batch.lines);
    }
    memcpy(batch.probs + n * params.classes, probs, params.classes);
    memcpy(batch.features + n * params.features, features, params.features);
    batch.results[n] = *result;
    memcpy(batch.signals + n * TCUQ_SIGNAL_COUNT, signals, TCUQ_SIGNAL_COUNT * sizeof *signals);
    batch.lines[n] = line_number;
    batch.count = n + 1u;
}

static void batch_clear(int active)
{
    free(batch.probs);
    free(batch.features);
    free(batch.results);
    free(batch.signals);
    free(batch.lines);
    memset(&batch, 0, sizeof batch);
    batch.active = active;
}

/* A second monitor that loads the saved state and takes the same steps ends where
 * the first one is. The second pass leaves out what may be NULL. */
static void batch_repeat(void)
{
    uint32_t *memory = NULL;
    tcuq_step_t *results;
    uint16_t *signals;
    uint8_t *after;
    int pass;
    size_t i;
    if (!batch.active || batch.count == 0u) {
        return;
    }
    results = allocate(NULL, batch.count * sizeof *results);
    signals = allocate(NULL, batch.count * TCUQ_SIGNAL_COUNT * sizeof *signals);
    after = allocate(NULL, state_size);
    same("result of save", (long long)state_size, tcuq_save(&monitor, after, state_size));
    for (pass = 0; pass < 2; pass++) {
        const int lean = pass == 1 && (params.signals & TCUQ_FEATURE_SIGNALS) == 0u;
        tcuq_t second;
        start(&second, &memory);
        same("result of load", TCUQ_OK, tcuq_load(&second, saved, state_size));
        for (i = 0; i < batch.count; i++) {
            tcuq_step(&second, batch.probs + i * params.classes,
                      lean || params.features == 0u ? NULL : batch.features + i * params.features, &results[i],
                      pass == 0 ? signals + i * TCUQ_SIGNAL_COUNT : NULL);
            compare_step(batch.lines[i], &batch.results[i], &results[i]);
            if (pass == 0) {
                compare_signals(batch.lines[i], batch.signals + i * TCUQ_SIGNAL_COUNT,
                                signals + i * TCUQ_SIGNAL_COUNT);
            }
        }
        compare_state(&second, after, "state after run");
    }
    free(memory);
    free(results);
    free(signals);
    free(after);
}

/* Lines of the header. */

/* Scalar fields, as the core declares them. Values need only fit the C type, or the buffers here:
 * tcuq_check() has the word on ranges. */
#define KEY(name, type, low, high, bytes) KEY_##name,
#define KEY_NAME(name, type, low, high, bytes) #name,
#define KEY_VALUE(name, type, low, high, bytes) params.name = (type)value[KEY_##name];
enum { TCUQ_PARAMS_FIELDS(KEY, TCUQ_NO_LIST, TCUQ_NO_LIST, TCUQ_NO_HEAD) KEY_COUNT };

static const char *const keys[KEY_COUNT] = {TCUQ_PARAMS_FIELDS(KEY_NAME, TCUQ_NO_LIST, TCUQ_NO_LIST, TCUQ_NO_HEAD)};

static void read_params(void)
{
    long long value[KEY_COUNT] = {0};
    int given[KEY_COUNT] = {0};
    unsigned i, key;
    unsigned left = KEY_COUNT;
    for (key = 0; key < KEY_COUNT; key++) {
        if (key == KEY_lag_count || key == KEY_fingerprint) {
            given[key] = 1; /* no part of the line */
            left--;
        }
    }
    for (i = 0; i < left; i++) {
        char *name = next_token();
        char *equals = strchr(name, '=');
        if (equals == NULL) {
            malformed("'%s' is not KEY=VALUE", name);
            return;
        }
        *equals = '\0';
        key = 0;
        while (key < KEY_COUNT && strcmp(name, keys[key]) != 0) {
            key++;
        }
        if (key == KEY_COUNT || given[key]) {
            malformed("'%s' is unknown or given twice", name);
            return;
        }
        given[key] = 1;
        value[key] = to_number(equals + 1, INT32_MIN, UINT32_MAX);
    }
    if (value[KEY_classes] < 1 || value[KEY_classes] > TCUQ_MAX_CLASSES || value[KEY_features] < 0 ||
        value[KEY_features] > TCUQ_MAX_FEATURES) {
        malformed("classes or features do not fit");
    }
    memset(&params, 0, sizeof params);
    TCUQ_PARAMS_FIELDS(KEY_VALUE, TCUQ_NO_LIST, TCUQ_NO_LIST, TCUQ_NO_HEAD)
}

static void read_lags(void)
{
    unsigned count = 0;
    const char *token = next_token();
    if (strcmp(token, "-") != 0) {
        for (;;) {
            if (count == TCUQ_MAX_LAG) {
                malformed("too many lags");
            }
            lags[count++] = (uint8_t)to_number(token, 0, UINT8_MAX);
            if (cursor[strspn(cursor, " \t")] == '\0') {
                break;
            }
            token = next_token();
        }
    }
    params.lag_count = (uint16_t)count;
    params.lags = count > 0u ? lags : NULL;
    params.lag_weights = count > 0u ? lag_weights : NULL;
}

static void read_lag_weights(void)
{
    unsigned i;
    if (params.lag_count == 0u && strcmp(next_token(), "-") != 0) {
        malformed("'-' expected");
    }
    for (i = 0; i < params.lag_count; i++) {
        lag_weights[i] = (uint16_t)next_number(0, UINT16_MAX);
    }
}

/* The lines of the header that may be missing. */

static void read_evidence(void)
{
    unsigned n;
    if (params.evidence != NULL) {
        malformed("'evidence' is given twice");
    }
    evidence.clip = (uint32_t)next_number(0, UINT32_MAX);
    evidence.reach = (uint32_t)next_number(0, UINT32_MAX);
    evidence.still = (uint32_t)next_number(0, UINT32_MAX);
    evidence.bias = (int32_t)next_number(INT32_MIN, INT32_MAX);
    evidence.allowance = (uint32_t)next_number(0, UINT32_MAX);
    evidence.own_looks = (uint32_t)next_number(0, UINT32_MAX);
    evidence.own_mean = (int32_t)next_number(INT32_MIN, INT32_MAX);
    evidence.own_most = (uint32_t)next_number(0, UINT32_MAX);
    evidence.bet_base = (uint32_t)next_number(0, UINT32_MAX);
    evidence.bet_slope = (uint32_t)next_number(0, UINT32_MAX);
    for (n = 0; n < TCUQ_SIGNAL_COUNT; n++) {
        evidence.coef[n] = (int16_t)next_number(INT16_MIN, INT16_MAX);
    }
    for (n = 0; n < params.classes; n++) {
        offsets[n] = (int16_t)next_number(INT16_MIN, INT16_MAX);
    }
    evidence.offset = offsets;
    params.evidence = &evidence;
}

static void read_instant(void)
{
    unsigned n;
    if (params.instant != NULL) {
        malformed("'instant' is given twice");
    }
    instant.bias = (int32_t)next_number(INT32_MIN, INT32_MAX);
    for (n = 0; n < TCUQ_SIGNAL_COUNT; n++) {
        instant.coef[n] = (int16_t)next_number(INT16_MIN, INT16_MAX);
    }
    instant.class_mix = NULL;
    params.instant = &instant;
}

static void read_class_mix(void)
{
    unsigned n;
    if (params.instant == NULL || instant.class_mix != NULL) {
        malformed("'class_mix' is given twice or without 'instant'");
    }
    for (n = 0; n < params.classes; n++) {
        class_mix[n] = (uint16_t)next_number(0, UINT16_MAX);
    }
    instant.class_mix = class_mix;
}

#define FEEDBACK_VALUE(name, type, low, high, bytes) feedback.name = (type)next_number(0, UINT16_MAX);

static void read_feedback(void)
{
    if (params.feedback != NULL) {
        malformed("'feedback' is given twice");
    }
    TCUQ_FEEDBACK_FIELDS(FEEDBACK_VALUE, TCUQ_NO_LIST, TCUQ_NO_LIST)
    params.feedback = &feedback;
}

static void read_centers(void)
{
    size_t size = (size_t)params.classes * params.features;
    if (params.centers != NULL) {
        malformed("'centers' is given twice");
    }
    centers = allocate(centers, size);
    next_int8(centers, size);
    params.centers = centers;
}

/* Return 0 where the line is none of these. */
static int read_optional(const char *keyword)
{
    if (strcmp(keyword, "evidence") == 0) {
        read_evidence();
    } else if (strcmp(keyword, "instant") == 0) {
        read_instant();
    } else if (strcmp(keyword, "class_mix") == 0) {
        read_class_mix();
    } else if (strcmp(keyword, "feedback") == 0) {
        read_feedback();
    } else if (strcmp(keyword, "centers") == 0) {
        read_centers();
    } else {
        return 0;
    }
    return 1;
}

static void read_sizes(void)
{
    long long ring_bytes = next_number(0, INT32_MAX);
    long long state_bytes = next_number(0, INT32_MAX);
    same("result of check", TCUQ_OK, tcuq_check(&params));
    params.fingerprint = tcuq_fingerprint(&params);
    same("ring size", ring_bytes, (long long)tcuq_ring_size(&params));
    same("state size", state_bytes, (long long)tcuq_state_size(&params));
    state_size = (size_t)state_bytes;
    saved = allocate(saved, state_size);
    current = allocate(current, state_size);
    has_saved = 0;
}

static void read_bounds(void)
{
    long long expected_low = next_number(INT32_MIN, INT32_MAX);
    long long expected_high = next_number(INT32_MIN, INT32_MAX);
    int32_t low = 0;
    int32_t high = 0;
    tcuq_debt_bounds(&params, &low, &high);
    same("low bound", expected_low, low);
    same("high bound", expected_high, high);
}

static void read_header(unsigned stage)
{
    unsigned n;
    switch (stage) {
    case 0:
        (void)next_token(); /* the name is for people */
        break;
    case 1:
        read_params();
        break;
    case 2:
        read_lags();
        break;
    case 3:
        read_lag_weights();
        break;
    case 4:
        for (n = 0; n < TCUQ_SIGNAL_COUNT; n++) {
            params.coef[n] = (int16_t)next_number(INT16_MIN, INT16_MAX);
        }
        break;
    case 5:
        for (n = 0; n < TCUQ_SIGNAL_COUNT; n++) {
            params.clean_mean[n] = (uint16_t)next_number(0, UINT16_MAX);
        }
        break;
    case 6:
        read_sizes();
        break;
    default:
        read_bounds();
        start(&monitor, &ring);
        batch_clear(0);
        break;
    }
}

/* Lines of the body. */

static void read_step(void)
{
    int8_t *probs = allocate(NULL, params.classes);
    int8_t *features = allocate(NULL, params.features);
    tcuq_step_t expected, got;
    uint16_t expected_signals[TCUQ_SIGNAL_COUNT], signals[TCUQ_SIGNAL_COUNT];
    unsigned n;
    next_int8(probs, params.classes);
    next_int8(features, params.features);
    memset(&expected, 0, sizeof expected);
    expected.threshold = (int32_t)next_number(INT32_MIN, INT32_MAX);
    expected.severity = (int32_t)next_number(INT32_MIN, INT32_MAX);
    expected.prediction = (uint16_t)next_number(0, UINT16_MAX);
    expected.answer = (uint16_t)next_number(0, UINT16_MAX);
    expected.risk = (uint16_t)next_number(0, UINT16_MAX);
    expected.uncertainty = (uint16_t)next_number(0, UINT16_MAX);
    expected.persistence = (uint16_t)next_number(0, UINT16_MAX);
    expected.look = (uint16_t)next_number(0, UINT16_MAX);
    expected.expected_accuracy = (uint16_t)next_number(0, UINT16_MAX);
    expected.flagged = (uint8_t)next_number(0, 1);
    expected.abstain = (uint8_t)next_number(0, 1);
    expected.alarm = (uint8_t)next_number(0, 3);
    expected.warming_up = (uint8_t)next_number(0, 1);
    expected.reason = (uint8_t)next_number(0, UINT8_MAX);
    expected.low_mass = (uint8_t)next_number(0, 1);
    for (n = 0; n < TCUQ_SIGNAL_COUNT; n++) {
        expected_signals[n] = (uint16_t)next_number(0, UINT16_MAX);
    }
    memset(&got, 0xA5, sizeof got);
    memset(signals, 0xA5, sizeof signals);
    tcuq_step(&monitor, probs, params.features == 0u ? NULL : features, &got, signals);
    /* Signals first: what follows is computed from them. */
    compare_signals(line_number, expected_signals, signals);
    compare_step(line_number, &expected, &got);
    if (batch.active) {
        batch_add(probs, features, &got, signals);
    }
    step_count++;
    free(probs);
    free(features);
}

static void read_save(void)
{
    if (strcmp(cursor, "refused") == 0) {
        (void)next_token();
        same("result of save", TCUQ_ERR_STATE, tcuq_save(&monitor, current, state_size));
        return;
    }
    next_bytes(saved, state_size);
    compare_state(&monitor, saved, "state");
    has_saved = 1;
    batch_clear(1);
}

static void do_load(void)
{
    if (!has_saved) {
        malformed("load without a save");
    }
    free(ring);
    ring = NULL;
    start(&monitor, &ring);
    same("result of load", TCUQ_OK, tcuq_load(&monitor, saved, state_size));
    compare_state(&monitor, saved, "state after load");
}

static void do_label(void)
{
    uint32_t ago = (uint32_t)next_number(0, UINT32_MAX);
    int32_t label = (int32_t)next_number(INT32_MIN, INT32_MAX);
#if ((TCUQ_SIGNALS) & TCUQ_FEEDBACK) != 0
    int result = tcuq_feedback(&monitor, ago, label);
#else
    int result = TCUQ_ERR_PARAMS; /* a build without has no such function */
    (void)ago, (void)label;
#endif
    same("result of feedback", next_number(-127, 1), result);
#if ((TCUQ_SIGNALS) & TCUQ_FEEDBACK) != 0
    if (result >= 0 || params.feedback == NULL) { /* else a damaged debt may still be there */
        same("error debt within its bound", 1, tcuq_error_debt(&monitor) <= tcuq_error_bound(&params));
    }
#endif
}

/* Damage to what labels need: a word of the ring behind those of the slow means, then 16-bit numbers in the order of
 * a saved state. Return 0 where the name is none of these. */
static int damage_labels(const char *name, uint32_t value)
{
    static const char *const names[] = {"correction", "case", "next", "level", "entry"};
    const uint16_t kept = (uint16_t)value;
    uint32_t *debt = ring;
    unsigned n;
    if (params.feedback == NULL) {
        return 0;
    }
    debt += params.evidence == NULL ? 0u : (params.signals & TCUQ_BIT(TCUQ_DISTANCE)) != 0u ? 8u : 1u;
    debt += params.instant != NULL && instant.class_mix != NULL ? params.classes : 0u;
    debt += (params.signals & TCUQ_BIT(TCUQ_DRIFT)) != 0u ? 8u : 0u;
    if (strcmp(name, "error_debt") == 0) {
        *debt = value;
        return 1;
    }
    for (n = 0; n < sizeof names / sizeof names[0]; n++) {
        if (strcmp(name, names[n]) == 0) {
            memcpy((uint8_t *)(debt + 1) + 2u * n, &kept, sizeof kept);
            return 1;
        }
    }
    return 0;
}

/* Set a counter to what a memory error may leave in it. */
static void do_damage(void)
{
    const char *name = next_token();
    uint32_t value = (uint32_t)next_number(INT32_MIN, UINT32_MAX);
    if (strcmp(name, "steps") == 0) {
        monitor.steps = value;
    } else if (strcmp(name, "debt") == 0) {
        monitor.debt = (int32_t)value;
    } else if (strcmp(name, "credit") == 0) {
        monitor.credit = (int32_t)value;
    } else if (strcmp(name, "rise") == 0) {
        monitor.rise = value;
    } else if (strcmp(name, "fall") == 0) {
        monitor.fall = value;
    } else if (strcmp(name, "severity") == 0) {
        monitor.severity = (int32_t)value;
    } else if (strcmp(name, "stillness") == 0) {
        monitor.stillness = value;
    } else if (strcmp(name, "own") == 0) {
        monitor.own = value;
    } else if (strcmp(name, "own_seen") == 0) {
        monitor.own_seen = value;
    } else if (strcmp(name, "accuracy") == 0) {
        monitor.accuracy = value;
    } else if (strcmp(name, "alarm") == 0) {
        monitor.alarm = (uint8_t)value;
    } else if (!damage_labels(name, value)) {
        malformed("'%s' is no counter", name);
    }
}

/* A state that load must refuse, and that leaves no trace. */
static void do_refuse(void)
{
    long long expected = next_number(-127, -1);
    size_t size = strlen(cursor) / 2u;
    uint8_t *before = allocate(NULL, state_size);
    uint8_t *bytes = allocate(NULL, size);
    next_bytes(bytes, size);
    same("result of save", (long long)state_size, tcuq_save(&monitor, before, state_size));
    same("result of load", expected, tcuq_load(&monitor, bytes, size));
    compare_state(&monitor, before, "state after a refused one");
    free(before);
    free(bytes);
}

/* Return 0 after the `end` of a case. */
static int read_body(const char *keyword)
{
    if (strcmp(keyword, "step") == 0) {
        read_step();
        return 1;
    }
    batch_repeat();
    batch_clear(0);
    if (strcmp(keyword, "reset") == 0) {
        tcuq_reset(&monitor);
    } else if (strcmp(keyword, "save") == 0) {
        read_save();
    } else if (strcmp(keyword, "load") == 0) {
        do_load();
    } else if (strcmp(keyword, "label") == 0) {
        do_label();
    } else if (strcmp(keyword, "damage") == 0) {
        do_damage();
    } else if (strcmp(keyword, "refuse") == 0) {
        do_refuse();
    } else if (strcmp(keyword, "end") == 0) {
        case_count++;
        return 0;
    } else {
        malformed("unknown line '%s'", keyword);
    }
    return 1;
}

static void run_file(const char *name)
{
    static const char *const header[] = {"case", "params", "lags", "lag_weights",
                                         "coef", "clean_mean", "sizes", "bounds"};
    static const unsigned header_lines = sizeof header / sizeof header[0];
    static char line[LINE_SIZE];
    unsigned stage = 0;
    unsigned long before = case_count;
    FILE *file = fopen(name, "rb");
    file_name = name;
    line_number = 0;
    if (file == NULL) {
        malformed("cannot be opened");
        return;
    }
    while (fgets(line, (int)sizeof line, file) != NULL) {
        size_t length = strlen(line);
        const char *keyword;
        line_number++;
        if (length + 1u == sizeof line && line[length - 1u] != '\n') {
            malformed("more than %u characters", LINE_SIZE - 2u);
        }
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] == '\0' || line[0] == '#') {
            continue;
        }
        cursor = line;
        keyword = next_token();
        if (stage == header_lines - 2u && read_optional(keyword)) {
            /* the next line of the header is still to come */
        } else if (stage < header_lines) {
            if (strcmp(keyword, header[stage]) != 0) {
                malformed("'%s' expected, not '%s'", header[stage], keyword);
            }
            read_header(stage);
            stage++;
        } else if (!read_body(keyword)) {
            stage = 0;
        }
        line_ends();
    }
    if (ferror(file) || stage != 0u || case_count == before) {
        malformed("the file breaks off");
    }
    fclose(file);
}

int main(int count, char **names)
{
    int i;
    if (count < 2) {
        fprintf(stderr, "usage: run_vectors FILE...\n");
        return EXIT_MALFORMED;
    }
    for (i = 1; i < count; i++) {
        run_file(names[i]);
    }
    batch_clear(0);
    free(ring);
    free(saved);
    free(current);
    free(centers);
    printf("%lu cases, %lu steps, all equal\n", case_count, step_count);
    return 0;
}
