/* Computes the gauges of vectors/gauges.txt, and compares. Inputs are exactly as large as they are, so that a sanitizer
 * sees a byte too many. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcuq_gauges.h"

static char line[8000];

static int gauges_of(const char *kind, int16_t *gauges, const int8_t *input, const unsigned long *shape)
{
    if (strcmp(kind, "picture") == 0) {
        return tcuq_picture_gauges(gauges, input, (uint16_t)shape[0], (uint16_t)shape[1], (uint16_t)shape[2]);
    }
    if (strcmp(kind, "signal") == 0) {
        return tcuq_signal_gauges(gauges, input, (uint16_t)shape[1], (uint16_t)shape[2]);
    }
    return tcuq_table_gauges(gauges, input, (uint16_t)shape[1]);
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    unsigned long cases = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char kind[8], bytes[4000], *expected;
        unsigned long shape[3];
        size_t size, unit, i;
        int16_t gauges[TCUQ_MAX_GAUGES + 1];
        int8_t *input;
        int count, k;
        if (line[0] == '#') {
            continue;
        }
        if (sscanf(line, "%7s %lu %lu %lu %3999[0-9a-f]", kind, &shape[0], &shape[1], &shape[2], bytes) != 5) {
            return 2;
        }
        expected = strchr(line, ':') + 2;
        unit = strlen(bytes) / 2;
        size = shape[0] * shape[1] * shape[2];
        size = strncmp(expected, "refused", 7) == 0 ? 1 : size;
        input = malloc(size);
        for (i = 0; i < size; i++) {
            const char text[3] = {bytes[2 * (i % unit)], bytes[2 * (i % unit) + 1], 0};
            long byte = strtol(text, NULL, 16);
            input[i] = (int8_t)(byte < 128 ? byte : byte - 256);
        }
        for (k = 0; k <= TCUQ_MAX_GAUGES; k++) {
            gauges[k] = 12345;
        }
        count = gauges_of(kind, gauges, input, shape);
        free(input);
        for (k = 0; k < count && gauges[k] == strtol(expected, &expected, 10); k++) {
        }
        if (count < 0 ? count != -3 || *expected != 'r' : k != count || *expected != '\n' || gauges[k] != 12345) {
            fprintf(stderr, "%s %lu %lu %lu: gauge %d of %d differs\n", kind, shape[0], shape[1], shape[2], k, count);
            return 1;
        }
        cases++;
    }
    printf("%lu inputs, all equal\n", cases);
    return 0;
}
