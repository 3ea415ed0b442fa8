#include <stdio.h>

#include "kws.h"

void check(void);

void check(void)
{
/* the block */
}
