"""What is counted of an alarm: false ones on clean time, and what it does at each shift; and its limit.

A shift is found when the alarm goes from off to on within it; one that begins while the alarm is on is found
only if the alarm comes on again within it. A false alarm begins on a clean step, `SETTLE` steps or more after
a shift; one that comes back within `SETTLE` steps is the same, and one that lasts counts again every `AGAIN`
settled clean steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Bools, Floats, Ints

from ..corruptions.suite import FAULTS
from ..harness.declare import Case
from ..harness.figures import EventShare, Figure, Mean, Median, Rate
from ..harness.types import ASKED, CLEAN, Switch, Truth

SETTLE = 50
"""Clean steps after a shift in which an alarm is not called false; and steps within which one that comes back
is the same alarm."""
AGAIN = 150
"""Settled clean steps after which an alarm that lasts, or keeps coming back, counts once more: one that never
clears is no rare false alarm."""

RUN_LENGTH = ASKED
"""Clean steps per false alarm that every alarm is asked for."""
TRIED, ROUNDS, FINER = 32, 2, 8
"""Limits tried at first, then between two of them, twice."""

Watched = Callable[[npt.NDArray[np.float64]], Bools]
"""From limits (n,) to an alarm (n, K, T)."""


def recently(marked: Bools, steps: int = SETTLE) -> Bools:
    """Return where one of the last steps, before this one, is marked; (..., T)."""
    count = np.zeros((*marked.shape[:-1], marked.shape[-1] + 1), dtype=np.int32)
    np.cumsum(marked, axis=-1, out=count[..., 1:])
    back = np.maximum(np.arange(marked.shape[-1]) - steps, 0)
    return np.asarray(count[..., :-1] > count[..., back])


def false_starts(on: Bools, settled: Bools) -> Bools:
    """Return where a false alarm is counted, (..., K, T): where one begins, and again while it lasts."""
    before = recently(on)
    held = (on | before) & settled
    place = np.arange(on.shape[-1], dtype=np.int32)
    since = place - np.maximum.accumulate(np.where(held, np.int32(-1), place), axis=-1)
    again = held & (since > 1) & (since % AGAIN == 1)
    return np.asarray((on & settled & ~before) | again)


def candidates(values: Floats) -> Floats:
    """Return limits to begin with, rising: values that a statistic takes, dense where they are rare."""
    ordered = np.sort(values, axis=None)
    places = np.unique(np.geomspace(1, len(ordered), TRIED).astype(np.int64))
    top = float(ordered[-1])
    return np.unique([*ordered[len(ordered) - places], top + max(1e-9, 1e-6 * abs(top))])


def rested_sums(added: npt.NDArray[Any], settled: Bools) -> Floats:
    """Return what a sum without a cap reaches on clean steps, from 0 wherever they begin."""
    sums = np.zeros(added.shape)
    total = np.zeros(len(added))
    for step in range(added.shape[1]):
        total = np.where(settled[:, step], np.maximum(total + added[:, step], 0), 0.0)
        sums[:, step] = total
    return sums[settled]


def find_limit(watched: Watched, tried: Floats, settled: Bools, wanted: float = RUN_LENGTH) -> float:
    """Return the lowest limit at which false alarms are no more than asked for, as fine as it is tried."""
    allowed = int(settled.sum() / wanted)
    low, high = _bracket(watched, tried if len(tried) else np.ones(1), settled, allowed)
    for _ in range(ROUNDS):
        if low is None:
            break
        low, high = _bracket(watched, np.linspace(low, high, FINER + 2)[1:], settled, allowed, low)
    return high


def _bracket(
    watched: Watched, tried: Floats, settled: Bools, allowed: int, below: float | None = None
) -> tuple[float | None, float]:
    """Return the lowest limit tried with few enough false alarms, after the one tried below it."""
    while True:
        counts = false_starts(watched(tried), settled).sum(axis=(1, 2))
        few = np.flatnonzero(counts <= allowed)
        if len(few):
            first = int(few[0])
            return (float(tried[first - 1]) if first else below), float(tried[first])
        below = float(tried[-1])
        step = max(1e-6, abs(below) / 8)
        tried = np.array([below + step * number for number in range(1, len(tried) + 1)])  # all are too low


COSTLY = 0.1
"""Accuracy that a source costs the network, at least, to be one that an alarm should find."""
CLEAN_ON, FALSE, FOUND, DELAY = "clean on", "false per 10,000", "found", "delay"
COSTLY_ON, BENIGN_ON, SHIFTED_ON = "costly on", "benign on", "shifted on"
RATIO, COLLAPSE = "run length ratio", "collapse found"
"""The run length between false alarms over the one asked for, from the rate of all networks; and whether an
alarm is on at any step of a fault of the sensor."""
EQUAL = " (equal)"


@dataclass(frozen=True, eq=False)
class Scene:
    """When a stream of K stretches of T steps is shifted; shorter stretches are filled up with -1."""

    sources: Ints  # (K, T), of each step in `names`
    names: tuple[str, ...]  # those of one type in the order of their severity

    @cached_property
    def shifted(self) -> Bools:
        """Steps that are not clean."""
        clean = [at for at, name in enumerate(self.names) if name == CLEAN]
        return np.asarray(~np.isin(self.sources, [-1, *clean]))

    @cached_property
    def settled(self) -> Bools:
        """Clean steps without a shift in the last `SETTLE` steps."""
        return ~self.shifted & ~recently(self.shifted) & (self.sources >= 0)

    @cached_property
    def reached(self) -> Ints:
        """Source of each step's shift at its strongest, the last in `names`; slow ones begin and end weak."""
        changes = np.ones(self.shifted.shape, dtype=bool)
        changes[:, 1:] = self.shifted[:, 1:] != self.shifted[:, :-1]
        runs = np.cumsum(changes.ravel()) - 1
        strongest = np.full(int(runs[-1]) + 1, -1, dtype=self.sources.dtype)
        np.maximum.at(strongest, runs, self.sources.ravel())
        return np.asarray(strongest[runs].reshape(self.sources.shape))

    @cached_property
    def shifts(self) -> list[tuple[int, int, int, str]]:
        """Shifts that begin after a clean step: stretch, first step, step after the last, source reached."""
        found = []
        for stretch, marks in enumerate(self.shifted):
            edges = np.diff(marks.astype(np.int8))
            ends = [*(np.flatnonzero(edges < 0) + 1).tolist(), len(marks)]
            for start in (np.flatnonzero(edges > 0) + 1).tolist():
                stop = next(end for end in ends if end > start)
                found.append((stretch, start, stop, self.names[int(self.reached[stretch, start])]))
        return found

    def costly(self, worse: Container[str]) -> Bools:
        """Return the steps of shifts that reach a source that costs accuracy."""
        places = [at for at, name in enumerate(self.names) if name in worse]
        return np.asarray(np.isin(self.reached, places))

    def flat(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return values (K, T) in the order of the steps of the stream."""
        return values[self.sources >= 0]

    def rows(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return values of T steps stretch by stretch, (K, T); where a stretch is shorter, 0."""
        found = np.zeros((*self.sources.shape, *values.shape[1:]), dtype=values.dtype)
        found[self.sources >= 0] = values
        return found


def scene_of(truth: Truth) -> Scene:
    """Return when a stream is shifted."""
    pieces = truth.pieces()
    most = max(piece.stop - piece.start for piece in pieces)
    sources = np.full((len(pieces), most), -1, dtype=np.int64)
    for row, piece in zip(sources, pieces, strict=True):
        row[: piece.stop - piece.start] = truth.sources[piece]
    return Scene(sources, truth.names)


class Events(NamedTuple):
    """What an alarm does at each shift, one entry each."""

    stretch: Ints
    already: Bools  # the alarm was on at the step before
    delays: Floats  # steps to where the alarm goes from off to on; infinite where it never does in the shift
    # Steps from its end to one without alarm; NaN where the alarm was off, or the stretch ends.
    clears: Floats
    lengths: Floats  # steps of the shift
    sources: tuple[str, ...]

    @property
    def restricted(self) -> Floats:
        """Delays, a miss costing the whole shift."""
        return np.minimum(self.delays, self.lengths)


def events(on: Bools, scene: Scene) -> Events:
    """Compare an alarm (K, T) with the shifts of a stream."""
    rows = []
    for stretch, start, stop, name in scene.shifts:
        line = on[stretch]
        raised = np.flatnonzero(line[start:stop] & ~line[start - 1 : stop - 1])
        delay = float(raised[0]) if len(raised) else math.inf
        clears = _clears(line, scene.shifted[stretch], stop)
        rows.append((stretch, bool(line[start - 1]), delay, clears, stop - start, name))
    *columns, sources = list(zip(*rows, strict=True)) or [()] * 6
    kinds = (np.int64, np.bool_, np.float64, np.float64, np.float64)
    return Events._make([*map(np.array, columns, kinds), tuple(sources)])


def _clears(line: Bools, shifted: Bools, stop: int) -> float:
    later = np.flatnonzero(shifted[stop:])
    end = stop + int(later[0]) if len(later) else len(line)
    quiet = np.flatnonzero(~line[stop:end])
    if not line[stop - 1] or stop == len(line):
        return math.nan
    if len(quiet):
        return float(quiet[0])
    return math.inf if len(later) else math.nan


def costly_sources(errors: Mapping[str, float]) -> tuple[str, ...]:
    """Return the sources whose error is above the clean one by `COSTLY`, or more."""
    return tuple(name for name, error in errors.items() if error - errors[CLEAN] >= COSTLY - 1e-12)


def clean_figures(on: Bools, scene: Scene) -> dict[str, Figure]:
    """Return what an alarm does in clean time: share of steps under it, and false alarms."""
    return {
        CLEAN_ON: _share(on, ~scene.shifted & (scene.sources >= 0)),
        FALSE: Rate(false_starts(on, scene.settled).ravel(), _stretches(on), scene.settled.ravel()),
    }


def shift_figures(on: Bools, scene: Scene, worse: Sequence[str]) -> dict[str, Figure]:
    """Return what an alarm does at shifts, mostly at those that cost accuracy."""
    found, count, harmed = events(on, scene), len(on), scene.costly(worse)
    times = {SHIFTED_ON: scene.shifted, BENIGN_ON: scene.shifted & ~harmed}
    figures: dict[str, Figure] = {name: _share(on, of) for name, of in times.items() if of.any()}
    faults = [each for each in scene.shifts if each[3].partition("/")[0] in FAULTS]
    if faults:
        seen = np.array([on[stretch, start:stop].any() for stretch, start, stop, _ in faults])
        figures[COLLAPSE] = EventShare(seen, np.array([each[0] for each in faults]), count)
    kept = np.isin(np.array(found.sources, dtype=np.str_), worse)
    if kept.any():
        known = kept & ~np.isnan(found.clears)
        figures |= {
            FOUND: EventShare(np.isfinite(found.delays[kept]), found.stretch[kept], count),
            "already on": EventShare(found.already[kept], found.stretch[kept], count),
            DELAY: Median(found.delays[kept], found.stretch[kept], count),
            "clears": Median(found.clears[known], found.stretch[known], count),
            COSTLY_ON: _share(on, harmed),
        }
    return figures


def _stretches(on: Bools) -> Ints:
    return np.repeat(np.arange(on.shape[0]), on.shape[1])


def _share(values: npt.NDArray[Any], of: Bools) -> Mean:
    return Mean(values.ravel(), _stretches(of), of.ravel())


def alarm(case: Case) -> dict[str, Figure]:
    """Return the figures of an alarm at its own limit."""
    if case.answers.alarm is None:
        return {}
    scene, said = scene_of(case.truth), case.answers.alarm
    return _figures(said.at_limit() if isinstance(said, Switch) else scene.rows(said), scene, case)


def alarm_equal(case: Case) -> dict[str, Figure]:
    """Return them at the limit that gives one false alarm in `ASKED` clean steps of this very stream."""
    scene, switch = scene_of(case.truth), case.answers.alarm
    if not isinstance(switch, Switch):
        return {}
    on = switch.on(np.array([find_limit(switch.on, switch.path(scene.settled), scene.settled)]))[0]
    count, asked = int(false_starts(on, scene.settled).sum()), int(scene.settled.sum() / ASKED)
    if count < asked / 2:
        short = case.memory.setdefault("not equal", {})
        short[case.play.stream] = {"false alarms": count, "asked for": asked}
    return {name + EQUAL: each for name, each in _figures(on, scene, case).items()}


def _figures(on: Bools, scene: Scene, case: Case) -> dict[str, Figure]:
    return clean_figures(on, scene) | shift_figures(on, scene, case.streams.costly)
