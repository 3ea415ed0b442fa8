# SPDX-License-Identifier: MIT
"""Building the core and the programs that test it, and running them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "src" / "tcuq" / "core"
TESTS = ROOT / "tests" / "c"
VECTORS = ROOT / "vectors"

LEVEL = "-O1"
WHOLE = "-DTCUQ_SIGNALS=TCUQ_EVERYTHING"
"""Everything that a build can have: labels are left out unless asked for."""
SANITIZED = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@dataclass(frozen=True)
class Build:
    """A way to compile the core."""

    name: str
    flags: tuple[str, ...] = ()
    vectors: tuple[Path, ...] = field(default=(), repr=False)


def vectors_of(
    signals: int, evidence: bool = True, instant: bool = True, labels: bool = True
) -> tuple[Path, ...]:
    """Return the vectors whose params a build for some signals accepts.

    Examples
    --------
    >>> len(vectors_of(1 << 3)) < len(vectors_of(15, False, False)) < len(vectors_of(-1))
    True
    """
    found = []
    for path in sorted(VECTORS.glob("*.vec")):
        head = path.read_text("utf-8").partition("\nstep ")[0]
        asked = re.search(r"\bsignals=(\d+)", head)
        assert asked is not None, path
        able = int(asked[1]) & ~signals == 0
        able &= evidence or "\nevidence " not in head
        able &= instant or "\ninstant " not in head
        able &= labels or "\nfeedback " not in head
        if able:
            found.append(path)
    return tuple(found)


def builds() -> list[Build]:
    """Return the builds in which a mutant may show, in the order in which they are tried.

    The first has all that a computer with a counting instruction compiles. The second has the code for other
    machines and for the Python binding, the third lacks the signals and heads outside the paper's profile.
    """
    every = vectors_of(-1)
    return [
        Build("default", (WHOLE,), every),
        Build("portable", (WHOLE, "-DTCUQ_TEST_LOOPS"), every),
        Build("small", ("-DTCUQ_SIGNALS=0x00Cu",), vectors_of(0xC, False, False, False)),
    ]


def compiler() -> str:
    """Return the C compiler, or end with a line that says what to install."""
    found = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if found is None:
        print("cc is missing, expected a C compiler: apt-get install gcc libc6-dev", file=sys.stderr)
        raise SystemExit(2)
    return found


def compile_one(cc: str, source: Path, target: Path, flags: Iterable[str], include: Path) -> bool:
    """Compile a file; return whether it is C."""
    command = [cc, "-std=c99", "-w", *flags, f"-I{include}", "-c", source.name, "-o", str(target)]
    return run(command, 120, source.parent)[0] == 0


def link(cc: str, objects: Sequence[Path], target: Path, flags: Iterable[str] = ()) -> bool:
    """Link a program; return whether that worked."""
    return run([cc, *flags, *map(str, objects), "-o", str(target)], 120)[0] == 0


def run(command: Sequence[str | Path], seconds: float, folder: Path | None = None) -> tuple[int, str]:
    """Run a command; return its status, -99 for one without an end, and the last of what it said."""
    environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0", LC_ALL="C")
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=seconds,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return -99, "no end"
    return done.returncode, (done.stdout[-300:] + done.stderr[-600:]).decode("utf-8", "replace")


def includers(core: Path) -> dict[str, tuple[str, ...]]:
    """Return, by file, the C files of a core that have it in them.

    Examples
    --------
    >>> includers(CORE)["tcuq_tables.h"][:2]
    ('tcuq.c', 'tcuq_beliefs.c')
    """
    texts = {path.name: path.read_text("utf-8") for path in sorted(core.glob("*.[ch]"))}

    def reaches(name: str, seen: set[str]) -> set[str]:
        if name in seen:
            return seen
        seen.add(name)
        for other in re.findall(r'#include "(\w+\.h)"', texts[name]):
            if other in texts:
                reaches(other, seen)
        return seen

    sources = [name for name in texts if name.endswith(".c")]
    inside = {name: reaches(name, set()) for name in sources}
    return {name: tuple(one for one in sources if name in inside[one]) for name in texts}
