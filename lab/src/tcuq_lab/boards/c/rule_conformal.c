/* SPDX-License-Identifier: MIT */
/* Split conformal: an int8 posterior has 256 confidences, so that the share of clean examples that are at least as
 * doubtful is a table of as many entries. conformal_score.c has it as 1 minus the p-value, Q0.16. */
#include "rule.h"

extern const uint16_t conformal_score[256];

int rule_start(void)
{
    return 0;
}

void rule_step(const int8_t *probs, const int8_t *features, decision_t *out)
{
    (void)features;
    out->score = conformal_score[rule_top(probs, &out->prediction)];
}
