/* As much of the Arduino core as the example sketch uses, for a test on a Cortex-M under emulation. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stddef.h>
#include <stdint.h>

struct Port {
    void begin(unsigned long baud);
    void print(const char *text);
    void println(const char *text);
    void print(int value);
    void println(int value);
    size_t write(const uint8_t *bytes, size_t size);
};

extern Port Serial;
void delay(unsigned long ms);
unsigned long millis(void);
void setup(void);
void loop(void);

#endif
