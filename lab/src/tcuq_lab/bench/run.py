"""Running a method on all streams: fit, watch, check the rules, score."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tcuq.metrics import Interval

from ..reproduce.field.intervals import Drawn, mean
from ..reproduce.field.lines import Line, line
from .entry import Broken, Entry, Fitted
from .files import CLEAN, Benchmark, Task
from .interface import Said
from .rules import check_again, check_past
from .scores import HEADLINES, confidence, figures, joined
from .told import told

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method reached.

    Parameters
    ----------
    entry : Entry
    lines : list of Line
    cells : list of Drawn
        Errors at 90 % relative to confidence, one for each task and stream; of a method with `feedback` the
        excess, one for each share of labels too. Their mean is the headline.
    state_bytes : int, optional
        Most of all tasks.
    fit_seconds, step_microseconds : float
        On this machine.
    """

    entry: Entry
    lines: list[Line]
    cells: list[Drawn]
    state_bytes: int | None
    fit_seconds: float
    step_microseconds: float

    def interval(self) -> Interval:
        """Return the headline with its interval."""
        return mean(self.cells)

    def draws(self) -> npt.NDArray[np.float64]:
        """Return the headline in each replicate; undefined cells are left out."""
        return replicates(self.cells)


def run(entry: Entry, benchmark: Benchmark, progress: Progress | None = None) -> Outcome:
    """Run a method.

    Parameters
    ----------
    entry : Entry
    benchmark : Benchmark
    progress : callable, optional
        Called with streams done, all of them, and a text.

    Raises
    ------
    Broken
        Where the method fails or breaks a rule.
    """
    total = sum(len(task.tests) + (not entry.told) for task in benchmark.tasks)
    done, lines, cells, states = 0, [], [], []
    fit_seconds = watch_seconds = 0.0
    steps = 0

    def tell(text: str) -> None:
        if progress is not None:
            progress(done, total, f"{entry.name}: {text}")

    def keep(task: Task, stream: str, values: Mapping[str, Drawn], taken: int) -> None:
        nonlocal done, steps
        for column, each in values.items():
            lines.append(line(task.name, stream, entry.name, "", column, mean([each]), 1))
            if column in HEADLINES:
                cells.append(each)
        done, steps = done + 1, steps + taken

    for task in benchmark.tasks:
        tell(f"fit on {task.name}")
        dev = task.dev(entry.uses_labels)
        began = time.perf_counter()
        fitted = Fitted(entry, dev, task.name)
        fit_seconds += time.perf_counter() - began
        again = Fitted(entry, dev, task.name)
        kinds = None
        for stream in task.tests if entry.told else (*task.tests, CLEAN):
            tell(f"{task.name}, {stream}")
            if entry.told:
                began = time.perf_counter()
                values, taken = told(fitted, again, task, stream)
                watch_seconds += time.perf_counter() - began
                keep(task, stream, values, taken)
                continue
            given = task.given(stream)
            began = time.perf_counter()
            said = [fitted.say(each, _where(stream, number)) for number, each in enumerate(given)]
            watch_seconds += time.perf_counter() - began
            kinds = _same_kinds(entry, task, said, kinds)
            where = _where(stream, 0)
            check_again(fitted, given[0], said[0], where, "the second time", fitted.carried)
            check_past(fitted, given[0], said[0], where)
            check_again(
                again, given[0], said[0], where, "after a second fit", "Seed the random numbers of fit."
            )
            values = figures(task, stream, joined(said), confidence(given))
            keep(task, stream, values, sum(map(len, given)))
        states.append(fitted.state_bytes)
    tell("done")
    if all(math.isnan(each.value) for each in cells):
        raise ValueError("confidence leaves no errors on any stream, expected some to compare with")
    known = [each for each in states if each is not None]
    return Outcome(
        entry,
        lines,
        cells,
        max(known) if len(known) == len(states) else None,
        fit_seconds,
        1e6 * watch_seconds / max(1, steps),
    )


def replicates(cells: list[Drawn]) -> npt.NDArray[np.float64]:
    """Return the mean of the cells, replicate by replicate; undefined ones are left out.

    Examples
    --------
    >>> replicates([Drawn(0.5, np.array([0.5], np.float32)), Drawn(1.0, np.array([np.nan], np.float32))])
    array([0.5])
    """
    table = np.stack([each.replicates for each in cells]).astype(np.float64)
    present = ~np.isnan(table)
    sums, counts = np.where(present, table, 0).sum(axis=0), present.sum(axis=0)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


def _where(stream: str, number: int) -> str:
    return f"stream {stream!r}, stretch {number}"


def _same_kinds(
    entry: Entry, task: Task, said: list[Said], before: tuple[bool, ...] | None
) -> tuple[bool, ...]:
    """Refuse alarms or accuracies at some stretches only: nobody could rank them."""
    for each in said:
        kinds = tuple(column is not None for column in each)
        if before is not None and kinds != before:
            name = next(n for n, a, b in zip(Said._fields, kinds, before, strict=True) if a != b)
            raise Broken(
                f"{entry.place} on {task.name}: {name} is given for some stretches only, expected all"
            )
        before = kinds
    assert before is not None
    return before
