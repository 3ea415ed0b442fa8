/* See string.h. */
#ifndef MSVC_INTTYPES_H
#define MSVC_INTTYPES_H
#include <stdint.h>
#endif
