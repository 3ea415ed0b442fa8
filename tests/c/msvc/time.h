/* See string.h. */
#ifndef MSVC_TIME_H
#define MSVC_TIME_H
typedef long long time_t;
#endif
