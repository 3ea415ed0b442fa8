/* SPDX-License-Identifier: MIT */
/* What the proofs by CBMC share. */
#ifndef PROVE_H
#define PROVE_H

#include <stddef.h>
#include <stdint.h>

#define ASSUME(condition) __CPROVER_assume(condition)
#define PROVE(condition) __CPROVER_assert(condition, #condition)

/* At the end of every proof. `run.py --check-vacuity` defines REACH: then the end must be reached, or what the proof
 * assumes cannot be, and it has proved nothing. */
#ifdef REACH
#define END __CPROVER_assert(0, "the end is reached")
#else
#define END ((void)0)
#endif

_Bool nondet_bool(void);
uint8_t nondet_u8(void);
uint16_t nondet_u16(void);
uint32_t nondet_u32(void);
uint64_t nondet_u64(void);
int8_t nondet_i8(void);
int16_t nondet_i16(void);
int32_t nondet_i32(void);
size_t nondet_size(void);

#endif
