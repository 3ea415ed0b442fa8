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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CORE = ROOT / "src" / "tcuq" / "core"
SHARED = ROOT / "fuzz" / "c"
FLAGS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-DTCUQ_SIGNALS=0x303FFuL"]
CHUNK = 16
SUMMED = ("broken", "games", "steps", "flagged", "abstained", "resets", "loads", "labels", "wrong")


class Unable(Exception):
    """Nothing can be run here; the message says why."""


def compiler() -> list[str]:
    """Return the command of a C compiler: that of CC, or the first of cc, gcc and clang."""
    asked = shlex.split(os.environ.get("CC", ""))
    if asked:
        if shutil.which(asked[0]) is None:
            raise Unable(f"CC is {asked[0]}, expected a C compiler that is installed")
        return asked
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name) is not None:
            return [name]
    raise Unable("no C compiler is here: install gcc or clang, or set CC")


def build(folder: Path, core: Path = CORE) -> Path:
    """Compile the program."""
    program = folder / "hostile"
    sources = [
        *(HERE / name for name in ("hostile.c", "game.c", "adversaries.c")),
        *(SHARED / name for name in ("sets.c", "bounds.c")),
        *sorted(core.glob("*.c")),
    ]
    command = [*compiler(), *FLAGS, f"-I{SHARED}", f"-I{core}", *map(str, sources), "-lm", "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stderr.strip() or "no message").splitlines()
        raise Unable(f"{command[0]} cannot build hostile.c: {said[0]}")
    return program


def added(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return several results as one."""
    whole: dict[str, Any] = {name: sum(result[name] for result in results) for name in SUMMED}
    whole["violations"] = [line for result in results for line in result["violations"]]
    whole["adversaries"] = results[0]["adversaries"]
    whole["bounds"] = {
        name: [
            max(result["bounds"][name][0] for result in results),
            sum(result["bounds"][name][1] for result in results),
        ]
        for name in results[0]["bounds"]
    }
    return whole


def play(program: Path, steps: int, seed: int, jobs: int) -> dict[str, Any]:
    """Play as many games as take so many steps."""

    def part(first: int) -> dict[str, Any]:
        command = [str(program), "play", str(seed), longest, str(first), str(min(CHUNK, games - first))]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return crashed(first, done.returncode)
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def crashed(first: int, status: int) -> dict[str, Any]:
        """Return the result of games that ended the program."""
        empty: dict[str, Any] = dict.fromkeys(SUMMED, 0)
        line = f"games {first} to {first + CHUNK - 1}: the program ended with status {status}"
        return {**empty, "broken": 1, "violations": [line], "adversaries": 0, "bounds": {}}

    # Many parameter sets in a short run, and time to reach far debts in a long one.
    longest = str(min(262_144, max(8192, steps // 256)))
    command = [str(program), "plan", str(seed), longest, str(steps)]
    plan = subprocess.run(command, capture_output=True, text=True, check=True)
    games = int(plan.stdout)
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(part, range(0, games, CHUNK)))
    whole = [result for result in results if result["bounds"]]
    lost = [result for result in results if not result["bounds"]]
    total = added(whole) if whole else lost[0]
    total["broken"] += sum(result["broken"] for result in lost if result is not total)
    total["violations"] += [line for result in lost if result is not total for line in result["violations"]]
    return total


def page(total: dict[str, Any], seed: int, seconds: float) -> str:
    """Return the figures as text."""
    lines = [
        f"{total['steps']:,} steps, {total['games']:,} games (a parameter set each), "
        f"{total['adversaries']} adversaries, seed {seed}, {seconds:.0f} s",
        f"{total['flagged']:,} flagged, {total['abstained']:,} abstained, {total['resets']:,} resets, "
        f"{total['loads']:,} states saved and loaded",
        f"{total['labels']:,} labels, {total['wrong']:,} of them errors of steps that were vouched for",
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
