"""Count the instructions of one monitor step with callgrind.

    python bench/instructions.py            a table over several configurations

The count is of the core compiled by gcc at -O2 for this machine: a program that makes a stream and
watches it, less the same program that only makes it. The same binary gives the same count on every run.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORE = ROOT / "src" / "tcuq" / "core"
STEPS = 500

Counter = Callable[[int, int, int, Sequence[int]], float]
"""Instructions a step from signals, classes, features and lags."""


def build(folder: Path, compiler: str = "gcc", *options: str) -> Path:
    """Compile the counting program into `folder` and return it.

    Linked statically where there is a C library for that: an emulator needs no loader of the other machine,
    and callgrind starts in a quarter of the time.
    """
    program = folder / f"step_count_{Path(compiler).name}"
    sources = [ROOT / "bench" / "step_count.c", *sorted(CORE.glob("*.c"))]
    command = [compiler, "-std=c99", "-O2", *options, f"-I{CORE}", *map(str, sources), "-o", str(program)]
    if subprocess.run([*command, "-static"], capture_output=True).returncode != 0:
        subprocess.run(command, check=True)
    return program


def _total(program: Path, arguments: Sequence[int]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile"
        subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                "--toggle-collect=main",  # what runs before it depends on random numbers
                f"--callgrind-out-file={profile}",
                program,
                *map(str, arguments),
            ],
            check=True,
            capture_output=True,
        )
        total = re.search(r"^(?:summary|totals): (\d+)", profile.read_text(), re.MULTILINE)
    assert total is not None
    return int(total.group(1))


def count(program: Path, signals: int, classes: int, features: int, lags: Sequence[int]) -> float:
    """Return the mean number of instructions that one step adds to the program."""
    busy, idle = (_total(program, (signals, classes, features, steps, *lags)) for steps in (STEPS, -STEPS))
    return (busy - idle) / STEPS


X86_64_HINT = (
    "counting x86-64 instructions here needs: apt-get install gcc-x86-64-linux-gnu libc6-dev-amd64-cross "
    "qemu-user (on x86-64 itself: valgrind)"
)


def x86_64_counter(folder: Path) -> Counter | None:
    """Return a counter of x86-64 instructions: callgrind there, an emulator elsewhere, None without tools."""
    if platform.machine() == "x86_64":
        if shutil.which("valgrind") is None:
            return None
        return partial(count, build(folder))
    if shutil.which("x86_64-linux-gnu-gcc") is None or shutil.which("qemu-x86_64") is None:
        return None
    program = build(folder, "x86_64-linux-gnu-gcc")
    plugin = folder / "count.so"
    source = ROOT / "device" / "src" / "tcuq_device" / "emulate" / "count.c"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", str(source), "-o", str(plugin)], check=True)

    def emulated(signals: int, classes: int, features: int, lags: Sequence[int]) -> float:
        totals = []
        for steps in (STEPS, -STEPS):
            arguments = map(str, (signals, classes, features, steps, *lags))
            done = subprocess.run(
                ["qemu-x86_64", "-plugin", str(plugin), str(program), *arguments],
                check=True,
                capture_output=True,
                text=True,
            )
            totals.append(int(done.stderr.split()[-1]))
        return (totals[0] - totals[1]) / STEPS

    return emulated


EVIDENCE, BET, INSTANT = (1 << bit for bit in (20, 21, 22))
"""Bits of `signals` that are no signals: see step_count.c."""

CONFIGURATIONS: list[tuple[int, int, int, tuple[int, ...]]] = [
    (15, 10, 32, (1, 2, 4)),
    (13, 10, 0, (1, 2, 4)),
    (0x38, 10, 0, ()),
    (EVIDENCE | 0x10, 10, 0, ()),
    (EVIDENCE | 0x3F0, 10, 32, ()),
    (EVIDENCE | BET | 0x3F0, 10, 32, ()),
    (EVIDENCE | 0x130, 10, 0, ()),
    (EVIDENCE | 0x3F0, 2, 16, ()),
    (EVIDENCE | 0x3F0, 35, 64, ()),
    (0x3F0, 200, 64, ()),
    (0x130, 200, 0, ()),
    (INSTANT | 0x10, 10, 0, ()),
    (0x90, 10, 256, ()),
    (0x3FF, 10, 32, (1, 2, 4)),
    (0x40, 10, 64, ()),
    (15, 2, 16, (1,)),
    (15, 35, 64, (1, 2, 4)),
    (15, 200, 64, (1, 2, 4, 8)),
    (0x7F, 10, 32, (1, 2, 4)),
    (0x7F, 200, 32, (1, 4)),
    (0x7A, 35, 64, (1, 2, 4, 8, 16)),
    (0x30, 10, 0, ()),
    (8, 10, 0, (1,)),
    (15, 10, 256, (1, 2, 3, 4, 5, 6, 7, 8)),
    (4, 10, 0, (1, 2, 4)),
]


def main() -> int:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        machine = platform.machine()
        counters: dict[str, Counter | None] = {machine: partial(count, build(Path(folder)))}
        if machine != "x86_64":
            counters["x86_64"] = x86_64_counter(Path(folder))
        known = {name: counter for name, counter in counters.items() if counter is not None}
        print(
            f"{'signals':>8} {'classes':>8} {'features':>9}" + "".join(f"{n:>10}" for n in known) + "  lags"
        )
        for signals, classes, features, lags in CONFIGURATIONS:
            counts = "".join(f"{c(signals, classes, features, lags):>10.1f}" for c in known.values())
            print(f"{signals:>8} {classes:>8} {features:>9}{counts}  {list(lags)}")
        if len(known) < len(counters):
            print(X86_64_HINT, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
