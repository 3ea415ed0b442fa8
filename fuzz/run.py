# SPDX-License-Identifier: MIT
"""Fuzz the core, the writer of frames and every reader of files.

The targets in C (fuzz/c) run one after the other; the readers (fuzz/readers.py) run beside them, or take half
of the time with ``--jobs 1``::

    python fuzz/run.py --minutes 10 [--seed N] [--target load|steps|frames|readers]

What is found is kept in out/fuzz. Exit status: 0 without a finding, 1 with one, 2 when nothing could be run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from targets import ROOT, TARGETS, Outcome, Unable, build, find_compiler, run_target

READERS = ROOT / "fuzz" / "readers.py"
OUT = ROOT / "out" / "fuzz"


def run_targets(names: list[str], seconds: float, seed: int, out: Path, jobs: int) -> list[Outcome]:
    """Build the targets and run some of them, one after the other, for a share of the time each."""
    folder = out / "build"
    folder.mkdir(parents=True, exist_ok=True)
    compiler = find_compiler()
    print(f"seed {seed}, {compiler} with libFuzzer", flush=True)
    programs = build(folder, compiler, jobs=jobs)
    outcomes = []
    for name in names:
        done = run_target(programs[name], max(1, round(seconds / len(names))), seed, out)
        outcomes.append(done)
        print(
            f"{name:8} {done.runs:>12,} inputs {done.steps:>14,} steps {done.edges:>6,} edges "
            f"{len(done.findings):>3} findings",
            flush=True,
        )
    return outcomes


def run_readers(seconds: float, seed: int) -> tuple[str, list[str]]:
    """Fuzz the readers of files; return what they said, and findings."""
    if not READERS.exists():
        return "readers: fuzz/readers.py is missing", []
    command = [sys.executable, str(READERS), "--seconds", str(max(1, round(seconds))), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    said = (done.stdout + done.stderr).strip()
    if done.returncode == 0:
        return said, []
    last = said.splitlines()[-1] if said else f"exit status {done.returncode}"
    return said, [f"readers: {last}"]


def main(words: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Fuzz the core and the readers of files.")
    parser.add_argument("--minutes", type=float, default=10.0, help="time for everything (default: 10)")
    parser.add_argument("--seed", type=int, default=None, help="of all mutations (default: the time)")
    parser.add_argument("--target", choices=[*TARGETS, "readers"], help="this one alone")
    parser.add_argument("--jobs", type=int, choices=(1, 2), default=2, help="processes (default: 2)")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for findings (default: out/fuzz)")
    given = parser.parse_args(words)
    seed = int(time.time()) % 1_000_000 if given.seed is None else given.seed
    if given.minutes <= 0 or seed < 0:
        print("fuzz: --minutes is above 0, --seed at least 0", file=sys.stderr)
        return 2
    names = [name for name in TARGETS if given.target in (None, name)]
    readers = given.target in (None, "readers")
    whole = 60 * given.minutes
    seconds = whole / 2 if given.jobs == 1 and names and readers else whole
    out = given.out.resolve()
    try:
        with ThreadPoolExecutor(given.jobs) as pool:
            first = pool.submit(run_targets, names, seconds, seed, out, given.jobs) if names else None
            second = pool.submit(run_readers, seconds, seed) if readers else None
            outcomes = [] if first is None else first.result()
            said, findings = ("", []) if second is None else second.result()
    except Unable as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2
    if said:
        print(said)
    findings = [line for done in outcomes for line in done.findings] + findings
    print(f"{len(findings)} findings, kept in {out}" if findings else "no findings")
    for line in findings:
        print(f"  {line}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
