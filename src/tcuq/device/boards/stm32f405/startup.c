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

/* A fault, or an interrupt that nobody switched on: say so and stand still. */
void fault_handler(void)
{
    const char *text = "\nfault\n";
    while (*text != '\0') {
        board_put(*text++);
    }
    for (;;) {
    }
}

void reset_handler(void)
{
    const uint32_t *from = data_source;
    uint32_t *to;
    /* Coprocessors 10 and 11, before the first instruction that needs them. */
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;
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

typedef void (*handler_t)(void);

#define F fault_handler
#define F8 F, F, F, F, F, F, F, F

/* The core's 15 exceptions, then the 82 interrupts of the chip. */
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    handler_t handlers[15 + 82];
} vectors = {stack_top, {reset_handler, F,  F,  F,  F,  F,  0,  0,  0,  0, F, F, 0, F, F,
                         F8,            F8, F8, F8, F8, F8, F8, F8, F8, F8, F, F}};
