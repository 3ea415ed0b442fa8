"""Which example of a class is shown next: all of them evenly, in an order reshuffled each round."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tcuq.recording.rand import Numbers

Integers = npt.NDArray[np.int64]


class Queue:
    """Examples in a random order, reshuffled whenever all were shown; none comes twice in a row.

    Examples
    --------
    >>> Queue(Numbers(0, "order"), np.array([4, 5, 6])).take(9).tolist()
    [4, 5, 6, 5, 6, 4, 5, 4, 6]
    """

    def __init__(self, numbers: Numbers, members: Integers) -> None:
        self._numbers, self._members = numbers, members
        self._waiting = np.zeros(0, dtype=np.int64)
        self._last = -1

    def take(self, count: int) -> Integers:
        """Return the next examples."""
        lacking = count - len(self._waiting)
        if lacking > 0:
            self._waiting = np.concatenate([self._waiting, self._rounds(-(-lacking // len(self._members)))])
        taken, self._waiting = self._waiting[:count], self._waiting[count:].copy()
        return self._members[taken]

    def _rounds(self, times: int) -> Integers:
        size = len(self._members)
        orders = self._numbers.shuffled(size, times)
        if size == 2:  # every round as the first one, or an example would come twice in a row
            orders[:] = orders[0] if self._last < 0 else [1 - self._last, self._last]
        elif size > 2:
            before = np.concatenate([[self._last], orders[:-1, -1]])
            again = orders[:, 0] == before
            orders[again, :2] = orders[again, 1::-1]
        self._last = int(orders[-1, -1])
        return orders.ravel()


class RecordedRuns:
    """Whole runs of one label, frame by frame; the order of runs is reshuffled whenever all were shown."""

    def __init__(self, seed: int, name: str, labels: Integers) -> None:
        self._starts = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1]).astype(np.int64)
        self._lengths = np.diff(self._starts, append=len(labels))
        self._order = Queue(Numbers(seed, f"{name}/runs"), np.arange(len(self._starts), dtype=np.int64))
        self._waiting = np.zeros(0, dtype=np.int64)

    def take(self, count: int) -> Integers:
        """Return the next examples."""
        parts, there = [self._waiting], len(self._waiting)
        while there < count:
            run = int(self._order.take(1)[0])
            parts.append(self._starts[run] + np.arange(self._lengths[run], dtype=np.int64))
            there += len(parts[-1])
        every = np.concatenate(parts)
        self._waiting = every[count:].copy()
        return every[:count]


class Picker:
    """Examples for classes, one queue a class.

    Examples
    --------
    >>> picker = Picker(0, "examples", np.array([3, 3, 8]))
    >>> picker.present.tolist(), picker.take(np.array([0, 1, 0, 1])).tolist()
    ([3, 8], [1, 2, 0, 2])
    """

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
