/* Writes frames as a script on standard input asks for, one line a command:
 *
 *   writer KIND FINGERPRINT BOOT SEQ_HIGH SEQ_LOW CLASSES FEATURES HORIZON SIZE      HORIZON + 16: with sight,
 *                                                                    FEATURES + 65536 * GAUGES: with these
 *   p BYTES                 posteriors, features and gauges of one step, hexadecimal
 *   d NUMBERS               a decision: threshold degradation prediction answer risk uncertainty persistence novelty
 *                           expected_accuracy flagged abstain alarm warming_up reason low_mass action changed moved
 *   flush
 *   skip STEPS
 *   state BYTES
 *
 * Prints the bytes of every frame, one line each, or "refused CODE". Buffers are exactly as large as was
 * asked for, so that a sanitizer sees a byte too many. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "tcuq_frame.h"
#include "tcuq_gauges.h"

static tcuq_sight_t sight;
static char line[400000];
static int8_t row[200000];

static void show(const tcuq_frame_t *frame, size_t size)
{
    size_t i;
    for (i = 0; i < size; i++) {
        printf("%02x", frame->bytes[i]);
    }
    if (size > 0) {
        putchar('\n');
    }
}

static int digit(char sign)
{
    return sign >= '0' && sign <= '9' ? sign - '0' : sign >= 'a' && sign <= 'f' ? sign - 'a' + 10 : -1;
}

/* sscanf() would look for the end of the line at every byte. */
static size_t bytes_of(const char *text)
{
    size_t count = 0;
    for (; digit(text[0]) >= 0 && digit(text[1]) >= 0; text += 2) {
        int value = 16 * digit(text[0]) + digit(text[1]);
        row[count++] = (int8_t)(value < 128 ? value : value - 256);
    }
    return count;
}

#define STEP_VALUE(name, type) step.name = (type)strtol(end, &end, 10);

static tcuq_step_t step_of(const char *text)
{
    tcuq_step_t step;
    char *end = (char *)text;
    TCUQ_STEP_FIELDS(STEP_VALUE)
    return step;
}

static uint8_t *writer(tcuq_frame_t *frame, const char *text, uint8_t *old)
{
    unsigned long given[9];
    char *end = (char *)text;
    uint8_t *bytes;
    tcuq_params_t params;
    int i, status;
    for (i = 0; i < 9; i++) {
        given[i] = strtoul(end, &end, 10);
    }
    memset(&params, 0, sizeof params);
    memset(frame, 0xA5, sizeof *frame);
    params.classes = (uint16_t)given[5];
    params.features = (uint16_t)(given[6] & 65535u);
    sight.gauges = (uint8_t)(given[6] >> 16);
    params.signals = params.features > 0 ? (uint32_t)TCUQ_BIT(TCUQ_MAGNITUDE) : 0u;
    params.horizon = (uint8_t)(given[7] & 15u);
    params.sight = (given[7] & 16u) != 0u || sight.gauges > 0 ? &sight : NULL;
    free(old);
    bytes = malloc(given[8]);
    status = tcuq_frame_init(frame, &params, (uint8_t)given[0], (uint32_t)given[2], bytes, given[8]);
    if (status != TCUQ_OK) {
        printf("refused %d\n", status);
    }
    frame->fingerprint = (uint32_t)given[1];
    frame->seq_high = (uint16_t)given[3];
    frame->seq = (uint32_t)given[4];
    return bytes;
}

int main(void)
{
    tcuq_frame_t frame;
    uint8_t *bytes = NULL;
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "writer ", 7) == 0) {
            bytes = writer(&frame, line + 7, bytes);
        } else if (strncmp(line, "p ", 2) == 0) {
            const int8_t *features = frame.features > 0 ? row + frame.classes : NULL;
            int16_t gauges[TCUQ_MAX_GAUGES];
            bytes_of(line + 2);
            memcpy(gauges, row + frame.classes + frame.features, 2u * frame.gauges);
            show(&frame, tcuq_frame_gauges(&frame, row, features, gauges) + tcuq_frame_posteriors(&frame, row, features));
        } else if (strncmp(line, "d ", 2) == 0) {
            tcuq_step_t step = step_of(line + 2);
            show(&frame, tcuq_frame_decision(&frame, &step));
        } else if (strncmp(line, "flush", 5) == 0) {
            show(&frame, tcuq_frame_flush(&frame));
        } else if (strncmp(line, "skip ", 5) == 0) {
            show(&frame, tcuq_frame_skip(&frame, (uint32_t)strtoul(line + 5, NULL, 10)));
        } else if (strncmp(line, "state ", 6) == 0) {
            size_t size = bytes_of(line + 6), sent = 0, made;
            while ((made = tcuq_frame_state(&frame, (const uint8_t *)row, size, &sent)) > 0) {
                show(&frame, made);
            }
        } else {
            fprintf(stderr, "not a command: %s", line);
            return 2;
        }
    }
    free(bytes);
    return 0;
}
