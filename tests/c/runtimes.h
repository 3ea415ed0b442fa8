/* SPDX-License-Identifier: MIT */
/* Stand-ins for runtimes: the few names that examples/runtimes uses, and a network whose outputs are its input, the
 * features behind CLASSES posteriors. What a real runtime does beyond that is not tried here. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VALUES (CLASSES + FEATURES)
static int8_t bytes_in[VALUES];
static float floats_in[VALUES];

#ifdef __cplusplus
/* TFLite Micro, with its outputs swapped. */
enum TfLiteStatus { kTfLiteOk };
enum TfLiteType { kTfLiteInt8 = 9 };
struct TfLiteTensor {
    TfLiteType type;
    struct {
        float scale;
    } params;
    struct {
        int8_t *int8;
    } data;
    size_t bytes;
};
static const unsigned char model[1] = {0};
namespace tflite
{
inline const unsigned char *GetModel(const unsigned char *file) { return file; }
template <unsigned n> struct MicroMutableOpResolver {
    void AddConv2D() {}
    void AddFullyConnected() {}
    void AddReshape() {}
    void AddSoftmax() {}
};
struct MicroInterpreter {
    TfLiteTensor in = {kTfLiteInt8, {1}, {bytes_in}, VALUES};
    TfLiteTensor out[2] = {{kTfLiteInt8, {SCALE}, {bytes_in + CLASSES}, FEATURES},
                           {kTfLiteInt8, {1.0f / 256}, {bytes_in}, CLASSES}};
    template <typename... Any> explicit MicroInterpreter(const Any &...) {}
    TfLiteStatus AllocateTensors() { return kTfLiteOk; }
    TfLiteStatus Invoke() { return kTfLiteOk; }
    TfLiteTensor *input(size_t) { return &in; }
    TfLiteTensor *output(size_t at) { return &out[at]; }
    size_t outputs_size() { return 2; }
};
} // namespace tflite

/* Edge Impulse. */
#define EI_CLASSIFIER_LABEL_COUNT CLASSES
#define EI_CLASSIFIER_DSP_INPUT_FRAME_SIZE CLASSES
enum EI_IMPULSE_ERROR { EI_IMPULSE_OK };
struct signal_t {
    int (*get_data)(size_t, size_t, float *);
    size_t total_length;
};
struct ei_impulse_result_t {
    struct {
        float value;
    } classification[CLASSES];
};
inline EI_IMPULSE_ERROR run_classifier(signal_t *signal, ei_impulse_result_t *result, bool)
{
    signal->get_data(0, CLASSES, floats_in);
    memcpy(result->classification, floats_in, sizeof result->classification);
    return EI_IMPULSE_OK;
}

/* ExecuTorch. */
namespace executorch
{
namespace aten
{
enum class ScalarType { Float };
}
namespace runtime
{
enum class Error { Ok };
struct Tensor {
    float *values;
    size_t count;
    aten::ScalarType scalar_type() const { return aten::ScalarType::Float; }
    long numel() const { return (long)count; }
    template <typename T> const T *const_data_ptr() const { return values; }
};
struct EValue {
    Tensor tensor;
    bool isTensor() const { return true; }
    const Tensor &toTensor() const { return tensor; }
};
struct Method {
    EValue out[2] = {{{floats_in, CLASSES}}, {{floats_in + CLASSES, FEATURES}}};
    Error execute() { return Error::Ok; }
    size_t outputs_size() const { return 2; }
    const EValue &get_output(size_t at) const { return out[at]; }
};
} // namespace runtime
} // namespace executorch
#else
/* STM32Cube.AI. */
#define AI_NETWORK_OUT_1_SIZE CLASSES
#define AI_NETWORK_OUT_2_SIZE FEATURES
#define AI_NETWORK_IN_1_SIZE_BYTES VALUES
#define AI_NETWORK_DATA_ACTIVATIONS_SIZE 1
#define AI_ALIGNED(bytes)
#define AI_HANDLE_NULL NULL
#define AI_ERROR_NONE 0
typedef void *ai_handle;
typedef uint8_t ai_u8;
typedef struct {
    int type;
} ai_error;
typedef struct {
    ai_handle data;
} ai_buffer;
static ai_buffer ai_in[] = {{bytes_in}}, ai_out[] = {{bytes_in}, {bytes_in + CLASSES}};
static inline ai_error ai_network_create_and_init(ai_handle *network, const ai_handle places[], const ai_handle weights[])
{
    (void)network, (void)places, (void)weights;
    return (ai_error){AI_ERROR_NONE};
}
static inline ai_buffer *ai_network_inputs_get(ai_handle network, uint16_t *count) { return (void)network, (void)count, ai_in; }
static inline ai_buffer *ai_network_outputs_get(ai_handle network, uint16_t *count) { return (void)network, (void)count, ai_out; }
static inline int32_t ai_network_run(ai_handle network, const ai_buffer *input, ai_buffer *output)
{
    return (void)network, (void)input, (void)output, 1;
}

/* microTVM. */
#define INPUT_BYTES VALUES
struct tvmgen_default_inputs {
    void *given;
};
struct tvmgen_default_outputs {
    void *output0, *output1;
};
static inline int32_t tvmgen_default_run(struct tvmgen_default_inputs *inputs, struct tvmgen_default_outputs *outputs)
{
    memcpy(outputs->output0, inputs->given, CLASSES);
    memcpy(outputs->output1, (int8_t *)inputs->given + CLASSES, FEATURES);
    return 0;
}

/* emlearn. */
#include <math.h>
typedef enum { EmlOk } EmlError;
typedef struct {
    int32_t n_inputs;
} EmlNetLayer;
typedef struct {
    int32_t n_layers;
    EmlNetLayer *layers;
    float *activations1;
} EmlNet;
static EmlNetLayer eml_layers[] = {{VALUES}, {FEATURES}};
static EmlNet network = {2, eml_layers, floats_in};
static inline EmlError eml_net_predict_proba(EmlNet *net, const float *values, int32_t count, float *out, int32_t classes)
{
    (void)count;
    memcpy(out, values, (size_t)classes * sizeof *out);
    memcpy(net->activations1, values + classes, FEATURES * sizeof *out);
    return EmlOk;
}
#endif
