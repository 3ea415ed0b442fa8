"""Gauges of an input, section 20: one value at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

from .numbers import clip, least, wide_logarithm

MOST = 8388607
"""Values of an input."""

AXES = 6
"""Axes of a signal that have gauges of their own."""


def gauges(kind: str, shape: tuple[int, int, int], values: Sequence[int]) -> list[int] | None:
    """Return the gauges of an input of (h, w, c) values, None for a shape that is refused."""
    h, w, c = shape
    n = h * w * c
    if not 1 <= n <= MOST:
        return None

    def x(i: int, j: int, k: int) -> int:
        return values[(i * w + j) * c + k]

    def along(i: int, j: int, k: int) -> int:
        return x(i, j, k) - x(i, j - 1, k)

    def size(of: Callable[[int, int, int], int], i0: int = 0, j0: int = 0, k0: int = 0) -> int:
        """Return the mean size of differences that begin at these places."""
        places = list(product(range(i0, h), range(j0, w), range(k0, c)))
        return mean_size(sum(abs(of(*place)) for place in places), len(places))

    second = size(lambda i, j, k: along(i, j, k) - along(i, j - 1, k), j0=2)
    total = sum(values)
    spread = deviation(n * sum(value * value for value in values) - total**2, n)
    columns = sum(values[place] * (2 * (place // c % w) - w + 1) for place in range(n))
    center_x = ratio(2 * columns, n * w)
    levels = [sum(values[k::c]) for k in range(c)]
    if kind == "picture":
        rows = sum(values[place] * (2 * (place // (w * c)) - h + 1) for place in range(n))
        bins = [(value + 128) >> 3 for value in values]
        low, high = min(bins), max(bins)
        found = [
            *(ratio(total, n), spread, second),
            size(lambda i, j, k: x(i, j, k) - x(i - 1, j, k), i0=1),
            size(lambda i, j, k: along(i, j, k) - along(i - 1, j, k), i0=1, j0=1),
            share(bins.count(low) + bins.count(low + 1), n),
            share(bins.count(high) + bins.count(high - 1), n),
            *(center_x, ratio(2 * rows, n * h)),
        ]
        if c > 1:
            found.append(size(lambda i, j, k: x(i, j, k) - x(i, j, k - 1), k0=1))
        return found + [ratio(levels[k] - levels[k - 1], h * w) for k in range(1, min(c, 3))]
    shown = range(min(c, AXES))
    offsets = [ratio(levels[k], w) for k in shown]
    changes = [mean_size(sum(abs(along(0, j, k)) for j in range(1, w)), w - 1) for k in shown]
    ends = [256 * min(values), 256 * max(values)]
    if kind == "table":
        return [*offsets, spread, *changes, second, *ends, center_x]
    equal = sum(along(0, j, k) == 0 for j in range(1, w) for k in range(c))
    return [spread, second, ratio(equal, (w - 1) * c), *(ends if c == 1 else ()), *offsets, *changes]


def ratio(a: int, b: int) -> int:
    """Return R(a, b)."""
    if b == 0:
        return 0
    t = least(lambda t: b >> t <= 65535)
    q = ((256 * abs(a) >> t) + (b >> t >> 1)) // (b >> t)
    return clip(q if a >= 0 else -q, -32768, 32767)


def logarithm_of(a: int, b: int, factor: int = 0) -> int:
    """Return G(a, b), of b times a factor whose logarithm is given."""
    return (wide_logarithm(a) - wide_logarithm(b) - factor + 128) >> 8


def mean_size(s: int, m: int) -> int:
    """Return M(s, m)."""
    return 256 if m == 0 else logarithm_of(s + 2 * m, m)


def share(a: int, n: int) -> int:
    """Return P(a)."""
    return logarithm_of(50 * a + n, n, 369876)


def deviation(v: int, n: int) -> int:
    """Return the logarithm of the deviation, from n^2 times the variance."""
    s = least(lambda s: n << s >= 2**23)
    t = least(lambda t: v << 2 * s >> 2 * t < 2**32)
    return mean_size(math.isqrt(v << 2 * s >> 2 * t) << t, n << s)
