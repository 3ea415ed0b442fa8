"""Dwell: which class is in front of the sensor, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer, number

from .fields import listed
from .rand import ONE, Numbers, chance

Integers = npt.NDArray[np.int64]
LONGEST = 1_000_000
MOST_RUNS = 100_000


class Chain(Protocol):
    """Goes on from step to step."""

    def take(self, count: int) -> Integers:
        """Return the classes of the next steps, as places among those that there are."""


@dataclass(frozen=True)
class Geometric:
    """A class stays for a geometric number of steps.

    At each step the class is drawn anew from all L classes with chance min(1, L / (mean (L - 1))). As the
    same class may come again, the mean run is `mean`, where that is at least L / (L - 1); below, each step
    is drawn anew.

    Parameters
    ----------
    mean : float
        Mean number of consecutive steps of one class; 1 for a shuffled stream.

    Examples
    --------
    >>> Geometric(4).chain(0, "classes", np.arange(10)).take(12).tolist()
    [9, 8, 8, 8, 3, 6, 6, 5, 5, 5, 5, 5]
    """

    mean: float = 1.0
    law: ClassVar[str] = "geometric"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", number("mean of dwell", self.mean, 1, LONGEST))

    def chain(self, seed: int, name: str, present: Integers) -> Chain:
        """Return a fresh chain over the classes that there are, in rising order."""
        return _Redrawn(seed, name, len(present), self.mean)

    def nameless(self) -> Geometric:
        """Return the law for examples that are none of the classes."""
        return self


@dataclass(frozen=True)
class Trace:
    """Runs of given lengths, over and over.

    Parameters
    ----------
    runs : tuple of int
        Steps of each run.
    classes : tuple of int, optional
        Label of each run. By default another class than that of the run before is drawn. Examples that
        are none of the classes always draw theirs.

    Examples
    --------
    >>> Trace((2, 1), (5, 3)).chain(0, "classes", np.arange(10)).take(7).tolist()
    [5, 5, 3, 5, 5, 3, 5]
    """

    runs: tuple[int, ...]
    classes: tuple[int, ...] | None = None
    law: ClassVar[str] = "trace"

    def __post_init__(self) -> None:
        runs = tuple(
            integer("run of the trace", run, 1, LONGEST) for run in listed("runs of the trace", self.runs)
        )
        integer("number of runs of the trace", len(runs), 1, MOST_RUNS)
        object.__setattr__(self, "runs", runs)
        if self.classes is None:
            return
        given = listed("classes of the trace", self.classes)
        classes = tuple(integer("class of the trace", each, 0, 2**31) for each in given)
        if len(classes) != len(runs):
            raise ValueError(f"trace has {len(classes)} classes, expected as many as runs, {len(runs)}")
        object.__setattr__(self, "classes", classes)

    def chain(self, seed: int, name: str, present: Integers) -> Chain:
        """Return a fresh chain over the classes that there are, in rising order."""
        return _Runs(seed, name, present, self.runs, self.classes)

    def nameless(self) -> Trace:
        """Return the law for examples that are none of the classes."""
        return Trace(self.runs)


class _Redrawn:
    def __init__(self, seed: int, name: str, classes: int, mean: float) -> None:
        self._redraws, self._drawn = Numbers(seed, f"{name}/redraws"), Numbers(seed, f"{name}/drawn")
        self._classes = classes
        self._of = ONE if classes == 1 else chance(Fraction(classes, classes - 1) / Fraction(mean))
        self._now: int | None = None

    def take(self, count: int) -> Integers:
        if not count:
            return np.zeros(0, dtype=np.int64)
        redrawn = self._redraws.events(count, self._of)
        drawn = self._drawn.below(count, self._classes)
        if self._now is None:
            redrawn[0] = True
        elif not redrawn[0]:
            drawn[0], redrawn[0] = self._now, True
        found = drawn[np.maximum.accumulate(np.where(redrawn, np.arange(count), 0))]
        self._now = int(found[-1])
        return found


class _Runs:
    def __init__(
        self, seed: int, name: str, present: Integers, runs: tuple[int, ...], classes: tuple[int, ...] | None
    ) -> None:
        self._numbers = Numbers(seed, f"{name}/runs")
        self._count = len(present)
        self._ends = np.cumsum(runs, dtype=np.int64)
        self._step, self._run, self._now = 0, -1, 0
        self._fixed: Integers | None = None
        if classes is not None:
            lacking = sorted(set(classes) - set(present.tolist()))
            if lacking:
                raise ValueError(
                    f"class {lacking[0]} of the trace has no examples, expected one of {_shown(present)}"
                )
            self._fixed = np.searchsorted(present, np.asarray(classes, dtype=np.int64))

    def take(self, count: int) -> Integers:
        rounds, within = np.divmod(self._step + np.arange(count, dtype=np.int64), self._ends[-1])
        self._step += count
        runs = rounds * len(self._ends) + np.searchsorted(self._ends, within, side="right")
        if self._fixed is not None:
            return self._fixed[runs % len(self._ends)]
        if self._count == 1 or not count:
            return np.zeros(count, dtype=np.int64)
        if self._run < 0:
            self._run, self._now = 0, int(self._numbers.below(1, self._count)[0])
        # The class before and a jump of 1 to L - 1: always another one.
        jumps = self._numbers.below(int(runs[-1]) - self._run, self._count - 1) + 1
        found = (self._now + np.concatenate([[0], np.cumsum(jumps)])) % self._count
        classes = found[runs - self._run]
        self._run, self._now = int(runs[-1]), int(found[-1])
        return np.asarray(classes, dtype=np.int64)


def _shown(present: Integers) -> str:
    listed = present.tolist()
    some = ", ".join(map(str, listed[:20]))
    return f"{some}{', ...' * (len(listed) > 20)}"


Dwell = Geometric | Trace
LAWS: tuple[type[Geometric] | type[Trace], ...] = (Geometric, Trace)
