/* SPDX-License-Identifier: MIT */
#include "harness_step.h"

#include "harness.h"

void harness_step(const tcuq_step_t *step)
{
    harness_number(step->threshold);
    harness_number(step->degradation);
    harness_number(step->prediction);
    harness_number(step->answer);
    harness_number(step->risk);
    harness_number(step->uncertainty);
    harness_number(step->persistence);
    harness_number(step->novelty);
    harness_number(step->expected_accuracy);
    harness_number(step->flagged);
    harness_number(step->abstain);
    harness_number(step->alarm);
    harness_number(step->warming_up);
    harness_number(step->reason);
    harness_number(step->low_mass);
    harness_number(step->action);
    harness_number(step->changed);
    harness_number(step->moved);
}
