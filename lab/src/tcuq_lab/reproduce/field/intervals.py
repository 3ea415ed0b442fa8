"""Figures with intervals: independent stretches drawn again, the same for all rows of a stream.

A figure knows what it is when stretches are taken several times or not at all. Drawing K - 1 of K stretches,
not K, keeps the variance of the replicates from being too small by a factor of (K - 1) / K. An interval is
that of a t distribution about the value. Shares and rates of events are at least as wide as
those of as many independent events. `coverage` simulates how often an interval holds the truth.

Over networks, a figure is the mean. A median, such as that of delays, is the one of all networks' values
together: a mean of medians is infinite as soon as one network misses most shifts.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.metrics import Interval, wilson
from tcuq.metrics.inputs import Floats

from ...comparison.spread import LEVEL, about_value
from .stretch_figures import Figure, Median

NORMAL = 1.959964
"""Quantile of the normal distribution, for intervals of 95 %."""


def poisson(count: float) -> tuple[float, float]:
    """Return the interval of the mean of a Poisson count: Byar's approximation of the exact one.

    Parameters
    ----------
    count : float

    Examples
    --------
    >>> [[round(end, 2) for end in poisson(count)] for count in (0, 1, 10)]
    [[0.0, 3.67], [0.01, 5.56], [4.79, 18.39]]
    """
    low = 0.0 if count <= 0 else count * max(0.0, 1 - 1 / (9 * count) - NORMAL / (3 * math.sqrt(count))) ** 3
    more = count + 1
    return low, more * (1 - 1 / (9 * more) + NORMAL / (3 * math.sqrt(more))) ** 3


def paired(events: float) -> float:
    """Return the least half width of a paired difference of two shares.

    It is that of Agresti and Min (2005), who add half a pair to each way to agree or differ, where no pair
    differs.

    Parameters
    ----------
    events : float
        Pairs, above 0.

    Examples
    --------
    >>> round(paired(65), 3)
    0.029
    """
    return NORMAL / (events + 2)


REPLICATES = 2000


class Pool(NamedTuple):
    """The values that a median is of, to be pooled with those of other networks.

    Parameters
    ----------
    values : array of n numbers
    stretches : array of n integers
    size : int
        Stretches, those without a value included.
    name : str
        Of the stream, see `draws`.
    """

    values: npt.NDArray[np.float64]
    stretches: npt.NDArray[np.int64]
    size: int
    name: str


class Drawn(NamedTuple):
    """A figure of one network.

    Parameters
    ----------
    value : float
    replicates : array of floats
        What it is in each replicate.
    freedom : int
        Degrees of freedom of their spread: one less than the stretches; 0 where that is not known.
    events : float
        Of how many events it is a share, such as shifts; 0 where it is no share of events.
    exposure : float
        For a rate of events: how many a rate of 1 would be; 0 where it is no rate.
    pool : Pool, optional
        For a median: what it is of.
    """

    value: float
    replicates: npt.NDArray[np.float32]
    freedom: int = 0
    events: float = 0.0
    exposure: float = 0.0
    pool: Pool | None = None


@lru_cache(maxsize=256)  # figures of a stream are many, and medians over networks draw all of its streams
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
    counts.flags.writeable = False
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
    >>> from tcuq_lab.reproduce.field.stretch_figures import Mean
    >>> shares = Mean([1, 0, 1, 1], [0, 0, 1, 1])
    >>> found = drawn(shares, 2, "example")
    >>> found.value, sorted(set(found.replicates.tolist()))
    (0.75, [0.5, 1.0])
    """
    value = float(figure.of(np.ones((1, stretches)))[0])
    found = figure.of(draws(stretches, name, replicates)).astype(np.float32)
    pool = Pool(figure.values, figure.stretches, stretches, name) if isinstance(figure, Median) else None
    return Drawn(value, found, stretches - 1, pool=pool)


def interval(found: Drawn) -> Interval:
    """Return the interval of a figure.

    It is that of a t distribution (`tcuq_lab.comparison.spread`). Shares of events reach as far as a Wilson
    interval at least, rates as far as the exact one of a Poisson count.

    Parameters
    ----------
    found : Drawn

    Examples
    --------
    >>> spread = np.array([1.0, 3.0] * 1000, np.float32)
    >>> interval(Drawn(2.0, spread, 11))
    Interval(estimate=2.0, low=1.0, high=3.0, undefined=0)
    >>> all_found = Drawn(1.0, np.ones(9, np.float32), 11, events=65)
    >>> round(interval(all_found).low, 3)
    0.944
    """
    drawn_again = about_value(found.value, found.replicates, found.freedom)
    if found.events > 0:
        low, high = wilson(round(found.value * found.events), round(found.events))
    elif found.exposure > 0:
        low, high = (end / found.exposure for end in poisson(found.value * found.exposure))
    else:
        return drawn_again
    return drawn_again._replace(low=min(low, drawn_again.low), high=max(high, drawn_again.high))


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
    known = [each for each in parts if not math.isnan(each.value)]
    return Drawn(
        value,
        replicates,
        sum(each.freedom for each in parts),
        sum(each.events for each in known) if all(each.events > 0 for each in known) else 0.0,
        sum(each.exposure for each in known) if all(each.exposure > 0 for each in known) else 0.0,
    )


