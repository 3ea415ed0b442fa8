/* Stands in for Zephyr's console. */
#ifndef TCUQ_TEST_ZEPHYR_PRINTK_H
#define TCUQ_TEST_ZEPHYR_PRINTK_H

#include <stdio.h>

#define printk printf

#endif
