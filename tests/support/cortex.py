"""Building and running small programs for a Cortex-M4 under emulation."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from places import ROOT

HERE = ROOT / "tests" / "c"
M4 = ["-mcpu=cortex-m4", "-mthumb"]
CROSS = "gcc-arm-none-eabi libnewlib-arm-none-eabi"


def need(tool: str, package: str) -> str:
    """Return the path of a tool, or skip the test."""
    path = shutil.which(tool)
    if path is None:
        pytest.skip(f"{tool} is missing: apt-get install {package}")
    return path


def compile_for_m4(source: Path, target: Path, *flags: str) -> Path:
    """Compile one file of C, or of C++ where its name says so, as the Arduino builder would."""
    if source.suffix == ".c":
        command = [need("arm-none-eabi-gcc", CROSS), *M4, "-std=gnu11"]
    else:
        # What the cores of boards ask for.
        command = [need("arm-none-eabi-g++", CROSS), *M4, "-std=gnu++11", "-fno-exceptions", "-fno-rtti"]
    sections = ["-Os", "-ffunction-sections", "-fdata-sections", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*command, *sections, *flags, "-c", str(source), "-o", str(target)], check=True)
    return target


def link_for_m4(objects: list[Path], target: Path) -> Path:
    """Link with our own start, by the driver of C: that of C++ asks for a library that may be missing."""
    start = compile_for_m4(HERE / "cortex_m.c", target.with_suffix(".start.o"))
    places = [
        "-Wl,--section-start=.vectors=0",
        "-Wl,-Ttext=0x100",
        "-Wl,-Tdata=0x20000000",
        "-Wl,--gc-sections",
    ]
    command = [need("arm-none-eabi-gcc", CROSS), *M4, "-nostartfiles", "-specs=nosys.specs", *places]
    subprocess.run(
        [
            *command,
            "-Wl,-u,tcuq_test_vectors,-e,tcuq_test_reset",
            *map(str, [start, *objects]),
            "-o",
            str(target),
        ],
        check=True,
    )
    return target


def run_on_m4(program: Path) -> tuple[int, str]:
    """Run a program under emulation; return the result of its main() and what it printed."""
    emulator = need("qemu-system-arm", "qemu-system-arm")
    command = [emulator, "-M", "mps2-an386", "-display", "none", "-monitor", "none", "-serial", "none"]
    semihosting = ["-semihosting-config", "enable=on,target=native", "-kernel", str(program)]
    done = subprocess.run([*command, *semihosting], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr + done.stdout
