/* SPDX-License-Identifier: MIT */
/* emlearn: model.h is what `convert(...).save(name="network", file="model.h")` writes in Python. */
#include "app.h"
#include "kws_emlearn.h"
#include "model.h"

int main(void)
{
    static float input[64]; /* as many as your model reads, or more */
    const int32_t count = network.layers[0].n_inputs;
    int status = kws_start();
    while (status == 0 && read_input(input, (size_t)count * sizeof *input)) {
        tcuq_step_t step;
        status = kws_run(&network, input, count, &step);
        if (status == 0) {
            act_on(&step);
        }
    }
    return status;
}
