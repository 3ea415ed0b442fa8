/* SPDX-License-Identifier: MIT */
/* What a program needs of this board: an STM32F405 with its UART. No interrupt is ever switched on. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

/* Of the crystal at the chip, 4 to 26 MHz: 25 on a Netduino Plus 2. Without one that runs the chip stays on its
 * internal oscillator of 16 MHz. */
#ifndef BOARD_CRYSTAL_MHZ
#define BOARD_CRYSTAL_MHZ 25u
#endif

#ifndef BOARD_BAUD
#define BOARD_BAUD 115200u
#endif

/* Pins of USART1: 0 for PB6 (TX) and PB7 (RX), 1 for PA9 (TX) and PA10 (RX). */
#ifndef BOARD_UART_PA9
#define BOARD_UART_PA9 0
#endif

/* Start clock, pins and UART. Every wait is bounded: what does not come up is left alone. */
void board_start(void);

/* Frequency of the core in Hz: 168,000,000, or 16,000,000 on the internal oscillator. */
uint32_t board_clock(void);

/* Send a character. */
void board_put(char letter);

/* Wait for a byte and return it. */
uint8_t board_get(void);

/* Fill the free stack below the caller; return how far it was used from its top since then, in bytes. */
void board_paint(void);
uint32_t board_depth(void);

#endif
