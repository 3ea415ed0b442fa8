"""Accuracy from one number: a straight line, or whatever only rises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..scores import Doubles

Curve = Callable[[npt.NDArray[Any]], Doubles]


def line(x: npt.ArrayLike, y: npt.ArrayLike) -> Curve:
    """Return the straight line of the least squares; a constant where x has one value."""
    given, target = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    middle, level = float(given.mean()), float(target.mean())
    spread = float(np.square(given - middle).sum())
    slope = float(((given - middle) * (target - level)).sum()) / spread if spread > 1e-18 else 0.0
    return lambda values: np.asarray(level + slope * (np.asarray(values, dtype=np.float64) - middle))


def monotone(x: npt.ArrayLike, y: npt.ArrayLike) -> Curve:
    """Return the isotonic regression: rising, of the least squares, straight between what was seen.

    Values beyond what was seen get what its ends have.
    """
    given, target = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    places, number = np.unique(given, return_inverse=True)
    counts = np.bincount(number.ravel()).astype(np.float64)
    sums = np.bincount(number.ravel(), target)
    blocks: list[list[float]] = []  # sum, steps and places of each level
    for total, count in zip(sums.tolist(), counts.tolist(), strict=True):
        blocks.append([total, count, 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    levels = np.repeat([total / count for total, count, _ in blocks], [int(wide) for *_, wide in blocks])
    return lambda values: np.asarray(np.interp(values, places, levels))


CURVES: dict[str, Callable[[npt.ArrayLike, npt.ArrayLike], Curve]] = {"line": line, "monotone": monotone}
