/* SPDX-License-Identifier: MIT */
/* Semihosting: a breakpoint with a number in r0 and a block of words in r1. No function of the C library is called,
 * which would lie in the board's flash. */
#include "harness.h"

#define SYS_OPEN 0x01u
#define SYS_CLOSE 0x02u
#define SYS_WRITE 0x05u
#define SYS_READ 0x06u
#define SYS_EXIT_EXTENDED 0x20u
#define STOPPED_BY_PROGRAM 0x20026u
#define MODE_READ_BYTES 1u
#define MODE_WRITE_BYTES 5u

#define PAINT 0xA5C3F00Du
#define OUTPUT_ROOM 1024u

extern uint32_t stack_limit[], stack_top[];

/* Set by harness_open(): nobody clears this memory. */
static uintptr_t input_file, output_file;
static uint32_t waiting;
static char buffer[OUTPUT_ROOM];

static uintptr_t ask(uintptr_t number, const void *block)
{
    register uintptr_t r0 __asm__("r0") = number;
    register const void *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static uintptr_t open_file(const char *name, uint32_t length, uint32_t mode)
{
    uintptr_t block[3];
    block[0] = (uintptr_t)name;
    block[1] = mode;
    block[2] = length;
    return ask(SYS_OPEN, block);
}

void harness_open(void)
{
    input_file = open_file("input.bin", 9, MODE_READ_BYTES);
    output_file = open_file("output.txt", 10, MODE_WRITE_BYTES);
    waiting = 0;
}

int harness_read(void *to, uint32_t bytes)
{
    uintptr_t block[3];
    block[0] = input_file;
    block[1] = (uintptr_t)to;
    block[2] = bytes;
    /* The answer is the number of bytes that were not read. */
    return bytes == 0u || ask(SYS_READ, block) == 0u;
}

static void flush(void)
{
    uintptr_t block[3];
    block[0] = output_file;
    block[1] = (uintptr_t)buffer;
    block[2] = waiting;
    if (waiting != 0u) {
        (void)ask(SYS_WRITE, block);
    }
    waiting = 0;
}

static void put(char letter)
{
    if (waiting == OUTPUT_ROOM) {
        flush();
    }
    buffer[waiting++] = letter;
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
    uintptr_t block[2];
    flush();
    (void)ask(SYS_CLOSE, &output_file);
    block[0] = STOPPED_BY_PROGRAM;
    block[1] = (uintptr_t)status;
    for (;;) {
        (void)ask(SYS_EXIT_EXTENDED, block);
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
