"""What methods share that watch the outputs of one plain network: their past, and what they cost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..method import Floats, Method, MethodCost, Observed

Integers = npt.NDArray[np.int64]

COUNTER = 2
"""Bytes that say where a ring begins and how much of it is filled, for up to 256 places."""


def ages(seen: Observed) -> Integers:
    """Return how many steps of its own segment lie before each step.

    Examples
    --------
    >>> ages(Observed(np.full((4, 2), 0.5), segments=np.array([7, 7, 7, 3]))).tolist()
    [0, 1, 2, 0]
    """
    found = np.empty(len(seen), dtype=np.int64)
    for piece in seen.pieces():
        found[piece] = np.arange(piece.stop - piece.start)
    return found


def pasts(age: Integers, last: int) -> Iterator[tuple[Integers, Integers]]:
    """Give, for each lag from 1 to `last` - 1, the steps that reach back so far and those they reach.

    Summed lag by lag, a step gets the same wherever its segment lies; running sums do not promise that.

    Examples
    --------
    >>> [(now.tolist(), then.tolist()) for now, then in pasts(np.array([0, 1, 2, 0]), 3)]
    [([1, 2], [0, 1]), ([2], [0])]
    """
    for lag in range(1, last):
        now = np.flatnonzero(age >= lag)
        if not len(now):
            return
        yield now, now - lag


def mean_of_last(values: Floats, age: Integers, last: int) -> npt.NDArray[np.float64]:
    """Return the mean of each step's value and those before it, `last` in all or as many as there are.

    Examples
    --------
    >>> mean_of_last(np.array([4.0, 2.0, 0.0, 6.0]), np.array([0, 1, 2, 0]), 2).tolist()
    [4.0, 3.0, 1.0, 6.0]
    """
    given = values.astype(np.float64)
    total = given.copy()
    for now, then in pasts(age, last):
        total[now] += given[then]
    count = np.minimum(age + 1, last)
    return np.asarray(total / count.reshape(-1, *[1] * (total.ndim - 1)))


class Streaming(Method):
    """A method that adds some memory to one pass of the plain network."""

    @property
    def classes(self) -> int:
        """Number of classes of the network."""
        from ...zoo.outputs import core

        return core(self.network).classes

    @abstractmethod
    def state(self) -> int:
        """Return the bytes that are kept from one step to the next, with the setting that was kept."""

    def stored(self) -> int:
        """Return the constants that a device stores: the numbers of the setting that was kept."""
        return sum(isinstance(value, (int, float)) for value in self.setting.values())

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return one pass of the plain network, the constants and the memory."""
        from ..counting import counted

        return counted(self.loaded(), shape, stored=self.stored(), state=self.state())
