/* SPDX-License-Identifier: MIT */
/* The firmware's door to the computer that runs the emulator: an input in memory, a UART that goes out, marks for
 * whoever counts instructions, and the depth of the stack. Files named harness*.c are linked outside the board's
 * memories wherever the machine has room there, so that they count in no size. */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdint.h>

/* Statuses of an emulation beside 0. */
#define HARNESS_REFUSED 2 /* an input or parameters that make no sense */
#define HARNESS_FAULT 3   /* the processor took a fault */

/* Find the input and switch on the output. */
void harness_open(void);

/* Fill `to` from the input. Return 1, or 0 when fewer bytes are left. */
int harness_read(void *to, uint32_t bytes);

/* Write to the output: a text, a number in decimal after a space, bytes as hexadecimal digits. */
void harness_text(const char *text);
void harness_number(int32_t value);
void harness_hex(const uint8_t *bytes, uint32_t count);

/* Write the status as the last line, and end the emulation. */
void harness_exit(int status) __attribute__((noreturn));

/* Paint the stack below the caller; return how far it was used from its top, in bytes, since then. */
void harness_paint(void);
uint32_t harness_depth(void);

/* Empty functions. The count between a begin and its end is what lies between, and a constant that a pair with
 * nothing between shows. */
void network_begin(void);
void network_end(void);
void rule_begin(void);
void rule_end(void);
void gauges_begin(void);
void gauges_end(void);

#endif
