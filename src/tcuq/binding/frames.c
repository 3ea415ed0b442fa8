/* SPDX-License-Identifier: MIT */
#include "binding/binding.h"

#define NUMBERS 7
#define LEAST_BITS 15u /* of a decision after the first */
#define NO_REASON 31u
#define SIGHT 16 /* beside the horizon: decisions tell what moved */

enum { UNCERTAINTY, RISK, THRESHOLD, DEGRADATION, PERSISTENCE, NOVELTY, ACCURACY };

static const uint8_t first_order[NUMBERS] = {12, 12, 1, 11, 8, 1, 1};
static const uint8_t first_bits[NUMBERS] = {16, 16, 32, 32, 16, 16, 16};

/* Bits that are read from the highest of the first byte on; `bad` once there are none left. */
typedef struct {
    const uint8_t *bytes;
    size_t at;
    size_t end;
    int bad;
} bits_t;

static uint32_t take(bits_t *bits, unsigned count)
{
    uint32_t value = 0;
    for (; count > 0u; count--) {
        if (bits->at >= bits->end) {
            bits->bad = 1;
            return 0;
        }
        value = value << 1 | ((unsigned)bits->bytes[bits->at >> 3] >> (7u - (bits->at & 7u)) & 1u);
        bits->at++;
    }
    return value;
}

static uint32_t take_number(bits_t *bits, uint8_t *order)
{
    unsigned width = 0, kept;
    uint32_t value;
    while (take(bits, 1) == 0u && !bits->bad && width <= 32u) {
        width++;
    }
    if (width + *order > 32u) {
        bits->bad = 1;
    }
    if (bits->bad) {
        return 0;
    }
    kept = width > 0u ? width - 1u + *order : *order;
    value = take(bits, kept) | (width > 0u ? (uint32_t)1 << kept : 0u);
    if (width >= 2u) {
        ++*order;
    } else if (*order > 0u && value >> (*order - 1u) == 0u) {
        --*order;
    }
    return value;
}

static int32_t as_signed(uint32_t value)
{
    return value <= 0x7FFFFFFFu ? (int32_t)value : -(int32_t)(0xFFFFFFFFu - value) - 1;
}

/* What was written as a difference to `expected`. */
static uint32_t take_difference(bits_t *bits, uint8_t *order, uint32_t expected)
{
    uint32_t value = take_number(bits, order);
    return expected + ((value >> 1) ^ (0u - (value & 1u)));
}

static uint32_t next_accuracy(uint32_t accuracy, uint32_t uncertainty, unsigned horizon)
{
    int32_t gap = 65536 - (int32_t)uncertainty - (int32_t)accuracy;
    gap = gap >= 0 ? gap >> horizon : ~(~gap >> horizon);
    return horizon == 0u ? accuracy : (uint32_t)((int32_t)accuracy + gap);
}

static uint16_t take_class(bits_t *bits, uint16_t expected, unsigned width)
{
    return take(bits, 1) != 0u ? (uint16_t)take(bits, width) : expected;
}

