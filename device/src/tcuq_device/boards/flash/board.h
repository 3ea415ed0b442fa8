/* SPDX-License-Identifier: MIT */
/* What a program needs of its board: clock, UART, the depth of the stack. board.c has it for one chip, and what can
 * be set. No interrupt is ever switched on. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

/* Start clock, pins and UART. Every wait is bounded: what does not come up is left alone. */
void board_start(void);

/* Frequency of the core in Hz. */
uint32_t board_clock(void);

/* Send a character. */
void board_put(char letter);

/* Wait for a byte and return it. */
uint8_t board_get(void);

/* Fill the free stack below the caller; return how far it was used from its top since then, in bytes. */
void board_paint(void);
uint32_t board_depth(void);

#endif
