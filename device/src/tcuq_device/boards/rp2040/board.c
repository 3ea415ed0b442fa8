/* SPDX-License-Identifier: MIT */
/* Registers by address, as the datasheet of the RP2040 gives them. */
#include "board.h"

/* Of the crystal at the chip: 12 on a Raspberry Pi Pico, a part of 1500 between 5 and 15. */
#ifndef BOARD_CRYSTAL_MHZ
#define BOARD_CRYSTAL_MHZ 12u
#endif

#ifndef BOARD_BAUD
#define BOARD_BAUD 115200u
#endif

/* Pins of UART0: 0 and 1, or 12 and 13, or 16 and 17; the receiver is the one behind. */
#ifndef BOARD_TX
#define BOARD_TX 0u
#endif

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define CLOCKS 0x40008000u
#define RESETS 0x4000C000u
#define PINS 0x40014000u
#define PADS 0x4001C000u
#define XOSC 0x40024000u
#define PLL 0x40028000u
#define UART 0x40034000u
#define CLEAR 0x3000u /* the same register, whose bits that are written as 1 become 0 */

#define RING_HZ 6500000u
#define FAST_HZ 125000000u
/* Looks at a register: a crystal takes some milliseconds to start. */
#define PATIENCE 100000u

/* What the ROM copies to RAM and runs first, if its last word is the CRC-32 of the 252 bytes before it (0x04C11DB7, from
 * all ones, bits in order, not inverted). It lets the core read flash as memory by the serial command 03h, which every
 * chip has: one bit at a time, an instruction of 8 bits, an address of 24, at a quarter of the clock (31 MHz; 50 are
 * allowed). Then it starts what the vectors behind it say. A change needs another CRC. */
__asm__(".section .boot2, \"ax\", %progbits\n"
        ".syntax unified\n"
        ".thumb\n"
        ".balign 4\n"
        "boot2:\n"
        "ldr r0, 1f\n"
        "movs r1, #0\n"
        "str r1, [r0, #0x08]\n" /* SSIENR: off while it is set up */
        "str r1, [r0, #0x04]\n" /* CTRLR1: one frame a read */
        "movs r1, #4\n"
        "str r1, [r0, #0x14]\n" /* BAUDR */
        "ldr r1, 2f\n"
        "str r1, [r0, #0x00]\n" /* CTRLR0: frames of 32 bits, read after command and address */
        "ldr r1, 3f\n"
        "ldr r2, 4f\n"
        "str r1, [r0, r2]\n" /* SPI_CTRLR0: 03h, 8 and 24 bits */
        "movs r1, #1\n"
        "str r1, [r0, #0x10]\n" /* SER */
        "str r1, [r0, #0x08]\n"
        "ldr r0, 5f\n"
        "ldr r1, [r0, #0]\n"
        "ldr r2, [r0, #4]\n"
        "mov sp, r1\n"
        "bx r2\n"
        ".hword 0\n" /* words are aligned to 4 */
        "1: .word 0x18000000\n"
        "2: .word 0x001F0300\n"
        "3: .word 0x03000218\n"
        "4: .word 0x000000F4\n"
        "5: .word 0x10000100\n"
        ".org boot2 + 252\n"
        ".word 0x3052A133\n"
        ".text\n");

static uint32_t clock_hz = RING_HZ;

/* Return whether bits of a register came to have a value. */
static int comes(uint32_t address, uint32_t bits, uint32_t value)
{
    uint32_t looks;
    for (looks = 0; looks < PATIENCE; looks++) {
        if ((REGISTER(address) & bits) == value) {
            return 1;
        }
    }
    return 0;
}

/* Crystal to PLL to core: 1500 MHz, by 6, by 2. */
static int run_fast(void)
{
    REGISTER(XOSC + 0x0Cu) = 47u; /* STARTUP: 1 ms at 12 MHz, in units of 256 cycles */
    REGISTER(XOSC) = 0xFABAA0u;   /* CTRL: on, 1 to 15 MHz */
    if (!comes(XOSC + 0x04u, 1u << 31, 1u << 31)) {
        return 0;
    }
    REGISTER(CLOCKS + 0x30u) = 2u; /* CLK_REF_CTRL: the crystal */
    if (!comes(CLOCKS + 0x38u, 4u, 4u)) {
        return 0;
    }
    REGISTER(PLL) = 1u; /* CS: the crystal as it is */
    REGISTER(PLL + 0x08u) = 1500u / BOARD_CRYSTAL_MHZ;
    REGISTER(PLL + 0x04u + CLEAR) = 1u << 5 | 1u; /* PWR: the oscillator */
    if (!comes(PLL, 1u << 31, 1u << 31)) {
        return 0;
    }
    REGISTER(PLL + 0x0Cu) = 6u << 16 | 2u << 12;
    REGISTER(PLL + 0x04u + CLEAR) = 1u << 3; /* the dividers */
    REGISTER(CLOCKS + 0x3Cu) = 1u; /* CLK_SYS_CTRL: the PLL */
    return comes(CLOCKS + 0x44u, 2u, 2u);
}

void board_start(void)
{
    const uint32_t parts = 1u << 22 | 1u << 12 | 1u << 8 | 1u << 5; /* UART0, PLL, pads, pins */
    uint32_t divisor;
    /* To the clock that the chip begins with: a boot loader may have left another. */
    REGISTER(CLOCKS + 0x3Cu + CLEAR) = 1u;
    (void)comes(CLOCKS + 0x44u, 1u, 1u);
    REGISTER(RESETS) = REGISTER(RESETS) | parts;
    REGISTER(RESETS + CLEAR) = parts;
    (void)comes(RESETS + 0x08u, parts, parts);
    if (run_fast()) {
        clock_hz = FAST_HZ;
    }
    REGISTER(CLOCKS + 0x48u) = 1u << 11; /* CLK_PERI_CTRL: on, the core's clock */
    divisor = (4u * clock_hz + BOARD_BAUD / 2u) / BOARD_BAUD; /* in units of 1/64 of 16 cycles */
    REGISTER(UART + 0x24u) = divisor >> 6;
    REGISTER(UART + 0x28u) = divisor & 63u;
    REGISTER(UART + 0x2Cu) = 7u << 4; /* LCR_H: 8 bits, FIFOs */
    REGISTER(UART + 0x30u) = 3u << 8 | 1u; /* CR: receiver, sender, on */
    REGISTER(PADS + 8u + 4u * BOARD_TX) = 0x5Au; /* the receiver's pin is pulled up */
    REGISTER(PINS + 4u + 8u * BOARD_TX) = 2u;
    REGISTER(PINS + 12u + 8u * BOARD_TX) = 2u;
}

uint32_t board_clock(void)
{
    return clock_hz;
}

void board_put(char letter)
{
    (void)comes(UART + 0x18u, 1u << 5, 0u); /* FR: room to send */
    REGISTER(UART) = (uint8_t)letter;
}

uint8_t board_get(void)
{
    while ((REGISTER(UART + 0x18u) & 1u << 4) != 0u) {
    }
    return (uint8_t)REGISTER(UART);
}
