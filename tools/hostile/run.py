# SPDX-License-Identifier: MIT
"""Attack the rates with adversaries that know the coming threshold; check every bound at every step.

Needs Python and a C compiler, and nothing else::

    python tools/hostile/run.py --steps 1000000000 [--jobs J] [--seed S]

Each game is one adversary against one parameter set; it follows from the seed, its number and the number of
steps asked for, so that the figures do not depend on the number of jobs. Exit status: 0 when all bounds held,
1 when one was broken, 2 when nothing could be run.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CORE = ROOT / "src" / "tcuq" / "core"
SHARED = ROOT / "fuzz" / "c"
FLAGS = [
    "-std=c99",
    "-O2",
    "-Wall",
    "-Wextra",
    "-DTCUQ_SIGNALS=TCUQ_EVERYTHING",
]
SUMMED = ("broken", "games", "steps", "flagged", "abstained", "resets", "loads", "labels", "wrong")


class Unable(Exception):
    """Nothing can be run here; the message says why."""


def compiler() -> list[str]:
    """Return the command of a C compiler: that of CC, or the first of cc, gcc and clang."""
    for name in [shlex.split(os.environ["CC"])] if os.environ.get("CC") else [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(name[0]) is not None:
            return name
    raise Unable("no C compiler is here: install gcc or clang, or set CC")


def build(folder: Path, core: Path = CORE) -> Path:
    """Compile the program."""
    program = folder / "hostile"
    sources = [
        *(HERE / name for name in ("hostile.c", "game.c", "adversaries.c")),
        *(SHARED / name for name in ("sets.c", "bounds.c")),
        *sorted(core.glob("*.c")),
    ]
    command = [*compiler(), *FLAGS, f"-I{SHARED}", f"-I{core}", *map(str, sources), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stderr.strip() or "no message").splitlines()
        raise Unable(f"{command[0]} cannot build hostile.c: {said[0]}")
    return program


def play(program: Path, steps: int, seed: int, jobs: int) -> dict[str, Any]:
    """Play as many games as take so many steps, some of them in each process; return the sum of all."""
    # Many parameter sets in a short run, and time to reach far debts in a long one.
    longest = min(262_144, max(8192, steps // 256))
    words = [[str(program), *map(str, (seed, longest, steps, job, jobs))] for job in range(jobs)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in words]
    total: dict[str, Any] = {**dict.fromkeys(SUMMED, 0), "violations": [], "bounds": {}, "adversaries": 0}
    for job, process in enumerate(running):
        said, _ = process.communicate()
        if process.returncode != 0:
            total["broken"] += 1
            total["violations"] += [f"process {job} ended with status {process.returncode}"]
            continue
        found = json.loads(said)
        for name in SUMMED:
            total[name] += found[name]
        total["violations"] += found["violations"]
        total["adversaries"] = found["adversaries"]
        for name, (closest, reached) in found["bounds"].items():
            best, games = total["bounds"].get(name, (0.0, 0))
            total["bounds"][name] = (max(best, closest), games + reached)
    return total


def page(total: dict[str, Any], seed: int, seconds: float) -> str:
    """Return the figures as text."""
    lines = [
        f"{total['steps']:,} steps, {total['games']:,} games (a parameter set each), "
        f"{total['adversaries']} adversaries, seed {seed}, {seconds:.0f} s",
        f"{total['flagged']:,} flagged, {total['abstained']:,} abstained, {total['resets']:,} resets, "
        f"{total['loads']:,} states saved and loaded",
        f"{total['labels']:,} labels, {total['wrong']:,} of them errors of steps that were counted",
        "",
        f"{'bound':28} {'closest':>9}   games within 0.1 % of it",
    ]
    for name, (best, reached) in total["bounds"].items():
        lines.append(f"{name:28} {100 * best:8.4f}%   {reached:,}")
    lines += ["", f"{total['broken']:,} violations", *(f"  {line}" for line in total["violations"][:20])]
    return "\n".join(lines)


def main(words: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Adversaries against every bound of the monitor.")
    parser.add_argument("--steps", type=int, default=10_000_000, help="steps to take (default: 10 million)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)"
    )
    parser.add_argument("--seed", type=int, default=1, help="chooses parameter sets and inputs (default: 1)")
    parser.add_argument(
        "--core", type=Path, default=CORE, help="folder of the core to attack (default: ours)"
    )
    given = parser.parse_args(words)
    if given.steps < 1 or given.jobs < 1 or not 0 <= given.seed < 2**63:
        print("hostile: --steps and --jobs are at least 1, --seed is at least 0", file=sys.stderr)
        return 2
    begun = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            total = play(build(Path(folder), given.core.resolve()), given.steps, given.seed, given.jobs)
    except Unable as error:
        print(f"hostile: {error}", file=sys.stderr)
        return 2
    print(page(total, given.seed, time.monotonic() - begun))
    return 1 if total["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
