"""Figures with intervals: independent stretches drawn again, the same for all rows of a stream.

A figure knows what it is when stretches are taken several times or not at all. Drawing K - 1 of K stretches,
not K, keeps the variance of the replicates from being too small by a factor of (K - 1) / K. An interval is
that of a t distribution about the value, see `interval`: percentiles of replicates hold the truth too seldom
where a figure is biased on few stretches, as an AUROC is. `coverage` simulates how often that is.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tcuq.metrics import Interval
from tcuq.metrics.inputs import Bools, Floats, Ints
from tcuq.metrics.intervals import percentiles

REPLICATES = 2000
LEVEL = 0.95


class Figure(Protocol):
    """A figure of some stretches."""

    def of(self, taken: npt.NDArray[np.float64]) -> Floats:
        """Return the figure for each row of (n, K): how often each of the K stretches is taken."""


class Drawn(NamedTuple):
    """A figure of one network: as it is, in each replicate, and the degrees of freedom of their spread.

    The latter are one less than the stretches; 0 where that is not known.
    """

    value: float
    replicates: npt.NDArray[np.float32]
    freedom: int = 0


def draws(stretches: int, name: str, replicates: int = REPLICATES) -> npt.NDArray[np.float64]:
    """Return how often each stretch is taken in each replicate, (replicates, stretches).

    Parameters
    ----------
    stretches : int
    name : str
        Seeds the draws: rows with the same name have the same, so that their differences are paired.
    replicates : int

    Examples
    --------
    >>> draws(5, "mnist 0 class 16", 2).sum(axis=1).tolist()
    [4.0, 4.0]
    """
    rng = np.random.default_rng([18, zlib.crc32(name.encode())])
    taken = rng.integers(0, stretches, (replicates, max(1, stretches - 1)))
    counts = np.zeros((replicates, stretches))
    np.add.at(counts, (np.arange(replicates)[:, None], taken), 1.0)
    return counts


def drawn(figure: Figure, stretches: int, name: str, replicates: int = REPLICATES) -> Drawn:
    """Return a figure and its replicates.

    Parameters
    ----------
    figure : Figure
    stretches : int
    name, replicates
        See `draws`.

    Examples
    --------
    >>> shares = Mean([1, 0, 1, 1], [0, 0, 1, 1])
    >>> found = drawn(shares, 2, "example")
    >>> found.value, sorted(set(found.replicates.tolist()))
    (0.75, [0.5, 1.0])
    """
    value = float(figure.of(np.ones((1, stretches)))[0])
    found = figure.of(draws(stretches, name, replicates)).astype(np.float32)
    return Drawn(value, found, stretches - 1)


def quantile(freedom: int, level: float = LEVEL) -> float:
    """Return how many standard errors the ends of an interval are away.

    Parameters
    ----------
    freedom : int
        Degrees of freedom of a t distribution; 0 stands for a normal one.
    level : float

    Examples
    --------
    >>> [round(quantile(freedom), 2) for freedom in (0, 4, 11, 55)]
    [1.96, 2.77, 2.2, 2.0]
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    if freedom < 1:
        return z
    n = float(freedom)  # the expansion about the normal quantile
    t = z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
    return t + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)


def interval(found: Drawn) -> Interval:
    """Return the interval of a figure.

    Its half width is a quantile of the t distribution times the root mean square distance of the replicates
    from the value, which counts their bias too. It does not go beyond the least and the largest replicate, so
    that a share stays one. With infinite replicates it is that of percentiles.

    Parameters
    ----------
    found : Drawn

    Examples
    --------
    >>> spread = np.array([1.0, 3.0] * 1000, np.float32)
    >>> interval(Drawn(2.0, spread, 11))
    Interval(estimate=2.0, low=1.0, high=3.0, undefined=0)
    """
    values = np.asarray(found.replicates, dtype=np.float64)
    defined = values[~np.isnan(values)]
    if not len(defined) or not np.isfinite(found.value) or not np.isfinite(defined).all():
        return percentiles(found.value, values, LEVEL)
    half = quantile(found.freedom) * math.sqrt(float(np.mean((defined - found.value) ** 2)))
    low = max(found.value - half, min(found.value, float(defined.min())))
    high = min(found.value + half, max(found.value, float(defined.max())))
    return Interval(found.value, low, high, len(values) - len(defined))


def averaged(parts: Sequence[Drawn]) -> Drawn:
    """Return the mean of figures that were drawn independently of each other.

    Parameters
    ----------
    parts : sequence of Drawn
        Of parts that all belong to the figure, such as severities: none is drawn again in place of another.

    Examples
    --------
    >>> parts = [Drawn(value, np.full(2, value, np.float32), 7) for value in (1.0, 3.0)]
    >>> averaged(parts).value, averaged(parts).freedom
    (2.0, 14)
    """
    value = float(_mean(np.array([each.value for each in parts])))
    replicates = _mean(np.stack([each.replicates for each in parts])).astype(np.float32)
    return Drawn(value, replicates, sum(each.freedom for each in parts))


