"""Dwell: which class is in front of the sensor, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer, number
from tcuq.recording.rand import ONE

from .chains import Chain, DrawnRuns, Paced, Redrawn, Runs
from .fields import listed

Integers = npt.NDArray[np.int64]
LONGEST = 1_000_000
MOST_RUNS = 100_000
LONGEST_DRAWN = 10_000
SCALES = 256


@dataclass(frozen=True)
class Geometric:
    """A class stays for a geometric number of steps.

    At each step the class is redrawn from all L classes with chance min(1, L / (mean (L - 1))). As the
    same class may come again, the mean run is `mean`, where that is at least L / (L - 1); below, each step
    is redrawn.

    Parameters
    ----------
    mean : float, default 1.0
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
        """Return a fresh chain over the classes that there are, in rising order.

        Parameters
        ----------
        seed : int
            Of the stream.
        name : str
            Which random numbers: chains of other names are independent.
        present : array of integers
            Classes that there are, rising.

        Returns
        -------
        Chain
            Its `take` gives the classes of the next steps.
        """
        return Redrawn(seed, name, len(present), self.mean)

    def nameless(self) -> Geometric:
        """Return the law for examples that are none of the classes.

        Returns
        -------
        Geometric
            A law over one class.
        """
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
        """Return a fresh chain over the classes that there are, in rising order.

        Parameters
        ----------
        seed : int
            Of the stream.
        name : str
            Which random numbers: chains of other names are independent.
        present : array of integers
            Classes that there are, rising.

        Returns
        -------
        Chain
            Its `take` gives the classes of the next steps.
        """
        return Runs(seed, name, present, self.runs, self.classes)

    def nameless(self) -> Trace:
        """Return the law for examples that are none of the classes.

        Returns
        -------
        Trace
            A law over one class.
        """
        return Trace(self.runs)


@dataclass(frozen=True)
class Pareto:
    """A class stays for a heavy-tailed number of steps: most runs are short, a few are very long.

    The chance that a run has more than n steps is (s / (s + n)) ** 1.5 up to the longest run, where all that
    would be longer ends. The scale s, in 256ths, is the smallest whose mean run is at least `mean`. The next
    run shows another class.

    Parameters
    ----------
    mean : float, default 16.0
        Mean number of consecutive steps of one class, at most a quarter of `longest`.
    longest : int, default 1000
        Longest run, in steps.
    majority : float, optional
        Share of the steps that one class has, drawn by the seed: every other run is of that class, and so
        much longer on average. `mean` is that of the other runs. By default all classes are alike.

    Examples
    --------
    >>> Pareto(4).chain(0, "classes", np.arange(10)).take(12).tolist()
    [4, 1, 2, 2, 1, 1, 5, 3, 6, 4, 4, 6]
    """

    mean: float = 16.0
    longest: int = 1000
    majority: float | None = None
    law: ClassVar[str] = "pareto"

    def __post_init__(self) -> None:
        longest = integer("longest of pareto", self.longest, 4, LONGEST_DRAWN)
        object.__setattr__(self, "longest", longest)
        object.__setattr__(self, "mean", number("mean of pareto", self.mean, 1, longest / 4))
        if self.majority is not None:
            most = longest / (longest + 4 * self.mean)  # so that its runs keep to a quarter, too
            share = number("majority of pareto", self.majority, 0.5, most)
            object.__setattr__(self, "majority", share)

    def chain(self, seed: int, name: str, present: Integers) -> Chain:
        """Return a fresh chain over the classes that there are, in rising order.

        Parameters
        ----------
        seed : int
            Of the stream.
        name : str
            Which random numbers: chains of other names are independent.
        present : array of integers
            Classes that there are, rising.

        Returns
        -------
        Chain
            Its `take` gives the classes of the next steps.
        """
        usual = None
        if self.majority is not None:
            usual = Pareto(self.mean * self.majority / (1 - self.majority), self.longest).reaches()
        return DrawnRuns(seed, name, len(present), self.reaches(), usual)

    def nameless(self) -> Pareto:
        """Return the law for examples that are none of the classes.

        Returns
        -------
        Pareto
            A law over one class.
        """
        return Pareto(self.mean, self.longest)

    def reaches(self) -> npt.NDArray[np.uint64]:
        """Return the chances that a run reaches 2 steps, 3 steps, up to the longest, in 2**64ths.

        Returns
        -------
        uint64 array
            One number for each length from 2 on.
        """
        wanted = ONE * Fraction(self.mean)
        low, high = 0, SCALES  # the mean is too small at `low`
        while ONE + sum(_tail(high, self.longest)) < wanted:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if ONE + sum(_tail(middle, self.longest)) < wanted else (low, middle)
        return np.array(_tail(high, self.longest), dtype=np.uint64)


