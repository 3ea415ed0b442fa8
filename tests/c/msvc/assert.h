/* See string.h. */
#ifndef MSVC_ASSERT_H
#define MSVC_ASSERT_H
#define assert(condition) ((void)0)
#endif
