/* SPDX-License-Identifier: MIT */
/* Means and largest values: of a window that moves over a picture, and of whole dimensions. */
#include "tcuq_nn_inside.h"

#if DSP

/* Add four bytes to sums of 16 bits. */
static inline void add_pairs(uint32_t *even, uint32_t *odd, uint32_t word)
{
    __asm__("sxtab16 %0, %0, %1" : "+r"(*even) : "r"(word));
    __asm__("sxtab16 %0, %0, %1, ror #8" : "+r"(*odd) : "r"(word));
}

/* Add up four channels of pixels that lie `apart` bytes after each other. */
static inline void add_fours(int32_t *sums, const int8_t *at, int32_t pixels, int32_t apart)
{
    while (pixels > 0) {
        /* 256 values of -128 are the most that 16 bits hold. */
        int32_t some = least(pixels, 256);
        uint32_t even = 0, odd = 0;
        pixels -= some;
        for (; some > 0; some--, at += apart) {
            add_pairs(&even, &odd, word_at(at));
        }
        sums[0] += (int16_t)even;
        sums[1] += (int16_t)odd;
        sums[2] += (int16_t)(even >> 16);
        sums[3] += (int16_t)(odd >> 16);
    }
}

/* The larger one of each of four bytes. */
static inline uint32_t larger(uint32_t x, uint32_t y)
{
    uint32_t most;
    __asm__("ssub8 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(most) : "r"(x), "r"(y) : "cc");
    return most;
}

#endif

void tcuq_nn_mean_twice(const tcuq_nn_means *m, const int8_t *in, int8_t *out)
{
    int32_t apart = m->inner * m->tail, block, at, i, j;
    for (block = 0; block < m->outer; block++, in += m->count * apart) {
        at = 0;
#if DSP
        for (; m->tail == 1 && at + 4 <= m->inner; at += 4) {
            int32_t four[4] = {m->bias, m->bias, m->bias, m->bias};
            add_fours(four, in + at, m->count, apart);
            for (i = 0; i < 4; i++) {
                *out++ = near_zero(twice(four[i], m->multiplier, m->shift), m->zero);
            }
        }
#endif
        for (; at < m->inner; at++) {
            int32_t sum = m->bias;
            for (i = 0; i < m->count; i++) {
                const int8_t *from = in + i * apart + at * m->tail;
                for (j = 0; j < m->tail; j++) {
                    sum += from[j];
                }
            }
            *out++ = near_zero(twice(sum, m->multiplier, m->shift), m->zero);
        }
    }
}

/* What lies inside the picture under a window that begins at `begin`: where from, and how many. */
static inline int32_t inside(int32_t begin, int32_t window, int32_t length, int32_t *count)
{
    int32_t first = begin < 0 ? 0 : begin;
    *count = least(begin + window, length) - first;
    return first;
}

/* sum / count, half away from zero. */
static inline int8_t mean(int32_t sum, int32_t count)
{
    return (int8_t)((sum + (sum < 0 ? -(count / 2) : count / 2)) / count);
}

void tcuq_nn_pool_mean(const tcuq_nn_pool *p, const int8_t *in, int8_t *out)
{
    int32_t row, column, tall, wide, i, j, channel, line = p->width * p->channels;
    for (row = 0; row < p->rows; row++) {
        const int8_t *from = in + line * inside(row * p->stride_rows - p->top, p->window_rows, p->height, &tall);
        for (column = 0; column < p->columns; column++, out += p->channels) {
            int32_t x = inside(column * p->stride_columns - p->left, p->window_columns, p->width, &wide);
            const int8_t *first = from + x * p->channels;
            int32_t count = tall * wide;
            channel = 0;
#if DSP
            /* No sum of up to 256 values leaves 16 bits, so that two of them fit a word. */
            for (; count <= 256 && channel + 4 <= p->channels; channel += 4) {
                const int8_t *begin = first + channel;
                uint32_t even = 0, odd = 0;
                for (i = 0; i < tall; i++, begin += line) {
                    const int8_t *at = begin;
                    for (j = 0; j < wide; j++, at += p->channels) {
                        add_pairs(&even, &odd, word_at(at));
                    }
                }
                out[channel] = mean((int16_t)even, count);
                out[channel + 1] = mean((int16_t)odd, count);
                out[channel + 2] = mean((int16_t)(even >> 16), count);
                out[channel + 3] = mean((int16_t)(odd >> 16), count);
            }
#endif
            for (; channel < p->channels; channel++) {
                int32_t sum = 0;
                for (i = 0; i < tall; i++) {
                    for (j = 0; j < wide; j++) {
                        sum += first[i * line + j * p->channels + channel];
                    }
                }
                out[channel] = mean(sum, count);
            }
        }
    }
}

void tcuq_nn_pool_max(const tcuq_nn_pool *p, const int8_t *in, int8_t *out)
{
    int32_t row, column, tall, wide, i, j, channel, line = p->width * p->channels;
    for (row = 0; row < p->rows; row++) {
        const int8_t *from = in + line * inside(row * p->stride_rows - p->top, p->window_rows, p->height, &tall);
        for (column = 0; column < p->columns; column++, out += p->channels) {
            int32_t x = inside(column * p->stride_columns - p->left, p->window_columns, p->width, &wide);
            const int8_t *first = from + x * p->channels;
            channel = 0;
#if DSP
            for (; channel + 4 <= p->channels; channel += 4) {
                uint32_t most = word_at(first + channel);
                for (i = 0; i < tall; i++) {
                    const int8_t *at = first + i * line + channel;
                    for (j = 0; j < wide; j++, at += p->channels) {
                        most = larger(most, word_at(at));
                    }
                }
                put_word(out + channel, most);
            }
#endif
            for (; channel < p->channels; channel++) {
                int8_t most = first[channel];
                for (i = 0; i < tall; i++) {
                    for (j = 0; j < wide; j++) {
                        int8_t value = first[i * line + j * p->channels + channel];
                        most = value > most ? value : most;
                    }
                }
                out[channel] = most;
            }
        }
    }
}
