/* SPDX-License-Identifier: MIT */
/* From reset to main(): vectors, the FPU, .data and .bss. */
#include <stdint.h>

#include "board.h"

extern uint32_t data_begin[], data_end[], bss_begin[], bss_end[];
extern const uint32_t data_source[];
extern uint32_t stack_top[];

int main(void);
void reset_handler(void);
void fault_handler(void);
void fault_told(void);

/* A fault, or an interrupt that nobody switched on. The stack may be what failed: begin a fresh one. */
__attribute__((naked)) void fault_handler(void)
{
    __asm__ volatile("ldr r0, =stack_top\n\tmov sp, r0\n\tb fault_told");
}

/* Say so and stand still. */
__attribute__((used)) void fault_told(void)
{
    const char *text = "\nfault\n";
    while (*text != '\0') {
        board_put(*text++);
    }
    for (;;) {
    }
}

typedef void (*handler_t)(void);

/* The core's 15 exceptions, then 82 interrupts: as many as any chip here has. */
typedef struct {
    uint32_t *stack;
    handler_t handlers[15 + 82];
} vectors_t;

extern const vectors_t vectors;

void reset_handler(void)
{
    const uint32_t *from = data_source;
    uint32_t *to;
    /* Exceptions come here whoever started this program. */
    *(volatile uint32_t *)0xE000ED08u = (uint32_t)&vectors;
#if defined(__ARM_FP)
    /* Coprocessors 10 and 11, before the first instruction that needs them. */
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;
#endif
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    for (to = data_begin; to != data_end; to++) {
        *to = *from++;
    }
    for (to = bss_begin; to != bss_end; to++) {
        *to = 0u;
    }
    (void)main();
    for (;;) {
    }
}

#define F fault_handler
#define F8 F, F, F, F, F, F, F, F

__attribute__((section(".vectors"), used)) const vectors_t vectors = {
    stack_top,
    {reset_handler, F, F, F, F, F, 0, 0, 0, 0, F, F, 0, F, F, F8, F8, F8, F8, F8, F8, F8, F8, F8, F8, F, F}};
