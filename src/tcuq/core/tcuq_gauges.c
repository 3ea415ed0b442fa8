/* SPDX-License-Identifier: MIT */
/* Gauges of a network's input: section 20 of SPEC.md. */
#include "tcuq_gauges.h"

#include "tcuq_internal.h"

#define AXES 6u          /* of a signal, that have gauges of their own */
#define BINS 32u         /* of a picture, of 8 values each */
#define PART 4096u       /* of a line: what runs up in it fits 32 bits */
#define LOG_FIFTY 369876 /* log2(50) in Q16.16 */

/* Sums over an input; of differences, sums of their sizes. */
typedef struct {
    uint64_t squares;
    int32_t sum;
    uint32_t jitter;           /* second differences along the width */
    int32_t levels[AXES + 1u]; /* of one channel each, the last ones together */
} sums_t;

/* One channel of a row. */
typedef struct {
    const int8_t *first;
    uint32_t axis;  /* AXES for all channels above */
    uint32_t count;
    uint32_t next;  /* from a value to the one beside it */
    uint32_t above; /* back to the one of the row above, 0 in the first row */
} line_t;

typedef struct {
    sums_t all;
    int64_t runs_x; /* of the sum of a line so far, after each of its values */
    int64_t runs_y; /* of the sum of the picture so far, after each row */
    uint32_t down;  /* differences along the height */
    uint32_t detail;
    uint32_t color; /* differences of channels */
    uint32_t bins[BINS];
} picture_t;

typedef struct {
    sums_t all;
    uint32_t equal; /* neighbors along the width */
    int32_t lowest;
    int32_t highest;
    uint32_t changes[AXES + 1u]; /* differences along the width, as levels */
} series_t;

/* Sizes of differences add up to twice what rises less the sum of all, which is what comes last less what comes first.
 * Many cores have one instruction for it; no difference, nor one of differences, has more than ten bits. */
static inline uint32_t rise(int32_t difference)
{
#if defined(__GNUC__) && defined(__ARM_FEATURE_SAT)
    return (uint32_t)__builtin_arm_usat(difference, 10);
#else
    return (uint32_t)(difference > 0 ? difference : 0);
#endif
}

/* The first difference of a line, 0 where it has one value. */
static inline int32_t first_change(const line_t *line)
{
    return line->count > 1u ? line->first[line->next] - line->first[0] : 0;
}

static void add_line(sums_t *to, const line_t *line, int32_t sum, uint32_t squares)
{
    to->sum += sum;
    to->levels[line->axis] += sum;
    to->squares += squares;
}

/* Loops are short, so that each has all registers, and two values long where a value would only change its name. */

/* Of `down` what rises alone: what it is to the row above is known from sums of rows. */
NOT_INLINE static void read_differences(picture_t *to, const line_t *line)
{
    const int8_t *value = line->first;
    uint32_t left = line->count;
    uint32_t next = line->next;
    uint32_t above = line->above;
    int32_t change = first_change(line);
    int32_t before = *value - change; /* a straight line into the first value: no second difference */
    int32_t fall = *value - *(value - above);
    uint32_t jitter = 0;
    uint32_t down = 0;
    uint32_t detail = 0;
    to->all.jitter += (uint32_t)change;
    to->detail += (uint32_t)fall;
    for (;;) {
        int32_t x = *value, last_change = change, last_fall = fall;
        change = x - before;
        fall = x - *(value - above);
        value += next;
        jitter += rise(change - last_change);
        down += rise(fall);
        detail += rise(fall - last_fall);
        if (--left == 0u) {
            break;
        }
        before = *value;
        last_change = change;
        last_fall = fall;
        change = before - x;
        fall = before - *(value - above);
        value += next;
        jitter += rise(change - last_change);
        down += rise(fall);
        detail += rise(fall - last_fall);
        if (--left == 0u) {
            break;
        }
    }
    to->all.jitter += 2u * jitter - (uint32_t)change;
    to->down += 2u * down;
    to->detail += 2u * detail - (uint32_t)fall;
}

/* Differences of a channel of a row and the channel before it, where they rise. */
static uint32_t read_color(const line_t *line)
{
    const int8_t *value = line->first;
    uint32_t left = line->count;
    uint32_t next = line->next;
    uint32_t color = 0;
    do {
        color += rise(value[0] - value[-1]);
        value += next;
    } while (--left != 0u);
    return 2u * color;
}

/* Returns the sum of the line. */
NOT_INLINE static int32_t read_values(picture_t *to, const line_t *line)
{
    const int8_t *value = line->first;
    uint32_t next = line->next;
    uint32_t more = line->count;
    uint32_t *bins = to->bins;
    uint32_t squares = 0;
    int32_t all = 0;
    while (more != 0u) {
        uint32_t left = more < PART ? more : PART;
        int32_t sum = 0;
        int32_t runs = 0;
        more -= left;
        do {
            int32_t x = *value;
            squares += (uint32_t)(x * x);
            sum += x;
            runs += x * (int32_t)left;
            bins[(uint8_t)x >> 3]++;
            value += next;
        } while (--left != 0u);
        to->runs_x += runs + (int64_t)sum * more;
        all += sum;
    }
    add_line(&to->all, line, all, squares);
    return all;
}

