"""How sure a rate, a metric or a difference between two methods is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.checks import integer, number
from .inputs import not_empty, same_length

MOST = 10_000_000


class Interval(NamedTuple):
    """A value on all steps, the interval of its resamples, and the resamples where it was undefined.

    Parameters
    ----------
    estimate : float
        The value on all steps.
    low, high : float
        Ends of the interval of its resamples; NaN where none was defined.
    undefined : int
        Resamples for which the value was undefined, such as an AUROC without errors.

    Examples
    --------
    >>> found = Interval(0.9, 0.85, 0.94, undefined=0)
    >>> f"{found.estimate:.2f} ({found.low:.2f} to {found.high:.2f})"
    '0.90 (0.85 to 0.94)'
    """

    estimate: float
    low: float
    high: float
    undefined: int


def wilson(successes: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Return the Wilson score interval of a share.

    All p whose distance to successes / n is at most z * sqrt(p * (1 - p) / n). The trials must be
    independent; steps of a stream seldom are, and `block_bootstrap` is for them.

    Parameters
    ----------
    successes : int
        0 to n.
    n : int
        (0, 1) is returned for 0.
    z : float, default 1.96
        Normal quantile, above 0: 1.96 for 95 %.

    Returns
    -------
    tuple of float
        Lower and upper end, in [0, 1].

    Examples
    --------
    >>> [round(x, 3) for x in wilson(8, 10)]
    [0.49, 0.943]
    """
    trials = integer("n", n, 0, 2**53)
    hits = integer("successes", successes, 0, trials)
    width = number("z", z, 0, 100)
    if width == 0:
        raise ValueError("z is 0, expected above 0, up to 100")
    if trials == 0:
        return 0.0, 1.0
    extra = width * width
    middle = (hits + extra / 2) / (trials + extra)
    half = width * math.sqrt(hits / trials * (trials - hits) + extra / 4) / (trials + extra)
    # Exact where nothing or everything succeeds; floats would miss by a hair.
    low = 0.0 if hits == 0 else max(0.0, middle - half)
    return low, 1.0 if hits == trials else min(1.0, middle + half)


def resample(length: int, block: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return `length` indices: blocks from random starts, going on at 0 after the last step.

    Examples
    --------
    >>> found = resample(6, 3, np.random.default_rng(0))
    >>> (np.diff(found.reshape(2, 3)) % 6).tolist()
    [[1, 1], [1, 1]]
    """
    starts = rng.integers(0, length, -(-length // block))
    return np.asarray(((starts[:, None] + np.arange(block)) % length).ravel()[:length], dtype=np.int64)


def bootstrap_settings(
    block: int, longest: int, replicates: int, rng: np.random.Generator, level: float
) -> tuple[int, int, float]:
    """Return block (1 to `longest`), replicates and level, checked together with the generator."""
    size, count = integer("block", block, 1, longest), integer("replicates", replicates, 1, MOST)
    inside = number("level", level, 0, 1)
    if not 0 < inside < 1:
        raise ValueError(f"level is {inside:g}, expected above 0 and below 1")
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng is {type(rng).__name__}; a numpy.random.Generator is needed")
    return size, count, inside


def percentiles(estimate: float, replicates: npt.ArrayLike, level: float) -> Interval:
    """Return the interval that holds a share of the replicates; undefined ones (NaN) are left out.

    The ends are replicates themselves: the next ones outwards.

    Examples
    --------
    >>> percentiles(2.0, [3.0, 1.0, float("nan"), 2.0], 0.9)
    Interval(estimate=2.0, low=1.0, high=3.0, undefined=1)
    """
    values = np.asarray(replicates, dtype=np.float64)
    defined = np.sort(values[~np.isnan(values)])
    undefined = len(values) - len(defined)
    if not len(defined):
        return Interval(estimate, float("nan"), float("nan"), undefined)
    outside = int((1 - level) / 2 * (len(defined) - 1))
    return Interval(estimate, float(defined[outside]), float(defined[-1 - outside]), undefined)


def block_bootstrap(
    statistic: Callable[..., float],
    arrays: Sequence[npt.ArrayLike],
    block: int,
    replicates: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Interval:
    """Return a percentile interval of `statistic(*arrays)` from resampled blocks of steps.

    Each replicate joins blocks of consecutive steps from random starts, wrapping around at the end, and is
    cut to the original length. All arrays are resampled by the same indices, so rows stay together. A block
    must be longer than the dependence in the stream, or the interval is too narrow; it should fit into
    the stream many times.

    Parameters
    ----------
    statistic : callable
        Takes the resampled arrays, returns a number. NaN says undefined: such replicates are counted
        and left out.
    arrays : sequence of arrays
        What `statistic` takes; all have the same first dimension T.
    block : int
        1 to T; 1 is the plain bootstrap.
    replicates : int
        Resamples to draw, 1 or more.
    rng : numpy.random.Generator
        Where random numbers come from; the same seed gives the same interval.
    level : float, default 0.95
        Share of the replicates in the interval, between 0 and 1. The ends are replicates themselves: the
        next ones outwards, so infinite values do no harm.

    Returns
    -------
    Interval
        NaN ends when no replicate was defined.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = block_bootstrap(np.mean, [np.arange(100) % 2], block=10, replicates=50, rng=rng)
    >>> found.low <= found.estimate <= found.high
    True
    """
    columns = [np.asarray(array) for array in arrays]
    if not columns or any(column.ndim == 0 for column in columns):
        raise ValueError(
            f"arrays has {len(columns)} entries, expected at least 1, each of 1 or more dimensions,"
        )
    not_empty("arrays[0]", columns[0])
    for at, column in enumerate(columns):
        same_length(f"arrays[{at}]", column, "arrays[0]", columns[0])
    length = len(columns[0])
    size, count, inside = bootstrap_settings(block, length, replicates, rng, level)
    values = np.empty(count)
    for at in range(count):
        index = resample(length, size, rng)
        values[at] = statistic(*(column[index] for column in columns))
    return percentiles(float(statistic(*columns)), values, inside)


def paired_difference(
    statistic: Callable[..., float],
    first: Sequence[npt.ArrayLike],
    second: Sequence[npt.ArrayLike],
    block: int,
    replicates: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Interval:
    """Return ``statistic(*first) - statistic(*second)``, with an interval from the same steps for both.

    Two methods on one stream share its hard and easy parts; resampling them together cancels these.

    Parameters
    ----------
    statistic : callable
        Takes the arrays of one method, returns a number; see `block_bootstrap`.
    first, second : sequences of arrays
        What `statistic` takes for either method; all have the same first dimension.
    block : int
        Consecutive steps that stay together; see `block_bootstrap`.
    replicates : int
        Resamples to draw, 1 or more.
    rng : numpy.random.Generator
        Where random numbers come from.
    level : float, default 0.95
        Share of the replicates in the interval, between 0 and 1.

    Returns
    -------
    Interval
        Above 0 as a whole: the first method is larger beyond chance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random(200)
    >>> found = paired_difference(np.mean, [x + 0.5], [x], block=10, replicates=50, rng=rng)
    >>> round(found.low, 6), round(found.high, 6)
    (0.5, 0.5)
    """
    split = len(first)

    def difference(*arrays: Any) -> float:
        return float(statistic(*arrays[:split])) - float(statistic(*arrays[split:]))

    return block_bootstrap(difference, [*first, *second], block, replicates, rng, level)
