/* SPDX-License-Identifier: MIT */
/* For Frama-C's Eva, before every file of the core: the shape of the monitor, and contracts of functions whose
 * results need more than ranges of single numbers to see. Eva checks what a contract requires wherever it is
 * called and takes what it ensures; lemmas.c has the proof of each by CBMC, on the same code. */
#include "shape.h"

/* Without a compiler's own instructions: the loops that stand for them are what other compilers get. */
#define TCUQ_TEST_LOOPS
#define __builtin_assume_aligned(pointer, bytes) (pointer)
#define __builtin_memcpy memcpy

#include "tcuq_internal.h"

/*@ requires 1 <= value <= 131071;
    assigns \result \from value;
    ensures -1048576 <= \result <= 65536; */
int32_t tcuq_internal_log2(uint32_t value);

/*@ assigns \result \from dot;
    ensures 0 <= \result <= 65535; */
static uint32_t half_distance(int32_t dot, norm_t a, norm_t b);

/*@ requires -32768 <= instant <= 32767 && -32768 <= steady <= 32767 && past <= 32767;
    assigns \result \from instant, steady, past;
    ensures -32768 <= \result <= 32767; */
static int32_t between(int32_t instant, int32_t steady, uint32_t past);

/*@ assigns \result \from debt;
    ensures -16777215 <= \result <= 16842750; */
static int32_t threshold_at(const tcuq_params_t *p, int32_t debt);
