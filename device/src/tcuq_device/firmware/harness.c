/* SPDX-License-Identifier: MIT */
/* The input lies in memory, the output leaves by a UART, and a reset ends it: nothing here can reach a file of the
 * computer, as semihosting could. No function of the C library is called, which would lie in the board's flash. */
#include "harness.h"

#define PAINT 0xA5C3F00Du
#define REGISTER(address) (*(volatile uint32_t *)(address))

extern uint32_t stack_limit[], stack_top[];
/* The last word before it is the length of the input, which lies before that. */
extern const uint8_t input_end[];

/* Set by harness_open(): nobody clears this memory. */
static const volatile uint8_t *waiting;
static uint32_t left;
static char last;

/* The board's file says which UART the emulated machine has, and where. */
#if defined(UART_NRF51)

static void uart_on(void)
{
    REGISTER(UART + 0x500u) = 4u; /* ENABLE */
    REGISTER(UART + 0x008u) = 1u; /* STARTTX */
}

static void uart_put(char letter)
{
    REGISTER(UART + 0x11Cu) = 0u; /* TXDRDY */
    REGISTER(UART + 0x51Cu) = (uint8_t)letter;
    while (REGISTER(UART + 0x11Cu) == 0u) {
    }
}

#elif defined(UART_CMSDK)

static void uart_on(void)
{
    REGISTER(UART + 0x10u) = 16u; /* BAUDDIV */
    REGISTER(UART + 0x08u) = 1u;  /* CTRL: transmit */
}

static void uart_put(char letter)
{
    REGISTER(UART) = (uint8_t)letter;
    while ((REGISTER(UART + 0x04u) & 1u) != 0u) { /* STATE: full */
    }
}

#elif defined(UART_NS16550)

static void uart_on(void)
{
}

static void uart_put(char letter)
{
    *(volatile uint8_t *)UART = (uint8_t)letter;
}

#endif

void harness_open(void)
{
    left = *(const volatile uint32_t *)((uintptr_t)input_end - 4u);
    waiting = (const volatile uint8_t *)((uintptr_t)input_end - 4u - left);
    last = '\n';
    uart_on();
}

int harness_read(void *to, uint32_t bytes)
{
    uint8_t *at = (uint8_t *)to;
    if (bytes > left) {
        return 0;
    }
    left -= bytes;
    while (bytes-- != 0u) {
        *at++ = *waiting++;
    }
    return 1;
}

static void put(char letter)
{
    uart_put(letter);
    last = letter;
}

void harness_text(const char *text)
{
    while (*text != '\0') {
        put(*text++);
    }
}

/* Digits by subtraction: a division would call the library on a core without one. */
void harness_number(int32_t value)
{
    static const uint32_t powers[] = {1000000000u, 100000000u, 10000000u, 1000000u, 100000u,
                                      10000u,      1000u,      100u,      10u,      1u};
    uint32_t left = value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
    int begun = 0;
    uint32_t i;
    put(' ');
    if (value < 0) {
        put('-');
    }
    for (i = 0; i < 10u; i++) {
        char digit = '0';
        while (left >= powers[i]) {
            left -= powers[i];
            digit++;
        }
        begun = begun || digit != '0' || i == 9u;
        if (begun) {
            put(digit);
        }
    }
}

void harness_hex(const uint8_t *bytes, uint32_t count)
{
    static const char digits[] = "0123456789abcdef";
    uint32_t i;
    for (i = 0; i < count; i++) {
        put(digits[bytes[i] >> 4]);
        put(digits[bytes[i] & 15u]);
    }
}

void harness_exit(int status)
{
    uart_on();
    if (last != '\n') {
        put('\n');
    }
    harness_text("exit");
    harness_number(status);
    put('\n');
#if defined(__riscv)
    REGISTER(0x00100000u) = 0x5555u; /* the machine's own way to end */
#else
    REGISTER(0xE000ED0Cu) = 0x05FA0004u; /* AIRCR: reset */
#endif
    for (;;) {
        __asm__ volatile("wfi");
    }
}

/* Neither may touch the stack itself: what is measured is the firmware's. */

void harness_paint(void)
{
    uint32_t *at = stack_limit;
    uint32_t *here;
#if defined(__riscv)
    __asm__ volatile("mv %0, sp" : "=r"(here));
#else
    __asm__ volatile("mov %0, sp" : "=r"(here));
#endif
    while (at < here) {
        *at++ = PAINT;
    }
}

/* In assembler, as a compiler for a core with few registers saves some. */
__attribute__((naked)) uint32_t harness_depth(void)
{
#if defined(__riscv)
    __asm__ volatile("la a0, stack_limit\n"
                     "li a1, %0\n"
                     "la a2, stack_top\n"
                     "1: bgeu a0, a2, 2f\n"
                     "lw a3, 0(a0)\n"
                     "bne a3, a1, 2f\n"
                     "addi a0, a0, 4\n"
                     "j 1b\n"
                     "2: sub a0, a2, a0\n"
                     "ret\n"
                     :
                     : "i"(PAINT));
#else
    __asm__ volatile(".syntax unified\n"
                     "ldr r0, =stack_limit\n"
                     "ldr r1, =%c0\n"
                     "ldr r2, =stack_top\n"
                     "1: cmp r0, r2\n"
                     "bhs 2f\n"
                     "ldr r3, [r0]\n"
                     "cmp r3, r1\n"
                     "bne 2f\n"
                     "adds r0, r0, #4\n"
                     "b 1b\n"
                     "2: subs r0, r2, r0\n"
                     "bx lr\n"
                     ".ltorg\n"
                     :
                     : "i"(PAINT));
#endif
}

/* Told apart by a comment in the assembly, or a compiler may make one of them. */

void network_begin(void)
{
    __asm__ volatile("/* network begins */");
}

void network_end(void)
{
    __asm__ volatile("/* network ends */");
}

void rule_begin(void)
{
    __asm__ volatile("/* rule begins */");
}

void rule_end(void)
{
    __asm__ volatile("/* rule ends */");
}

void gauges_begin(void)
{
    __asm__ volatile("/* gauges begin */");
}

void gauges_end(void)
{
    __asm__ volatile("/* gauges end */");
}
