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
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.metrics import Interval, percentiles, wilson
from tcuq.metrics.inputs import Floats

from .figures import Figure, Median

LEVEL = 0.95
NORMAL = 1.959964
"""Quantile of the normal distribution, for intervals of 95 %."""


def quantile(freedom: int, confidence: float = LEVEL) -> float:
    """Return how many standard errors the ends of an interval are away."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    if freedom < 1:
        return z
    n = float(freedom)  # the expansion about the normal quantile
    t = z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
    return t + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)


def about_value(
    value: float, replicates: npt.ArrayLike, freedom: int, confidence: float = LEVEL, wider: float = 1.0
) -> Interval:
    """Return the interval of a figure.

    Its half width is a quantile of the t distribution times the root mean square distance of the replicates
    from the value, which counts their bias too. It does not go beyond the least and the largest replicate, so
    that a share stays one. With infinite replicates it is that of percentiles.
    """
    values = np.asarray(replicates, dtype=np.float64)
    defined = values[~np.isnan(values)]
    if not len(defined) or not np.isfinite(value) or not np.isfinite(defined).all():
        return percentiles(value, values, confidence)
    half = wider * quantile(freedom, confidence) * math.sqrt(float(np.mean((defined - value) ** 2)))
    low = max(value - half, min(value, float(defined.min())))
    high = min(value + half, max(value, float(defined.max())))
    return Interval(value, low, high, len(values) - len(defined))


def poisson(count: float) -> tuple[float, float]:
    """Return the interval of the mean of a Poisson count: Byar's approximation of the exact one."""
    low = 0.0 if count <= 0 else count * max(0.0, 1 - 1 / (9 * count) - NORMAL / (3 * math.sqrt(count))) ** 3
    more = count + 1
    return low, more * (1 - 1 / (9 * more) + NORMAL / (3 * math.sqrt(more))) ** 3


def paired(events: float) -> float:
    """Return the least half width of a paired difference of two shares.

    It is that of Agresti and Min (2005), who add half a pair to each way to agree or differ, where no pair
    differs.
    """
    return NORMAL / (events + 2)


REPLICATES = 2000


class Pool(NamedTuple):
    """The values that a median is of, to be pooled with those of other networks."""

    values: npt.NDArray[np.float64]
    stretches: npt.NDArray[np.int64]
    size: int
    name: str


class Drawn(NamedTuple):
    """A figure of one network."""

    value: float
    replicates: npt.NDArray[np.float32]
    freedom: int = 0
    events: float = 0.0
    exposure: float = 0.0
    pool: Pool | None = None


@lru_cache(maxsize=256)  # figures of a stream are many, and medians over networks draw all of its streams
def draws(stretches: int, name: str, replicates: int = REPLICATES) -> npt.NDArray[np.float64]:
    """Return how often each stretch is taken in each replicate, (replicates, stretches)."""
    rng = np.random.default_rng([18, zlib.crc32(name.encode())])
    taken = rng.integers(0, stretches, (replicates, max(1, stretches - 1)))
    counts = np.zeros((replicates, stretches))
    np.add.at(counts, (np.arange(replicates)[:, None], taken), 1.0)
    counts.flags.writeable = False
    return counts


def drawn(figure: Figure, stretches: int, name: str, replicates: int = REPLICATES) -> Drawn:
    """Return a figure and its replicates."""
    value = float(figure.of(np.ones((1, stretches)))[0])
    found = figure.of(draws(stretches, name, replicates)).astype(np.float32)
    pool = Pool(figure.values, figure.stretches, stretches, name) if isinstance(figure, Median) else None
    events, exposure = (float(getattr(figure, name, 0.0)) for name in ("events", "exposure"))
    return Drawn(value, found, stretches - 1, events, exposure, pool)


def interval(found: Drawn) -> Interval:
    """Return the interval of a figure: of shares at least Wilson's, of rates that of a Poisson count."""
    drawn_again = about_value(found.value, found.replicates, found.freedom)
    if found.events > 0:
        low, high = wilson(round(found.value * found.events), round(found.events))
    elif found.exposure > 0:
        low, high = (end / found.exposure for end in poisson(found.value * found.exposure))
    else:
        return drawn_again
    return drawn_again._replace(low=min(low, drawn_again.low), high=max(high, drawn_again.high))


def averaged(parts: Sequence[Drawn]) -> Drawn:
    """Return the mean of figures that were drawn independently of each other."""
    value = float(defined_mean(np.array([each.value for each in parts])))
    replicates = defined_mean(np.stack([each.replicates for each in parts])).astype(np.float32)
    known = [each for each in parts if not math.isnan(each.value)]
    return Drawn(
        value,
        replicates,
        sum(each.freedom for each in parts),
        sum(each.events for each in known) if all(each.events > 0 for each in known) else 0.0,
        sum(each.exposure for each in known) if all(each.exposure > 0 for each in known) else 0.0,
    )


def defined_mean(values: Floats) -> Floats:
    """Return means over the first axis, leaving out undefined values; NaN where all are."""
    present = ~np.isnan(values)
    total, count = np.where(present, values, 0.0).sum(axis=0), present.sum(axis=0)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def pooled(networks: Sequence[Drawn]) -> Drawn:
    """Return the median of the values of all networks together; each network's stretches are drawn again."""
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
    """Return a figure over networks: the mean, or the median of all values where it is a median."""
    return pooled(networks) if all(each.pool is not None for each in networks) else averaged(networks)


def mean(networks: Sequence[Drawn]) -> Interval:
    """Return the figure over networks, with its interval: of these networks, on other stretches."""
    return interval(together(networks))


def difference(first: Sequence[Drawn], second: Sequence[Drawn]) -> Interval:
    """Return the paired difference over networks: the mean, or that of the medians of all values.

    No network is left out: where one pair is undefined, such as two infinite delays, the difference is. It
    has no interval where that happens in more replicates than the interval may miss. For shares of the same
    events the interval is never narrower than `paired`, also where both rows agree on all of them.
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
