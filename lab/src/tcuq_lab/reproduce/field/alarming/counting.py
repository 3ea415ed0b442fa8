"""What is counted of an alarm: false ones on clean time, and what it does at each shift.

The experiments `alarms` and `questions` and the benchmark all count by this. A shift is found when the alarm
goes from off to on within it; one that begins while the alarm is on is found only if the alarm comes on again
within it. A false alarm begins on a clean step, `SETTLE` steps or more after a shift; one that comes back
within `SETTLE` steps is the same, and one that lasts counts again every `AGAIN` settled clean steps.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tcuq.metrics.inputs import Bools, Floats, Ints

from ....detection.events import stretches

if TYPE_CHECKING:
    from ..units import Shown

SETTLE = 50
"""Clean steps after a shift in which an alarm is not called false; and steps within which one that comes back
is the same alarm."""
AGAIN = 150
"""Settled clean steps after which an alarm that lasts, or keeps coming back, counts once more: one that never
clears is no rare false alarm."""


@dataclass(frozen=True, eq=False)
class Scene:
    """When a stream of K stretches of T steps is shifted.

    Parameters
    ----------
    sources : array (K, T) of integers
        Of each step in `names`.
    names : tuple of str
        "clean", "fog/3"; those of one type are in the order of their severity.
    """

    sources: Ints
    names: tuple[str, ...]

    @cached_property
    def shifted(self) -> Bools:
        """Steps that are not clean."""
        clean = [at for at, name in enumerate(self.names) if name == "clean"]
        return np.asarray(~np.isin(self.sources, clean))

    @cached_property
    def settled(self) -> Bools:
        """Clean steps without a shift in the last `SETTLE` steps."""
        return ~self.shifted & ~recently(self.shifted)

    @cached_property
    def reached(self) -> Ints:
        """Source that the shift of each step has at its strongest, the last in `names`.

        One that sets in slowly begins weak, and one that goes slowly ends so.
        """
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
            for part in stretches(marks.astype(np.int64)):
                name = self.names[int(self.reached[stretch, part.start])]
                found.append((stretch, int(part.start), int(part.stop), name))
        return found

    def costly(self, worse: Container[str]) -> Bools:
        """Return the steps of shifts that reach a source that costs accuracy."""
        places = [at for at, name in enumerate(self.names) if name in worse]
        return np.asarray(np.isin(self.reached, places))

    def benign(self, worse: Container[str]) -> Bools:
        """Return the steps of shifts that reach no such source."""
        return self.shifted & ~self.costly(worse)


def scene_of(shown: Shown) -> Scene:
    """Return when a stream is shifted; its stretches are as long as each other."""
    return Scene(shown.sources.reshape(shown.stretches, -1), shown.names)


def recently(marked: Bools, steps: int = SETTLE) -> Bools:
    """Return where one of the last steps, before this one, is marked.

    Parameters
    ----------
    marked : array (..., T)
    steps : int

    Examples
    --------
    >>> recently(np.array([0, 1, 0, 0, 0], bool), 2).tolist()
    [False, False, True, True, False]
    """
    count = np.zeros((*marked.shape[:-1], marked.shape[-1] + 1), dtype=np.int32)
    np.cumsum(marked, axis=-1, out=count[..., 1:])
    back = np.maximum(np.arange(marked.shape[-1]) - steps, 0)
    return np.asarray(count[..., :-1] > count[..., back])


def false_starts(on: Bools, settled: Bools) -> Bools:
    """Return where a false alarm is counted.

    It is where one begins, on a settled clean step after `SETTLE` steps without alarm, and after every
    `AGAIN` settled clean steps in which an alarm stays on or comes back, however it began.

    Parameters
    ----------
    on : array (..., K, T)
    settled : array (K, T)

    Examples
    --------
    >>> on = np.array([[0, 1, 1, 0, 1, 0]], bool)
    >>> np.flatnonzero(false_starts(on, np.ones((1, 6), bool))).tolist()
    [1]
    >>> np.flatnonzero(false_starts(np.ones((1, 350), bool), np.ones((1, 350), bool))).tolist()
    [0, 150, 300]
    """
    before = recently(on)
    held = (on | before) & settled
    place = np.arange(on.shape[-1], dtype=np.int32)
    since = place - np.maximum.accumulate(np.where(held, np.int32(-1), place), axis=-1)
    again = held & (since > 1) & (since % AGAIN == 1)
    return np.asarray((on & settled & ~before) | again)


class Events(NamedTuple):
    """What an alarm does at each shift, one entry each.

    Parameters
    ----------
    stretch : array of integers
    already : array of booleans
        The alarm was on at the step before.
    delays : array of floats
        Steps to where the alarm goes from off to on, 0 at the very first; infinite where it never does
        within the shift. An alarm that was on already tells nothing new: it has to go off and on again.
    clears : array of floats
        Steps from the first clean step after the shift to one without alarm; infinite where the next shift
        begins before; NaN where the alarm was off at the last step, or the stretch ends first.
    lengths : array of floats
        Steps of the shift.
    sources : tuple of str
    """

    stretch: Ints
    already: Bools
    delays: Floats
    clears: Floats
    lengths: Floats
    sources: tuple[str, ...]

    @property
    def restricted(self) -> Floats:
        """Delays, a miss costing the whole shift."""
        return np.minimum(self.delays, self.lengths)


def events(on: Bools, scene: Scene) -> Events:
    """Compare an alarm with the shifts of a stream.

    Parameters
    ----------
    on : array (K, T)
    scene : Scene

    Examples
    --------
    >>> scene = Scene(np.array([[0, 1, 1, 1, 0, 0, 1, 1, 0]]), ("clean", "fog/1"))
    >>> found = events(np.array([[0, 0, 1, 1, 1, 0, 0, 0, 0]], bool), scene)
    >>> found.delays.tolist(), found.clears.tolist(), found.already.tolist()
    ([1.0, inf], [1.0, nan], [False, False])
    """
    rows = []
    for stretch, start, stop, name in scene.shifts:
        line = on[stretch]
        raised = np.flatnonzero(line[start:stop] & ~line[start - 1 : stop - 1])
        delay = float(raised[0]) if len(raised) else math.inf
        rows.append(
            (
                stretch,
                bool(line[start - 1]),
                delay,
                _clears(line, scene.shifted[stretch], stop),
                stop - start,
                name,
            )
        )
    columns = list(zip(*rows, strict=True)) or [()] * 6
    return Events(
        np.array(columns[0], dtype=np.int64),
        np.array(columns[1], dtype=bool),
        np.array(columns[2], dtype=np.float64),
        np.array(columns[3], dtype=np.float64),
        np.array(columns[4], dtype=np.float64),
        tuple(columns[5]),
    )


def _clears(line: Bools, shifted: Bools, stop: int) -> float:
    later = np.flatnonzero(shifted[stop:])
    end = stop + int(later[0]) if len(later) else len(line)
    quiet = np.flatnonzero(~line[stop:end])
    if not line[stop - 1] or stop == len(line):
        return math.nan
    if len(quiet):
        return float(quiet[0])
    return math.inf if len(later) else math.nan


def costly_sources(errors: Mapping[str, float], least: float = 0.1) -> list[str]:
    """Return the sources whose error is above the clean one by `least`, or more.

    Examples
    --------
    >>> costly_sources({"clean": 0.1, "fog/1": 0.12, "fog/5": 0.3})
    ['fog/5']
    """
    return [name for name, error in errors.items() if error - errors["clean"] >= least - 1e-12]
