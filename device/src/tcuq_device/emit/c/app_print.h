/* One line of text a step, the same on a board and on a computer: names and numbers of app_answer_t, separated by
 * spaces. Risk and the like are in 1/65536. A file that includes this one defines app_put(). */
#ifndef APP_PRINT_H
#define APP_PRINT_H

#include "app.h"

static void app_put(char letter);

static void app_print(const char *text)
{
    while (*text != '\0') {
        app_put(*text++);
    }
}

static void app_print_number(int32_t value)
{
    char digits[10];
    uint32_t left = value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
    uint32_t count = 0;
    do {
        digits[count++] = (char)('0' + (char)(left % 10u));
        left /= 10u;
    } while (left != 0u);
    app_put(' ');
    if (value < 0) {
        app_put('-');
    }
    while (count != 0u) {
        app_put(digits[--count]);
    }
}

static void app_print_named(const char *name, int32_t value)
{
    app_put(' ');
    app_print(name);
    app_print_number(value);
}

static void app_print_step(const char *what, uint32_t number, const app_answer_t *said)
{
    app_print(what);
    app_print_number((int32_t)number);
@fields@    app_put('\n');
}

#endif
