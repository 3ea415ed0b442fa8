"""Exact tails and bounds of counts: binomial, Poisson, gamma."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

TINY = 1e-300
TERMS = 10_000
CLOSE = 1e-15


def binomial_tail(x: int, n: int, p: float) -> float:
    """Return the chance of x or more successes in n independent trials.

    Trials may differ in their chance: beyond the mean, the tail for their mean is at least as large.

    Examples
    --------
    >>> round(binomial_tail(2, 3, 0.5), 9), binomial_tail(0, 3, 0.5)
    (0.5, 1.0)
    """
    if x <= 0:
        return 1.0
    if x > n or p <= 0:
        return 0.0
    return _beta_share(x, n - x + 1, min(p, 1.0))


def _beta_share(a: float, b: float, x: float) -> float:
    """Return the regularized incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(b, a, 1 - x)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    product = d
    for m in range(1, TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / (1 + even * d or TINY), 1 + even / c or TINY
        product *= c * d
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / (1 + odd * d or TINY), 1 + odd / c or TINY
        product *= c * d
        if abs(c * d - 1) < CLOSE:
            break
    return math.exp(front) * product / a


@lru_cache(maxsize=1024)
def share_interval(x: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) interval of a share, (0, 1) where n is 0.

    Examples
    --------
    >>> [round(end, 4) for end in share_interval(8, 10)]
    [0.4439, 0.9748]
    """
    side = (1 - level) / 2
    low = 0.0 if x <= 0 else _crossing(lambda p: binomial_tail(x, n, p) - side, 0.0, 1.0)
    high = 1.0 if x >= n else _crossing(lambda p: binomial_tail(x + 1, n, p) - (1 - side), 0.0, 1.0)
    return low, high


def beta_quantile(a: float, b: float, share: float) -> float:
    """Return what a beta variable stays below with a chance of `share`.

    Examples
    --------
    >>> round(beta_quantile(2, 1, 0.25), 6)
    0.5
    """
    return _crossing(lambda x: _beta_share(a, b, x) - share, 0.0, 1.0)


def _crossing(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function that rises goes through 0."""
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2


def gamma_tail(shape: float, x: npt.ArrayLike) -> Floats:
    """Return the chance that a gamma variable of unit scale is x or more, for each x.

    Examples
    --------
    >>> gamma_tail(1.0, [0.0, 1.0]).round(4).tolist()
    [1.0, 0.3679]
    """
    values = np.asarray(x, dtype=np.float64)
    found = np.ones_like(values)
    for inside, tail in ((values < shape + 1, _gamma_series), (values >= shape + 1, _gamma_fraction)):
        some = inside & (values > 0)
        if some.any():
            found[some] = tail(shape, values[some])
    return np.clip(found, 0.0, 1.0)


def _gamma_series(shape: float, x: Floats) -> Floats:
    term = np.full_like(x, 1 / shape)
    total = term.copy()
    for n in range(1, TERMS):
        term *= x / (shape + n)
        total += term
        if (term <= total * CLOSE).all():
            break
    return np.asarray(1 - total * np.exp(-x + shape * np.log(x) - math.lgamma(shape)))


def _gamma_fraction(shape: float, x: Floats) -> Floats:
    b = x + 1 - shape
    c, d = np.full_like(x, 1 / TINY), 1 / b
    product = d.copy()
    for n in range(1, TERMS):
        a = -n * (n - shape)
        b = b + 2
        d, c = a * d + b, b + a / c
        d, c = 1 / np.where(d == 0, TINY, d), np.where(c == 0, TINY, c)
        product *= c * d
        if (np.abs(c * d - 1) < CLOSE).all():
            break
    return np.asarray(product * np.exp(-x + shape * np.log(x) - math.lgamma(shape)))


@lru_cache(maxsize=256)
def count_bounds(count: float, side: float) -> tuple[float, float]:
    """Return the lower and the upper bound of a Poisson mean, each missed with the chance `side`.

    Examples
    --------
    >>> [round(end, 3) for end in count_bounds(3, 0.025)]
    [0.619, 8.767]
    """
    low = 0.0 if count <= 0 else _gamma_point(count, 1 - side)
    return low, _gamma_point(count + 1, side)


def _gamma_point(shape: float, tail: float) -> float:
    """Return where the tail of a gamma variable is so small; 64 places are tried at once."""
    low, high = 0.0, 10 * (shape + 10) * max(1.0, -math.log(tail))
    for _ in range(8):
        places = np.linspace(low, high, 65)
        at = int((gamma_tail(shape, places) > tail).sum())
        low, high = float(places[max(0, at - 1)]), float(places[min(64, at)])
    return (low + high) / 2
