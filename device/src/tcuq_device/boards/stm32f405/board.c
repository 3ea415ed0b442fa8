/* SPDX-License-Identifier: MIT */
/* Registers by address, as the reference manual of the STM32F405 (RM0090) gives them. */
#include "board.h"

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

#define REGISTER(address) (*(volatile uint32_t *)(address))

#define RCC_CR REGISTER(0x40023800u)
#define RCC_PLLCFGR REGISTER(0x40023804u)
#define RCC_CFGR REGISTER(0x40023808u)
#define RCC_AHB1ENR REGISTER(0x40023830u)
#define RCC_APB2ENR REGISTER(0x40023844u)
#define FLASH_ACR REGISTER(0x40023C00u)
#define USART1_SR REGISTER(0x40011000u)
#define USART1_DR REGISTER(0x40011004u)
#define USART1_BRR REGISTER(0x40011008u)
#define USART1_CR1 REGISTER(0x4001100Cu)

#if BOARD_UART_PA9
#define PORT 0x40020000u
#define PORT_BIT 1u
#define FIRST_PIN 9u
#else
#define PORT 0x40020400u
#define PORT_BIT 2u
#define FIRST_PIN 6u
#endif
#define PORT_MODE REGISTER(PORT)
#define PORT_PULL REGISTER(PORT + 0x0Cu)
#define PORT_FUNCTION(pin) REGISTER(PORT + 0x20u + 4u * ((pin) / 8u))

#define INTERNAL_HZ 16000000u
#define FAST_HZ 168000000u
/* Looks at a register: some milliseconds on the internal oscillator, the longest that a crystal takes to start. */
#define PATIENCE 100000u

static uint32_t clock_hz = INTERNAL_HZ;

/* Return whether bits of a register came to have a value. */
static int comes(volatile uint32_t *at, uint32_t bits, uint32_t value)
{
    uint32_t looks;
    for (looks = 0; looks < PATIENCE; looks++) {
        if ((*at & bits) == value) {
            return 1;
        }
    }
    return 0;
}

/* Crystal to PLL to core: 1 MHz from the crystal, times 336, halved. */
static int run_fast(void)
{
    RCC_CR |= 1u << 16;
    if (!comes(&RCC_CR, 1u << 17, 1u << 17)) {
        return 0;
    }
    /* Five wait states at 168 MHz and 2.7 to 3.6 V; prefetch and both caches. */
    FLASH_ACR = 0x705u;
    if (!comes(&FLASH_ACR, 0xFu, 5u)) {
        return 0;
    }
    /* Bit 29 is reserved and keeps its value. */
    RCC_PLLCFGR = BOARD_CRYSTAL_MHZ | 336u << 6 | 1u << 22 | 7u << 24 | 1u << 29;
    RCC_CR |= 1u << 24;
    if (!comes(&RCC_CR, 1u << 25, 1u << 25)) {
        return 0;
    }
    /* APB1 at a quarter, APB2 at a half, the core from the PLL. */
    RCC_CFGR = 5u << 10 | 4u << 13 | 2u;
    return comes(&RCC_CFGR, 3u << 2, 2u << 2);
}

/* To the oscillator that the chip begins with: a boot loader may have left another clock. */
static void run_slow(void)
{
    RCC_CR |= 1u;
    (void)comes(&RCC_CR, 1u << 1, 1u << 1);
    RCC_CFGR = 0u;
    (void)comes(&RCC_CFGR, 3u << 2, 0u);
    RCC_CR &= ~(1u << 24 | 1u << 16);
    (void)comes(&RCC_CR, 1u << 25, 0u);
    FLASH_ACR = 0x700u;
}

static void choose(volatile uint32_t *at, uint32_t pin, uint32_t width, uint32_t value)
{
    uint32_t shift = width * (width == 4u ? pin % 8u : pin);
    *at = (*at & ~(((1u << width) - 1u) << shift)) | value << shift;
}

void board_start(void)
{
    uint32_t pin, bus;
    run_slow();
    if (run_fast()) {
        clock_hz = FAST_HZ;
        bus = FAST_HZ / 2u;
    } else {
        run_slow();
        clock_hz = INTERNAL_HZ;
        bus = INTERNAL_HZ;
    }
    RCC_AHB1ENR |= PORT_BIT;
    RCC_APB2ENR |= 1u << 4;
    (void)RCC_APB2ENR; /* a read: the clock has arrived before the next access */
    for (pin = FIRST_PIN; pin < FIRST_PIN + 2u; pin++) {
        choose(&PORT_FUNCTION(pin), pin, 4u, 7u);
        choose(&PORT_PULL, pin, 2u, 1u);
        choose(&PORT_MODE, pin, 2u, 2u);
    }
    USART1_BRR = (bus + BOARD_BAUD / 2u) / BOARD_BAUD;
    USART1_CR1 = 1u << 13 | 1u << 3 | 1u << 2; /* on, sender, receiver */
}

uint32_t board_clock(void)
{
    return clock_hz;
}

void board_put(char letter)
{
    (void)comes(&USART1_SR, 1u << 7, 1u << 7);
    USART1_DR = (uint8_t)letter;
}

uint8_t board_get(void)
{
    while ((USART1_SR & 1u << 5) == 0u) {
    }
    return (uint8_t)USART1_DR;
}