def _mean(values: Floats) -> Floats:
    """Return means over the first axis, leaving out undefined values; NaN where all are."""
    present = ~np.isnan(values)
    total, count = np.where(present, values, 0.0).sum(axis=0), present.sum(axis=0)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def pooled(networks: Sequence[Drawn]) -> Drawn:
    """Return the median of the values of all networks together; each network's stretches are drawn again.

    Parameters
    ----------
    networks : sequence of Drawn
        One for each network, all with a `pool`.

    Examples
    --------
    >>> seldom, often = Median([2.0, math.inf, math.inf], [0, 1, 2], 3), Median([4.0, 6.0], [0, 1], 3)
    >>> parts = [drawn(each, 3, name) for each, name in ((seldom, "a"), (often, "b"))]
    >>> [each.value for each in parts], pooled(parts).value
    ([inf, 5.0], 6.0)
    """
    pools = [each.pool for each in networks if each.pool is not None]
    firsts = np.cumsum([0, *(each.size for each in pools)])
    stretches = [each.stretches + first for each, first in zip(pools, firsts, strict=False)]
    median = Median(
        np.concatenate([each.values for each in pools]), np.concatenate(stretches), int(firsts[-1])
    )
    times = len(networks[0].replicates)
    taken = np.concatenate([draws(each.size, each.name, times) for each in pools], axis=1)
    value = float(median.of(np.ones((1, int(firsts[-1]))))[0])
    freedom = sum(each.freedom for each in networks)
    return Drawn(value, median.of(taken).astype(np.float32), freedom)


def together(networks: Sequence[Drawn]) -> Drawn:
    """Return a figure over networks: the mean, or the median of all values where it is a median.

    Parameters
    ----------
    networks : sequence of Drawn
        One for each network.
    """
    return pooled(networks) if all(each.pool is not None for each in networks) else averaged(networks)


def mean(networks: Sequence[Drawn]) -> Interval:
    """Return the figure over networks, with its interval: of these networks, on other stretches.

    Parameters
    ----------
    networks : sequence of Drawn
        One for each network.
    """
    return interval(together(networks))


def difference(first: Sequence[Drawn], second: Sequence[Drawn]) -> Interval:
    """Return the paired difference over networks: the mean, or that of the medians of all values.

    No network is left out: where one pair is undefined, such as two infinite delays, the difference is. It
    has no interval where that happens in more replicates than the interval may miss. For shares of the same
    events the interval is never narrower than `paired`, also where both rows agree on all of them.

    Parameters
    ----------
    first, second : sequences of Drawn
        One for each network.

    Examples
    --------
    >>> late, never = (Drawn(value, np.full(9, value, np.float32)) for value in (8.0, math.inf))
    >>> difference([late, never], [late, late]).estimate, difference([late, never], [late, never]).estimate
    (inf, nan)
    """
    if all(each.pool is not None for each in (*first, *second)):
        first, second = [pooled(first)], [pooled(second)]
    with np.errstate(invalid="ignore"):
        value = float(np.mean([a.value - b.value for a, b in zip(first, second, strict=True)]))
        apart = [a.replicates - b.replicates for a, b in zip(first, second, strict=True)]
        replicates = np.asarray(np.mean(np.stack(apart), axis=0, dtype=np.float64), dtype=np.float32)
    freedom = sum(min(a.freedom, b.freedom) for a, b in zip(first, second, strict=True))
    found = interval(Drawn(value, replicates, freedom))
    if math.isnan(value) or found.undefined > (1 - LEVEL) * len(replicates):
        return found._replace(low=math.nan, high=math.nan)
    events = [min(a.events, b.events) for a, b in zip(first, second, strict=True)]
    if min(events) > 0:
        half = paired(sum(events))
        return found._replace(
            low=max(-1.0, min(found.low, value - half)), high=min(1.0, max(found.high, value + half))
        )
    return found


def ratio(first: Sequence[Drawn], second: Sequence[Drawn]) -> Interval:
    """Return the ratio of two means over networks."""
    above, below = averaged(first), averaged(second)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(np.float64(above.value) / below.value)
        replicates = above.replicates / below.replicates
    return interval(Drawn(value, replicates, min(above.freedom, below.freedom)))
