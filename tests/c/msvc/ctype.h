/* See string.h. */
#ifndef MSVC_CTYPE_H
#define MSVC_CTYPE_H
int tolower(int value);
int toupper(int value);
#endif
