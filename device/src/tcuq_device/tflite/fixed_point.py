"""The fixed-point numbers of TFLite's reference kernels: factors, products, shifts, exponentials.

All values are 32-bit integers, kept in 64 bits here. A number with k bits before its point stands for
raw / 2**(31 - k). `>>` rounds down.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .model import Tensor

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


def radius(before: int, shift: int) -> int:
    """Return the largest input that does not leave the range of a number, once it is shifted."""
    return math.floor(math.ldexp(2**before - 1, 31 - before - shift))


def channel_factors(
    code: str, source: Tensor, weights: Tensor, target: Tensor, outputs: int
) -> tuple[Int64, Int64]:
    """Return multipliers and shifts for output channels, from scales in double precision."""
    products = float(source.scale) * weights.scales.astype(np.float64)
    if code == "FULLY_CONNECTED" and len(products) == 1:
        # Then the product of the scales is one of single precision.
        products = np.array([float(source.scale * weights.scale)])
    factors = np.broadcast_to(products / float(target.scale), outputs)
    pairs = np.array([multiplier_of(each) for each in factors.tolist()], dtype=np.int64)
    return pairs[:, 0], pairs[:, 1]


def mean_factor(source: Tensor, target: Tensor, count: int) -> tuple[int, int]:
    """Return multiplier and shift of a mean: the count is divided out, with as many bits as there is room."""
    multiplier, shift = multiplier_of(float(source.scale) / float(target.scale))
    more = min(count.bit_length() - 1, 32, 31 + shift)
    return (multiplier << more) // count, shift - more


def powers_of(source: Tensor, beta: float) -> Int64:
    """Return the exponentials of a softmax by distance from the largest value; 0 for what does not count."""
    factor = min(float(np.float32(beta)) * float(source.scale) * 2**26, 2.0**31 - 1)
    multiplier, shift = multiplier_of(factor)
    below = -np.arange(256)
    counted = below >= -radius(5, shift)
    return np.where(
        counted, exponential(high_product(np.where(counted, below, 0) << shift, multiplier), 5), 0
    )
