/* On the board: the self-check, the stored inputs, then inputs from the UART. README.md has the protocol. */
#include "app_print.h"
#include "board.h"

static void app_put(char letter)
{
    board_put(letter);
}

static void line(const char *text, int32_t value)
{
    app_print(text);
    app_print_number(value);
    app_put('\n');
}

static uint32_t word(void)
{
    uint32_t value = board_get();
    value |= (uint32_t)board_get() << 8;
    value |= (uint32_t)board_get() << 16;
    return value | (uint32_t)board_get() << 24;
}

/* One more byte of a CRC-32, as zlib has it. */
static uint32_t checked(uint32_t sum, uint8_t byte)
{
    uint32_t bit;
    sum ^= byte;
    for (bit = 0; bit < 8u; bit++) {
        sum = sum >> 1 ^ ((sum & 1u) != 0u ? 0xEDB88320u : 0u);
    }
    return sum;
}

/* Length, input, checksum; 1 when they agree. The input goes to where the network reads it. */
/* Bytes of an input of another length that are read and dropped. */
#define MOST_BYTES 65536u

static int take_input(void)
{
    int8_t *to = app_input();
    uint32_t sum = 0xFFFFFFFFu;
    uint32_t length = word();
    uint32_t i;
    if (length != APP_INPUT_BYTES) {
        line("error length", (int32_t)length);
        /* What belongs to the frame must not be taken for commands; a length beyond all reason is noise. */
        if (length <= MOST_BYTES) {
            for (i = 0; i < length + 4u; i++) {
                (void)board_get();
            }
        }
        return 0;
    }
    for (i = 0; i < APP_INPUT_BYTES; i++) {
        uint8_t byte = board_get();
        sum = checked(sum, byte);
        to[i] = (int8_t)byte;
    }
    if (word() != ~sum) {
        app_print("error checksum\n");
        return 0;
    }
    return 1;
}

static void serve(void)
{
    static app_answer_t said;
    uint32_t number = 0;
    for (;;) {
        uint8_t byte = board_get();
        while (byte == 'T') {
            byte = board_get();
            if (byte == 'Q' && take_input()) {
                app_step(NULL, &said);
                app_print_step("step", number++, &said);
            } else if (byte == 'R') {
                app_reset();
                app_print("reset\n");
            } else if (byte == 'S') {
                line("stack", (int32_t)board_depth());
            } else if (byte == 'I') {
                number = 0;
                line("init", app_init());
            }
        }
    }
}

int main(void)
{
    static app_answer_t said;
    uint32_t number;
    int status;
    board_start();
    board_paint();
    line("\ntcuq app @version@ clock", (int32_t)board_clock());
    status = app_selfcheck();
    line("selfcheck", status);
    if (status == 0) {
        status = app_init();
        line("init", status);
    }
    if (status != 0) {
        return 1;
    }
    for (number = 0; number < APP_STORED; number++) {
        app_step(app_stored(number), &said);
        app_print_step("stored", number, &said);
    }
    (void)app_init();
    line("ready", (int32_t)APP_INPUT_BYTES);
    serve();
    return 0;
}
