/* SPDX-License-Identifier: MIT */
/* Runs the monitor over a made-up stream with dwell, for an instruction counter to watch.
 *
 *     step_count SIGNALS CLASSES FEATURES STEPS [LAG ...]
 *
 * Bits of SIGNALS that are no signals: 20 gives the alarm an evidence head (as do degradation and drift), 21 that head a
 * bet, 22 the monitor an instant head (as does the signal disbelief), 23 the alarm sight, with as many gauges as the five
 * bits above it say.
 * With negative STEPS the stream is made but not watched: the difference between the two
 * runs is the monitor. Prints a checksum, so that nothing can be optimized away and runs can be compared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcuq.h"
#include "tcuq_fields.h"

#define SET_USUAL(error, of, name, type, low, high, bytes, usual) of.name = usual;

static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)seed * below) >> 32);
}

int main(int argc, char **argv)
{
    static tcuq_params_t p;
    static uint8_t lags[TCUQ_MAX_LAG];
    static uint16_t weights[TCUQ_MAX_LAG];
    static tcuq_evidence_t evidence;
    static int16_t offsets[TCUQ_MAX_CLASSES];
    static tcuq_instant_t instant;
    static tcuq_sight_t sight;
    static int32_t mean[TCUQ_MAX_SIGHT];
    static uint16_t scale[TCUQ_MAX_SIGHT];
    static uint8_t shift[TCUQ_MAX_SIGHT];
    static int8_t class_mean[TCUQ_MAX_CLASSES * TCUQ_MAX_SIGHT];
    static int16_t matrix[TCUQ_MAX_SIGHT * (TCUQ_MAX_SIGHT + 1) / 2];
    static int16_t gauges[TCUQ_MAX_SIGHT];
    static int8_t centers[TCUQ_MAX_CLASSES * TCUQ_MAX_FEATURES];
    unsigned long asked;
    static int8_t probs[TCUQ_MAX_CLASSES];
    static int8_t features[TCUQ_MAX_FEATURES];
    tcuq_t monitor;
    tcuq_step_t out;
    uint32_t *ring;
    uint32_t prediction = 0;
    uint32_t sum = 0;
    uint32_t left = 32768;
    long steps;
    long t;
    int idle;
    int i;
    if (argc < 5 || argc - 5 > (int)TCUQ_MAX_LAG) {
        fprintf(stderr, "usage: step_count SIGNALS CLASSES FEATURES STEPS [LAG ...]\n");
        return 2;
    }
    TCUQ_PARAM_NUMBERS(SET_USUAL)
    TCUQ_EVIDENCE_NUMBERS(SET_USUAL)
    TCUQ_INSTANT_NUMBERS(SET_USUAL)
    TCUQ_SIGHT_NUMBERS(SET_USUAL)
    sight.gauges = 0;
    asked = strtoul(argv[1], NULL, 0);
    p.signals = (uint32_t)(asked & TCUQ_ALL_SIGNALS);
    p.classes = (uint16_t)strtoul(argv[2], NULL, 0);
    p.features = (uint16_t)strtoul(argv[3], NULL, 0);
    steps = strtol(argv[4], NULL, 0);
    idle = steps < 0;
    steps = idle ? -steps : steps;
    p.lag_count = (uint16_t)(argc - 5);
    for (i = 0; i < argc - 5; i++) {
        lags[i] = (uint8_t)strtoul(argv[5 + i], NULL, 0);
        weights[i] = (uint16_t)(i == argc - 6 ? left : 32768u / (unsigned)(argc - 5));
        left -= weights[i];
    }
    p.lags = lags;
    p.lag_weights = weights;
    for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
        p.coef[i] = (int16_t)(1024 + 300 * i);
        p.clean_mean[i] = 9000;
    }
    if ((asked & 1uL << 23) != 0u) {
        uint32_t count;
        sight.gauges = (uint16_t)(asked >> 24 & 31u);
        p.sight = &sight;
        count = TCUQ_SIGHT_COUNT(&p);
        for (i = 0; i < (int)count; i++) {
            mean[i] = i < sight.gauges ? 16 * 500 : 16 * 30000;
            scale[i] = 700;
            shift[i] = i < sight.gauges ? 7 : 13;
        }
        for (i = 0; i < (int)(count * (count + 1u) / 2u); i++) {
            matrix[i] = (int16_t)(i % 7 - 3);
        }
        sight.mean = mean;
        sight.scale = scale;
        sight.shift = shift;
        sight.class_mean = class_mean;
        sight.matrix = matrix;
        sight.baseline_inputs = 60;
        sight.odds_weight = 0; /* a stream without an alarm */
    } else if ((asked & (TCUQ_SLOW_SIGNALS | 1uL << 20)) != 0u) {
        for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
            evidence.coef[i] = (int16_t)(900 - 200 * i);
        }
        evidence.offset = offsets;
        evidence.bet_base = (asked & 1uL << 21) != 0u ? 60000u : 0u;
        evidence.bet_slope = (asked & 1uL << 21) != 0u ? 8000u : 0u;
        p.evidence = &evidence;
    }
    if ((asked & (TCUQ_BIT(TCUQ_DISBELIEF) | 1uL << 22)) != 0u) {
        for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {
            instant.coef[i] = (int16_t)(700 + 100 * i);
        }
        p.instant = &instant;
        p.about = TCUQ_ABOUT_ANSWER;
        p.anchor = TCUQ_ANCHOR_BELIEF;
        p.horizon = 7;
    }
    if ((asked & TCUQ_BIT(TCUQ_DISTANCE)) != 0u) {
        for (i = 0; i < (int)p.classes * (int)p.features; i++) {
            centers[i] = (int8_t)(i % 200 - 100);
        }
        p.centers = centers;
    }
    ring = malloc(tcuq_ring_size(&p));
    if (ring == NULL || tcuq_init(&monitor, &p, ring, tcuq_ring_size(&p)) != TCUQ_OK) {
        fprintf(stderr, "step_count: refused\n");
        return 2;
    }
    for (t = 0; t < steps; t++) {
        uint32_t mass = 256;
        if (draw(8) == 0) {
            prediction = draw(p.classes);
        }
        memset(probs, -128, p.classes);
        for (i = 0; i < 6 && mass > 20; i++) {
            uint32_t share = draw(mass / 2);
            uint32_t at = draw(p.classes);
            if (at != prediction) {
                probs[at] = (int8_t)((int)(share > 100 ? 100 : share) - 128);
                mass -= (uint32_t)(probs[at] + 128);
            }
        }
        probs[prediction] = (int8_t)((int)(mass > 255 ? 255 : mass) - 128);
        for (i = 0; i < p.features; i++) {
            features[i] = (int8_t)((int)draw(120) + (int)((prediction * 37u + (unsigned)i * 11u) % 100u) - 128);
        }
        for (i = 0; i < sight.gauges; i++) {
            gauges[i] = (int16_t)(400 + draw(200));
        }
        if (idle) {
            continue;
        }
        tcuq_step_gauges(&monitor, probs, features, gauges, &out, NULL);
        sum = sum * 31u + out.risk + out.abstain + (uint32_t)out.threshold;
        sum = sum * 31u + out.answer + out.persistence + out.novelty + out.expected_accuracy + (uint32_t)out.degradation;
    }
    printf("%lu\n", (unsigned long)sum);
    free(ring);
    return 0;
}
