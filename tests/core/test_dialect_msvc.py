# SPDX-License-Identifier: MIT
"""Core, binding and exported C in the dialect of Microsoft's compiler, as far as that can be told without it.

clang plays that compiler: its types, its keywords, none of the names of gcc. It has no headers of Windows;
tests/c/msvc declares what we use of them. MinGW links for Windows.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import exported
import extensions
import pytest
from compilers import need_compiler
from places import CORE, CORE_SOURCES, ROOT

HEADERS = ROOT / "tests" / "c" / "msvc"
BINDING = sorted((ROOT / "src" / "tcuq" / "binding").glob("*.c"))
NATIVE = sorted((ROOT / "watch" / "src" / "tcuq_watch" / "native").glob("*.c"))
KERNELS = ROOT / "device" / "src" / "tcuq_device" / "kernels"
EXPORTED = ROOT / "src" / "tcuq" / "export" / "c"
CLANG = [
    *("clang", "--target=x86_64-pc-windows-msvc", "-fms-compatibility", "-fms-extensions", "-std=c11"),
    *("-nostdlibinc", "-isystem", str(HEADERS), "-fsyntax-only", "-Werror", "-Wall", "-Wextra", "-Wpedantic"),
    *("-Wmicrosoft", "-Wgnu", "-Wvla", "-Wc11-extensions", "-Wimplicit-function-declaration"),
    # Functions of headers that a file leaves alone are marked for gcc and clang only.
    "-Wno-unused-function",
]
MINGW = "x86_64-w64-mingw32-gcc"
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]


# Words that clang takes everywhere and Microsoft's compiler nowhere. What clang's stddef.h and stdarg.h
# define becomes one, and so does `Py_NAN` of Python, which asks for the word before it uses it.
FOREIGN = re.compile(
    r"__attribute__|__builtin_(?!offsetof|va_|nan)\w+|__extension__|__asm__|\basm\b|__typeof__|__int128"
)
MARK = re.compile(r'# \d+ "(?P<file>[^"]+)"')


def foreign(sources: Sequence[Path], *options: str) -> str:
    """Return the words of other compilers that are left in our lines once macros are replaced."""
    command = [word for word in CLANG if word != "-fsyntax-only"]
    done = subprocess.run([*command, "-E", *options, *map(str, sources)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found, ours = set(), False
    for line in done.stdout.splitlines():
        mark = MARK.match(line)
        if mark is not None:
            # Python's headers and those of the compiler are not ours to judge.
            ours = not re.search(r"/include/|/msvc/|<", mark["file"])
        elif ours:
            found |= {f"{word}: {line.strip()}\n" for word in FOREIGN.findall(line)}
    return "".join(sorted(found))


def complaints(sources: Sequence[Path], *options: str) -> str:
    """Return what the compiler says of some files, and what it should have said."""
    done = subprocess.run([*CLANG, *options, *map(str, sources)], capture_output=True, text=True)
    said = done.stderr or f"exit status {done.returncode}" * (done.returncode != 0)
    return said or foreign(sources, *options)


@pytest.fixture(autouse=True)
def clang(tmp_path: Path) -> None:
    need_compiler("clang", "plain", tmp_path)


@pytest.mark.parametrize(
    "flag", ["-DTCUQ_TEST_LOOPS", pytest.param("-DTCUQ_SIGNALS=1", marks=pytest.mark.slow)]
)
def test_the_core_compiles(flag: str) -> None:
    assert complaints([*CORE_SOURCES, *sorted(EXPORTED.glob("*.c"))], f"-I{CORE}", flag) == ""


def test_the_kernels_compile() -> None:
    assert complaints(sorted(KERNELS.glob("*.c"))) == ""


@pytest.mark.parametrize(
    "stable", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["stable", "full"]
)
def test_the_binding_compiles(stable: bool) -> None:
    include, _, _ = extensions.facts(sys.executable)
    python = ["-include", str(HEADERS / "pyconfig_windows.h"), "-isystem", include, f"-I{CORE.parent}"]
    limited = [extensions.LIMITED] if stable else []
    assert complaints([*BINDING, *NATIVE], *python, *limited) == ""


@pytest.mark.parametrize("which", [pytest.param("plain", marks=pytest.mark.slow), "everything"])
def test_an_exported_package_compiles(which: str, tmp_path: Path) -> None:
    folder = exported.package(tmp_path, "c", which)
    assert complaints(sorted(folder.glob("*.c"))) == ""


@pytest.mark.slow
@pytest.mark.parametrize("which", exported.LIBRARIES)
def test_an_exported_package_links_for_windows(which: str, tmp_path: Path) -> None:
    if shutil.which(MINGW) is None:
        pytest.skip(f"{MINGW} is missing: install the Debian package gcc-mingw-w64-x86-64")
    folder = exported.package(tmp_path, "c", which)
    target = tmp_path / "watch.exe"
    sources = map(str, sorted(folder.glob("*.c")))
    done = subprocess.run(
        [MINGW, *WARNINGS, "-O1", *sources, "-o", str(target)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert target.read_bytes()[:2] == b"MZ"
