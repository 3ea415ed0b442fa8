/* SPDX-License-Identifier: MIT */
/* From reset to main(): vectors, the FPU, .data and .bss. A fault ends an emulation with a status of its own. */
#include <stdint.h>

#include "harness.h"

extern uint32_t data_begin[], data_end[], bss_begin[], bss_end[];
extern const uint32_t data_source[];
extern uint32_t stack_top[];

int main(void);
void reset_handler(void);

/* Aligned as a RISC-V core wants it. */
__attribute__((aligned(4))) static void fault_handler(void)
{
    harness_exit(HARNESS_FAULT);
}

void reset_handler(void)
{
    const uint32_t *from = data_source;
    uint32_t *to;
#if defined(__ARM_FP)
    /* Coprocessors 10 and 11, before the first instruction that needs them. */
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
    for (to = data_begin; to != data_end; to++) {
        *to = *from++;
    }
    for (to = bss_begin; to != bss_end; to++) {
        *to = 0u;
    }
    harness_exit(main());
}

#if defined(__riscv)

/* The core begins at the first word of flash. */
__attribute__((naked, section(".vectors"), used)) void entry(void);

void entry(void)
{
    __asm__ volatile(".option arch, +zicsr\n\tla sp, stack_top\n\tla t0, %0\n\tcsrw mtvec, t0\n\tj reset_handler" ::"i"(fault_handler));
}

#else

typedef void (*handler_t)(void);

/* The core's own exceptions; no interrupt is ever switched on. */
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    handler_t handlers[15];
} vectors = {stack_top,
             {reset_handler, fault_handler, fault_handler, fault_handler, fault_handler, fault_handler, 0, 0, 0, 0,
              fault_handler, fault_handler, 0, fault_handler, fault_handler}};

#endif
