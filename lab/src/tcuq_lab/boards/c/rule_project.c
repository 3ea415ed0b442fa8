/* SPDX-License-Identifier: MIT */
/* Wide features become those of a monitor, and nothing else happens: what the projection alone takes. */
#include "rule.h"
#include "tcuq_projection.h"

extern const tcuq_projection_t projection;

int rule_start(void)
{
    return 0;
}

void rule_step(const int8_t *probs, const int8_t *features, decision_t *out)
{
    int8_t narrow[PLAN_NARROW];
    (void)rule_top(probs, &out->prediction);
    tcuq_project(&projection, features, narrow);
    out->score = (uint16_t)(narrow[0] + 128);
}