def _mean(values: Floats) -> Floats:
    """Return means over the first axis, leaving out undefined values; NaN where all are."""
    present = ~np.isnan(values)
    total, count = np.where(present, values, 0.0).sum(axis=0), present.sum(axis=0)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def mean(networks: Sequence[Drawn]) -> Interval:
    """Return the mean over networks, with its interval: of these networks, on other stretches.

    Parameters
    ----------
    networks : sequence of Drawn
        One for each network.
    """
    return interval(averaged(networks))


def difference(first: Sequence[Drawn], second: Sequence[Drawn]) -> Interval:
    """Return the mean over networks of a paired difference."""
    with np.errstate(invalid="ignore"):
        pairs = [
            Drawn(a.value - b.value, a.replicates - b.replicates, min(a.freedom, b.freedom))
            for a, b in zip(first, second, strict=True)
        ]
    return mean(pairs)


def ratio(first: Sequence[Drawn], second: Sequence[Drawn]) -> Interval:
    """Return the ratio of two means over networks."""
    above, below = averaged(first), averaged(second)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(np.float64(above.value) / below.value)
        replicates = above.replicates / below.replicates
    return interval(Drawn(value, replicates, min(above.freedom, below.freedom)))


def _stretches(segments: npt.ArrayLike) -> tuple[Ints, int]:
    """Return the number of the stretch of each step, 0 to K - 1, and K."""
    names, number = np.unique(np.asarray(segments), return_inverse=True)
    return np.asarray(number, dtype=np.int64).ravel(), len(names)


class Mean:
    """The mean of a value of each step, over the steps that count.

    Parameters
    ----------
    values : array of T numbers
    segments : array of T integers
        Steps of one stretch have the same number.
    of : array of T booleans, optional
        Steps that count; all by default. Where none does, the mean is undefined (NaN).

    Examples
    --------
    >>> Mean([1.0, 2.0, 9.0], [0, 1, 1]).of(np.array([[1.0, 1.0], [1.0, 0.0]])).tolist()
    [4.0, 1.0]
    """

    def __init__(self, values: npt.ArrayLike, segments: npt.ArrayLike, of: Bools | None = None) -> None:
        number, count = _stretches(segments)
        kept = np.ones(len(number), dtype=bool) if of is None else of
        given = np.where(kept, np.asarray(values, dtype=np.float64), 0.0)
        self._sums = np.bincount(number, given, count)
        self._counts = np.bincount(number, kept, count)

    def of(self, taken: npt.NDArray[np.float64]) -> Floats:
        """See `Figure`."""
        total, count = taken @ self._sums, taken @ self._counts
        return np.asarray(np.where(count > 0, total / np.maximum(count, 1e-300), np.nan))


class Auroc:
    """The AUROC of a score for a truth, ties counting half.

    Parameters
    ----------
    score : array of T numbers
    positive : array of T booleans
    segments : array of T integers
    judged : array of T booleans, optional

    Examples
    --------
    >>> found = Auroc([0.1, 0.9, 0.4, 0.4], [False, True, False, True], [0, 0, 1, 1])
    >>> found.of(np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])).tolist()
    [0.875, 1.0, 0.5]
    """

    def __init__(
        self,
        score: npt.ArrayLike,
        positive: npt.ArrayLike,
        segments: npt.ArrayLike,
        judged: Bools | None = None,
    ) -> None:
        number, count = _stretches(segments)
        kept = np.ones(len(number), dtype=bool) if judged is None else judged
        number, truth = number[kept], np.asarray(positive, dtype=bool)[kept]
        order, ends = _by_score(np.asarray(score)[kept])
        number, truth = number[order], truth[order]
        self._hits = np.bincount(number[truth], minlength=count).astype(np.float64)
        self._rest = np.bincount(number[~truth], minlength=count).astype(np.float64)
        # Negatives of each stretch below, and as far as, each score: a tie counts half.
        reached = _reached(number, ~truth, ends, count)
        below = (reached[1:] + reached[:-1]) / 2
        place = np.searchsorted(ends, np.flatnonzero(truth))
        self._won = np.stack([below[place[number[truth] == each]].sum(axis=0) for each in range(count)])

    def of(self, taken: npt.NDArray[np.float64]) -> Floats:
        """See `Figure`."""
        won = np.einsum("ni,ij,nj->n", taken, self._won, taken, optimize=True)
        pairs = (taken @ self._hits) * (taken @ self._rest)
        return np.asarray(np.where(pairs > 0, won / np.maximum(pairs, 1e-300), np.nan))


