/* SPDX-License-Identifier: MIT */
/* Bytes that are moved or looked up, without arithmetic: tables, borders, rows, other orders. */
#include "tcuq_nn_inside.h"

void tcuq_nn_table(const int8_t *in, int8_t *out, int32_t count, const int8_t *table)
{
    int32_t i = 0;
#if DSP
    const uint8_t *entries = (const uint8_t *)table;
    for (; i + 4 <= count; i += 4) {
        uint32_t word = word_at(in + i), even, odd;
        even = entries[word & 255u] | (uint32_t)entries[word >> 16 & 255u] << 16;
        odd = entries[word >> 8 & 255u] | (uint32_t)entries[word >> 24] << 16;
        put_word(out + i, even | odd << 8);
    }
#endif
    for (; i < count; i++) {
        out[i] = table[in[i] & 255];
    }
}

static int8_t *filled(int8_t *out, int32_t value, int32_t count)
{
    memset(out, value & 255, (size_t)count);
    return out + count;
}

void tcuq_nn_pad(const tcuq_nn_frame *f, const int8_t *in, int8_t *out)
{
    int32_t i, j, bytes = f->lengths[2];
    int32_t line = f->before[2] + bytes + f->after[2];
    int32_t plane = line * (f->before[1] + f->lengths[1] + f->after[1]);
    out = filled(out, f->value, f->before[0] * plane);
    for (i = 0; i < f->lengths[0]; i++) {
        out = filled(out, f->value, f->before[1] * line);
        for (j = 0; j < f->lengths[1]; j++, in += bytes, out += bytes) {
            out = filled(out, f->value, f->before[2]);
            memcpy(out, in, (size_t)bytes);
            (void)filled(out + bytes, f->value, f->after[2]);
            out += f->after[2];
        }
        out = filled(out, f->value, f->after[1] * line);
    }
    (void)filled(out, f->value, f->after[0] * plane);
}

void tcuq_nn_rows(const int8_t *in, int8_t *out, int32_t rows, int32_t bytes, int32_t apart)
{
    for (; rows > 0; rows--, in += bytes, out += apart) {
        memcpy(out, in, (size_t)bytes);
    }
}

void tcuq_nn_strided(const tcuq_nn_strides *s, const int8_t *in, int8_t *out)
{
    int32_t index[5] = {0, 0, 0, 0, 0}, from = s->offset, count = s->lengths[5], by = s->strides[5], at = 0, i;
    while (at >= 0) {
        if (by == 1) {
            memcpy(out, in + from, (size_t)count);
        } else {
            for (i = 0; i < count; i++) {
                out[i] = in[from + i * by];
            }
        }
        out += count;
        /* On in the last dimension but one that is not at its end; those behind it begin again. */
        for (at = 4; at >= 0; at--) {
            from += s->strides[at];
            index[at]++;
            if (index[at] < s->lengths[at]) {
                break;
            }
            from -= s->strides[at] * s->lengths[at];
            index[at] = 0;
        }
    }
}
