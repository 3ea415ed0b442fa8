/* SPDX-License-Identifier: MIT */
/* What drivers share: two kinds of checks, and params that every build with their signals accepts. */
#ifndef CHECK_H
#define CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcuq.h"
#include "tcuq_fields.h"

static unsigned held;
static int failed;

/* Ends the program where something does not hold. */
#define NEED(condition) need_at((condition) ? 1 : 0, #condition, __FILE__, __LINE__)

static inline void need_at(int holds, const char *what, const char *file, int line)
{
    if (!holds) {
        fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
        exit(1);
    }
    held++;
}

/* Says what differs, and goes on: the exit status is `failed`. */
static inline void same(const char *what, long long expected, long long got)
{
    if (expected != got) {
        printf("%s: expected %lld, got %lld\n", what, expected, got);
        failed = 1;
    }
}

/* Random numbers of 24 bits, the same in every run. */
static inline uint32_t draw(void)
{
    static uint32_t seed = 1;
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

#define SET_USUAL(error, of, name, type, low, high, bytes, usual) of.name = usual;

/* Usual numbers: no lags, no heads, no fall side. */
static inline tcuq_params_t plain_params(uint32_t signals, uint16_t classes, uint16_t features)
{
    tcuq_params_t p;
    memset(&p, 0, sizeof p);
    TCUQ_PARAM_NUMBERS(SET_USUAL)
    p.signals = signals;
    p.classes = classes;
    p.features = features;
    return p;
}

#endif
