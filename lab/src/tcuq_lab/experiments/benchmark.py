"""The benchmark: a method on the streams of all tasks, checked against the rules, with late labels or not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from tcuq.metrics import Interval

from ..benchmark.files import DEV, Benchmark, Task
from ..benchmark.late import LATE_BY
from ..benchmark.results import HEADLINES, RATES
from ..harness.checks import Checked, Entry
from ..harness.declare import Case, Late, Metric, Play, Row
from ..harness.figures import Figure
from ..harness.intervals import Drawn, defined_mean, mean
from ..harness.lines import Line, line
from ..harness.measure import measure
from ..harness.types import CLEAN
from ..metrics import alarms, errors, windows
from ..metrics import errors as late

Progress = Callable[[int, int, str], None]
ON_CLEAN = (alarms.CLEAN_ON, alarms.FALSE)
ON_SHIFTS = (
    alarms.CLEAN_ON,
    alarms.SHIFTED_ON,
    alarms.COSTLY_ON,
    alarms.BENIGN_ON,
    alarms.DELAY,
    alarms.FOUND,
)


def _alarm(case: Case) -> dict[str, Figure]:
    kept = ON_CLEAN if case.play.stream == CLEAN else ON_SHIFTS
    return {column: each for column, each in alarms.alarm(case).items() if column in kept}


def _not_clean(metric: Metric) -> Metric:
    return lambda case: {} if case.play.stream == CLEAN else metric(case)


METRICS: tuple[Metric, ...] = (
    errors.errors,
    _not_clean(errors.ranking),
    _not_clean(errors.relative),
    _alarm,
    windows.accuracy_error,
)


def plays(task: Task, told: bool) -> Iterator[Play]:
    """Give the test streams and the clean one; with late labels, test streams for each share of labels."""
    for stream in task.tests if told else (*task.tests, CLEAN):
        for rate in RATES if told else (None,):
            yield Play(stream, stream, "", DEV, None if rate is None else Late(rate, LATE_BY))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method reached."""

    entry: Entry
    lines: list[Line]
    cells: list[Drawn]  # of HEADLINES, one for each task and stream (and share of labels)
    state_bytes: int | None  # most of all tasks
    fit_seconds: float
    step_microseconds: float

    def interval(self) -> Interval:
        """Return the headline with its interval."""
        return mean(self.cells)

    def draws(self) -> npt.NDArray[np.float64]:
        """Return the headline in each replicate; undefined cells are left out."""
        return defined_mean(np.stack([each.replicates for each in self.cells]).astype(np.float64))


def _same(fitted: Checked, task: Task, role: str) -> Checked:
    return fitted


def run(entry: Entry, benchmark: Benchmark, progress: Progress | None = None) -> Outcome:
    """Run a method; `Broken` says where it fails or breaks a rule."""
    every = {task.name: list(plays(task, entry.told)) for task in benchmark.tasks}
    total, done = sum(map(len, every.values())), -1

    def tell(text: str) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total, f"{entry.name}: {text}")

    lines, cells, fits = [], [], []
    for task in benchmark.tasks:
        fitted = Checked(entry, task.dev(DEV, entry.uses_labels), task.name)
        row = Row(entry.name, partial(_same, fitted))
        fits.append(fitted)
        found = measure(row, task, every[task.name], (late.late,) if entry.told else METRICS, tell).figures
        lines += [line(task.name, *key, mean([each]), 1) for key, each in found.items()]
        cells += [each for key, each in found.items() if key.column in HEADLINES]
    tell("done")
    if all(math.isnan(each.value) for each in cells):
        raise ValueError("confidence leaves no errors on any stream, expected some to compare with")
    states = [each.state_bytes for each in fits]
    known = [each for each in states if each is not None]
    return Outcome(
        entry,
        lines,
        cells,
        max(known) if len(known) == len(states) else None,
        sum(each.fit_seconds for each in fits),
        1e6 * sum(each.watch_seconds for each in fits) / max(1, sum(each.steps for each in fits)),
    )
