"""Exact tails and bounds of counts: binomial, Poisson, gamma, hypergeometric, and strata of samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ALIKE, EXACT_FROM = 1.1, 0.8
"""Ratio of weights up to which strata are taken together, and levels for which that is valid."""

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


def at_most(found: int, sample: int, errors: int, population: int) -> float:
    """Return the chance that a random sample has at most `found` of the errors of a population.

    Examples
    --------
    >>> round(at_most(0, 2, 1, 4), 9)
    0.5
    """
    least = max(0, sample + errors - population)
    most = min(sample, errors)
    if found < least:
        return 0.0
    if found >= most:
        return 1.0
    if least == 0:
        first = float(np.log1p(-errors / (population - np.arange(sample))).sum()) if sample else 0.0
    else:
        first = _choices(errors, least) + _choices(population - errors, sample - least)
        first -= _choices(population, sample)
    j = np.arange(least, found, dtype=np.float64)
    ratio = (errors - j) * (sample - j) / ((j + 1) * (population - errors - sample + j + 1))
    logs = first + np.concatenate([[0.0], np.cumsum(np.log(ratio))])
    return min(1.0, float(np.exp(logs).sum()))


def _choices(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def errors_interval(
    population: int, sample: int, low: int, high: int, level: float = 0.95
) -> tuple[int, int]:
    """Return how many errors a population may hold, of which a random sample was looked at.

    Exact, without replacement: each end is missed with a chance of at most (1 - level) / 2.

    Parameters
    ----------
    population, sample : int
    low, high : int
        Errors found in the sample: at least, and at most, where some of it was never looked at.
    level : float

    Examples
    --------
    >>> errors_interval(100, 100, 3, 3), errors_interval(1000, 50, 0, 0)
    ((3, 3), (0, 69))
    """
    side = (1 - level) / 2
    least, most = low, population - (sample - high)
    # Fewest errors with P(found >= low) > side; most errors with P(found <= high) > side.
    fewest = _first(least, most, lambda errors: 1 - at_most(low - 1, sample, errors, population) > side)
    beyond = _first(
        fewest, most + 1, lambda errors: errors > most or at_most(high, sample, errors, population) <= side
    )
    return fewest, max(fewest, beyond - 1)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first number that holds; it holds from there on, and at `high`."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def strata_interval(
    populations: npt.ArrayLike,
    samples: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    level: float = 0.95,
) -> tuple[float, float]:
    """Return how many errors several populations may hold together; a random sample of each was looked at.

    Valid however the errors are spread over the strata. Where a label stands for about as many steps in each
    of them (within 10 %), the samples are one: beyond the mean, the tails of such a sum are below those of a
    binomial one (Hoeffding). Otherwise the weighted sum is bounded by its moments (Chernoff), which is up to
    40 % wider. A stratum without a sample may be all right or all wrong.

    Parameters
    ----------
    populations, samples, low, high : arrays
        As in `errors_interval`, one a stratum.
    level : float

    Examples
    --------
    >>> found = strata_interval([1000, 1000], [50, 50], [0, 0], [0, 0])
    >>> [round(end, 1) for end in found]
    [0.0, 72.4]
    """
    sizes, taken = np.asarray(populations, dtype=np.float64), np.asarray(samples, dtype=np.float64)
    fewest, most = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    blind = float(sizes[taken == 0].sum())
    seen = taken > 0
    if not seen.any():
        return 0.0, blind
    sizes, taken, fewest, most = sizes[seen], taken[seen], fewest[seen], most[seen]
    weights = sizes / taken
    sure = float(fewest.sum()), float((sizes - taken + most).sum())
    if level >= EXACT_FROM and weights.max() <= ALIKE * weights.min():
        draws, right = int(taken.sum()), int((taken - most).sum())
        bottom = float(weights.min()) * _as_one(int(fewest.sum()), draws, level)
        top = float(weights.max()) * (draws - _as_one(right, draws, level))
    else:
        limit = math.log((1 - level) / 2)
        bottom = _chernoff(weights, taken, float(weights @ fewest), limit, 1)
        top = _chernoff(weights, taken, float(weights @ most), limit, -1)
    return min(max(sure[0], bottom), sure[1]), min(max(sure[0], top), sure[1]) + blind


def _as_one(found: int, draws: int, level: float) -> float:
    """Return the lower bound of a mean count over draws whose chances may differ."""
    if found == 1:  # the one tail that may lie above the binomial one: no more than the mean itself
        return (1 - level) / 2
    return draws * share_interval(found, draws, level)[0]


def _chernoff(weights: Floats, taken: Floats, found: float, limit: float, sign: int) -> float:
    """Return the fewest errors whose sample may weigh `found` or more (sign 1), or the most (-1) for less.

    For every t, log P <= -sign * t * found + sum of taken * log(1 + share * g) with
    g = exp(sign * t * weight) - 1, which is concave in the shares. For a number of errors in all it is
    largest where the derivatives by errors equal some sign * mu: at share = sign / (mu * weight) - 1 / g,
    held in 0..1. So one mu gives both the bound and the errors.
    """
    if sign > 0 and found <= 0:
        return 0.0
    t = np.geomspace(1e-4, 60, 96)[:, None] / weights.max()
    factor = np.exp(sign * t * weights)
    g = np.expm1(sign * t * weights)
    ends = np.log(np.abs(g) / weights), np.log(np.abs(g) / weights / factor)  # of mu: share 0, share 1
    low, high = np.minimum(*ends).min(axis=1), np.maximum(*ends).max(axis=1)

    def shares(log_mu: Floats) -> Floats:
        return np.asarray(np.clip(sign * np.exp(-log_mu)[:, None] / weights - 1 / g, 0.0, 1.0))

    for _ in range(60):
        middle = (low + high) / 2
        share = shares(middle)
        bound = -sign * t[:, 0] * found + (taken * np.log(1 - share + share * factor)).sum(axis=1)
        # A larger mu means fewer errors for sign 1, more for -1: further from what was found.
        low, high = np.where(bound > limit, middle, low), np.where(bound > limit, high, middle)
    errors = (shares(high) * weights * taken).sum(axis=1)
    return float(errors.max() if sign > 0 else errors.min())