@dataclass(frozen=True)
class Changing:
    """The pace of the stream changes: stretches, each with a mean dwell of its own.

    Within a stretch runs are as in `Geometric`. A class goes on where a stretch ends.

    Parameters
    ----------
    means : tuple of float, default (1.0, 4.0, 16.0, 64.0)
        Mean dwells, taken in shuffled rounds, none twice in a row.
    length : int, default 400
        Steps of a stretch.

    Examples
    --------
    >>> Changing((1, 64), 8).chain(0, "classes", np.arange(10)).take(16).tolist()
    [9, 8, 3, 3, 3, 6, 3, 5, 5, 5, 5, 5, 5, 5, 5, 5]
    """

    means: tuple[float, ...] = (1.0, 4.0, 16.0, 64.0)
    length: int = 400
    law: ClassVar[str] = "changing"

    def __post_init__(self) -> None:
        given = listed("means of changing", self.means)
        integer("number of means of changing", len(given), 2, 100)
        means = tuple(number("mean of changing", each, 1, LONGEST) for each in given)
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "length", integer("length of changing", self.length, 1, LONGEST))

    def chain(self, seed: int, name: str, present: Integers) -> Chain:
        """Return a fresh chain over the classes that there are, in rising order.

        Parameters
        ----------
        seed : int
            Of the stream.
        name : str
            Which random numbers: chains of other names are independent.
        present : array of integers
            Classes that there are, rising.

        Returns
        -------
        Chain
            Its `take` gives the classes of the next steps.
        """
        return Paced(seed, name, len(present), self.means, self.length)

    def nameless(self) -> Changing:
        """Return the law for examples that are none of the classes.

        Returns
        -------
        Changing
            A law over one class.
        """
        return self


@dataclass(frozen=True)
class Recorded:
    """Examples in their own order: the runs of one label that the data has, each whole, in shuffled order.

    A track of one traffic sign or a trial of one person is a run. Data in which two neighboring runs have
    the same label would join them.

    Examples
    --------
    >>> from tcuq_lab.streams.order import RecordedRuns
    >>> RecordedRuns(0, "examples", np.array([3, 3, 8, 3, 3, 3])).take(8).tolist()
    [3, 4, 5, 2, 0, 1, 3, 4]
    """

    law: ClassVar[str] = "recorded"

    def chain(self, seed: int, name: str, present: Integers) -> Chain:
        """Refuse: the data has the order of its classes."""
        raise ValueError("dwell recorded has no classes to draw, expected examples in their own order")

    def nameless(self) -> Geometric:
        """Return the law for examples that are none of the classes.

        Returns
        -------
        Geometric
            Each step is redrawn.
        """
        return Geometric(1)


def _tail(scale: int, longest: int) -> list[int]:
    """Return the chances to reach 2 to `longest` steps with a scale in `SCALES`ths, in 2**64ths."""
    cube = scale**3 << 128
    return [isqrt(cube // (scale + SCALES * more) ** 3) for more in range(1, longest)]


Dwell = Geometric | Trace | Pareto | Changing | Recorded
LAWS: tuple[type[Dwell], ...] = (Geometric, Trace, Pareto, Changing, Recorded)
