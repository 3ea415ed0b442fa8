"""Skipping what needs a compiler that is not there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

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
