/* SPDX-License-Identifier: MIT */
/* Runs vector files (SPEC.md, section 15) through the core and compares every
 * integer and every byte.
 *
 *     run_vectors FILE...
 *
 * Exit status: 0 all equal, 1 something differs, 2 a file cannot be read.
 * Buffers have the exact size that the core asks for, so that a sanitizer sees
 * the first byte beyond it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE_CLASSES TCUQ_MAX_CLASSES
#include "case.h"

/* A state of 1000 classes, 256 features and lag 64 fits; centers fit up to 130,000 bytes. */
#define LINE_SIZE (1u << 18)

enum { EXIT_DIFFERENT = 1, EXIT_MALFORMED = 2 };

static const char *file_name = "?";
static unsigned long line_number;
static unsigned long case_count;
static unsigned long step_count;
static int in_case;

static void malformed(const char *what, const char *text)
{
    fprintf(stderr, "%s:%lu: %s '%s'\n", file_name, line_number, what, text);
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
        malformed("out of memory", "");
    }
    return memory;
}

/* Tokens of the current line. */

static char *cursor;

static int line_has_more(void)
{
    cursor += strspn(cursor, " \t");
    return *cursor != '\0';
}

static char *next_token(void)
{
    char *start, *stop;
    if (!line_has_more()) {
        malformed("the line is too short", "");
    }
    start = cursor;
    stop = start + strcspn(start, " \t");
    cursor = *stop == '\0' ? stop : stop + 1;
    *stop = '\0';
    return start;
}

static long long to_number(const char *text)
{
    char *stop;
    long long value = strtoll(text, &stop, 10);
    if (stop == text || *stop != '\0') {
        malformed("no number:", text);
    }
    return value;
}

static long long number(void)
{
    return to_number(next_token());
}

static void next_bytes(void *out, size_t size)
{
    const char *text = next_token();
    size_t i;
    if (size == 0u ? strcmp(text, "-") != 0 : strlen(text) != 2u * size) {
        malformed("another number of bytes is expected:", text);
    }
    for (i = 0; i < size; i++) {
        const char digits[3] = {text[2u * i], text[2u * i + 1u], '\0'};
        char *stop;
        ((uint8_t *)out)[i] = (uint8_t)strtoul(digits, &stop, 16);
        if (*stop != '\0') {
            malformed("no hexadecimal digits:", digits);
        }
    }
}

/* The case that is read now. */

static int8_t *centers;
static tcuq_t monitor;
static uint32_t *ring;
static size_t state_size;
static uint8_t *saved;   /* the last saved state */
static uint8_t *current; /* room for another one */
static int has_saved;

/* The steps since the last `save`, to be repeated by a second monitor. */
typedef struct {
    unsigned long line;
    int seen; /* whether there are gauges */
    int16_t gauges[TCUQ_MAX_SIGHT];
    tcuq_step_t out;
    uint16_t signals[TCUQ_SIGNAL_COUNT];
} taken_t;

static int16_t next_gauges[TCUQ_MAX_SIGHT]; /* of the next step, where there are any */
static int next_seen;

static struct {
    int active;
    size_t count;
    int8_t *rows; /* posteriors, then features */
    taken_t *steps;
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
        same(what, expected[i], current[i]);
    }
}

#define SAME_FIELD(name, type) same_at(line, #name, expected->name, got->name);

