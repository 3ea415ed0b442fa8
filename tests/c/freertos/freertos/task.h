/* Stands in for FreeRTOS: time does not pass. */
#ifndef TCUQ_TEST_FREERTOS_TASK_H
#define TCUQ_TEST_FREERTOS_TASK_H

#include "freertos/FreeRTOS.h"

static inline void vTaskDelay(TickType_t ticks)
{
    (void)ticks;
}

#endif
