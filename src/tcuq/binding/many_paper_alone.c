/* SPDX-License-Identifier: MIT */
#define MANY(name) many_paper_alone_##name
#define MANY_SIGNALS (TCUQ_PROFILE_PAPER & ~TCUQ_FEATURE_SIGNALS)
#include "binding/many_code.h"
