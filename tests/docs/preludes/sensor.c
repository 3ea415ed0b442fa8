#include <stdint.h>

void read_sensor(int8_t *where);

/* the block */