NOT_INLINE static void read_levels(series_t *to, const line_t *line)
{
    const int8_t *value = line->first;
    uint32_t left = line->count;
    uint32_t next = line->next;
    int32_t lowest = to->lowest;
    uint32_t span = (uint32_t)(to->highest - lowest);
    uint32_t squares = 0;
    int32_t sum = 0;
    do {
        int32_t x = *value;
        value += next;
        sum += x;
        squares += (uint32_t)(x * x);
        if ((uint32_t)(x - lowest) > span) { /* below or above all so far */
            span = x < lowest ? span + (uint32_t)(lowest - x) : (uint32_t)(x - lowest);
            lowest = x < lowest ? x : lowest;
        }
    } while (--left != 0u);
    to->lowest = lowest;
    to->highest = lowest + (int32_t)span;
    add_line(&to->all, line, sum, squares);
}

NOT_INLINE static void read_changes(series_t *to, const line_t *line)
{
    const int8_t *value = line->first;
    uint32_t left = line->count - 1u;
    uint32_t next = line->next;
    int32_t change = first_change(line);
    int32_t first_of_all = change;
    int32_t before = *value;
    uint32_t changes = 0;
    uint32_t jitter = 0;
    uint32_t equal = 0;
    for (; left != 0u; left--) {
        int32_t last_change = change;
        value += next;
        change = *value - before;
        before = *value;
        changes += rise(change);
        jitter += rise(change - last_change);
        equal += change == 0;
    }
    to->equal += equal;
    to->changes[line->axis] += 2u * changes - (uint32_t)(before - *line->first);
    to->all.jitter += 2u * jitter - (uint32_t)(change - first_of_all);
}

/* Gauges in 1/256, from sums. */

static int32_t log_of(uint32_t value)
{
    uint32_t scale = bits_above(value);
    return tcuq_internal_log2(value >> scale) + (int32_t)(scale << 16);
}

/* log2(a / b), rounded. */
static int16_t log_ratio(uint32_t a, uint32_t b, int32_t less)
{
    return (int16_t)shift_floor(log_of(a) - log_of(b) - less + 128, 8);
}

/* log2(sum / count + 2) of sizes; of none their mean is 0. */
static int16_t log_mean(uint32_t sum, uint32_t count)
{
    return count != 0u ? log_ratio(sum + 2u * count, count, 0) : 256;
}

/* log2(share + 1/50) */
static int16_t log_share(uint32_t part, uint32_t count)
{
    return log_ratio(50u * part + count, count, LOG_FIFTY);
}

/* a / b, rounded, half away from 0; within 16 bits. */
static int16_t ratio(int64_t a, uint64_t b)
{
    uint64_t size = (uint64_t)(a < 0 ? -a : a) << 8;
    uint32_t whole;
    while (b > Q16_MAX) {
        b >>= 1;
        size >>= 1;
    }
    whole = b != 0u ? ((uint32_t)size + ((uint32_t)b >> 1)) / (uint32_t)b : 0u;
    return (int16_t)(a < 0 ? -(int32_t)(whole < 32768u ? whole : 32768u) : (int32_t)(whole < 32767u ? whole : 32767u));
}

/* log2(deviation + 2) */
static int16_t contrast_of(const sums_t *sums, uint32_t count)
{
    uint64_t spread = sums->squares * count - (uint64_t)((int64_t)sums->sum * sums->sum); /* variance * count^2 */
    uint32_t half = 0;
    for (; count < (1uL << 23); count <<= 1) {
        spread <<= 2;
    }
    for (; spread > 0xFFFFFFFFu; spread >>= 2) {
        half++;
    }
    return log_mean(root((uint32_t)spread, 1uL << 30) << half, count);
}

/* How far to the right or below the values lie, in 4 times mean value x share of the side. */
static int16_t center_of(int32_t sum, int64_t runs, uint32_t count, uint32_t side)
{
    return ratio(2 * ((int64_t)sum * (int64_t)(side + 1u) - 2 * runs), (uint64_t)count * side);
}

/* Whether an input of this shape has values, and not too many. */
static int fits(uint32_t height, uint32_t width, uint32_t channels)
{
    uint32_t row = width * channels;
    return height != 0u && row != 0u && row <= TCUQ_MAX_INPUT / height;
}

