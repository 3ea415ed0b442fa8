"""Exact interval of a Poisson rate from a count."""

from __future__ import annotations

import math
from collections.abc import Callable

STEPS = 200


def poisson_interval(count: int, level: float = 0.95) -> tuple[float, float]:
    """Return the rates under which so few, or so many, events have a chance of (1 - level) / 2.

    Parameters
    ----------
    count : int
    level : float

    Examples
    --------
    >>> [round(end, 2) for end in poisson_interval(10)], [round(end, 2) for end in poisson_interval(0)]
    ([4.8, 18.39], [0.0, 3.69])
    """
    tail = (1 - level) / 2
    most = count + 10 * math.sqrt(count + 1) + 20
    low = 0.0 if not count else _where(lambda rate: 1 - _at_most(count - 1, rate) > tail, most)
    return low, _where(lambda rate: _at_most(count, rate) < tail, most)


def _at_most(count: int, rate: float) -> float:
    """Return the chance of at most so many events."""
    if rate == 0:
        return 1.0
    logs = [each * math.log(rate) - rate - math.lgamma(each + 1) for each in range(count + 1)]
    return math.fsum(map(math.exp, logs))


def _where(crossed: Callable[[float], bool], most: float) -> float:
    """Return the least rate up to `most` at which something that stays true becomes true."""
    low, high = 0.0, most
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if crossed(middle) else (middle, high)
    return high
