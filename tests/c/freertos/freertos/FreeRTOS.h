/* Stands in for FreeRTOS as ESP-IDF brings it: a tick is a millisecond. */
#ifndef TCUQ_TEST_FREERTOS_H
#define TCUQ_TEST_FREERTOS_H

#include <stdint.h>

typedef uint32_t TickType_t;

#define pdMS_TO_TICKS(ms) ((TickType_t)(ms))

#endif
