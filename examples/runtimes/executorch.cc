/* SPDX-License-Identifier: MIT */
/* ExecuTorch: called with a method that is loaded, with memory for its inputs and outputs. */
#include "app.h"
#include "kws_executorch.h"

int watch(executorch::runtime::Method &method)
{
    executorch::runtime::EValue input;
    int status = method.get_inputs(&input, 1) == executorch::runtime::Error::Ok ? kws_start() : 1;
    while (status == 0 && read_input(input.toTensor().mutable_data_ptr<float>(), input.toTensor().nbytes())) {
        tcuq_step_t step;
        status = kws_run(method, &step);
        if (status == 0) {
            act_on(&step);
        }
    }
    return status;
}
