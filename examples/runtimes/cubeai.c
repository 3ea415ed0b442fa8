/* SPDX-License-Identifier: MIT */
/* STM32Cube.AI: network.h and network_data.h are what it generates for a network of that name. */
#include "app.h"
#include "kws_cubeai.h"
#include "network_data.h"

int main(void)
{
    AI_ALIGNED(32) static ai_u8 activations[AI_NETWORK_DATA_ACTIVATIONS_SIZE];
    const ai_handle places[] = {activations};
    ai_handle network = AI_HANDLE_NULL;
    int status;
    if (ai_network_create_and_init(&network, places, NULL).type != AI_ERROR_NONE) {
        return 1;
    }
    ai_buffer *input = ai_network_inputs_get(network, NULL);
    ai_buffer *output = ai_network_outputs_get(network, NULL);
    status = kws_start();
    while (status == 0 && read_input(input[0].data, AI_NETWORK_IN_1_SIZE_BYTES)) {
        tcuq_step_t step;
        status = kws_run(network, input, output, &step);
        if (status == 0) {
            act_on(&step);
        }
    }
    return status;
}
