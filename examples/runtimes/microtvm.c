/* SPDX-License-Identifier: MIT */
/* microTVM: C that its ahead-of-time executor makes, with the interface for C. */
#include "app.h"
#include "kws_microtvm.h"

#ifndef INPUT_BYTES
#define INPUT_BYTES 490 /* of your model */
#endif

int main(void)
{
    static int8_t input[INPUT_BYTES];
    struct tvmgen_default_inputs inputs = {input};
    int status = kws_start();
    while (status == 0 && read_input(input, sizeof input)) {
        tcuq_step_t step;
        status = kws_run(&inputs, &step);
        if (status == 0) {
            act_on(&step);
        }
    }
    return status;
}
