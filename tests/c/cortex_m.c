/* Start main() on an emulated Cortex-M and hand its result to the emulator, by semihosting. The emulator
 * loads all sections where they belong and clears the rest, so there is nothing to copy. */
#include <stdint.h>

int main(void);
void tcuq_test_write(const char *text);
void tcuq_test_reset(void);

extern const uintptr_t tcuq_test_vectors[2];
__attribute__((section(".vectors"))) const uintptr_t tcuq_test_vectors[2] = {
    0x20080000u,
    (uintptr_t)tcuq_test_reset,
};

static void call(uint32_t number, const void *argument)
{
    register uint32_t r0 __asm__("r0") = number;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void tcuq_test_write(const char *text)
{
    call(0x04, text);
}

void tcuq_test_reset(void)
{
    uint32_t end[2] = {0x20026u, 0}; /* the application has ended, with this status */
    end[1] = (uint32_t)main();
    call(0x20, end);
    for (;;) {
    }
}
