/* SPDX-License-Identifier: MIT */
/* TFLite Micro. model.h holds the model with its features as an output, aligned to 16 bytes. */
#include "app.h"
#include "kws_tflm.h"
#include "model.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"

alignas(16) static uint8_t arena[16 * 1024];

int main()
{
    static tflite::MicroMutableOpResolver<4> operators; /* those of your model */
    operators.AddConv2D();
    operators.AddFullyConnected();
    operators.AddReshape();
    operators.AddSoftmax();
    static tflite::MicroInterpreter network(tflite::GetModel(model), operators, arena, sizeof arena);
    if (network.AllocateTensors() != kTfLiteOk || kws_start() != 0) {
        return 1;
    }
    int status = 0;
    while (status == 0 && read_input(network.input(0)->data.int8, network.input(0)->bytes)) {
        tcuq_step_t step;
        status = kws_run(&network, &step);
        if (status == 0) {
            act_on(&step);
        }
    }
    return status;
}
