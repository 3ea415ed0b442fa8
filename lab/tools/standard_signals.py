"""What each signal of the standard profile earns, on streams of any pace.

    python lab/tools/standard_signals.py --cache DIR

The fit without each of them in turn, and with one more. Needs the data, and records network outputs where
they are missing. One fit per network and set of signals, without knowing the pace; streams of unseen
corruption types judge. Nothing is chosen by it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tcuq import FitOptions, Monitor, Params, fit
from tcuq.metrics.ranking import auroc
from tcuq.monitor.cost import cost
from tcuq.monitor.log import Log, watch
from tcuq.monitor.signals import PROFILES
from tcuq_lab.reproduce.field.plan import BACKBONES, DEV, UnitPlan
from tcuq_lab.reproduce.field.units import Unit
from tcuq_lab.reproduce.recordings import Recordings
from tcuq_lab.reproduce.run_size import run_size

RUN_LENGTH = 2000
"""Clean steps per false alarm that every fit is asked for."""
STANDARD = PROFILES["standard"]
MORE = ("doubt", "surprise_fast", "spread_fast", "strain_slow", "displacement", "disbelief_slow")
"""Tried beside the standard ones: one of each kind that needs no ring of past steps."""

COLUMNS = ("AUROC", "left at 90 %", "on clean", "on shifted", "RAM", "instructions")


def variants(more: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give a name and the signals of each fit."""
    yield "standard", STANDARD
    for name in STANDARD:
        yield f"without {name}", tuple(each for each in STANDARD if each != name)
    for name in MORE if more else ():
        yield f"with {name}", (*STANDARD, name)


def judged(params: Params, log: Log) -> list[float]:
    """Return AUROC of wrong answers, those left at 90 % coverage, alarm on clean and on shifted steps."""
    steps: Any = watch(Monitor(params), log)
    wrong, shifted = steps["answer"] != log.labels, np.asarray(log.shifted, dtype=bool)
    kept = np.argsort(steps["risk"], kind="stable")[: round(0.9 * len(wrong))]
    on = steps["alarm"] > 0
    return [
        auroc(steps["risk"], wrong),
        float(wrong[kept].mean()),
        float(on[~shifted].mean()),
        float(on[shifted].mean()),
    ]


def measured(task: str, seeds: Sequence[int], recordings: Recordings, more: bool) -> None:
    """Print a row for each set of signals: means over streams and networks."""
    print(f"\n{task}, {BACKBONES[task]}, networks {', '.join(map(str, seeds))}")
    print(f"{'':24}" + "".join(f"{name:>14}" for name in COLUMNS))
    severities = recordings.setting.severities
    units = [Unit(UnitPlan(task, seed, severities=severities), recordings) for seed in seeds]
    for name, signals in variants(more):
        rows: list[list[float]] = []
        for unit in units:
            params = fit(
                unit.log(DEV), options=FitOptions(signals=signals, explain=False), run_length=RUN_LENGTH
            )
            price = cost(params)
            shown = [unit.log(f"test {law}") for law in unit.plan.laws]
            means = np.mean([judged(params, log) for log in shown], axis=0)
            rows.append([*means.tolist(), price.ram_bytes, price.instructions])
        found = np.mean(rows, axis=0)
        print(
            f"{name:24}"
            + "".join(f"{x:14.4f}" for x in found[:4])
            + "".join(f"{x:14.0f}" for x in found[4:]),
            flush=True,
        )


def main() -> None:
    """Read the options and print a table for each task."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True, help="network outputs")
    parser.add_argument("--seeds", default="0,1,2", help="networks")
    parser.add_argument("--more", action="store_true", help="also try further signals")
    parser.add_argument("--weights", default="lab/weights", help="networks")
    parser.add_argument("--setting", default="full", help="size of the run")
    args = parser.parse_args()
    seeds = [int(each) for each in args.seeds.split(",")]
    recordings = Recordings(args.weights, str(args.cache), run_size(args.setting))
    for task in BACKBONES:
        measured(task, seeds, recordings, args.more)


if __name__ == "__main__":
    main()
