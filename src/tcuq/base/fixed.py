"""From real numbers to the core's fixed point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from .checks import number
from .errors import InputError, wrong_value

ONE = 65536  # 1.0 in Q0.16


def snap(value: float, unit: int) -> float:
    """Round to the nearest multiple of 1 / unit."""
    return math.floor(value * unit + 0.5) / unit


def ratio(name: str, value: float, low: Fraction, high: Fraction, largest: int) -> Fraction:
    """Return the nearest fraction with a denominator up to `largest`, kept inside [low, high]."""
    return min(high, max(low, nearest(number(name, value, float(low), float(high)), largest)))


@lru_cache(maxsize=64)
def nearest(value: float, largest: int) -> Fraction:
    """Return the nearest fraction with a denominator up to `largest`; slow, so the last ones are kept."""
    return Fraction(value).limit_denominator(largest)


def weight_units(lags: Sequence[int], weights: Sequence[float] | None, unit: int) -> tuple[int, ...]:
    """Return lag weights as integers that sum to exactly `unit`, by largest remainders."""
    if weights is None:
        weights = [1 / lag for lag in lags]
    if len(weights) != len(lags):
        raise InputError("value", f"lag_weights has {len(weights)} entries, expected {len(lags)}, one a lag")
    for weight in weights:
        number("lag weight", weight, 0, 1e9)
    total = math.fsum(weights)
    if total <= 0 or not math.isfinite(total):
        raise InputError("value", f"lag_weights sum to {total}; a finite sum above 0 is needed")
    shares = [weight * unit / total for weight in weights]
    units = [math.floor(share) for share in shares]
    by_remainder = sorted(range(len(lags)), key=lambda i: (units[i] - shares[i], i))
    for i in by_remainder[: unit - sum(units)]:
        units[i] += 1
    if units[0] == 0:
        raise wrong_value(f"the weight of lag {lags[0]}", weights[0], f"at least 1/{unit} of the sum")
    return tuple(units)
