"""What corruptions are given: random numbers of each example's own, and libraries that few of them need."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.recording.rand import Generators

from ..home import library

Floats = npt.NDArray[np.float64]


class Draws:
    """One random generator an example, so that its disturbance does not depend on its neighbors."""

    def __init__(self, seed: int, label: str, index: npt.NDArray[np.int64]) -> None:
        self._own = Generators(seed, label)
        self._index = index

    @cached_property
    def generators(self) -> list[np.random.Generator]:
        """One generator an example, in order; they go on where the last draw ended."""
        return [self._own.at(place) for place in self._index.tolist()]

    def normal(self, shape: tuple[int, ...] = ()) -> Floats:
        """Return standard normal numbers of shape (n, *shape)."""
        return np.stack([each.standard_normal(shape) for each in self.generators])

    def uniform(self, low: float, high: float, shape: tuple[int, ...] = ()) -> Floats:
        """Return uniform numbers of shape (n, *shape)."""
        return np.stack([each.uniform(low, high, shape) for each in self.generators])

    def integers(self, low: int, high: int, shape: tuple[int, ...] = ()) -> npt.NDArray[np.int64]:
        """Return integers from low to high - 1, of shape (n, *shape)."""
        return np.stack([each.integers(low, high, shape) for each in self.generators])

    def poisson(self, mean: Floats) -> npt.NDArray[np.int64]:
        """Return Poisson counts around means of shape (n, ...)."""
        return np.stack([each.poisson(part) for each, part in zip(self.generators, mean, strict=True)])


def scipy(part: str, what: str = "to corrupt pictures") -> Any:
    """Return a part of scipy, or say how to get it."""
    return library(f"scipy.{part}", what)


def pillow() -> Any:
    """Return the module of Pillow that holds pictures, or say how to get it."""
    return library("PIL.Image", "to corrupt pictures")
