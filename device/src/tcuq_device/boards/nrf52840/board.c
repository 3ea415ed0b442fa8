/* SPDX-License-Identifier: MIT */
/* Registers by address, as the product specification of the nRF52840 gives them. Its UART without DMA has the registers
 * of the nRF51's. */
#include "board.h"

/* Pins of port 0: those of the nRF52840 DK's own USB bridge. */
#ifndef BOARD_TX
#define BOARD_TX 6u
#endif
#ifndef BOARD_RX
#define BOARD_RX 8u
#endif

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define CLOCK 0x40000000u
#define UART 0x40002000u
#define GPIO 0x50000000u
#define BAUD_115200 0x01D7E000u
/* Looks at a register: a crystal takes less than a millisecond to start. */
#define PATIENCE 100000u

void board_start(void)
{
    uint32_t looks;
    REGISTER(CLOCK + 0x100u) = 0u; /* HFCLKSTARTED */
    REGISTER(CLOCK + 0x000u) = 1u; /* HFCLKSTART: the baud rate wants the crystal */
    for (looks = 0; looks < PATIENCE && REGISTER(CLOCK + 0x100u) == 0u; looks++) {
    }
    REGISTER(GPIO + 0x508u) = 1u << BOARD_TX; /* OUTSET: idle is high */
    REGISTER(GPIO + 0x518u) = 1u << BOARD_TX; /* DIRSET */
    REGISTER(GPIO + 0x700u + 4u * BOARD_RX) = 3u << 2; /* PIN_CNF: an input that is pulled up */
    REGISTER(UART + 0x50Cu) = BOARD_TX;
    REGISTER(UART + 0x514u) = BOARD_RX;
    REGISTER(UART + 0x524u) = BAUD_115200;
    REGISTER(UART + 0x500u) = 4u; /* ENABLE */
    REGISTER(UART + 0x000u) = 1u; /* STARTRX */
    REGISTER(UART + 0x008u) = 1u; /* STARTTX */
}

uint32_t board_clock(void)
{
    return 64000000u;
}

void board_put(char letter)
{
    uint32_t looks;
    REGISTER(UART + 0x11Cu) = 0u; /* TXDRDY */
    REGISTER(UART + 0x51Cu) = (uint8_t)letter;
    for (looks = 0; looks < PATIENCE && REGISTER(UART + 0x11Cu) == 0u; looks++) {
    }
}

uint8_t board_get(void)
{
    while (REGISTER(UART + 0x108u) == 0u) { /* RXDRDY */
    }
    REGISTER(UART + 0x108u) = 0u;
    return (uint8_t)REGISTER(UART + 0x518u);
}