class LeftAt:
    """The error rate among the steps of lowest risk; steps of one risk share their errors evenly.

    Parameters
    ----------
    score : array of T numbers
        Risk.
    wrong : array of T booleans
    segments : array of T integers
    coverage : float
        Share of the judged steps that is kept.
    judged : array of T booleans, optional

    Examples
    --------
    >>> found = LeftAt([0.1, 0.2, 0.3, 0.4], [False, True, False, True], [0, 0, 1, 1], 0.5)
    >>> found.of(np.array([[1.0, 1.0], [0.0, 1.0]])).tolist()
    [0.5, 0.0]
    """

    def __init__(
        self,
        score: npt.ArrayLike,
        wrong: npt.ArrayLike,
        segments: npt.ArrayLike,
        coverage: float = 0.9,
        judged: Bools | None = None,
    ) -> None:
        number, count = _stretches(segments)
        kept = np.ones(len(number), dtype=bool) if judged is None else judged
        order, ends = _by_score(np.asarray(score)[kept])
        number, mistaken = number[kept][order], np.asarray(wrong, dtype=bool)[kept][order]
        self._steps = _reached(number, np.ones(len(number), dtype=bool), ends, count)
        self._errors = _reached(number, mistaken, ends, count)
        self._coverage = coverage

    def of(self, taken: npt.NDArray[np.float64]) -> Floats:
        """See `Figure`."""
        kept = self._coverage * (taken @ self._steps[-1])
        # The score within which coverage is reached, halving the range: sums rise with the score.
        low, high = np.zeros(len(taken), np.int64), np.full(len(taken), len(self._steps) - 1)
        while (high - low > 1).any():
            middle = (low + high) // 2
            short = _weighed(taken, self._steps[middle]) < kept
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        before, after = _weighed(taken, self._steps[low]), _weighed(taken, self._steps[high])
        share = (kept - before) / np.maximum(after - before, 1e-300)
        least, most = _weighed(taken, self._errors[low]), _weighed(taken, self._errors[high])
        left = least + share * (most - least)
        return np.asarray(np.where(kept > 0, left / np.maximum(kept, 1e-300), np.nan))


def _by_score(score: npt.NDArray[Any]) -> tuple[Ints, Ints]:
    """Return the order of rising scores, and in it the last step of each distinct one."""
    order = np.argsort(score, kind="stable")
    rising = score[order]
    return order, np.flatnonzero(np.append(rising[1:] != rising[:-1], True)[: len(rising)])


def _reached(number: Ints, counted: Bools, ends: Ints, count: int) -> Floats:
    """Return the counted steps of each stretch up to each distinct score: a row of 0, then one for each."""
    table = np.zeros((len(number) + 1, count))
    table[np.arange(1, len(number) + 1), number] = counted
    return np.asarray(np.cumsum(table, axis=0)[np.append(0, ends + 1)])


def _weighed(taken: npt.NDArray[np.float64], counts: Floats) -> Floats:
    return np.asarray(np.einsum("nk,nk->n", taken, counts))


class Median:
    """The median of values that belong to stretches, such as delays; infinite ones are allowed.

    Parameters
    ----------
    values : array of n numbers
    stretches : array of n integers
        0 to `count` - 1.
    count : int
        Stretches, those without a value included.

    Examples
    --------
    >>> Median([1.0, 5.0, math.inf], [0, 0, 2], 3).of(np.ones((1, 3))).tolist()
    [5.0]
    >>> Median([1.0], [0], 2).of(np.array([[0.0, 1.0]])).tolist()
    [nan]
    """

    def __init__(self, values: npt.ArrayLike, stretches: npt.ArrayLike, count: int) -> None:
        given = np.asarray(values, dtype=np.float64)
        order = np.argsort(given, kind="stable")
        self._values = given[order]
        self._number = np.asarray(stretches, dtype=np.int64)[order]
        if len(self._number) and not 0 <= self._number.min() <= self._number.max() < count:
            raise ValueError(f"stretches reach {int(self._number.max())}, expected below {count}")

    def of(self, taken: npt.NDArray[np.float64]) -> Floats:
        """See `Figure`."""
        if not len(self._values):
            return np.full(len(taken), math.nan)
        total = np.cumsum(taken[:, self._number], axis=1)
        whole = total[:, -1]
        # The mean of the two middle values, which are one where their number is odd.
        low = self._values[
            np.minimum((total < ((whole + 1) // 2)[:, None]).sum(axis=1), len(self._values) - 1)
        ]
        high = self._values[
            np.minimum((total < (whole // 2 + 1)[:, None]).sum(axis=1), len(self._values) - 1)
        ]
        with np.errstate(invalid="ignore"):
            middle = np.where(low == high, low, (low + high) / 2)
        return np.asarray(np.where(whole > 0, middle, math.nan))
