/* The stub's functions: what is printed goes to the emulator; the program ends after three loops. */
#include "Arduino.h"

extern "C" void tcuq_test_write(const char *text);

Port Serial;

void Port::begin(unsigned long) {}

void Port::print(const char *text)
{
    tcuq_test_write(text);
}

void Port::println(const char *text)
{
    print(text);
    print("\n");
}

void Port::print(int value)
{
    char digits[12] = {0};
    char *at = digits + 11;
    unsigned rest = value < 0 ? 0u - (unsigned)value : (unsigned)value;
    do {
        *--at = (char)('0' + rest % 10u);
        rest /= 10u;
    } while (rest != 0u);
    if (value < 0) {
        *--at = '-';
    }
    print(at);
}

void Port::println(int value)
{
    print(value);
    print("\n");
}

/* Bytes as a line of hexadecimal digits. */
size_t Port::write(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char *digits = "0123456789abcdef";
        const char text[3] = {digits[bytes[i] >> 4], digits[bytes[i] & 15], 0};
        print(text);
    }
    print("\n");
    return size;
}

/* Time passes ten times as fast. */
static unsigned long passed;

void delay(unsigned long ms)
{
    passed += 10 * ms;
}

unsigned long millis(void)
{
    return passed;
}

int main()
{
    setup();
    for (int i = 0; i < 3; i++) {
        loop();
    }
    return 0;
}
