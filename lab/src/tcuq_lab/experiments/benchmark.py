"""The benchmark: a method on the streams of all tasks, checked against the rules, with late labels or not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from tcuq.metrics import Interval
from tcuq.metrics.inputs import Ints

from ..benchmark.draw import DEV, OWN_ORDER
from ..benchmark.files import Benchmark, Task
from ..benchmark.late import LATE_BY
from ..benchmark.results import APART, DRAWS, IN_TIME, RAISES, RATES, SOON, WHOLE, is_headline
from ..harness.checks import Checked, Entry
from ..harness.declare import Case, Key, Late, Metric, Play, Row
from ..harness.figures import EventShare, Figure
from ..harness.intervals import Drawn, averaged, defined_mean, drawn, mean
from ..harness.lines import Line, line
from ..harness.measure import measure
from ..harness.types import CLEAN
from ..metrics import alarms, errors, windows
from ..metrics import errors as late

Progress = Callable[[int, int, str], None]


def _alarm(case: Case) -> dict[str, Figure | Drawn]:
    """Return the figures of an alarm at its own limit and at that of equal false alarms.

    The latter is one for all streams of a task: false alarms come once in `ASKED` steps of its clean stream,
    which is shown first.
    """
    said, scene = case.answers, alarms.scene_of(case.truth)
    if said.alarm is None:
        return {}
    evidence = said.alarm.astype(np.float64) if said.evidence is None else said.evidence
    level = scene.rows(evidence)[None]

    def at(limits: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        return np.asarray(level >= limits[:, None, None])

    if case.play.stream == CLEAN:
        tried = alarms.candidates(level[0][scene.settled])
        case.memory["limit"] = alarms.find_limit(at, tried, scene.settled)
        return dict(alarms.clean_figures(scene.rows(said.alarm), scene))
    own = alarms.clean_figures(scene.rows(said.alarm), scene)[alarms.CLEAN_ON]
    on = at(np.array([case.memory["limit"]]))[0]
    return {alarms.CLEAN_ON: own, **_at_shifts(on, scene, case)}


def _at_shifts(on: npt.NDArray[np.bool_], scene: alarms.Scene, case: Case) -> dict[str, Figure | Drawn]:
    """Return what an alarm does at costly shifts."""
    worse = case.streams.costly
    figures: dict[str, Figure | Drawn] = dict(alarms.shift_figures(on, scene, worse))
    if alarms.FOUND not in figures:
        return {}
    happened = alarms.events(on, scene)
    kept = np.isin(np.array(happened.sources, dtype=np.str_), worse)
    where, count = happened.stretch[kept], len(on)
    raised = on & ~alarms.recently(on)  # one that comes back soon is the same
    times = [int(raised[at, start:stop].sum()) for at, start, stop, source in scene.shifts if source in worse]
    clean = alarms.clean_figures(on, scene)[alarms.CLEAN_ON]
    both = [drawn(each, count, case.draws) for each in (figures[alarms.COSTLY_ON], clean)]  # type: ignore[arg-type]
    return {
        IN_TIME: EventShare(happened.delays[kept] < SOON, where, count),
        alarms.FOUND: figures[alarms.FOUND],
        alarms.DELAY: figures[alarms.DELAY],
        RAISES: _each(times, where, count, case.draws),
        APART: both[0]._replace(
            value=both[0].value - both[1].value, replicates=both[0].replicates - both[1].replicates
        ),
        f"{alarms.CLEAN_ON}{alarms.EQUAL}": clean,
    }


def _each(values: Sequence[int], stretches: Ints, count: int, name: str) -> Drawn:
    """Return the mean of a value of each event; it is no share, so its interval is not that of one."""
    return drawn(EventShare(values, stretches, count), count, name)._replace(events=0.0)


def _not_clean(metric: Metric) -> Metric:
    return lambda case: {} if case.play.stream == CLEAN else metric(case)


METRICS: tuple[Metric, ...] = (
    errors.errors,
    _not_clean(errors.ranking),
    _not_clean(errors.relative),
    _alarm,
    windows.accuracy_error,
)


SHOWN_LATE = ("runs of 16", "stays of 400", "mixed paces", "held objects", OWN_ORDER)
"""Streams that late labels are shown on; all, where a task has none of these."""


def late_streams(task: Task) -> list[str]:
    """Return the streams of a task that late labels are shown on."""
    return [name for name in task.tests if name in SHOWN_LATE] or task.tests


def plays(task: Task, told: bool) -> Iterator[Play]:
    """Give the clean stream and those with shifts; with late labels, some of these for each share."""
    for stream in late_streams(task) if told else [CLEAN, *task.tests]:
        for rate in RATES if told else (None,):
            yield Play(stream, stream, "", DEV, None if rate is None else Late(rate, LATE_BY))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method reached."""

    entry: Entry
    lines: list[Line]
    cells: list[Drawn]  # of the headline: one a task; with late labels, one a stream and share of labels
    found: list[Drawn]  # of shifts that are found soon
    state_bytes: int | None  # most of all tasks
    fit_seconds: float
    step_microseconds: float

    def interval(self) -> Interval:
        """Return the headline with its interval."""
        return mean(self.cells)

    def draws(self, soon: bool = False) -> npt.NDArray[np.float64]:
        """Return the headline in some replicates, or the shifts found soon; undefined cells are left out."""
        cells = self.found if soon else self.cells
        if not cells:
            return np.empty(0)
        return defined_mean(np.stack([each.replicates for each in cells])[:, :DRAWS].astype(np.float64))


def whole(found: Mapping[Key, Drawn]) -> Drawn:
    """Return the errors left at 90 % on all streams of a task, over those that confidence leaves.

    Streams with hardly any error do not decide, as they would in a mean of ratios.
    """
    own = [each for key, each in found.items() if key.column == errors.NINETY]
    base = [each for key, each in found.items() if key.column == errors.OF_CONFIDENCE]
    return errors.over(averaged(own), averaged(base))


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

    lines, cells, soon, fits = [], [], [], []
    for task in benchmark.tasks:
        fitted = Checked(entry, task.dev(DEV, entry.uses_labels), task.name)
        row = Row(entry.name, partial(_same, fitted))
        fits.append(fitted)
        found = measure(row, task, every[task.name], (late.late,) if entry.told else METRICS, tell).figures
        if not entry.told:
            found[Key(WHOLE, entry.name, "", errors.RELATIVE)] = whole(found)
        kept = {key: each for key, each in found.items() if key.column != errors.OF_CONFIDENCE}
        lines += [line(task.name, *key, mean([each]), 1) for key, each in kept.items()]
        cells += [each for key, each in found.items() if is_headline(key)]
        soon += [each for key, each in found.items() if key.column == IN_TIME]
    tell("done")
    if all(math.isnan(each.value) for each in cells):
        raise ValueError("confidence leaves no errors on any stream, expected some to compare with")
    states = [each.state_bytes for each in fits]
    known = [each for each in states if each is not None]
    return Outcome(
        entry,
        lines,
        cells,
        soon,
        max(known) if len(known) == len(states) else None,
        sum(each.fit_seconds for each in fits),
        1e6 * sum(each.watch_seconds for each in fits) / max(1, sum(each.steps for each in fits)),
    )
