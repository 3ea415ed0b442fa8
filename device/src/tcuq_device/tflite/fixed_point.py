"""The fixed-point numbers of TFLite's reference kernels: products, shifts, exponentials, reciprocals.

All values are 32-bit integers, kept in 64 bits here. A number with k bits before its point stands for
raw / 2**(31 - k). `>>` rounds down.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
LOWEST, HIGHEST = -(2**31), 2**31 - 1
EIGHTH = 2**28
EXP_EIGHTH = 1895147668
"""exp(-1/8) without bits before its point."""
THIRD = 715827883
POWERS = (
    (-2, 1672461947),
    (-1, 1302514674),
    (0, 790015084),
    (1, 290630308),
    (2, 39332535),
    (3, 720401),
    (4, 242),
)
"""Exponents k and exp(-2**k)."""
RECIPROCAL = (1515870810, -1010580540)
"""48/17 and -32/17 with two bits before the point: the first guess of a reciprocal."""


def multiplier_of(factor: float) -> tuple[int, int]:
    """Return a factor as a multiplier of 31 bits and a shift: factor = multiplier * 2**(shift - 31).

    Examples
    --------
    >>> multiplier_of(0.75), multiplier_of(3.0), multiplier_of(1e-12)
    ((1610612736, 0), (1610612736, 2), (0, 0))
    """
    part, shift = math.frexp(factor)
    multiplier = math.floor(part * 2**31 + 0.5)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    return (0, 0) if shift < -31 else (multiplier, shift)


def high_product(a: Int64, b: Int64 | int) -> Int64:
    """Return the upper half of twice a product, rounded, half upwards."""
    return np.asarray(np.minimum((a * b + 2**30) >> 31, HIGHEST))


def shifted_right(values: Int64, count: Int64 | int) -> Int64:
    """Return values / 2**count, rounded, half away from zero."""
    half = (np.int64(1) << np.asarray(count, dtype=np.int64)) >> 1
    return np.asarray((values + half - ((values < 0) & (half > 0))) >> count)


def shifted_left(values: Int64, count: int) -> Int64:
    """Return values * 2**count, confined to 32 bits."""
    return np.asarray(np.clip(values << count, LOWEST, HIGHEST))


def rescaled_twice(values: Int64, multiplier: Int64 | int, shift: Int64 | int) -> Int64:
    """Return values * multiplier * 2**(shift - 31), rounded after the product and again after the shift."""
    shifts = np.asarray(shift, dtype=np.int64)
    left = np.maximum(shifts, 0)
    return shifted_right(high_product(values << left, multiplier), left - shifts)


def rescaled_once(values: Int64, multiplier: Int64 | int, shift: Int64 | int) -> Int64:
    """Return values * multiplier * 2**(shift - 31), rounded once, half upwards."""
    count = np.asarray(31 - shift, dtype=np.int64)
    return np.asarray((values * multiplier + (np.int64(1) << (count - 1))) >> count)


def exponential(values: Int64, before: int) -> Int64:
    """Return exp of values that are not positive and have up to 5 bits before their point, without any."""
    point = 31 - before
    quarter = 2 ** (point - 2)
    inside = (values & (quarter - 1)) - quarter
    rest = inside - values
    x = shifted_left(inside, before) + EIGHTH
    square = high_product(x, x)
    fourth = shifted_right(high_product(square, square), 2)
    tail = shifted_right(high_product(fourth + high_product(square, x), THIRD) + square, 1)
    found = EXP_EIGHTH + high_product(x + tail, EXP_EIGHTH)
    for power, factor in POWERS:
        if power < before:
            found = np.where(rest & 2 ** (point + power), high_product(found, factor), found)
    return np.where(values == 0, HIGHEST, found)


def reciprocal(values: Int64) -> Int64:
    """Return 1 / (1 + x) for x from 0 to 1, neither with bits before its point."""
    half = (values + HIGHEST + 1) >> 1
    guess = RECIPROCAL[0] + high_product(half, RECIPROCAL[1])
    for _ in range(3):
        missing = 2**29 - high_product(half, guess)
        guess = guess + shifted_left(high_product(guess, missing), 2)
    return shifted_left(guess, 1)


def radius(before: int, shift: int) -> int:
    """Return the largest input that does not leave the range of a number, once it is shifted."""
    return math.floor(math.ldexp(2**before - 1, 31 - before - shift))
