/* SPDX-License-Identifier: MIT */
/* The firmware: an input comes in, a network and a rule look at it, a decision goes out. */
#include "harness.h"
#include "rule.h"

int main(void)
{
    const int8_t *probs;
    const int8_t *features;
    decision_t decision;
    harness_open();
    if (rule_start() != 0) {
        return HARNESS_REFUSED;
    }
    /* Pairs with nothing between them: what they count is the cost of counting. */
    network_begin();
    network_end();
    rule_begin();
    rule_end();
#if PLAN_GAUGES
    gauges_begin();
    gauges_end();
#endif
    while (harness_read(network_input(), PLAN_INPUT)) {
        harness_paint();
#if PLAN_GAUGES
        gauges_begin();
        rule_look();
        gauges_end();
#endif
        network_begin();
        network_run(&probs, &features);
        network_end();
        rule_begin();
        rule_step(probs, features, &decision);
        rule_end();
        report(probs, features, &decision, harness_depth());
    }
    return 0;
}
