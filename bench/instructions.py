"""Count the instructions of one monitor step with callgrind.

    python bench/instructions.py            a table over several configurations

The count is of the core compiled by gcc at -O2 for this machine: a program that makes a stream and
watches it, less the same program that only makes it. The same binary gives the same count on every run.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORE = ROOT / "src" / "tcuq" / "core"
STEPS = 500


def build(folder: Path, compiler: str = "gcc", flags: Sequence[str] = ("-O2",)) -> Path:
    """Compile the counting program into `folder` and return it."""
    program = folder / "step_count"
    sources = [ROOT / "bench" / "step_count.c", CORE / "tcuq.c"]
    subprocess.run(
        [compiler, "-std=c99", *flags, f"-I{CORE}", *map(str, sources), "-o", str(program)], check=True
    )
    return program


def _total(program: Path, arguments: Sequence[int]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile"
        subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
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


CONFIGURATIONS: list[tuple[int, int, int, tuple[int, ...]]] = [
    (15, 10, 32, (1, 2, 4)),
    (13, 10, 0, (1, 2, 4)),
    (511, 10, 32, (1, 2, 4)),
    (253, 10, 0, (1, 2, 4)),
    (15, 2, 16, (1,)),
    (15, 35, 64, (1, 2, 4)),
    (15, 200, 64, (1, 2, 4, 8)),
    (511, 35, 64, (1, 2, 4, 8, 16)),
    (511, 200, 32, (1, 4)),
    (8, 10, 0, (1,)),
    (15, 10, 256, (1, 2, 3, 4, 5, 6, 7, 8)),
    (4, 10, 0, (1, 2, 4)),
]


def main() -> int:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        print(f"{'signals':>8} {'classes':>8} {'features':>9} {'instructions':>13}  lags")
        for signals, classes, features, lags in CONFIGURATIONS:
            instructions = count(program, signals, classes, features, lags)
            print(f"{signals:>8} {classes:>8} {features:>9} {instructions:>13.1f}  {list(lags)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
