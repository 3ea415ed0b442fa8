"""Programs that run int8 networks, on this computer or on an emulated board, and print what they give."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from places import ROOT

from tcuq import Params
from tcuq.export import sources as exported
from tcuq_device.firmware.build import BOARDS, STRICT
from tcuq_device.firmware.decision import CORE, FIRMWARE, Rule
from tcuq_device.firmware.firmware import Firmware, plan_header, plan_source
from tcuq_device.generate.source import KERNELS, takes_random, write
from tcuq_device.graph import oracle
from tcuq_device.graph.model import Graph

HERE = ROOT / "tests" / "c"
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-pedantic"]
SEED = 77

MODES = {
    "O0": ["-O0", "-Werror"],
    "O3": ["-O3", "-Werror"],
    "Ofast": ["-Ofast"],  # newer clang warns about the option itself
    "plain": ["-O2", "-Werror", "-DTCUQ_NN_PLAIN"],
    "sanitized": ["-O1", "-g", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
}
CORES = {
    "m4": ("mps2-an386", ["-mcpu=cortex-m4"]),
    "m4_plain": ("mps2-an386", ["-mcpu=cortex-m4", "-DTCUQ_NN_PLAIN"]),
    "m4_unoptimized": ("mps2-an386", ["-mcpu=cortex-m4", "-O0"]),
    "m4_small": ("mps2-an386", ["-mcpu=cortex-m4", "-Os"]),
    "m7": ("mps2-an500", ["-mcpu=cortex-m7"]),
    "m3": ("mps2-an385", ["-mcpu=cortex-m3"]),
    "m0": ("mps2-an385", ["-mcpu=cortex-m0"]),  # a machine that also runs what a Cortex-M0 does
}
GraphCase = tuple[Graph, np.ndarray]


def prepare(cases: Sequence[GraphCase], folder: Path) -> None:
    """Write the networks, their inputs and what runs them in turn."""
    lines = ['#include "tcuq_nn.h"']
    bodies, calls = [], []
    for number, (graph, x) in enumerate(cases):
        name = f"net{number}"
        write(graph, folder, name)
        lines.append(f'#include "{name}.c"')
        rows = ",\n".join("{" + ", ".join(map(str, one.ravel())) + "}" for one in x)
        lines.append(f"static const int8_t {name}_inputs[{len(x)}][{name.upper()}_INPUT] = {{{rows}}};")
        sizes = [(purpose, graph.tensors[tensor].size) for purpose, tensor in graph.outputs.items()]
        random = ", &random" if takes_random(graph) else ""
        arena = f"{name.upper()}_ARENA"
        # States stay in one arena; else every run finds other bytes in its own.
        loop = [
            f"    for (i = 0; i < {len(x)}; i++) {{\n",
            f"        int8_t *arena = take({arena});\n        memset(arena, 0xA5 + 90 * i, {arena});\n",
        ]
        end = [f"        give_back(arena, {arena});\n", "    }\n"]
        if graph.states:
            loop = [loop[1], f"        {name}_reset(arena);\n", loop[0]]
            end = end[::-1]
        bodies.append(
            f"static void go_{name}(void)\n{{\n    {name}_outputs out;\n    int i = 0;\n"
            f"    uint32_t random = {SEED}u;\n    (void)random;\n"
            + "".join(loop)
            + f"        memcpy(arena + {name.upper()}_INPUT_AT, {name}_inputs[i], {name.upper()}_INPUT);\n"
            f"        {name}_run(arena, &out{random});\n"
            + "".join(f"        emit(out.{purpose}, {size});\n" for purpose, size in sizes)
            + "".join(end)
            + "}\n"
        )
        calls.append(f"    go_{name}();\n")
    text = "\n".join(lines) + "\n\n" + "\n".join(bodies)
    (folder / "networks.h").write_text(text + "\nstatic void run_all(void)\n{\n" + "".join(calls) + "}\n")


def kernels_in(folder: Path) -> list[Path]:
    """The files of the kernels that are compiled."""
    return [folder / name for name in KERNELS if name.endswith(".c")]


def compile_with(
    command: Sequence[str | Path], folder: Path, program: Path, sources: Sequence[Path] | None = None
) -> Path:
    """Build a program from a prepared folder: all of it, or what some sources give."""
    files = sources or [HERE / "run_networks.c", *kernels_in(folder)]
    done = subprocess.run([*command, f"-I{folder}", *files, "-o", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def run_here(program: Path) -> str:
    environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    done = subprocess.run([program], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


MACHINES = {
    "x86_64": ("x86_64-linux-gnu-gcc", "qemu-x86_64", "gcc-x86-64-linux-gnu libc6-dev-amd64-cross qemu-user"),
    "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64", "gcc-aarch64-linux-gnu qemu-user"),
}
"""Compilers for computers that this one may not be, and what runs their programs."""


def run_elsewhere(machine: str, folder: Path, program: Path) -> str:
    """Build a prepared folder for the other kind of computer, and run it in an emulator."""
    compiler, emulator, packages = MACHINES[machine]
    if platform.machine() == machine:
        pytest.skip("this computer is one, and the tests above are of it")
    if shutil.which(compiler) is None or shutil.which(emulator) is None:
        pytest.skip(f"{compiler} or {emulator} is missing: install the Debian packages {packages}")
    command = [compiler, "-static", "-std=c99", *WARNINGS, "-O3", "-Werror"]
    done = subprocess.run(
        [emulator, compile_with(command, folder, program)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_on(machine: str, program: Path) -> str:
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("qemu-system-arm is missing: install the Debian package qemu-system-arm")
    command = ["qemu-system-arm", "-M", machine, "-nographic", "-monitor", "none", "-serial", "none"]
    command += ["-semihosting-config", "enable=on,target=native", "-kernel", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return done.stderr  # where the emulator puts what a board prints


def check(printed: str, cases: Sequence[GraphCase]) -> None:
    """Compare every printed output with the oracle's."""
    lines = iter(printed.splitlines())
    for number, (graph, x) in enumerate(cases):
        wanted = oracle.run(graph, x, random=oracle.Random(SEED))
        for row in range(len(x)):
            for purpose, values in wanted.items():
                line = next(lines)
                found = np.frombuffer(bytes.fromhex(line), np.int8)
                assert np.array_equal(found, values[row].ravel()), (number, row, purpose)
    assert next(lines, None) is None


