"""Dwell: which class is in front of the sensor, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, ClassVar

import numpy as np

from tcuq.base.checks import integer, number, put
from tcuq.recording.rand import ONE

from .chains import Chain, Chances, DrawnRuns, Integers, Paced, Redrawn, Runs
from .fields import listed

LONGEST = 1_000_000
MOST_RUNS = 100_000
LONGEST_DRAWN = 10_000
SCALES = 256


class Law:
    """How classes follow each other."""

    def nameless(self) -> Any:
        """Return the law for examples that are none of the classes."""
        return self


@dataclass(frozen=True)
class Geometric(Law):
    """A class stays for a geometric number of steps.

    At each step the class is redrawn from all L classes with chance min(1, L / (mean (L - 1))). As the
    same class may come again, the mean run is `mean`, where that is at least L / (L - 1); below, each step
    is redrawn.
    """

    mean: float = 1.0  # mean number of consecutive steps of one class; 1 for a shuffled stream
    law: ClassVar[str] = "geometric"

    def __post_init__(self) -> None:
        put(self, mean=number("mean of dwell", self.mean, 1, LONGEST))

    def chain(self, seed: int, name: str, present: Integers) -> Chain:
        """Return a fresh chain over the classes that there are, in rising order."""
        return Redrawn(seed, name, len(present), self.mean)


@dataclass(frozen=True)
class Trace(Law):
    """Runs of given lengths, over and over."""

    runs: tuple[int, ...]  # steps of each run
    # Label of each run. By default another class than that of the run before is drawn. Examples that are
    # none of the classes always draw theirs.
    classes: tuple[int, ...] | None = None
    law: ClassVar[str] = "trace"

    def __post_init__(self) -> None:
        given = listed("runs of the trace", self.runs)
        runs = tuple(integer("run of the trace", run, 1, LONGEST) for run in given)
        integer("number of runs of the trace", len(runs), 1, MOST_RUNS)
        put(self, runs=runs)
        if self.classes is None:
            return
        named = listed("classes of the trace", self.classes)
        classes = tuple(integer("class of the trace", each, 0, 2**31) for each in named)
        if len(classes) != len(runs):
            raise ValueError(f"trace has {len(classes)} classes, expected as many as runs, {len(runs)}")
        put(self, classes=classes)

    def chain(self, seed: int, name: str, present: Integers) -> Chain:
        """Return a fresh chain over the classes that there are, in rising order."""
        return Runs(seed, name, present, self.runs, self.classes)

    def nameless(self) -> Trace:
        """Return the law for examples that are none of the classes."""
        return Trace(self.runs)


@dataclass(frozen=True)
class Pareto(Law):
    """A class stays for a heavy-tailed number of steps: most runs are short, a few are very long.

    The chance that a run has more than n steps is (s / (s + n)) ** 1.5 up to the longest run, where all that
    would be longer ends. The scale s, in 256ths, is the smallest whose mean run is at least `mean`. The next
    run shows another class.
    """

    mean: float = 16.0  # mean number of consecutive steps of one class, at most a quarter of `longest`
    longest: int = 1000  # longest run, in steps
    # Share of the steps that one class has, drawn by the seed: every other run is of that class, and so
    # much longer on average. `mean` is that of the other runs. By default all classes are alike.
    majority: float | None = None
    law: ClassVar[str] = "pareto"

    def __post_init__(self) -> None:
        longest = integer("longest of pareto", self.longest, 4, LONGEST_DRAWN)
        put(self, longest=longest, mean=number("mean of pareto", self.mean, 1, longest / 4))
        if self.majority is not None:
            most = longest / (longest + 4 * self.mean)  # so that its runs keep to a quarter, too
            put(self, majority=number("majority of pareto", self.majority, 0.5, most))

    def chain(self, seed: int, name: str, present: Integers) -> Chain:
        """Return a fresh chain over the classes that there are, in rising order."""
        usual = None
        if self.majority is not None:
            usual = Pareto(self.mean * self.majority / (1 - self.majority), self.longest).reaches()
        return DrawnRuns(seed, name, len(present), self.reaches(), usual)

    def nameless(self) -> Pareto:
        """Return the law for examples that are none of the classes."""
        return Pareto(self.mean, self.longest)

    def reaches(self) -> Chances:
        """Return the chances that a run reaches 2 steps, 3 steps, up to the longest, in 2**64ths."""
        wanted = ONE * Fraction(self.mean)
        low, high = 0, SCALES  # the mean is too small at `low`
        while ONE + sum(_tail(high, self.longest)) < wanted:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if ONE + sum(_tail(middle, self.longest)) < wanted else (low, middle)
        return np.array(_tail(high, self.longest), dtype=np.uint64)


@dataclass(frozen=True)
class Changing(Law):
    """The pace of the stream changes: stretches, each with a mean dwell of its own.

    Within a stretch runs are as in `Geometric`. A class goes on where a stretch ends.
    """

    # Mean dwells, taken in shuffled rounds, none twice in a row
    means: tuple[float, ...] = (1.0, 4.0, 16.0, 64.0)
    length: int = 400  # steps of a stretch
    law: ClassVar[str] = "changing"

    def __post_init__(self) -> None:
        given = listed("means of changing", self.means)
        integer("number of means of changing", len(given), 2, 100)
        means = tuple(number("mean of changing", each, 1, LONGEST) for each in given)
        put(self, means=means, length=integer("length of changing", self.length, 1, LONGEST))

    def chain(self, seed: int, name: str, present: Integers) -> Chain:
        """Return a fresh chain over the classes that there are, in rising order."""
        return Paced(seed, name, len(present), self.means, self.length)


@dataclass(frozen=True)
class Recorded(Law):
    """Examples in their own order: the runs of one label that the data has, each whole, in shuffled order.

    A track of one traffic sign or a trial of one person is a run. Data in which two neighboring runs have
    the same label would join them.
    """

    law: ClassVar[str] = "recorded"

    def chain(self, seed: int, name: str, present: Integers) -> Chain:
        """Refuse: the data has the order of its classes."""
        raise ValueError("dwell recorded has no classes to draw, expected examples in their own order")

    def nameless(self) -> Geometric:
        """Show examples that are none of the classes at random."""
        return Geometric(1)


def _tail(scale: int, longest: int) -> list[int]:
    """Return the chances to reach 2 to `longest` steps with a scale in `SCALES`ths, in 2**64ths."""
    cube = scale**3 << 128
    return [isqrt(cube // (scale + SCALES * more) ** 3) for more in range(1, longest)]


Dwell = Geometric | Trace | Pareto | Changing | Recorded
LAWS: tuple[type[Dwell], ...] = (Geometric, Trace, Pareto, Changing, Recorded)