/* Read all decisions into `rows`, which has room for them; return their number, or 0 for other bits. */
static size_t take_rows(bits_t *bits, unsigned classes, unsigned horizon, int sight, step_row_t *rows)
{
    uint8_t order[NUMBERS];
    uint32_t n[NUMBERS] = {0}, moved[2] = {0, 0}, threshold;
    tcuq_step_t step = {0};
    uint8_t mover = TCUQ_MOVED_NONE;
    unsigned width = 0, i;
    size_t count = 0;
    for (i = 0; i < NUMBERS; i++) {
        order[i] = first_order[i];
    }
    while ((classes - 1u) >> width != 0u) {
        width++;
    }
    while (count == 0u || bits->end - bits->at >= 8u) {
        uint32_t *move = &moved[step.flagged];
        step.flagged = (uint8_t)take(bits, 1);
        step.abstain = (uint8_t)take(bits, 1);
        step.warming_up = (uint8_t)take(bits, 1);
        step.low_mass = (uint8_t)take(bits, 1);
        step.alarm = (uint8_t)take(bits, 2);
        step.reason = (uint8_t)(step.flagged ? take(bits, 5) : NO_REASON - step.abstain);
        step.reason = (uint8_t)(step.reason >= NO_REASON - 1u ? step.reason + TCUQ_REASON_NONE - NO_REASON : step.reason);
        if (step.reason >= TCUQ_SIGNAL_COUNT && step.reason < TCUQ_REASON_ERROR) {
            return 0;
        }
        step.prediction = take_class(bits, step.prediction, width);
        step.answer = take_class(bits, step.prediction, width);
        step.changed = (uint8_t)(sight ? take(bits, 1) : 0u);
        if (step.changed != 0u && take(bits, 1) != 0u) {
            mover = (uint8_t)take(bits, 8);
        }
        step.moved = step.changed != 0u ? mover : (uint8_t)TCUQ_MOVED_NONE;
        step.action = (uint8_t)(step.alarm != 0u ? TCUQ_HOLD : step.abstain != 0u ? TCUQ_ASK : TCUQ_ACT);
        if (count == 0u) {
            for (i = 0; i < NUMBERS; i++) {
                n[i] = take(bits, first_bits[i]);
            }
        } else {
            n[UNCERTAINTY] = take_number(bits, &order[UNCERTAINTY]);
            n[RISK] = take_difference(bits, &order[RISK], n[UNCERTAINTY]);
            threshold = take_difference(bits, &order[THRESHOLD], n[THRESHOLD] + *move);
            *move = threshold - n[THRESHOLD];
            n[THRESHOLD] = threshold;
            for (i = DEGRADATION; i <= NOVELTY; i++) {
                n[i] = take_difference(bits, &order[i], n[i]);
            }
            if (n[UNCERTAINTY] > 65535u) {
                return 0;
            }
            n[ACCURACY] = take_difference(bits, &order[ACCURACY],
                                          next_accuracy(n[ACCURACY], n[UNCERTAINTY], horizon));
        }
        if (bits->bad || step.prediction >= classes || step.answer >= classes || n[RISK] > 65535u ||
            n[PERSISTENCE] > 65535u || n[NOVELTY] > 65535u || n[ACCURACY] > 65535u) {
            return 0;
        }
        step.uncertainty = (uint16_t)n[UNCERTAINTY];
        step.risk = (uint16_t)n[RISK];
        step.threshold = as_signed(n[THRESHOLD]);
        step.degradation = as_signed(n[DEGRADATION]);
        step.persistence = (uint16_t)n[PERSISTENCE];
        step.novelty = (uint16_t)n[NOVELTY];
        step.expected_accuracy = (uint16_t)n[ACCURACY];
        step_row(&rows[count++], &step, horizon != 0u);
    }
    return take(bits, (unsigned)(bits->end - bits->at)) == 0u ? count : 0u;
}

PyObject *decision_rows(PyObject *module, PyObject *arguments)
{
    PyObject *content, *bytes = NULL;
    int classes, horizon, sight;
    step_row_t *rows;
    bits_t bits = {NULL, 0, 0, 0};
    size_t count;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Sii", &content, &classes, &horizon)) {
        return NULL;
    }
    sight = (horizon & SIGHT) != 0;
    horizon -= sight ? SIGHT : 0;
    if (classes < 2 || classes > TCUQ_MAX_CLASSES || horizon < 0 || (horizon > 0 && horizon < 4) || horizon > 12) {
        Py_RETURN_NONE;
    }
    bits.bytes = (const uint8_t *)PyBytes_AsString(content);
    bits.end = 8u * (size_t)PyBytes_Size(content);
    rows = PyMem_Malloc((bits.end / LEAST_BITS + 1u) * sizeof *rows);
    if (rows == NULL) {
        return PyErr_NoMemory();
    }
    count = take_rows(&bits, (unsigned)classes, (unsigned)horizon, sight, rows);
    if (count > 0u) {
        bytes = PyBytes_FromStringAndSize((const char *)rows, (Py_ssize_t)(count * sizeof *rows));
    }
    PyMem_Free(rows);
    if (count == 0u) {
        Py_RETURN_NONE;
    }
    return bytes;
}
