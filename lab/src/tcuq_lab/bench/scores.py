"""Figures of one stream: whose answers are wrong, how soon an alarm comes, how near the accuracy is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Bools, Floats, Ints

from ..reproduce.field.intervals import Auroc, Drawn, Figure, LeftAt, Mean, Median, drawn
from .files import CLEAN, Shown, Task
from .interface import Said, Stream

AUROC, ERRORS, LEFT, RELATIVE = "error AUROC", "errors", "errors at 90 %", "relative errors"
FOUND, DELAY, CLEAN_ON, SHIFTED_ON = "found", "delay", "clean on", "shifted on"
FALSE, ACCURACY = "false per 10,000", "accuracy error"
COVERAGE = 0.9
COSTLY = 0.1
"""Accuracy that a corruption costs the network, at least, to be one that an alarm should find."""
WINDOW = 200
"""Steps over which accuracy is taken."""


def joined(said: Sequence[Said]) -> Said:
    """Return what was said to all stretches of a stream as one."""
    return Said(*(None if each[0] is None else np.concatenate(each) for each in zip(*said, strict=True)))


def confidence(streams: Sequence[Stream]) -> Said:
    """Return what everything is compared with: the network's class, and 1 less its posterior."""
    probs = np.concatenate([each.probs for each in streams])
    return Said(1.0 - probs.max(axis=1).astype(np.float64), probs.argmax(axis=1).astype(np.int64))


def figures(task: Task, stream: str, said: Said, plain: Said) -> dict[str, Drawn]:
    """Return the figures of a stream, each with its replicates.

    Parameters
    ----------
    task : Task
    stream : str
    said : Said
        What the method said to all of its steps.
    plain : Said
        What `confidence` says.
    """
    shown = task.streams[stream]
    judged = shown.labels >= 0
    wrong = said.answer != shown.labels
    found: dict[str, Figure] = {ERRORS: Mean(wrong, shown.stretches, judged)}
    if stream != CLEAN:
        found[AUROC] = Auroc(said.risk, wrong, shown.stretches, judged)
        found[LEFT] = LeftAt(said.risk, wrong, shown.stretches, COVERAGE, judged)
    if said.alarm is not None:
        found |= _alarm(task, shown, said.alarm, stream)
    if said.accuracy is not None:
        found[ACCURACY] = _accuracy(shown, said.accuracy, wrong)
    name = f"bench {task.name} {stream}"  # the same draws for all methods: differences are paired
    values = {column: drawn(each, shown.count, name) for column, each in found.items()}
    if stream != CLEAN:
        base = drawn(
            LeftAt(plain.risk, plain.answer != shown.labels, shown.stretches, COVERAGE, judged),
            shown.count,
            name,
        )
        values[RELATIVE] = over(values[LEFT], base)
    return values


def over(first: Drawn, second: Drawn) -> Drawn:
    """Return a paired ratio; undefined (NaN) where the second is 0.

    Examples
    --------
    >>> one = Drawn(0.5, np.array([0.5, 1.0], np.float32))
    >>> found = over(one, Drawn(1.0, np.array([1.0, 0.0], np.float32)))
    >>> found.value, found.replicates.tolist()
    (0.5, [0.5, nan])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(second.replicates > 0, first.replicates / second.replicates, np.nan)
    value = first.value / second.value if second.value > 0 else math.nan
    return first._replace(value=value, replicates=ratios.astype(np.float32))


def _alarm(task: Task, shown: Shown, on: Bools, stream: str) -> dict[str, Figure]:
    shifted = shown.sources > 0
    found: dict[str, Figure] = {CLEAN_ON: Mean(on, shown.stretches, ~shifted)}
    if stream == CLEAN:
        found[FALSE] = Mean(10_000 * rises(on, shown.pieces()), shown.stretches)
        return found
    delays, numbers = shifts(on, shown, costly(task.sources, task.errors))
    found[SHIFTED_ON] = Mean(on, shown.stretches, shifted)
    found[DELAY] = Median(delays, numbers, shown.count)
    found[FOUND] = _Share(np.isfinite(delays), numbers, shown.count)
    return found


def costly(sources: Sequence[str], errors: Mapping[str, float]) -> Bools:
    """Return which sources cost the network enough accuracy that an alarm should find them.

    Examples
    --------
    >>> costly(["clean", "fog/1", "fog/5"], {"clean": 0.1, "fog/1": 0.12, "fog/5": 0.4}).tolist()
    [False, False, True]
    """
    return np.array([errors.get(name, 0.0) - errors["clean"] >= COSTLY for name in sources])


def rises(on: Bools, pieces: Sequence[slice]) -> Ints:
    """Return 1 where an alarm comes on, else 0.

    Examples
    --------
    >>> rises(np.array([True, True, False, True]), [slice(0, 2), slice(2, 4)]).tolist()
    [1, 0, 0, 1]
    """
    before = np.concatenate([[False], on[:-1]])
    before[[piece.start for piece in pieces]] = False
    return np.asarray(on & ~before, dtype=np.int64)


def shifts(on: Bools, shown: Shown, worse: Bools) -> tuple[Floats, Ints]:
    """Return the delay of each costly shift that begins within a stretch, and the number of its stretch.

    A delay counts from the first shifted step, 0 at that step. It is infinite where no alarm comes before
    the shift ends, and where the alarm was on already at the step before: such an alarm says nothing.

    Parameters
    ----------
    on : array of T booleans
    shown : Shown
    worse : array of booleans
        Which sources are costly.
    """
    delays, numbers = [], []
    for number, piece in enumerate(shown.pieces()):
        source, alarm = shown.sources[piece], on[piece]
        shifted = source > 0
        edges = np.flatnonzero(np.diff(shifted.astype(np.int8)))  # last steps before a change
        for start in (edges[shifted[edges + 1]] + 1).tolist():
            if not worse[source[start]]:
                continue
            later = np.flatnonzero(~shifted[start:])
            stop = start + int(later[0]) if len(later) else len(source)
            raised = np.flatnonzero(alarm[start:stop])
            late = not len(raised) or alarm[start - 1]
            delays.append(math.inf if late else float(raised[0]))
            numbers.append(number)
    return np.array(delays, dtype=np.float64), np.array(numbers, dtype=np.int64)


class _Share:
    """The share of events of stretches; see `tcuq_lab.reproduce.field.intervals.Figure`."""

    def __init__(self, happened: Bools, stretches: Ints, count: int) -> None:
        self._sums = np.bincount(stretches, happened, count)
        self._counts = np.bincount(stretches, minlength=count)

    def of(self, taken: npt.NDArray[np.float64]) -> Floats:
        """See `Figure`."""
        total, count = taken @ self._sums, taken @ self._counts
        return np.asarray(np.where(count > 0, total / np.maximum(count, 1e-300), np.nan))


def _accuracy(shown: Shown, accuracy: Floats, wrong: Bools) -> Figure:
    """Return the mean distance between accuracies at the end of windows and the share that was right."""
    off, last = np.zeros(len(shown)), np.zeros(len(shown), dtype=bool)
    for piece in shown.pieces():
        for end in range(piece.start + WINDOW, piece.stop + 1, WINDOW):
            window = slice(end - WINDOW, end)
            judged = shown.labels[window] >= 0
            if judged.any():
                off[end - 1] = abs(accuracy[end - 1] - (~wrong[window])[judged].mean())
                last[end - 1] = True
    return Mean(off, shown.stretches, last)
