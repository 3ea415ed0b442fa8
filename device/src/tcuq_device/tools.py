"""Run external programs, with a clear error where one is missing or fails."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from tcuq.base.errors import InputError
from tcuq.base.texts import folder

PACKAGE = folder()
HERE = Path(str(resources.files("tcuq_device")))
"""Where the files of C lie: the monitor's, and those of this part."""

PACKAGES = {
    "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "arm-none-eabi-size": "binutils-arm-none-eabi",
    "arm-none-eabi-nm": "binutils-arm-none-eabi",
    "arm-none-eabi-objdump": "binutils-arm-none-eabi",
    "qemu-system-arm": "qemu-system-arm",
    "riscv64-unknown-elf-gcc": "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
    "qemu-system-riscv32": "qemu-system-misc",
    "gcc": "gcc",
    "cc": "gcc",
}
"""The Debian packages that bring a program."""


class MissingTool(InputError):
    """A program is not installed; the message says how to get it."""


def missing() -> str | None:
    """Return what to say when some program for Cortex-M is missing, else None."""
    for tool in (tool for tool in PACKAGES if "riscv" not in tool):
        try:
            path_of(tool)
        except MissingTool as error:
            return str(error)
    return None


def path_of(tool: str) -> str:
    """Return where a program is."""
    path = shutil.which(tool)
    if path is None:
        how = f"on Debian, apt-get install {PACKAGES[tool]}" if tool in PACKAGES else "put it on the PATH"
        raise MissingTool("needs", f"{tool} is missing: {how}", tool)
    return path


def call(tool: str, arguments: Sequence[str | Path], folder: Path | None = None) -> str:
    """Run a program and return its standard output; a failure is refused with its first error line."""
    done = subprocess.run([path_of(tool), *map(str, arguments)], capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        lines = (
            [line for line in done.stderr.splitlines() if "error" in line]
            or done.stderr.splitlines()
            or ["nothing"]
        )
        raise InputError("failed", f"{tool} failed: {lines[0].strip()}")
    return done.stdout


def version(tool: str) -> str:
    """Return the first line that a program says of its version."""
    return call(tool, ["--version"]).splitlines()[0].strip()
