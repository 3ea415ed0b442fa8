"""Names that a C constant can have without meaning something else already."""

from __future__ import annotations

import re

MAX_NAME = 31
"""C99 promises that this many characters of an external name count."""

ENDINGS = ("_selfcheck", "_softmax", "_projection", "_arduino")
"""What the names of a monitor's own files, functions and tables end in."""

# Words that mean something to a C or C++ compiler.
_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t
class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
decltype default delete do double dynamic_cast else enum explicit export extern false final float for
friend goto if import inline int long module mutable namespace new noexcept not not_eq nullptr operator or
or_eq override private protected public register reinterpret_cast requires restrict return short signed
sizeof static static_assert static_cast std struct switch template this thread_local throw true try typedef
typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
main linux unix i386 mips sparc sun
"""

# math.h; each also ends in f and in l, for the other floating types.
_MATH = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor
fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf
nan nearbyint nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh
tgamma trunc gamma drem significand scalb exp10 pow10 sincos j0 j1 jn y0 y1 yn finite isinf isnan
"""

# Other functions and objects of math.h, ctype.h, stdlib.h, string.h and stdio.h, those of POSIX included;
# compilers know many of them without a header.
_LIBRARY = """
fpclassify isfinite isgreater isgreaterequal isless islessequal islessgreater isnormal isunordered signbit
signgam isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper
isxdigit toascii tolower toupper
a64l abort abs aligned_alloc arc4random at_quick_exit atexit atof atoi atol atoll bsearch calloc div drand48
ecvt erand48 exit fcvt free gcvt getenv getsubopt grantpt initstate jrand48 l64a labs lcong48 ldiv llabs
lldiv lrand48 malloc mblen mbstowcs mbtowc mkdtemp mkstemp mktemp mrand48 nrand48 posix_memalign posix_openpt
ptsname putenv qsort quick_exit rand rand_r random realloc reallocarray realpath seed48 setenv setstate srand
srand48 srandom strtod strtof strtol strtold strtoll strtoul strtoull system unlockpt unsetenv valloc
wcstombs wctomb
bcmp bcopy bzero ffs index memccpy memchr memcmp memcpy memmem memmove mempcpy memrchr memset rindex stpcpy
stpncpy strcasecmp strcat strchr strcmp strcoll strcpy strcspn strdup strerror strerror_r strlcat strlcpy
strlen strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strrchr strsep strsignal strspn strstr
strtok strtok_r strxfrm
asprintf clearerr ctermid dprintf fclose fdopen feof ferror fflush fgetc fgetpos fgets fileno flockfile
fmemopen fopen fprintf fputc fputs fread freopen fscanf fseek fseeko fsetpos ftell ftello ftrylockfile
funlockfile fwrite getc getc_unlocked getchar getchar_unlocked getdelim getline gets open_memstream pclose
perror popen printf putc putc_unlocked putchar putchar_unlocked puts remove rename renameat rewind scanf
setbuf setvbuf snprintf sprintf sscanf stderr stdin stdout tempnam tmpfile tmpnam ungetc vasprintf vdprintf
vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf
clock errno offsetof read signal time write environ stdint stddef stdio string stdlib math ctype
"""

TAKEN = frozenset(
    _WORDS.split() + _LIBRARY.split() + [name + end for name in _MATH.split() for end in ("", "f", "l")]
)


def check_name(name: str) -> str:
    """Return a name that can stand in C and C++ and clashes with nothing in the core; refuse others.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> check_name("camera_monitor")
    'camera_monitor'
    >>> check_name("while")
    Traceback (most recent call last):
    ...
    ValueError: name is 'while', a word that C or C++ uses already; choose another one
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or len(name) > MAX_NAME:
        raise ValueError(
            f"name is {name!r}, expected a letter, then letters, digits and _, at most {MAX_NAME} in all"
        )
    if name in TAKEN or name.lower() == "main" or name.endswith("_t"):
        raise ValueError(f"name is {name!r}, a word that C or C++ uses already; choose another one")
    if name.endswith(ENDINGS):
        raise ValueError(
            f"name is {name!r}, but {', '.join(ENDINGS)} end the names of its own files; choose another"
        )
    if name == name.upper():
        raise ValueError(f"name is {name!r}, but capitals are for macros; use lower case")
    # File systems and macros do not tell Tcuq from tcuq.
    if name.lower().startswith("tcuq"):
        raise ValueError(
            f"name is {name!r}, but names that begin with tcuq belong to the core; choose another one"
        )
    return name
