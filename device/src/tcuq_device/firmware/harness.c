/* SPDX-License-Identifier: MIT */
/* The input lies in memory, the output leaves by a UART, and a reset ends it: nothing here can reach a file of the
 * computer, as semihosting could. No function of the C library is called, which would lie in the board's flash. */
#include "harness.h"

#define PAINT 0xA5C3F00Du
#define AIRCR (*(volatile uint32_t *)0xE000ED0Cu)
#define RESET_REQUEST 0x05FA0004u

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define NRF51_UART 0x40002000u /* machine microbit, whose input lies in flash */
#define CMSDK_UART 0x40004000u /* machines mps2-an386 and mps2-an500 */

extern uint32_t stack_limit[], stack_top[];
/* The last word before it is the length of the input, which lies before that. */
extern const uint8_t input_end[];

/* Set by harness_open(): nobody clears this memory. */
static const volatile uint8_t *waiting;
static uint32_t left;
static char last;

static int is_nrf51(void)
{
    return (uintptr_t)input_end < 0x20000000u;
}

static void uart_on(void)
{
    if (is_nrf51()) {
        REGISTER(NRF51_UART + 0x500u) = 4u; /* ENABLE */
        REGISTER(NRF51_UART + 0x008u) = 1u; /* STARTTX */
    } else {
        REGISTER(CMSDK_UART + 0x10u) = 16u; /* BAUDDIV */
        REGISTER(CMSDK_UART + 0x08u) = 1u;  /* CTRL: transmit */
    }
}

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
    if (is_nrf51()) {
        REGISTER(NRF51_UART + 0x11Cu) = 0u; /* TXDRDY */
        REGISTER(NRF51_UART + 0x51Cu) = (uint8_t)letter;
        while (REGISTER(NRF51_UART + 0x11Cu) == 0u) {
        }
    } else {
        REGISTER(CMSDK_UART) = (uint8_t)letter;
        while ((REGISTER(CMSDK_UART + 0x04u) & 1u) != 0u) { /* STATE: full */
        }
    }
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
    AIRCR = RESET_REQUEST;
    for (;;) {
        __asm__ volatile("wfi");
    }
}

/* Neither may touch the stack itself: what is measured is the firmware's. */

void harness_paint(void)
{
    uint32_t *at = stack_limit;
    uint32_t *here;
    __asm__ volatile("mov %0, sp" : "=r"(here));
    while (at < here) {
        *at++ = PAINT;
    }
}

/* In assembler, as a compiler for a core with few registers saves some. */
__attribute__((naked)) uint32_t harness_depth(void)
{
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
}

/* Told apart by a comment in the assembly, or a compiler may make one of them. */

void network_begin(void)
{
    __asm__ volatile("@ network begins");
}

void network_end(void)
{
    __asm__ volatile("@ network ends");
}

void rule_begin(void)
{
    __asm__ volatile("@ rule begins");
}

void rule_end(void)
{
    __asm__ volatile("@ rule ends");
}
