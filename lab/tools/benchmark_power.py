"""How often the benchmark tells two methods apart whose relative errors differ by .05.

    python lab/tools/benchmark_power.py [--times 16] [--methods tcuq_no_labels hmm]

All test streams are drawn again by other seeds, so many times, and two methods are scored on each draw. Their
true difference is the mean over draws; it is moved to .05, and counted is how often the interval of a single
draw does not hold 0.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tcuq_lab.benchmark.draw import CLEAN_DEV, DEV, drawn
from tcuq_lab.benchmark.entries import built_in, load_entry
from tcuq_lab.benchmark.files import Benchmark, Task, load
from tcuq_lab.experiments.benchmark import run
from tcuq_lab.harness.checks import Checked
from tcuq_lab.harness.intervals import difference
from tcuq_lab.home import home

TRUE = 0.05


def again(task: Task, number: int) -> Task:
    """Return a task with other test streams; development data stay."""
    frozen = len(task.sources) - 1
    streams = drawn(f"{task.name}, draw {number}", task.pools, bool(task.about["ordered"]), frozen)
    kept = {name: task.streams[name] for name in (DEV, CLEAN_DEV)}
    return replace(task, streams={**streams, **kept})


def told_apart(differences: Sequence[tuple[float, float, float]], true: float = TRUE) -> float:
    """Return the share of intervals that do not hold 0 when the mean difference is moved to the true one."""
    moved = true - float(np.mean([each[0] for each in differences]))
    return float(np.mean([low + moved > 0 or high + moved < 0 for _, low, high in differences]))


def main() -> None:
    """Draw, score and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=16)
    parser.add_argument("--methods", nargs=2, default=["tcuq_no_labels", "hmm"])
    args = parser.parse_args()
    Checked.every = 10**9  # the rules hold whatever the seed: one check a task is enough
    whole = load(home() / "benchmark")
    entries = [load_entry(name) if name.endswith(".py") else built_in(name) for name in args.methods]
    found = []
    for number in range(args.times):
        benchmark = Benchmark([again(task, number) for task in whole.tasks], whole.digest)
        first, second = (run(entry, benchmark) for entry in entries)
        apart = difference(second.cells, first.cells)
        found.append(apart[:3])
        figures = {"draw": number, "difference": [round(float(each), 4) for each in apart[:3]]}
        figures |= {
            "told apart": round(told_apart(found), 3),
            "spread": round(float(np.std(found, axis=0)[0]), 4),
        }
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
