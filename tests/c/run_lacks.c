/* SPDX-License-Identifier: MIT */
/* A build that leaves signals and heads out (-DTCUQ_SIGNALS=0x00Cu) refuses params that need them, and says so.
 * Exit status: 0 when it does, else 1. */
#include <stdio.h>
#include <string.h>

#include "tcuq.h"

static int failed;

static void same(const char *what, int expected, int got)
{
    if (expected != got) {
        printf("%s: expected %d, got %d\n", what, expected, got);
        failed = 1;
    }
}

int main(void)
{
    static const uint8_t lags[1] = {1};
    static const uint16_t weights[1] = {32768};
    static const int16_t offset[2] = {0, 0};
    static uint32_t ring[64];
    tcuq_evidence_t head;
    tcuq_instant_t instant;
    tcuq_feedback_t labels;
    tcuq_params_t p;
    tcuq_t m;
    memset(&head, 0, sizeof head);
    memset(&instant, 0, sizeof instant);
    memset(&labels, 0, sizeof labels);
    memset(&p, 0, sizeof p);
    labels.memory = labels.error_den = 1;
    head.offset = offset;
    head.clip = 1;
    p.version = 4;
    p.signals = 0xC;
    p.classes = 2;
    p.lag_count = 1;
    p.lags = lags;
    p.lag_weights = weights;
    p.level_num = 1;
    p.level_den = 2;
    p.steep_slope = 2;
    p.budget_den = 1;
    p.burst = 1;
    same("what it has", TCUQ_OK, tcuq_init(&m, &p, ring, sizeof ring));
    p.signals = 0x8;
    same("one signal of two", TCUQ_OK, tcuq_init(&m, &p, ring, sizeof ring));
    p.signals = 0xD;
    same("a signal that it lacks", TCUQ_ERR_SIGNALS, tcuq_init(&m, &p, ring, sizeof ring));
    same("a signal that it lacks", TCUQ_ERR_SIGNALS, tcuq_check(&p));
    p.signals = 0x8;
    p.evidence = &head;
    same("evidence", TCUQ_ERR_SIGNALS, tcuq_init(&m, &p, ring, sizeof ring));
    p.evidence = NULL;
    p.instant = &instant;
    same("an instant head", TCUQ_ERR_SIGNALS, tcuq_init(&m, &p, ring, sizeof ring));
    p.instant = NULL;
    p.feedback = &labels;
    same("labels", TCUQ_ERR_SIGNALS, tcuq_init(&m, &p, ring, sizeof ring));
    same("labels", TCUQ_ERR_SIGNALS, tcuq_check(&p));
    p.feedback = NULL;
    p.burst = 0;
    same("a range comes first", TCUQ_ERR_PARAM_burst, tcuq_check(&p));
    return failed;
}
