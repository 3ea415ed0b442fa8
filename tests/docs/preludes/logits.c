#include "kws.h"
#include "tcuq_softmax.h"

int8_t classify(int8_t *logits);

int8_t classify(int8_t *logits)
{
/* the block */
    return probs[0];
}
