/* On a computer: without an argument the self-check and the stored inputs; with a file of inputs, one after the
 * other in int8, a line for each of them. */
#include <stdio.h>

#include "app_print.h"

static void app_put(char letter)
{
    putchar(letter);
}

int main(int count, char **arguments)
{
    app_answer_t said;
    uint32_t number = 0;
    int status = app_selfcheck();
    if (status != 0) {
        fprintf(stderr, "app_selfcheck: %d\n", status);
        return 1;
    }
    status = app_init();
    if (status != 0) {
        fprintf(stderr, "app_init: %d\n", status);
        return 1;
    }
    if (count < 2) {
        for (number = 0; number < APP_STORED; number++) {
            app_step(app_stored(number), &said);
            app_print_step("stored", number, &said);
        }
    } else {
        FILE *file = fopen(arguments[1], "rb");
        if (file == NULL) {
            fprintf(stderr, "%s: cannot be read\n", arguments[1]);
            return 2;
        }
        while (fread(app_input(), 1, APP_INPUT_BYTES, file) == APP_INPUT_BYTES) {
            app_step(NULL, &said);
            app_print_step("step", number++, &said);
        }
        fclose(file);
    }
    return 0;
}
