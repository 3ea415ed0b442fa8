"""Which class comes next, how long it stays and which of its examples are shown, in whole numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tcuq.recording.rand import ONE, Numbers, chance

Integers = npt.NDArray[np.int64]


class Buffered:
    """Goes on from step to step; what a draw gives too much waits."""

    def __init__(self) -> None:
        self._waiting = np.zeros(0, dtype=np.int64)

    def take(self, count: int) -> Integers:
        """Return the next ones."""
        parts, there = [self._waiting], len(self._waiting)
        while there < count:
            parts.append(self._more(count - there))
            there += len(parts[-1])
        every = np.concatenate(parts)
        self._waiting = every[count:].copy()
        return every[:count]

    def _more(self, lacking: int) -> Integers:
        """Return at least one more."""
        raise NotImplementedError


class Queue(Buffered):
    """Examples in a random order, reshuffled whenever all were shown; none comes twice in a row."""

    def __init__(self, numbers: Numbers, members: Integers) -> None:
        super().__init__()
        self._numbers, self._members, self._last = numbers, members, -1

    def _more(self, lacking: int) -> Integers:
        size = len(self._members)
        orders = self._numbers.shuffled(size, -(-lacking // size))
        if size == 2:  # every round as the first one, or an example would come twice in a row
            orders[:] = orders[0] if self._last < 0 else [1 - self._last, self._last]
        elif size > 2:
            before = np.concatenate([[self._last], orders[:-1, -1]])
            again = orders[:, 0] == before
            orders[again, :2] = orders[again, 1::-1]
        self._last = int(orders[-1, -1])
        return self._members[orders.ravel()]


class RecordedRuns(Buffered):
    """Whole runs of one label, frame by frame; the order of runs is reshuffled whenever all were shown."""

    def __init__(self, seed: int, name: str, labels: Integers) -> None:
        super().__init__()
        self._starts = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1]).astype(np.int64)
        self._lengths = np.diff(self._starts, append=len(labels))
        self._order = Queue(Numbers(seed, f"{name}/runs"), np.arange(len(self._starts), dtype=np.int64))

    def _more(self, lacking: int) -> Integers:
        run = int(self._order.take(1)[0])
        return np.asarray(self._starts[run] + np.arange(self._lengths[run], dtype=np.int64))


class Picker:
    """Examples for classes, one queue a class."""

    def __init__(self, seed: int, name: str, labels: Integers) -> None:
        self.present, places = np.unique(labels, return_inverse=True)
        by_class = np.argsort(places, kind="stable")
        ends = np.cumsum(np.bincount(places))
        members = np.split(by_class, ends[:-1])
        self._queues = [
            Queue(Numbers(seed, f"{name}/{label}"), part)
            for label, part in zip(self.present.tolist(), members, strict=True)
        ]

    def take(self, classes: Integers) -> Integers:
        """Return an example for each class, which is given as a place in `present`."""
        found = np.empty(len(classes), dtype=np.int64)
        rows = np.argsort(classes, kind="stable")
        counts = np.bincount(classes, minlength=len(self._queues))
        start = 0
        for place in np.flatnonzero(counts).tolist():
            stop = start + int(counts[place])
            found[rows[start:stop]] = self._queues[place].take(stop - start)
            start = stop
        return found


BLOCK = 256  # runs drawn at a time; the result does not depend on it


class Chain(Protocol):
    """Goes on from step to step."""

    def take(self, count: int) -> Integers:
        """Return the classes of the next steps, as places among those that there are."""


class Redrawn:
    """At each step the class is redrawn with a chance that gives runs of a mean length."""

    def __init__(self, seed: int, name: str, classes: int, mean: float) -> None:
        self._redraws, self._drawn = Numbers(seed, f"{name}/redraws"), Numbers(seed, f"{name}/drawn")
        self._classes = classes
        self._of = redraw_chance(classes, mean)
        self._now: int | None = None

    def take(self, count: int) -> Integers:
        """Return the classes of the next steps."""
        return self._next(count, self._of)

    def _next(self, count: int, of: int) -> Integers:
        if not count:
            return np.zeros(0, dtype=np.int64)
        redrawn = self._redraws.events(count, of)
        drawn = self._drawn.below(count, self._classes)
        if self._now is None:
            redrawn[0] = True
        elif not redrawn[0]:
            drawn[0], redrawn[0] = self._now, True
        found = drawn[np.maximum.accumulate(np.where(redrawn, np.arange(count), 0))]
        self._now = int(found[-1])
        return found


class Paced(Redrawn):
    """Runs as in `Redrawn`, of another mean in each stretch of `length` steps; the class goes on."""

    def __init__(self, seed: int, name: str, classes: int, means: tuple[float, ...], length: int) -> None:
        super().__init__(seed, name, classes, means[0])
        self._chances = [redraw_chance(classes, mean) for mean in means]
        self._order = Queue(Numbers(seed, f"{name}/paces"), np.arange(len(means), dtype=np.int64))
        self._length, self._left = length, 0

    def take(self, count: int) -> Integers:
        """Return the classes of the next steps."""
        parts = [np.zeros(0, dtype=np.int64)]
        while count:
            if not self._left:
                self._left, self._of = self._length, self._chances[int(self._order.take(1)[0])]
            part = min(count, self._left)
            parts.append(self._next(part, self._of))
            count, self._left = count - part, self._left - part
        return np.concatenate(parts)


class Runs:
    """Runs of given lengths, over and over; see `tcuq_lab.streams.Trace`."""

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
                some = ", ".join(map(str, present[:20].tolist())) + ", ..." * (len(present) > 20)
                raise ValueError(f"class {lacking[0]} of the trace has no examples, expected one of {some}")
            self._fixed = np.searchsorted(present, np.asarray(classes, dtype=np.int64))

    def take(self, count: int) -> Integers:
        """Return the classes of the next steps."""
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


Chances = npt.NDArray[np.uint64]
"""Chances of runs of 2 steps or more, 3 or more ..., in 2**64ths and falling."""


class DrawnRuns(Buffered):
    """Runs of another class than the one before, whose lengths are drawn from a table."""

    def __init__(
        self,
        seed: int,
        name: str,
        classes: int,
        reaches: Chances,
        usual: Chances | None = None,  # those of one class, which comes at every other run
    ) -> None:
        super().__init__()
        self._lengths, self._jumps = Numbers(seed, f"{name}/lengths"), Numbers(seed, f"{name}/jumps")
        self._usual = None if usual is None else usual[::-1].copy()
        self._classes, self._rising = classes, reaches[::-1].copy()
        self._now = int(Numbers(seed, f"{name}/first").below(1, classes)[0])

    def _more(self, lacking: int) -> Integers:
        # A number below a chance is an event of that chance: count the chances above it.
        drawn = self._lengths.raw(BLOCK)
        lengths = 1 + len(self._rising) - np.searchsorted(self._rising, drawn, side="right")
        if self._classes == 1:
            return np.zeros(int(lengths.sum()), dtype=np.int64)
        jumps = self._jumps.below(BLOCK, self._classes - 1) + 1
        if self._usual is not None:  # a block has an even number of runs, so that each begins alike
            lengths[::2] = 1 + len(self._usual) - np.searchsorted(self._usual, drawn[::2], side="right")
            jumps[1::2] = -jumps[::2]  # back to the usual class
        classes = (self._now + np.concatenate([[0], np.cumsum(jumps)])) % self._classes
        self._now = int(classes[-1])
        return np.asarray(np.repeat(classes[:-1], lengths), dtype=np.int64)


def redraw_chance(classes: int, mean: float) -> int:
    """Return the chance, in 2**64ths, to redraw a class that gives runs of a mean length."""
    return ONE if classes == 1 else chance(Fraction(classes, classes - 1) / Fraction(mean))