static void compare_step(unsigned long line, const tcuq_step_t *expected, const tcuq_step_t *got)
{
    TCUQ_STEP_FIELDS(SAME_FIELD)
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

static size_t row_size(void)
{
    return (size_t)params.classes + params.features;
}

/* `into` has the gauges. */
static void take(tcuq_t *by, const int8_t *row, taken_t *into, uint16_t *signals)
{
    const int8_t *features = params.features == 0u ? NULL : row + params.classes;
    tcuq_step_gauges(by, row, features, into->seen ? into->gauges : NULL, &into->out, signals);
}

static void batch_clear(int active)
{
    free(batch.rows);
    free(batch.steps);
    memset(&batch, 0, sizeof batch);
    batch.active = active;
}

/* A second monitor that loads the saved state and takes the same steps ends where
 * the first one is. The second pass leaves out what may be NULL. */
static void batch_repeat(void)
{
    uint32_t *memory = NULL;
    uint8_t *after;
    int pass;
    size_t i;
    if (!batch.active || batch.count == 0u) {
        return;
    }
    after = allocate(NULL, state_size);
    same("result of save", (long long)state_size, tcuq_save(&monitor, after, state_size));
    for (pass = 0; pass < 2; pass++) {
        const int reads = pass == 0 || (params.signals & TCUQ_FEATURE_SIGNALS) != 0u;
        tcuq_t second;
        start(&second, &memory);
        same("result of load", TCUQ_OK, tcuq_load(&second, saved, state_size));
        for (i = 0; i < batch.count; i++) {
            const taken_t *first = &batch.steps[i];
            const int8_t *row = batch.rows + i * row_size();
            taken_t again = *first;
            memset(&again.out, 0xA5, sizeof again.out);
            memset(again.signals, 0xA5, sizeof again.signals);
            if (reads || again.seen) {
                take(&second, row, &again, pass == 0 ? again.signals : NULL);
            } else {
                tcuq_step(&second, row, NULL, &again.out, NULL);
            }
            compare_step(first->line, &first->out, &again.out);
            if (pass == 0) {
                compare_signals(first->line, first->signals, again.signals);
            }
        }
        compare_state(&second, after, "state after run");
    }
    free(memory);
    free(after);
}

/* Lines of the header. */

static void read_case(void)
{
    (void)next_token(); /* the name is for people */
    memset(&params, 0, sizeof params);
    in_case = 1;
}

/* Values need only fit the buffers here: tcuq_check() has the word on ranges. */
#define COUNT_PARAM(error, of, field, type, low, high, bytes, usual) +1
#define SET_PARAM(error, of, field, type, low, high, bytes, usual) \
    if (strcmp(name, #field) == 0) {             \
        params.field = (type)value;              \
        continue;                                \
    }

static void read_params(void)
{
    /* The number of lags and the fingerprint are no part of the line. */
    unsigned left = 0u TCUQ_PARAM_NUMBERS(COUNT_PARAM) - 2u;
    while (left-- > 0u) {
        char *name = next_token(), *equals = strchr(name, '=');
        long long value = equals == NULL ? 0 : to_number(equals + 1);
        if (equals != NULL) {
            *equals = '\0';
        }
        TCUQ_PARAM_NUMBERS(SET_PARAM)
        malformed("unknown parameter", name);
    }
    if (params.classes > TCUQ_MAX_CLASSES || params.features > TCUQ_MAX_FEATURES) {
        malformed("too many classes or features", "");
    }
}

static void read_lags(void)
{
    if (strcmp(cursor, "-") == 0) {
        (void)next_token();
        return;
    }
    for (; line_has_more(); params.lag_count++) {
        if (params.lag_count == TCUQ_MAX_LAG) {
            malformed("too many lags", cursor);
        }
        lags[params.lag_count] = (uint8_t)number();
    }
    params.lags = lags;
    params.lag_weights = lag_weights;
}

static void read_lag_weights(void)
{
    if (params.lag_count == 0u) {
        (void)next_token();
    }
    READ_NUMBERS(lag_weights, uint16_t, params.lag_count);
}

static void read_coef(void)
{
    READ_NUMBERS(params.coef, int16_t, TCUQ_SIGNAL_COUNT);
}

static void read_clean_mean(void)
{
    READ_NUMBERS(params.clean_mean, uint16_t, TCUQ_SIGNAL_COUNT);
}

static void read_centers(void)
{
    size_t size = (size_t)params.classes * params.features;
    centers = allocate(centers, size);
    next_bytes(centers, size);
    params.centers = centers;
}

static void read_sizes(void)
{
    same("result of check", TCUQ_OK, tcuq_check(&params));
    params.fingerprint = tcuq_fingerprint(&params);
    same("ring size", number(), (long long)tcuq_ring_size(&params));
    state_size = tcuq_state_size(&params);
    same("state size", number(), (long long)state_size);
    saved = allocate(saved, state_size);
    current = allocate(current, state_size);
    has_saved = 0;
}

static void read_bounds(void)
{
    int32_t low = 0, high = 0;
    tcuq_debt_bounds(&params, &low, &high);
    same("low bound", number(), low);
    same("high bound", number(), high);
    start(&monitor, &ring);
}

/* Lines of the body. */

#define READ_FIELD(name, type) expected.name = (type)number();

static void read_step(void)
{
    int8_t *row = allocate(NULL, row_size());
    tcuq_step_t expected;
    uint16_t signals[TCUQ_SIGNAL_COUNT];
    taken_t got;
    next_bytes(row, params.classes);
    next_bytes(row + params.classes, params.features);
    TCUQ_STEP_FIELDS(READ_FIELD)
    READ_NUMBERS(signals, uint16_t, TCUQ_SIGNAL_COUNT);
    memset(&got, 0xA5, sizeof got);
    got.line = line_number;
    got.seen = next_seen;
    memcpy(got.gauges, next_gauges, sizeof got.gauges);
    next_seen = 0;
    take(&monitor, row, &got, got.signals);
    /* Signals first: what follows is computed from them. */
    compare_signals(line_number, signals, got.signals);
    compare_step(line_number, &expected, &got.out);
    if (batch.active) {
        batch.rows = allocate(batch.rows, (batch.count + 1u) * row_size());
        batch.steps = allocate(batch.steps, (batch.count + 1u) * sizeof *batch.steps);
        memcpy(batch.rows + batch.count * row_size(), row, row_size());
        batch.steps[batch.count++] = got;
    }
    step_count++;
    free(row);
}

/* The gauges of the next step. */
static void read_gauges(void)
{
    uint32_t count = params.sight == NULL ? 0u : params.sight->gauges;
    READ_NUMBERS(next_gauges, int16_t, count);
    next_seen = 1;
}

static void do_reset(void)
{
    tcuq_reset(&monitor);
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
        malformed("load without a save", "");
    }
    free(ring);
    ring = NULL;
    start(&monitor, &ring);
    same("result of load", TCUQ_OK, tcuq_load(&monitor, saved, state_size));
    compare_state(&monitor, saved, "state after load");
}

static void do_label(void)
{
    uint32_t step = (uint32_t)number();
    int32_t label = (int32_t)number();
#if ((TCUQ_SIGNALS) & TCUQ_FEEDBACK) != 0
    int result = tcuq_feedback(&monitor, step, label);
    same("result of feedback", number(), result);
    if (result == TCUQ_OK || params.feedback == NULL) { /* else a damaged debt may still be there */
        same("error debt within its bound", 1, tcuq_error_debt(&monitor) <= tcuq_error_bound(&params));
    }
#else
    (void)step, (void)label;
    same("result of feedback", number(), TCUQ_ERR_PARAMS); /* a build without has no such function */
#endif
}

/* Damage to what sight needs: a word of the ring behind those of the slow means, single ones and then the first of each
 * list; and to what labels need: a word more, then 16-bit numbers in the order of a saved state. */
static void damage_memory(const char *name, uint32_t value)
{
    static const char *const words[] = {"slow_odds", "stay_length", "stay_class", "stays", "recent", "calm", "again", "object",
                                        "objects", "slow_numbers", "stay_numbers", "base_numbers", "raised_lengths"};
    static const char *const names[] = {"correction", "case", "next", "quarters", "entry"};
    const uint16_t kept = (uint16_t)value;
    uint32_t *debt = ring;
    uint32_t count = params.sight == NULL ? 0u : TCUQ_SIGHT_COUNT(&params);
    unsigned n;
    debt += params.evidence == NULL && count == 0u ? 0u : (params.signals & TCUQ_BIT(TCUQ_DISTANCE)) != 0u ? 8u : 1u;
    debt += (params.signals & TCUQ_BIT(TCUQ_DRIFT)) != 0u ? 8u : 0u;
    for (n = 0; count != 0u && n < 13u; n++) {
        if (strcmp(name, words[n]) == 0) {
            debt[n < 9u ? n : 9u + (n - 9u) * count] = value;
            return;
        }
    }
    debt += count != 0u ? 9u + 4u * count : 0u;
    if (params.feedback != NULL && strcmp(name, "error_debt") == 0) {
        *debt = value;
        return;
    }
    for (n = 0; params.feedback != NULL && n < sizeof names / sizeof names[0]; n++) {
        if (strcmp(name, names[n]) == 0) {
            memcpy((uint8_t *)(debt + 1) + 2u * n, &kept, sizeof kept);
            return;
        }
    }
    malformed("no such counter:", name);
}

#define SET_COUNTER(counter, type, at)       \
    if (strcmp(name, #counter) == 0) {   \
        monitor.counter = (type)value;   \
        return;                          \
    }

/* Set a counter to what a memory error may leave in it. */
static void do_damage(void)
{
    const char *name = next_token();
    uint32_t value = (uint32_t)number();
    TCUQ_COUNTER_WORDS(SET_COUNTER)
    TCUQ_COUNTER_BYTES(SET_COUNTER)
    damage_memory(name, value);
}

/* A state that load must refuse, and that leaves no trace. */
static void do_refuse(void)
{
    long long expected = number();
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

static void read_end(void)
{
    case_count++;
    in_case = 0;
}

static void run_line(const char *keyword)
{
    static const struct {
        const char *keyword;
        void (*run)(void);
    } lines[] = {
        {"case", read_case}, {"params", read_params}, {"lags", read_lags}, {"lag_weights", read_lag_weights},
        {"coef", read_coef}, {"clean_mean", read_clean_mean}, {"evidence", read_evidence}, {"instant", read_instant},
        {"sight", read_sight}, {"gauges", read_gauges}, {"feedback", read_feedback}, {"centers", read_centers}, {"sizes", read_sizes}, {"bounds", read_bounds},
        {"step", read_step}, {"reset", do_reset}, {"save", read_save}, {"load", do_load}, {"label", do_label},
        {"damage", do_damage}, {"refuse", do_refuse}, {"end", read_end},
    };
    size_t n = 0;
    if (strcmp(keyword, "step") != 0 && strcmp(keyword, "gauges") != 0) {
        batch_repeat();
        batch_clear(0);
    }
    while (n < sizeof lines / sizeof lines[0] && strcmp(keyword, lines[n].keyword) != 0) {
        n++;
    }
    if (n == sizeof lines / sizeof lines[0] || in_case == (lines[n].run == read_case)) {
        malformed("this line is unknown, or not expected here:", keyword);
    }
    lines[n].run();
    if (line_has_more()) {
        malformed("the line is too long:", cursor);
    }
}

static void run_file(const char *name)
{
    static char line[LINE_SIZE];
    unsigned long before = case_count;
    FILE *file = fopen(name, "rb");
    file_name = name;
    line_number = 0;
    if (file == NULL) {
        malformed("cannot be opened", name);
    }
    while (fgets(line, (int)sizeof line, file) != NULL) {
        line_number++;
        if (strlen(line) + 1u == sizeof line) {
            malformed("the line does not fit", "");
        }
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] != '\0' && line[0] != '#') {
            cursor = line;
            run_line(next_token());
        }
    }
    if (ferror(file) || in_case || case_count == before) {
        malformed("the file breaks off", "");
    }
    fclose(file);
}

int main(int count, char **names)
{
    int i;
    for (i = 1; i < count; i++) {
        run_file(names[i]);
    }
    free(ring);
    free(saved);
    free(current);
    free(centers);
    printf("%lu cases, %lu steps, all equal\n", case_count, step_count);
    return count < 2 ? EXIT_MALFORMED : 0;
}
