/* SPDX-License-Identifier: MIT */
/* The core in one piece, faster and larger: a file defines MANY(), which gives its functions names of their own, and
 * MANY_SIGNALS where it is for params with exactly these signals. Every valid state gives the same bits as the core. */
#include <math.h>
#include <string.h>

#include "binding/many.h"

#define tcuq_internal_check MANY(check)
#define tcuq_internal_layout MANY(layout)
#define tcuq_internal_read MANY(read)
#define tcuq_internal_prediction MANY(prediction)
#define tcuq_internal_restore MANY(restore)
#define tcuq_internal_signals MANY(signals)
#define tcuq_internal_log2 many_any_log2 /* these two know no set of signals: one copy serves all */
#define tcuq_internal_beliefs many_any_beliefs
#define tcuq_init MANY(init)
#define tcuq_reset MANY(reset)
#define tcuq_step MANY(step)
#define tcuq_ring_size MANY(ring_size)
#define tcuq_debt_bounds MANY(debt_bounds)
#define tcuq_two_classes MANY(two_classes)

#define NOT_INLINE
#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#define FETCH(address) __builtin_prefetch(address, 1)
#else
#define FETCH(address) ((void)(address))
#endif

#ifdef MANY_SIGNALS
#undef TCUQ_SIGNALS
#define TCUQ_SIGNALS (MANY_SIGNALS | TCUQ_OWN_REFERENCE)
#define used exactly_used
static inline uint32_t exactly_used(const tcuq_params_t *p)
{
    (void)p;
    return MANY_SIGNALS;
}
#endif
#include "core/tcuq_internal.h"

#if defined(__GNUC__)
/* The root of 32 bits in a double is exact before it is cut: what is no square is 2^-17 away from one, or more. */
#define norm_of norm_by_double
static inline norm_t norm_by_double(uint32_t squares)
{
    uint32_t shift = squares != 0u ? (uint32_t)__builtin_clz(squares) & ~1u : 0u;
    norm_t n = {(uint16_t)sqrt((double)(squares << shift)), (int16_t)-(int32_t)(shift >> 1)};
    return n;
}
#endif

/* Without branches that nobody can predict: a key has a posterior, then its class, the first one largest. */
#define KEY(value, number) (((value) << 10) + 1023u - (number))
#define read_probs read_probs_by_key
static void read_probs_by_key(inference_t *now, const int8_t *probs, uint32_t classes)
{
    uint32_t top = 0, second = 0, mass = 0, logs = 0, rest, i;
    for (i = 0; i < classes; i++) {
        uint32_t u = (uint32_t)(probs[i] + 128);
        uint32_t key = KEY(u, i);
        uint32_t less = key < top ? key : top;
        mass += u;
        logs += BUILD_HAS(TCUQ_BIT(TCUQ_DIVERGENCE)) ? tcuq_xlog[u] : 0u;
        second = less > second ? less : second;
        top = key > top ? key : top;
    }
    rest = mass < 256u ? 256u - mass : 0u;
    now->top = top >> 10;
    now->second = second >> 10;
    now->kept.prediction = (uint16_t)(1023u - (top & 1023u));
    now->kept.mass = mass;
    now->kept.log_sum = (int32_t)(logs + tcuq_xlog[rest]) - (int32_t)(192u * (mass + rest));
}

/* Two loops, of which a compiler takes the first many features at a time. */
#define read_blocks read_blocks_apart
static inline uint32_t read_blocks_apart(blocks_t *blocks, const inference_t *now, const tcuq_params_t *p)
{
    const int8_t *features = now->features;
    const int8_t *center = p->centers != NULL ? p->centers + now->subject * p->features : features;
    int32_t zero = p->zero_point, sum = 0, squares = 0, apart = 1;
    uint32_t block, at = 0, to = 0, i;
    for (i = 0; i < p->features; i++) {
        int32_t gap = features[i] - center[i];
        squares += features[i] * features[i];
        apart += gap * gap;
    }
    for (block = 0; block < BLOCKS; block++) {
        int32_t own = 0, other = 0;
        to += p->features;
        for (; at < to >> 3; at++) {
            own += features[at];
            other += center[at];
        }
        blocks->sums[block] = own;
        blocks->gaps[block] = own - other;
        sum += own;
    }
    blocks->apart = (uint32_t)apart;
    return (uint32_t)(squares + zero * (p->features * zero - 2 * sum));
}
#include "core/tcuq_signals.c"

#ifndef MANY_SIGNALS
#if defined(__GNUC__) && (defined(__aarch64__) || defined(__SSE2__)) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define persist persist_by_eight
static uint32_t persist_by_eight(const tcuq_t *m, const layout_t *at, const int8_t *probs, tcuq_step_t *out);
#include "core/tcuq_beliefs.c"

#include "binding/many_beliefs.h"
#else
#include "core/tcuq_beliefs.c"
#endif
#endif

#include "core/tcuq.c"

/* Fetch what an event will need some events before its turn: in a large bank it is far away. */
#define AHEAD 8u
#define CACHE_LINE 64u

static void take(const run_t *run, const uint32_t *events, size_t count)
{
    int8_t probs[TCUQ_MAX_CLASSES], features[TCUQ_MAX_FEATURES];
    size_t i, at;
    memset(probs, 0, sizeof probs); /* code that takes eight classes at a time looks at more than there are */
    for (i = 0; i < count; i++) {
        size_t event = events[i];
        const uint8_t *next = run->records + run->slots[events[i + AHEAD < count ? i + AHEAD : i]] * run->record;
        const int8_t *read;
        tcuq_step_t step;
        for (at = 0; at < run->record; at += CACHE_LINE) {
            FETCH(next + at);
        }
        read = run_read(run, event, probs, features);
        tcuq_step((tcuq_t *)(void *)(run->records + run->slots[event] * run->record), probs, read, &step,
                  run->signals == NULL ? NULL : run->signals + event * TCUQ_SIGNAL_COUNT);
        run_write(run, event, &step);
    }
}

many_t MANY(fits)(const tcuq_params_t *params)
{
#ifdef MANY_SIGNALS
    return params->signals == MANY_SIGNALS && build_can(params) ? take : NULL;
#else
    many_t (*const others[])(const tcuq_params_t *) = {many_paper_fits, many_paper_alone_fits, many_standard_fits,
                                                       many_standard_alone_fits};
    many_t fast = NULL;
    size_t i;
    for (i = 0; i < sizeof others / sizeof others[0] && fast == NULL; i++) {
        fast = others[i](params);
    }
    return fast != NULL ? fast : take;
#endif
}
