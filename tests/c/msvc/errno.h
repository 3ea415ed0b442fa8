/* See string.h. */
#ifndef MSVC_ERRNO_H
#define MSVC_ERRNO_H
extern int *_errno(void);
#define errno (*_errno())
#endif
