/* See string.h. */
#ifndef MSVC_WCHAR_H
#define MSVC_WCHAR_H
#include <stddef.h>
#endif
