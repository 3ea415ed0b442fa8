"""What inputs are by their shape, the range that they have, and the one that a model was trained on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .model import Array
from .options import Range

COMMON: tuple[Range, ...] = ((0.0, 1.0), (-1.0, 1.0), (0.0, 255.0))
"""Ranges that models of pictures are usually trained on."""

USUAL: tuple[Range, ...] = (*COMMON, (-128.0, 127.0))
"""Ranges that pictures usually have; the first that holds all values is taken."""

CHANNELS = (1, 3, 4)
"""Of pictures."""

SMALLEST = 8
"""Pixels of a side, from which on two or three dimensions may be a picture."""

TRIED = 200
"""Labeled examples on which ranges are compared."""

FEWEST = 50
"""Examples from which on they are."""

GAIN = 0.1
"""Share of the answers that another range must put right."""


def family_of(shape: tuple[int, ...], dtype: Any) -> str | None:
    """Return what inputs of a shape most likely are; None for shapes that are none of these.

    Examples
    --------
    >>> u8, f32 = np.dtype(np.uint8), np.dtype(np.float32)
    >>> family_of((32, 32, 3), f32), family_of((28, 28), u8), family_of((128, 6), f32), family_of((187,), f32)
    ('pictures', 'pictures', 'signals', 'signals')
    """
    long = [each for each in shape if each != 1]
    if len(shape) == 3 and min(long, default=1) > 1 and (shape[2] in CHANNELS or shape[0] in CHANNELS):
        sides = shape[:2] if shape[2] in CHANNELS else shape[1:]
        if min(sides) >= SMALLEST:
            return "pictures"
    if len(shape) == 2 and dtype == np.uint8 and min(shape) >= SMALLEST:
        return "pictures"
    return "signals" if 1 <= len(long) <= 2 else None


def range_of(sample: Array) -> Range | None:
    """Return the range of data by their type or, of floats, the usual one that they fill; None for others.

    Examples
    --------
    >>> range_of(np.zeros((2, 3), np.uint8)), range_of(np.array([[0.1, 0.9]]))
    ((0.0, 255.0), (0.0, 1.0))
    >>> range_of(np.array([[0.0, 16.0]]))
    """
    whole = np.iinfo(sample.dtype) if sample.dtype.kind in "iu" and sample.dtype.itemsize <= 2 else None
    if sample.dtype.itemsize > 1:
        low, high = float(sample.min()), float(sample.max())
        for least, most in USUAL:
            wide = (
                most - least <= 2 or high - low >= (most - least) / 8
            )  # else standardized values are pixels
            if least - 1e-3 <= low and high <= most + 1e-3 and wide:
                return least, most
    return None if whole is None else (float(whole.min), float(whole.max))


def same_range(one: Range | None, other: Range) -> bool:
    """Tell whether two ranges are equal but for a rounding.

    Examples
    --------
    >>> same_range((-1.0, 0.9922), (-1.0, 1.0)), same_range(None, (0.0, 1.0))
    (True, False)
    """
    if one is None:
        return False
    off = max(abs(a - b) for a, b in zip(one, other, strict=True))
    return off <= 0.02 * (other[1] - other[0])


def moved(x: Array, own: Range, wanted: Range) -> Array:
    """Return values of one range in another one.

    Examples
    --------
    >>> moved(np.array([0, 255], np.uint8), (0.0, 255.0), (-1.0, 1.0)).tolist()
    [-1.0, 1.0]
    """
    factor = (wanted[1] - wanted[0]) / (own[1] - own[0])
    return np.asarray((x.astype(np.float64) - own[0]) * factor + wanted[0], np.float32)


class Best(NamedTuple):
    """The range with which a model is most accurate, and how accurate it is with it and with another."""

    range: Range
    accuracy: float
    before: float


def clearly_better(
    accuracy: Callable[[Range | None], float], first: Range | None, like: Range | None, count: int
) -> Best | None:
    """Return another common range with which a model is clearly more accurate; None where there is none.

    Examples
    --------
    >>> clearly_better(lambda tried: 0.9 if tried == (-1.0, 1.0) else 0.4, None, (0.0, 1.0), 200)
    Best(range=(-1.0, 1.0), accuracy=0.9, before=0.4)
    """
    margin = max(GAIN, 2 / count**0.5)
    before = accuracy(first)
    if before > 1 - margin:
        return None
    rest = [each for each in COMMON if not same_range(like, each)]
    found = max((Best(each, accuracy(each), before) for each in rest), key=lambda each: each.accuracy)
    return found if found.accuracy >= before + margin else None


def shown_range(ends: Range) -> str:
    """Return a range as a person writes it.

    Examples
    --------
    >>> shown_range((-1.0, 1.0))
    '-1 to 1'
    """
    return f"{ends[0]:.4g} to {ends[1]:.4g}"
