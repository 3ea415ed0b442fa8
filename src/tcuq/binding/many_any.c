/* SPDX-License-Identifier: MIT */
#define MANY(name) many_any_##name
#include "binding/many_code.h"
