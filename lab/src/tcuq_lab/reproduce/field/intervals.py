"""Figures with intervals: independent stretches drawn again, the same for all rows of a stream.

A figure knows what it is when stretches are taken several times or not at all. Drawing K - 1 of K stretches,
not K, keeps the spread of the replicates from being too small by a factor of (K - 1) / K.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tcuq.metrics import Interval
from tcuq.metrics.inputs import Bools, Floats, Ints
from tcuq.metrics.intervals import percentiles

REPLICATES = 2000
LEVEL = 0.95
CHUNK = 50
"""Replicates computed together, which bounds the memory."""


class Figure(Protocol):
    """A figure of some stretches."""

    def of(self, taken: npt.NDArray[np.float64]) -> Floats:
        """Return the figure for each row of (n, K): how often each of the K stretches is taken."""


class Drawn(NamedTuple):
    """A figure of one network: as it is, and in each replicate."""

    value: float
    replicates: npt.NDArray[np.float32]


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
    return Drawn(value, figure.of(draws(stretches, name, replicates)).astype(np.float32))


def _mean(values: Floats) -> Floats:
    """Return means over the first axis, leaving out undefined values; NaN where all are."""
    present = ~np.isnan(values)
    total, count = np.where(present, values, 0.0).sum(axis=0), present.sum(axis=0)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def mean(networks: Sequence[Drawn]) -> Interval:
    """Return the mean over networks, with its interval.

    Parameters
    ----------
    networks : sequence of Drawn
        One for each network.
    """
    value = float(_mean(np.array([each.value for each in networks])))
    return percentiles(value, _mean(np.stack([each.replicates for each in networks])), LEVEL)


def difference(first: Sequence[Drawn], second: Sequence[Drawn]) -> Interval:
    """Return the mean over networks of a paired difference."""
    pairs = [
        Drawn(a.value - b.value, a.replicates - b.replicates) for a, b in zip(first, second, strict=True)
    ]
    return mean(pairs)


def ratio(first: Sequence[Drawn], second: Sequence[Drawn]) -> Interval:
    """Return the ratio of two means over networks."""
    above, below = (_mean(np.array([each.value for each in rows])) for rows in (first, second))
    tops, bottoms = (_mean(np.stack([each.replicates for each in rows])) for rows in (first, second))
    with np.errstate(divide="ignore", invalid="ignore"):
        return percentiles(float(above / below), tops / bottoms, LEVEL)


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
        ranks = np.unique(np.asarray(score)[kept], return_inverse=True)[1].ravel()
        self._hits = np.bincount(number[truth], minlength=count).astype(np.float64)
        self._rest = np.bincount(number[~truth], minlength=count).astype(np.float64)
        self._won = np.zeros((count, count))  # pairs of a positive of one stretch above a negative of another
        for below in range(count):
            falls = np.sort(ranks[(number == below) & ~truth])
            for above in range(count):
                rises = ranks[(number == above) & truth]
                left, right = (np.searchsorted(falls, rises, side) for side in ("left", "right"))
                self._won[above, below] = (left.sum() + right.sum()) / 2

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
        number, _ = _stretches(segments)
        kept = np.ones(len(number), dtype=bool) if judged is None else judged
        given = np.asarray(score)[kept]
        order = np.argsort(given, kind="stable")
        self._number, self._wrong = number[kept][order], np.asarray(wrong, dtype=np.float64)[kept][order]
        ordered = given[order]
        self._ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))  # last step of each risk
        self._coverage = coverage

    def of(self, taken: npt.NDArray[np.float64]) -> Floats:
        """See `Figure`."""
        found = [self._some(taken[at : at + CHUNK]) for at in range(0, len(taken), CHUNK)]
        return np.concatenate(found)

    def _some(self, taken: npt.NDArray[np.float64]) -> Floats:
        weights = taken[:, self._number]
        steps = np.cumsum(weights, axis=1)[:, self._ends]
        errors = np.cumsum(weights * self._wrong, axis=1)[:, self._ends]
        kept = self._coverage * steps[:, -1]
        rows = np.arange(len(taken))
        last = (steps < kept[:, None]).sum(axis=1)  # the risk within which coverage is reached
        before = np.where(last > 0, last - 1, 0)
        low, low_errors = (np.where(last > 0, each[rows, before], 0.0) for each in (steps, errors))
        share = (kept - low) / np.maximum(steps[rows, last] - low, 1e-300)
        left = low_errors + share * (errors[rows, last] - low_errors)
        return np.asarray(np.where(kept > 0, left / np.maximum(kept, 1e-300), np.nan))


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