int tcuq_picture_gauges(int16_t gauges[TCUQ_MAX_GAUGES], const int8_t *input, uint16_t height, uint16_t width,
                        uint16_t channels)
{
    uint32_t pixels = (uint32_t)height * width;
    uint32_t count = pixels * channels;
    uint32_t dark = BINS / 2u; /* the bins begin with that of the value 0 */
    uint32_t bright = BINS / 2u - 1u;
    uint32_t row, i;
    int16_t *next = gauges;
    picture_t sums;
    line_t line = {input, 0, width, channels, 0};
    if (!fits(height, width, channels)) {
        return TCUQ_ERR_SIZE;
    }
    memset(&sums, 0, sizeof sums);
    for (row = 0; row < height; row++) {
        for (i = 0; i < channels; i++) {
            line.axis = i < AXES ? i : AXES;
            uint32_t sum = (uint32_t)read_values(&sums, &line);
            read_differences(&sums, &line);
            sums.down += (row == 0u ? sum : 0u) - (row == height - 1u ? sum : 0u);
            sums.color += (i == 0u ? sum : read_color(&line)) - (i == channels - 1u ? sum : 0u);
            line.first++;
        }
        sums.runs_y += sums.all.sum;
        line.above = (uint32_t)width * channels;
        line.first += line.above - channels;
    }
    while (sums.bins[dark] == 0u) {
        dark = (dark + 1u) % BINS;
    }
    while (sums.bins[bright] == 0u) {
        bright = (bright - 1u) % BINS;
    }
    *next++ = ratio(sums.all.sum, count);
    *next++ = contrast_of(&sums.all, count);
    *next++ = log_mean(sums.all.jitter, width > 2u ? height * (width - 2u) * channels : 0u);
    *next++ = log_mean(sums.down, (height - 1u) * (uint32_t)width * channels);
    *next++ = log_mean(sums.detail, (height - 1u) * (width - 1u) * channels);
    *next++ = log_share(sums.bins[dark] + (dark != BINS / 2u - 1u ? sums.bins[(dark + 1u) % BINS] : 0u), count);
    *next++ = log_share(sums.bins[bright] + (bright != BINS / 2u ? sums.bins[(bright - 1u) % BINS] : 0u), count);
    *next++ = center_of(sums.all.sum, sums.runs_x, count, width);
    *next++ = center_of(sums.all.sum, sums.runs_y, count, height);
    if (channels > 1u) {
        *next++ = log_mean(sums.color, pixels * (channels - 1u));
        for (i = 1; i < channels && i < 3u; i++) {
            *next++ = ratio((int64_t)sums.all.levels[i] - sums.all.levels[i - 1u], pixels);
        }
    }
    return (int)(next - gauges);
}

static void read_axes(series_t *sums, const int8_t *input, uint32_t width, uint32_t axes)
{
    line_t line = {input, 0, width, axes, 0};
    uint32_t i;
    memset(sums, 0, sizeof *sums);
    sums->lowest = *input;
    sums->highest = *input;
    for (i = 0; i < axes; i++) {
        line.axis = i < AXES ? i : AXES;
        read_levels(sums, &line);
        read_changes(sums, &line);
        line.first++;
    }
}

int tcuq_signal_gauges(int16_t gauges[TCUQ_MAX_GAUGES], const int8_t *input, uint16_t steps, uint16_t axes)
{
    uint32_t count = (uint32_t)steps * axes;
    uint32_t shown = axes < AXES ? axes : AXES;
    uint32_t i;
    int16_t *next = gauges;
    series_t sums;
    if (!fits(1, steps, axes)) {
        return TCUQ_ERR_SIZE;
    }
    read_axes(&sums, input, steps, axes);
    *next++ = contrast_of(&sums.all, count);
    *next++ = log_mean(sums.all.jitter, steps > 2u ? (steps - 2u) * (uint32_t)axes : 0u);
    *next++ = ratio(sums.equal, (steps - 1u) * (uint32_t)axes);
    if (axes == 1u) {
        *next++ = (int16_t)(256 * sums.lowest);
        *next++ = (int16_t)(256 * sums.highest);
    }
    for (i = 0; i < shown; i++) {
        *next++ = ratio(sums.all.levels[i], steps);
    }
    for (i = 0; i < shown; i++) {
        *next++ = log_mean(sums.changes[i], steps - 1u);
    }
    return (int)(next - gauges);
}

int tcuq_table_gauges(int16_t gauges[TCUQ_MAX_GAUGES], const int8_t *input, uint16_t count)
{
    uint32_t i;
    int32_t sum = 0;
    int64_t runs = 0;
    series_t sums;
    if (count == 0u) {
        return TCUQ_ERR_SIZE;
    }
    read_axes(&sums, input, count, 1);
    for (i = 0; i < count; i++) {
        sum += input[i];
        runs += sum;
    }
    gauges[0] = ratio(sum, count);
    gauges[1] = contrast_of(&sums.all, count);
    gauges[2] = log_mean(sums.changes[0], count - 1u);
    gauges[3] = log_mean(sums.all.jitter, count > 2u ? count - 2u : 0u);
    gauges[4] = (int16_t)(256 * sums.lowest);
    gauges[5] = (int16_t)(256 * sums.highest);
    gauges[6] = center_of(sum, runs, count, count);
    return 7;
}
