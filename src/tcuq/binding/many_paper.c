/* SPDX-License-Identifier: MIT */
#define MANY(name) many_paper_##name
#define MANY_SIGNALS TCUQ_PROFILE_PAPER
#include "binding/many_code.h"
