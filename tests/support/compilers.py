"""Compilers that tests build with, and skipping what needs one that is not there."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

SANITIZER_PACKAGE = {"gcc": "libgcc-12-dev", "clang": "libclang-rt-14-dev"}


def need_compiler(compiler: str, mode: str, folder: Path) -> None:
    """Skip, saying what to install, when the compiler or the runtime of its sanitizers is missing."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is missing: install the Debian package {compiler}")
    if mode != "sanitized":
        return
    source, program = folder / "empty.c", folder / "empty"
    source.write_text("int main(void) { return 0; }\n")
    command = [compiler, "-fsanitize=address,undefined", source, "-o", program]
    done = subprocess.run(command, capture_output=True)
    if done.returncode != 0:
        pytest.skip(
            f"{compiler} has no sanitizer runtime: install the Debian package {SANITIZER_PACKAGE[compiler]}"
        )


def builds(modes: Iterable[str]) -> list[Any]:
    """Return (compiler, mode) for all of both; each mode but the third is quick with one compiler."""
    found = []
    for at, mode in enumerate(modes):
        for place, compiler in enumerate(("gcc", "clang")):
            marks = () if at % 2 == place and at != 2 else (pytest.mark.slow,)
            found.append(pytest.param(compiler, mode, marks=marks, id=f"{compiler}-{mode}"))
    return found
