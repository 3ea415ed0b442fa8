/* Python's own configuration for 64-bit Windows, as far as its headers ask: included before them, it stands in for the
 * pyconfig.h of the machine that checks. Names imported from the DLL are no constants, as with MSVC. */
#ifndef Py_PYCONFIG_H
#define Py_PYCONFIG_H
#define MS_WIN32
#define MS_WIN64
#define MS_WINDOWS
#define NT_THREADS
#define WITH_THREAD
#define HAVE_DECLSPEC_DLL
#define Py_ENABLE_SHARED
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_VOID_P 8
#define SIZEOF_WCHAR_T 2
#define SIZEOF_OFF_T 4
#define SIZEOF_TIME_T 8
#define SIZEOF_PID_T 4
#define ALIGNOF_SIZE_T 8
#define ALIGNOF_MAX_ALIGN_T 8
#define HAVE_ERRNO_H 1
#define STDC_HEADERS 1
#define HAVE_PY_SSIZE_T 1
typedef long long Py_ssize_t;
typedef Py_ssize_t ssize_t;
#define PY_SSIZE_T_MAX 0x7fffffffffffffffLL
#endif
