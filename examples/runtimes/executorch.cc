/* SPDX-License-Identifier: MIT */
/* ExecuTorch: called with a method that is loaded, and where its input lies. */
#include "app.h"
#include "kws_executorch.h"

int watch(executorch::runtime::Method &method, float *input, size_t bytes)
{
    int status = kws_start();
    while (status == 0 && read_input(input, bytes)) {
        tcuq_step_t step;
        status = kws_run(method, &step);
        if (status == 0) {
            act_on(&step);
        }
    }
    return status;
}
