"""Stored figures of twelve rows and more on a few laws: the same before and after the code is moved.

python lab/tests/support/pins.py [NAME ...]      writes lab/tests/pins/NAME.csv
"""

from __future__ import annotations

import csv
import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from kept_recordings import TINY, Kept

from tcuq_lab.benchmark.draw import Shown
from tcuq_lab.benchmark.entries import built_in
from tcuq_lab.benchmark.files import Benchmark, load
from tcuq_lab.benchmark.late import LATE
from tcuq_lab.experiments.benchmark import run as run_bench
from tcuq_lab.experiments.labels import run as run_late
from tcuq_lab.experiments.paper_streams import PaperPlan, PaperUnit
from tcuq_lab.experiments.registry import EXPERIMENTS, STREAMS
from tcuq_lab.harness.declare import Key, combined
from tcuq_lab.harness.laws import StreamSizes, UnitPlan
from tcuq_lab.methods.tcuq import Tcuq
from tcuq_lab.reproduce.units import Unit

LAB = Path(__file__).parents[2]
PLACE = LAB / "tests" / "pins"
Figures = dict[tuple[str, ...], tuple[float, ...]]
SIZES = StreamSizes(400, 3, 3, 3, 3, 3, 100, 800, 2, 3, 2)
LAWS = ("class 16", "changing pace", "mixed")
BENCH = ("confidence", "entropy", "belief", "belief_paces", "hmm", "windowed_mean", "cusum", "tcuq",
         "tcuq_no_labels", "confidence_norm", "vote_8", "belief_told", "alarm_cusum", "alarm_distance",
         "alarm_mmd", "alarm_bocpd")  # fmt: skip
PAPER = ("drop", "headlines", "literal", "severity", "selective", "rate_audit", "calibration")
SETTING = replace(TINY, severities=(1, 5), kinds=2, steps=1500, clean_steps=10_000, replicates=50)


def few(name: str = "mnist", streams: tuple[str, ...] = ("mixed paces", "label shift")) -> Benchmark:
    """Return the benchmark with two test streams and the clean one."""
    whole = load(LAB / "benchmark")
    [task] = [each for each in whole.tasks if each.name == name]
    kept = {each: first(task.streams[each]) for each in ("dev", "clean dev", *streams, "clean")}
    return Benchmark([replace(task, streams=kept)], whole.digest)


def first(shown: Shown, stretches: int = 2) -> Shown:
    """Return the first stretches of a stream."""
    at = shown.stretches < stretches
    return Shown(shown.rows[at], shown.labels[at], shown.sources[at], shown.stretches[at])


def bench() -> Figures:
    found: Figures = {}
    benchmark = few()
    for name in (*BENCH, *LATE):
        outcome = run_bench(built_in(name), benchmark)
        head = outcome.interval()
        found[name, "", "headline"] = (head.estimate, head.low, head.high)
        for line in outcome.lines:
            found[name, line.stream, line.column] = (line.value, line.low, line.high)
    return found


def labels() -> Figures:
    return {
        tuple(str(row[key]) for key in ("stream", "method", "rate", "delay", "how")): tuple(
            math.nan if row[key] is None else float(row[key])
            for key in ("labels", "error", "accepted", "reachable", "debt")
        )
        for row in run_late(few(streams=("mixed paces",)))
    }


class _Few:
    def __init__(self, plan: Any) -> None:
        self._plan, self.judged, self.types = plan, LAWS, plan.types[:2]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plan, name)


def units(folder: Path, spare: str) -> Iterator[Unit]:
    recordings: Any = Kept(folder, SETTING)
    for seed in (0, 1):
        unit = Unit(UnitPlan("cifar10", seed, SIZES, (1, 5)), recordings, spare)
        unit.plan = _Few(unit.plan)  # type: ignore[assignment]
        yield unit


def field(name: str) -> Figures:
    spec = STREAMS[name]
    with tempfile.TemporaryDirectory() as folder:
        networks = []
        for unit in units(Path(folder), spec.spare):
            networks.append(spec.measured(unit).figures)
            if name in ("questions", "alarms"):
                break
    lines = combined("cifar10", networks, spec.comparisons, spec.inverses)
    return {
        (each.stream, each.row, each.fit, each.column): (each.value, each.low, each.high) for each in lines
    }


def paper() -> Figures:
    found: Figures = {}
    for name in PAPER:
        plan: Any = EXPERIMENTS[name]
        chosen = [row for row in plan.networks if row.label not in ("godin_energy",)][:12]
        chosen += [row for row in plan.networks if issubclass(row.method, Tcuq) and row not in chosen]
        with tempfile.TemporaryDirectory() as folder:
            recordings: Any = Kept(Path(folder), SETTING)
            unit = PaperUnit(PaperPlan("cifar10", 16.0, 0, recordings.setting), recordings, chosen)
            names = [row.name for row in plan.rows(unit) if ", " not in row.name]  # a monitor as it is
            for key, each in ((k, e) for row in names for k, e in plan.measured(unit, row).figures.items()):
                metric, variant = key.column.split(" ", 1)
                ends = (float(end) for end in each.replicates)
                found[name, _stream(key, metric, variant), key.row, metric, variant] = (each.value, *ends)
    return found


def _stream(key: Key, metric: str, variant: str) -> str:
    if metric == "chosen":
        return "dev"
    if " - " in key.row and metric != "drop_auprc_gain":
        return "joint"
    return "clean" if key.stream == "pooled" and variant == "clean" else key.stream


PINS: dict[str, Callable[[], Figures]] = {
    "bench": bench,
    "labels": labels,
    **{name: (lambda name=name: field(name)) for name in ("alarms", "answers", "accuracy", "questions")},
    "paper": paper,
}


def stored(name: str) -> Figures:
    with (PLACE / f"{name}.csv").open(newline="") as file:
        return {tuple(json.loads(key)): tuple(map(float, values)) for key, *values in csv.reader(file)}


def main(names: list[str]) -> None:
    for name in names or list(PINS):
        found = PINS[name]()
        with (PLACE / f"{name}.csv").open("w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            for key, values in found.items():
                rows.writerow([json.dumps(key), *(f"{each:.7g}" for each in values)])
        print(name, len(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
