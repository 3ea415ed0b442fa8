"""The other of the two architectures, through a cross compiler and user-mode emulation."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

OTHER = "x86_64" if platform.machine() in ("aarch64", "arm64") else "aarch64"
COMPILER = f"{OTHER}-linux-gnu-gcc"
EMULATOR = f"qemu-{OTHER}"
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}[OTHER]
PACKAGES = {
    COMPILER: f"gcc-{OTHER.replace('_', '-')}-linux-gnu and libc6-dev-{DEBIAN}-cross",
    EMULATOR: "qemu-user",
}


def need_other() -> None:
    """Skip, saying what to install, when the other architecture cannot be tried here."""
    for tool, packages in PACKAGES.items():
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is missing: install the Debian packages {packages}")


def run_other(program: Path, arguments: Sequence[str | Path] = ()) -> subprocess.CompletedProcess[str]:
    """Run a program that was linked statically for the other architecture."""
    return subprocess.run([EMULATOR, program, *arguments], capture_output=True, text=True, timeout=300)
