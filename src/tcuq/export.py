"""A monitor as C source: its parameters as constants, the core, and a small host program to try it."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from importlib import resources
from pathlib import Path

from .csource import main_text, params_header, params_source
from .params import Params

CORE_FILES = ("tcuq.h", "tcuq.c", "tcuq_tables.h")
MAX_NAME = 31
"""C99 promises that this many characters of an external name count."""

# Words that mean something to a C or C++ compiler, to the C library, or to the headers of the sources.
_TAKEN = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t
class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
decltype default delete do double dynamic_cast else enum explicit export extern false float for friend
goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
protected public register reinterpret_cast requires restrict return short signed sizeof static
static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename
typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq abort abs atexit
atoi atol bsearch calloc clock div errno exit fclose feof ferror fflush fgets fopen fprintf fputc fputs
fread free fscanf fwrite getc getchar getenv gets malloc memchr memcmp memcpy memmove memset offsetof
perror printf putc putchar puts qsort rand read realloc remove rename rewind scanf setbuf signal snprintf
sprintf srand sscanf stderr stdin stdout strcat strchr strcmp strcpy strlen strtol system time tmpfile
tmpnam ungetc vfprintf vprintf write index y0 y1 yn j0 j1 jn main linux unix EOF NULL FILE BUFSIZ stdint
stddef stdio string
"""


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
    ValueError: name is 'while'; this word is taken in C or C++, another one is needed
    """
    accepted = f"a letter, then letters, digits and _, {MAX_NAME} at most, are accepted"
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or len(name) > MAX_NAME:
        raise ValueError(f"name is {name!r}; {accepted}")
    if name in _TAKEN.split() or name.lower() == "main" or name.endswith("_t"):
        raise ValueError(f"name is {name!r}; this word is taken in C or C++, another one is needed")
    # File systems and macros do not tell Tcuq from tcuq.
    if name.lower().startswith("tcuq"):
        raise ValueError(
            f"name is {name!r}; names that begin with tcuq belong to the core, another one is needed"
        )
    return name


def sources(params: Params, name: str = "monitor") -> dict[str, str]:
    """Return the files of an exported monitor, text by file name.

    Parameters
    ----------
    params : Params
    name : str
        Name of the constant, and of its header and source.

    Examples
    --------
    >>> sorted(sources(Params(classes=10)))
    ['main.c', 'monitor.c', 'monitor.h', 'tcuq.c', 'tcuq.h', 'tcuq_tables.h']
    """
    check_name(name)
    texts = {
        f"{name}.h": params_header(params, name),
        f"{name}.c": params_source(params, name),
        "main.c": main_text(params, name),
    }
    core = resources.files("tcuq") / "core"
    for file in CORE_FILES:
        texts[file] = (core / file).read_text(encoding="utf-8")
    return texts


def export(params: Params, folder: str | Path, name: str = "monitor", force: bool = False) -> list[Path]:
    """Write a monitor as C source, all files or none.

    Parameters
    ----------
    params : Params
    folder : path
        Made when it does not exist; the folder around it must.
    name : str
        Name of the constant, and of its header and source.
    force : bool
        Replace files that are there already.

    Returns
    -------
    list of Path
        The files, sorted.
    """
    texts = sources(params, name)
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise ValueError(f"{target}: is a file; a folder is needed")
    if not target.parent.is_dir():
        raise ValueError(f"{target}: folder {target.parent} does not exist")
    present = sorted(file for file in texts if (target / file).exists())
    if present and not force:
        raise ValueError(f"{target / present[0]}: exists already; another folder, or force, is needed")
    try:
        _place(texts, target)
    except OSError as error:
        # The error names a temporary file that the user never asked for.
        raise OSError(error.errno, error.strerror, str(target)) from None
    return sorted(target / file for file in texts)


def _place(texts: dict[str, str], target: Path) -> None:
    """Build everything beside the target, then move it there; put back what was there when a move fails."""
    made = not target.exists()
    build = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    moved: list[str] = []
    try:
        new, old = build / "new", build / "old"
        new.mkdir()
        old.mkdir()
        for file, text in texts.items():
            (new / file).write_text(text, encoding="utf-8")
        if made:
            os.rename(new, target)
            return
        for file in texts:
            if (target / file).exists():
                os.replace(target / file, old / file)
            moved.append(file)
            os.replace(new / file, target / file)
    except BaseException:
        for file in moved:
            if (old / file).exists():
                os.replace(old / file, target / file)
            else:
                (target / file).unlink(missing_ok=True)
        raise
    finally:
        shutil.rmtree(build, ignore_errors=True)
