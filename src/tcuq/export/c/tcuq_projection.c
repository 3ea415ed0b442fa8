/* SPDX-License-Identifier: MIT */
#include "tcuq_projection.h"

void tcuq_project(const tcuq_projection_t *projection, const int8_t *wide, int8_t *features)
{
    const int8_t *row = projection->matrix;
    uint32_t inputs = projection->inputs, outputs = projection->outputs, i, k;
    for (k = 0; k < outputs; k++) {
        int32_t sum = projection->bias[k];
        for (i = 0; i < inputs; i++) {
            sum += (int32_t)row[i] * wide[i];
        }
        /* A right shift of a negative value is the compiler's choice; that of its complement is not. */
        sum = sum >= 0 ? sum >> projection->shift[k] : ~(~sum >> projection->shift[k]);
        features[k] = (int8_t)(sum < -128 ? -128 : sum > 127 ? 127 : sum);
        row += inputs;
    }
}
