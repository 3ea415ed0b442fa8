/* All of it is in runtime.h. */
#include "py/runtime.h"
