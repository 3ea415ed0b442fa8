/* See string.h. */
#ifndef MSVC_STDIO_H
#define MSVC_STDIO_H
#include <stddef.h>
typedef struct file FILE;
FILE *__acrt_iob_func(unsigned number);
#define stdin (__acrt_iob_func(0))
#define stdout (__acrt_iob_func(1))
#define stderr (__acrt_iob_func(2))
#define EOF (-1)
FILE *fopen(const char *path, const char *mode);
int fclose(FILE *file);
int printf(const char *format, ...);
int fprintf(FILE *file, const char *format, ...);
int snprintf(char *to, size_t size, const char *format, ...);
int scanf(const char *format, ...);
int puts(const char *text);
int putchar(int value);
int fputs(const char *text, FILE *file);
int fputc(int value, FILE *file);
int fflush(FILE *file);
int getchar(void);
size_t fread(void *to, size_t size, size_t count, FILE *file);
size_t fwrite(const void *from, size_t size, size_t count, FILE *file);
#endif
