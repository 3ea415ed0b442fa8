/* As much of the Arduino core as the example uses, on a computer: prints to standard output, runs 600 loops. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HIGH 1
#define LOW 0
#define OUTPUT 1
#define LED_BUILTIN 13

struct Port {
    void begin(unsigned long) {}
    void print(const char *text) { fputs(text, stdout); }
    void print(int value) { printf("%d", value); }
    void println(const char *text) { puts(text); }
    void println(int value) { printf("%d\n", value); }
};

static Port Serial;
static int led, led_changes;
static void pinMode(int, int) {}
static void digitalWrite(int, int value)
{
    led_changes += led != value;
    led = value;
}
static void delay(unsigned long) {}
void setup();
void loop();

int main()
{
    setup();
    for (int i = 0; i < 600; i++) {
        loop();
    }
    printf("led %d, %d changes\n", led, led_changes);
    return 0;
}

#endif
