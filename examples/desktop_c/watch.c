/* SPDX-License-Identifier: MIT */
/* Watch a classifier on a desktop, with the C package that `tcuq export` wrote.
 *
 *   ./watch < live.txt
 *
 * Each line of the input is one inference: a posterior of every class, real numbers that sum to 1. Each line
 * of the output is what to do with it: the action, the prediction, the alarm, and the risk in [0, 1).
 *
 *   hold   the alarm is on: the stream has become worse, do not act on any answer
 *   ask    not sure about this answer, or the monitor is still warming up
 *   act    use the prediction
 *
 * Exit status: 0; 1 when the self-check fails; 2 when a line is bad.
 */
#include <stdio.h>

#include "monitor.h"
#include "monitor_selfcheck.h"

#if MONITOR_FEATURES != 0
#error "this example reads posteriors alone; fit the monitor without features"
#endif

/* Read one inference as int8 (scale 1/256, zero point -128), rounded as Python rounds it.
 * Return 1, 0 at the end of the input, or -1 for a bad line. */
static int read_posterior(int8_t *probs)
{
    float sum = 0.0f;
    unsigned i;
    for (i = 0; i < MONITOR_CLASSES; i++) {
        float p;
        int units;
        int got = scanf("%f", &p);
        if (got == EOF && i == 0) {
            return 0;
        }
        if (got != 1 || !(p >= 0.0f && p <= 1.0f)) {
            return -1;
        }
        sum += p;
        units = (int)((double)p * 256.0 + 0.5);
        probs[i] = (int8_t)((units > 255 ? 255 : units) - 128);
    }
    return sum > 0.99f && sum < 1.01f ? 1 : -1; /* logits rarely sum to 1 */
}

int main(void)
{
    static uint32_t ring[MONITOR_RING_BYTES / 4u];
    static int8_t probs[MONITOR_CLASSES];
    tcuq_t state;
    unsigned long count = 0;
    int status = monitor_selfcheck(ring, sizeof ring);
    if (status != 0) {
        fprintf(stderr, "self-check: %d, expected 0; this build does not give the bits that Python gave\n", status);
        return 1;
    }
    status = tcuq_init(&state, &monitor, ring, sizeof ring);
    if (status != TCUQ_OK) {
        fprintf(stderr, "tcuq_init: error %d; export the monitor again\n", status);
        return 1;
    }
    while ((status = read_posterior(probs)) == 1) {
        tcuq_step_t step;
        tcuq_step(&state, probs, NULL, &step, NULL);
        /* The alarm comes first: while it is on, an accepted step is not safe either. */
        const char *action = step.alarm ? "hold" : step.abstain || step.warming_up ? "ask" : "act";
        printf("%s %u %u %.5f\n", action, (unsigned)step.prediction, (unsigned)step.alarm, step.risk / 65536.0);
        count++;
    }
    if (status < 0) {
        fprintf(stderr, "inference %lu: expected %u posteriors in [0, 1] with sum 1.00; are these logits?\n", count + 1,
                MONITOR_CLASSES);
        return 2;
    }
    return 0;
}
