#include "app.h"

#include <string.h>

#include "app_inputs.h"
#include "app_monitor_selfcheck.h"

/* One network and one monitor: this file is for one thread. */
static union {
    uint32_t words; /* aligns */
    int8_t bytes[APP_NETWORK_ARENA];
} arena;
static app_network_outputs outputs;
static tcuq_t monitor;
static uint32_t ring[APP_MONITOR_RING_BYTES / 4u];

@gauges_memory@static uint32_t mixed(uint32_t digest, const int8_t *bytes, uint32_t count)
{
    uint32_t i;
    for (i = 0; i < count; i++) {
        digest = (uint32_t)((digest ^ (uint8_t)bytes[i]) * (uint32_t)16777619u);
    }
    return digest;
}

static void forget(void)
{
#if APP_NETWORK_STATES
    app_network_reset(arena.bytes);
#endif
}

int app_selfcheck(void)
{
    uint32_t which;
    forget();
    for (which = 0; which < APP_STORED; which++) {
        uint32_t digest = 2166136261u;
        memcpy(app_input(), app_stored(which), APP_INPUT_BYTES);
        app_network_run(arena.bytes, &outputs);
        digest = mixed(digest, outputs.probs, APP_CLASSES);
@mix_features@        if (digest != app_inputs_digests[which]) {
            return APP_SELFCHECK_NETWORK;
        }
    }
    return app_monitor_selfcheck(ring, sizeof ring);
}

int app_init(void)
{
    forget();
    return tcuq_init(&monitor, &app_monitor, ring, sizeof ring);
}

int8_t *app_input(void)
{
    return arena.bytes + APP_NETWORK_INPUT_AT;
}

void app_step(const int8_t *input, app_answer_t *answer)
{
    if (input != NULL && input != app_input()) {
        memcpy(app_input(), input, APP_INPUT_BYTES);
    }
@look@    app_network_run(arena.bytes, &outputs);
    tcuq_step_gauges(&monitor, outputs.probs, @features@, @gauges@, answer, NULL);
}

void app_reset(void)
{
    forget();
    tcuq_reset(&monitor);
}

const int8_t *app_probs(void)
{
    return outputs.probs;
}

const int8_t *app_stored(uint32_t which)
{
    return app_inputs[which];
}
