/* What we use of a C library on Windows, for a compiler that checks syntax there without having one. */
#ifndef MSVC_STRING_H
#define MSVC_STRING_H
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *one, const void *other, size_t size);
void *memchr(const void *in, int value, size_t size);
char *strchr(const char *in, int value);
size_t strlen(const char *text);
int strcmp(const char *one, const char *other);
int strncmp(const char *one, const char *other, size_t size);
#endif
