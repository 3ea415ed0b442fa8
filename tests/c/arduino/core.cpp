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

void delay(unsigned long) {}

int main()
{
    setup();
    for (int i = 0; i < 3; i++) {
        loop();
    }
    return 0;
}
