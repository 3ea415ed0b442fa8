/* SPDX-License-Identifier: MIT */
/* Posteriors in TFLite's fixed-point arithmetic. */
#include "tcuq_nn_inside.h"

/* The upper half of twice a product, half upwards. */
static int32_t high(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

static int32_t confined(int64_t value)
{
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

/* value / 2^count, half away from zero; value is not negative. */
static int32_t shifted(int32_t value, int32_t count)
{
    return (int32_t)(((int64_t)value + ((int64_t)1 << count >> 1)) >> count);
}

/* 2^62 / sum for a sum in [2^31, 2^32), by three steps of Newton's method. Numbers between have two bits before their
 * point; the first guess is 48/17 - 32/17 of the half of sum. */
static int32_t reciprocal(uint32_t sum)
{
    int32_t half = (int32_t)(sum >> 1), guess = 1515870810 + high(half, -1010580540), i;
    for (i = 0; i < 3; i++) {
        int32_t missing = (1 << 29) - high(half, guess);
        guess = confined((int64_t)guess + confined((int64_t)high(guess, missing) * 4));
    }
    return confined((int64_t)guess * 2);
}

void tcuq_nn_fixed_softmax(const int8_t *in, int8_t *out, int32_t rows, int32_t columns, const int32_t *table)
{
    int32_t i;
    for (; rows > 0; rows--, in += columns, out += columns) {
        uint32_t sum = 0;
        int32_t top = -128, room = 0, scale;
        for (i = 0; i < columns; i++) {
            top = in[i] > top ? in[i] : top;
        }
        for (i = 0; i < columns; i++) {
            sum += (uint32_t)shifted(table[top - in[i]], 12);
        }
        while (sum < 0x80000000u) {
            sum <<= 1;
            room++;
        }
        scale = reciprocal(sum);
        for (i = 0; i < columns; i++) {
            int32_t value = shifted(high(table[top - in[i]], scale), 35 - room);
            out[i] = (int8_t)(least(value, 255) - 128);
        }
    }
}
