/* SPDX-License-Identifier: MIT */
/* The C++ library that Edge Impulse deploys. */
#include "app.h"
#include "kws_edge_impulse.h"

static float input[EI_CLASSIFIER_DSP_INPUT_FRAME_SIZE];

static int get_data(size_t offset, size_t length, float *target)
{
    memcpy(target, input + offset, length * sizeof *target);
    return 0;
}

int main()
{
    signal_t signal;
    signal.total_length = EI_CLASSIFIER_DSP_INPUT_FRAME_SIZE;
    signal.get_data = &get_data;
    int status = kws_start();
    while (status == 0 && read_input(input, sizeof input)) {
        ei_impulse_result_t result;
        tcuq_step_t step;
        status = kws_run(&signal, &result, &step);
        if (status == 0) {
            act_on(&step);
        }
    }
    return status;
}