def no_warnings_from_clang(rule: Rule, more: Sequence[Path], folder: Path) -> None:
    """Let another compiler look at the files of a firmware with a rule."""
    if shutil.which("clang") is None:
        pytest.skip("clang is missing: install the Debian package clang")
    firmware = Firmware("f", rule=rule, shape=(10, 0))
    texts = {"plan.h": plan_header(firmware), "plan.c": plan_source(firmware, 0), **rule.texts()}
    texts.setdefault("monitor.h", exported(Params(classes=10), "monitor")["monitor.h"])
    for name, text in texts.items():
        (folder / name).write_text(text)
    files = [folder / name for name in texts if name.endswith(".c")]
    # The core has tests of its own, and wants headers of a library.
    files += [file for file in rule.files() if file.parent != CORE]
    files += [*more, BOARDS / "startup.c"]
    files += [FIRMWARE / name for name in ("main.c", "rule_top.c", "harness.c", "harness_report.c")]
    files.append(FIRMWARE / "harness_step.c")
    flags = [
        "--target=thumbv7em-none-eabi",
        "-ffreestanding",
        "-fsyntax-only",
        "-DREPLAY_BYTES=64u",
        "-DUART_CMSDK",
        "-DUART=0u",
    ]
    flags += ["-DREPLAY_CLASSES=4u", "-DREPLAY_CENTERS=8u"]
    command = ["clang", *STRICT, *flags, f"-I{folder}", f"-I{CORE}", f"-I{FIRMWARE}", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def arm(core: str, folder: Path, program: Path) -> Path:
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is missing: install the Debian package gcc-arm-none-eabi")
    options = [
        "-std=c99",
        "-mthumb",
        "-O3",
        *CORES[core][1],
        "-DBOARD",
        "-nostartfiles",
        "--specs=nano.specs",
    ]
    script = ["-ffunction-sections", "-Wl,--gc-sections", f"-Wl,-T,{HERE / 'board.ld'}"]
    return compile_with(["arm-none-eabi-gcc", *options, *script], folder, program)


def run_on_core(core: str, folder: Path, target: Path) -> str:
    """Build a prepared folder for a core, and run it."""
    return run_on(CORES[core][0], arm(core, folder, target / "program"))
