/* Stands in for Zephyr's kernel: time does not pass. */
#ifndef TCUQ_TEST_ZEPHYR_KERNEL_H
#define TCUQ_TEST_ZEPHYR_KERNEL_H

#include <stddef.h>
#include <stdint.h>

static inline int32_t k_msleep(int32_t ms)
{
    return ms - ms;
}

#endif
