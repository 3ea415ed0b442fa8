/* See string.h. */
#ifndef MSVC_STDLIB_H
#define MSVC_STDLIB_H
#include <stddef.h>
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *old, size_t size);
void free(void *old);
void abort(void);
void exit(int status);
long strtol(const char *text, char **end, int base);
#endif
