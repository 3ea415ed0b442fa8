# SPDX-License-Identifier: MIT
"""Change the core at every place, one change at a time, and see whether the tests notice.

    python tools/mutants/run.py [--jobs J] [--sample N --seed S] [--file NAME] [--list] [--no-flips]

Needs Python 3.10 and a C compiler, nothing else. Exit status: 0, or 1 when fewer mutants than the floor are
killed, or 2 when it cannot run.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from mutants import report
from mutants.builds import CORE, ROOT, builds, compiler
from mutants.judge import Judge, Verdict
from mutants.places import SOURCES, Mutant, mutants

FLOOR = 95.0
"""Percent of the mutants that neither a compiler nor survivors.txt shows to behave like the original."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Mutation testing of the core.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time")
    parser.add_argument("--sample", type=int, default=0, help="so many mutants, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--file", choices=SOURCES, action="append", help="mutants of this file alone")
    parser.add_argument("--only", type=Path, help="a JSON file of survivors: those alone")
    parser.add_argument("--list", action="store_true", help="print the mutants and end")
    parser.add_argument("--no-flips", action="store_true", help="leave out the bit flips, some seconds each")
    parser.add_argument("--floor", type=float, help="percent below which the status is 1")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "mutants", help="folder of the results")
    asked = parser.parse_args(arguments)
    chosen = choose(mutants(CORE, tuple(asked.file or SOURCES)), asked.sample, asked.seed)
    if asked.only:
        names = report.names_in(asked.only)
        chosen = [mutant for mutant in chosen if mutant.name in names]
    if asked.list:
        print("\n".join(f"{mutant.name} ({mutant.kind})" for mutant in chosen))
        return 0
    cc = compiler()
    with tempfile.TemporaryDirectory(prefix="mutants") as scratch:
        judge = Judge(cc, builds(), Path(scratch), not asked.no_flips)
        if not judge.sanitized:
            print("the compiler has no sanitizers: mutants that only they see count as survivors")
        verdicts = judge_all(judge.judge, chosen, Path(scratch), asked.jobs)
    rate = report.write(list(zip(chosen, verdicts, strict=True)), asked.out)
    return 0 if rate >= (FLOOR if asked.floor is None else asked.floor) else 1


def choose(every: list[Mutant], sample: int, seed: int) -> list[Mutant]:
    """Return a sample in the order of places, or all for a sample of 0.

    Examples
    --------
    >>> [mutant.line for mutant in choose(mutants(CORE, ("tcuq_internal.h",)), 3, 1)] == sorted(
    ...     mutant.line for mutant in choose(mutants(CORE, ("tcuq_internal.h",)), 3, 1)
    ... )
    True
    """
    if not 0 < sample < len(every):
        return every
    return [every[at] for at in sorted(random.Random(seed).sample(range(len(every)), sample))]


def judge_all(
    judge: Callable[[Mutant, Path], Verdict], chosen: list[Mutant], scratch: Path, jobs: int
) -> list[Verdict]:
    """Return the verdicts in the order of the mutants."""
    local = threading.local()
    done = 0
    lock = threading.Lock()

    def one(mutant: Mutant) -> Verdict:
        nonlocal done
        if not hasattr(local, "place"):
            local.place = Path(tempfile.mkdtemp(dir=scratch))
        verdict = judge(mutant, local.place)
        with lock:
            done += 1
            if done % 200 == 0:
                print(f"{done} of {len(chosen)}", file=sys.stderr, flush=True)
        return verdict

    with ThreadPoolExecutor(max(1, jobs)) as pool:
        return list(pool.map(one, chosen))


if __name__ == "__main__":
    sys.exit(main())
