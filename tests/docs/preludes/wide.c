#include "kws.h"
#include "tcuq_projection.h"

int8_t narrow(const int8_t *wide);

int8_t narrow(const int8_t *wide)
{
/* the block */
    return features[0];
}
