/* SPDX-License-Identifier: MIT */
/* Private to tcuq_state.c: numbers as bytes that are the same on every machine, and their checksum. */
#ifndef TCUQ_BYTES_H
#define TCUQ_BYTES_H

#include <stddef.h>
#include <stdint.h>

#define CRC_START 0xFFFFFFFFu

/* Numbers as little-endian bytes. */

static void put16(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)value;
    bytes[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *bytes, uint32_t value)
{
    put16(bytes, value);
    put16(bytes + 2, value >> 16);
}

static uint32_t get16(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8;
}

static uint32_t get32(const uint8_t *bytes)
{
    return get16(bytes) | get16(bytes + 2) << 16;
}

#ifdef TCUQ_CRC_BY_TABLE
/* Four bits at once, for computers that keep the states of many monitors. A board saves 64 bytes without. */
static uint32_t crc_add(uint32_t crc, const uint8_t *bytes, size_t size)
{
    static const uint32_t table[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu,
        0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
        0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu,
        0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu};
    size_t i;
    for (i = 0; i < size; i++) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ table[crc & 15u];
        crc = (crc >> 4) ^ table[crc & 15u];
    }
    return crc;
}
#else
static uint32_t crc_add(uint32_t crc, const uint8_t *bytes, size_t size)
{
    size_t i;
    int bit;
    for (i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
        }
    }
    return crc;
}
#endif

/* The checksum after the first `size` bytes of one more word. */
static uint32_t crc_word(uint32_t crc, uint32_t value, size_t size)
{
    uint8_t word[4];
    put32(word, value);
    return crc_add(crc, word, size);
}

#endif
