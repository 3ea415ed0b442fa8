/* SPDX-License-Identifier: MIT */
#define MANY(name) many_standard_alone_##name
#define MANY_SIGNALS (TCUQ_PROFILE_STANDARD & ~TCUQ_FEATURE_SIGNALS)
#include "binding/many_code.h"
