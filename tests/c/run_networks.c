/* Run the networks of networks.h, which a test writes, and print their outputs: a line of hexadecimal digits
 * an output. On a computer, every arena is allocated at its exact size, so that a sanitizer sees its ends; on a
 * board, text leaves by semihosting. An arena is filled before each run: nothing may depend on its contents. */
#include <stdint.h>
#include <string.h>

/* Called for every output: copies would only make compilers slow. */
#define ONCE static __attribute__((noinline))

#ifdef BOARD

#ifndef LARGEST
#define LARGEST 40000
#endif

static uint32_t memory[LARGEST / 4 + 1];

static void call(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

ONCE void print(const char *text)
{
    call(4, text);
}

ONCE int8_t *take(size_t bytes)
{
    if (bytes > LARGEST) {
        print("too large\n");
    }
    /* The word after the arena tells whether something was written there. */
    memory[(bytes + 3) / 4] = 0xA5A5A5A5u;
    return (int8_t *)memory;
}

ONCE void give_back(int8_t *arena, size_t bytes)
{
    (void)arena;
    if (memory[(bytes + 3) / 4] != 0xA5A5A5A5u) {
        print("written past the end\n");
    }
}

#else

#include <stdio.h>
#include <stdlib.h>

ONCE void print(const char *text)
{
    fputs(text, stdout);
}

ONCE int8_t *take(size_t bytes)
{
    int8_t *arena = (int8_t *)malloc(bytes);
    if (arena == NULL) {
        abort();
    }
    return arena;
}

ONCE void give_back(int8_t *arena, size_t bytes)
{
    (void)bytes;
    free(arena);
}

#endif

ONCE void emit(const int8_t *values, int count)
{
    static const char digits[] = "0123456789abcdef";
    char text[65];
    int i, n = 0;
    for (i = 0; i < count; i++) {
        text[n++] = digits[(unsigned)values[i] >> 4 & 15u];
        text[n++] = digits[(unsigned)values[i] & 15u];
        if (n == 64) {
            text[n] = '\0';
            print(text);
            n = 0;
        }
    }
    text[n++] = '\n';
    text[n] = '\0';
    print(text);
}

#include "networks.h"

#ifdef BOARD

extern uint32_t stack_top;

static void reset(void)
{
    static const uint32_t done[2] = {0x20026, 0};
    run_all();
    call(0x20, done);
    for (;;) {
    }
}

static void fault(void)
{
    static const uint32_t failed[2] = {0x20026, 1};
    print("fault\n");
    call(0x20, failed);
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    &stack_top, (const void *)reset, (const void *)fault, (const void *)fault, (const void *)fault,
    (const void *)fault, (const void *)fault};

#else

int main(void)
{
    run_all();
    return 0;
}

#endif
