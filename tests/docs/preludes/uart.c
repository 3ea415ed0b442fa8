#include <stddef.h>
#include <stdint.h>

void uart_write(const uint8_t *bytes, size_t size);

/* the block */
