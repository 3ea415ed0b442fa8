"""Examples that wait to be shown, class by class, so that none is shown much more often than others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...base.rand import Numbers

Ints = npt.NDArray[np.int64]

RESERVE = 8
"""When less than a part in so many is left, all examples join again, behind those that are left."""


class Pool:
    """Gives examples of a class, each once before any comes again.

    Examples
    --------
    >>> pool = Pool([np.array([4, 5]), np.array([7])], Numbers(0, "pool"))
    >>> sorted([pool.take(0), pool.take(0), pool.take(1)])
    [4, 5, 7]
    """

    def __init__(self, groups: Sequence[Ints], numbers: Numbers) -> None:
        self._groups, self._numbers = groups, numbers
        self._all = sum(map(len, groups))
        self._waiting: list[list[int]] = [[] for _ in groups]
        self._left = np.zeros(len(groups), dtype=np.int64)
        self._join()

    def _join(self) -> None:
        for number, group in enumerate(self._groups):
            order = group[self._numbers.shuffled(len(group))[0]].tolist()
            self._waiting[number] = [*order, *self._waiting[number]]  # taken from the end
            self._left[number] += len(group)

    def left(self, group: int) -> int:
        """Return how many examples of a class wait."""
        return int(self._left[group])

    def draw(self) -> int:
        """Return a class, each with the chance of an example that waits being of it."""
        if RESERVE * int(self._left.sum()) < self._all:
            self._join()
        ends = np.cumsum(self._left)
        return int(np.searchsorted(ends, self._numbers.below(1, int(ends[-1]))[0], side="right"))

    def take(self, group: int) -> int:
        """Return the next example of a class."""
        if not self._waiting[group]:
            self._join()
        self._left[group] -= 1
        return self._waiting[group].pop()
