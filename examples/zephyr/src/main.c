/* SPDX-License-Identifier: MIT */
/* Act on a classifier's answers only while the monitor trusts them.
 *
 *   hold   the alarm is on: the stream has become worse, do not act on any answer
 *   ask    not sure about this answer, or the monitor is still warming up: wait for the next one
 *   act    use the answer
 *
 * Prints a line when what to do changes, and ends after 600 steps. */
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include "monitor.h"
#include "monitor_selfcheck.h"

static tcuq_t state; /* one thread at a time may use it */
static uint32_t ring[MONITOR_RING_BYTES / 4u];
static int8_t probs[MONITOR_CLASSES];

/* Stands in for your model: posteriors as an int8 softmax leaves them (scale 1/256, zero point -128).
 * The class changes every 12 steps. From step 400 on, the model is not sure of anything. */
static void read_model(unsigned count)
{
    static uint32_t noise = 1u;
    const size_t top = (count / 12u) % MONITOR_CLASSES;
    noise = noise * 1664525u + 1013904223u;
    const int share = (count < 400u ? 220 : 90) + (int)(noise >> 28);
    for (size_t i = 0; i < MONITOR_CLASSES; i++) {
        probs[i] = (int8_t)((i == top ? share : (256 - share) / (int)(MONITOR_CLASSES - 1u)) - 128);
    }
}

int main(void)
{
    const char *last = "";
    int status = monitor_selfcheck(ring, sizeof ring);
    if (status != 0) {
        printk("self-check failed: %d\n", status);
        return 1;
    }
    status = tcuq_init(&state, &monitor, ring, sizeof ring);
    if (status != 0) {
        printk("tcuq_init failed: %d\n", status);
        return 1;
    }
    for (unsigned count = 0; count < 600u; count++) {
        tcuq_step_t step;
        read_model(count);
        tcuq_step(&state, probs, NULL, &step, NULL);
        /* The alarm comes first: while it is on, an accepted step is not safe either. */
        const char *action = step.alarm ? "hold" : step.abstain || step.warming_up ? "ask" : "act";
        if (action != last) {
            printk("step %u: %s\n", count, action);
            last = action;
        }
        k_msleep(20);
    }
    return 0;
}
