/* SPDX-License-Identifier: MIT */
#define MANY(name) many_standard_##name
#define MANY_SIGNALS TCUQ_PROFILE_STANDARD
#include "binding/many_code.h"
