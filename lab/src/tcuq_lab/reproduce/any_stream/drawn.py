"""Figures with intervals: blocks drawn within each stream, the same for all rows, averaged over networks."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.metrics import Interval
from tcuq.metrics.inputs import Bools, Floats, Ints
from tcuq.metrics.intervals import percentiles, resample

from ...comparison.resampled import FAST, Ranked
from ...comparison.tasks import Task

Value = Callable[[Ints | None], float]
"""From an index of units of a stream, None for all as they are, to a figure; NaN where it is undefined."""
REPLICATES = 500
LEVEL = 0.95
BLOCK = 1000
"""Steps drawn together: four mean clean or shifted stretches, as `tcuq_lab.comparison.paired` takes them."""


class Drawn(NamedTuple):
    """A row on all streams: its figures as they are, and in each replicate, (streams,) and (n, streams)."""

    found: Floats
    replicates: Floats

    def mean(self) -> Interval:
        """Return the mean over streams."""
        return _interval(_mean(self.found), _mean(self.replicates))

    def less(self, other: Drawn) -> Interval:
        """Return the mean over streams of the difference to another row on the same steps."""
        return _interval(_mean(self.found - other.found), _mean(self.replicates - other.replicates))

    def over(self, other: Drawn) -> Interval:
        """Return the ratio of the means over streams."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return _interval(
                _mean(self.found) / _mean(other.found), _mean(self.replicates) / _mean(other.replicates)
            )


def draw(
    rows: Mapping[str, Sequence[Value]],
    lengths: Sequence[int],
    name: str,
    block: int = BLOCK,
    replicates: int = REPLICATES,
) -> dict[str, Drawn]:
    """Return every row on all streams, with replicates from the same blocks for all rows.

    Parameters
    ----------
    rows : mapping of str to one function for each stream
    lengths : sequence of int
        Units of each stream.
    name : str
        Seeds the draws, so that they do not depend on what else is measured.
    block : int
        Units drawn together; at most a quarter of the shortest stream is taken.
    replicates : int

    Examples
    --------
    >>> x = np.arange(128) % 7
    >>> found = draw({"a": [mean_of(x + 1)], "b": [mean_of(x)]}, [128], "example", block=10)
    >>> found["a"].less(found["b"])
    Interval(estimate=1.0, low=1.0, high=1.0, undefined=0)
    """
    rng = np.random.default_rng([0, zlib.crc32(name.encode())])
    size = max(1, min(block, min(lengths) // 4))
    found = {row: np.array([each(None) for each in values]) for row, values in rows.items()}
    made = {row: np.empty((replicates, len(lengths))) for row in rows}
    for number in range(replicates):
        for stream, length in enumerate(lengths):
            index = resample(length, size, rng)
            for row, values in rows.items():
                made[row][number, stream] = values[stream](index)
    return {row: Drawn(found[row], made[row]) for row in rows}


def _mean(values: Floats) -> Floats:
    """Return means along the last axis, leaving out undefined values; NaN where all are."""
    known = ~np.isnan(values)
    total, count = np.where(known, values, 0.0).sum(axis=-1), known.sum(axis=-1)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def _interval(value: npt.NDArray[np.float64], replicates: Floats) -> Interval:
    return percentiles(float(value), replicates, LEVEL)


def mean_of(values: npt.ArrayLike, of: Bools | None = None) -> Value:
    """Return the mean of a value of each step, over all steps or some of them.

    Examples
    --------
    >>> share = mean_of([True, False, True], np.array([True, True, False]))
    >>> share(None), share(np.array([0, 0, 1, 2]))
    (0.5, 0.6666666666666666)
    """
    given = np.asarray(values, dtype=np.float64)
    kept = np.ones(len(given), dtype=bool) if of is None else of
    weighted = np.where(kept, given, 0.0)

    def value(index: Ints | None) -> float:
        total, count = (
            (weighted.sum(), kept.sum()) if index is None else (weighted[index].sum(), kept[index].sum())
        )
        return float(total / count) if count else math.nan

    return value


def median_of(values: Floats) -> Value:
    """Return the median of some values, infinite ones among them; NaN of none.

    Examples
    --------
    >>> median_of(np.array([1.0, 5.0, np.inf]))(None), median_of(np.array([]))(None)
    (5.0, nan)
    """

    def value(index: Ints | None) -> float:
        ordered = np.sort(values if index is None else values[index])
        count = len(ordered)
        return float((ordered[(count - 1) // 2] + ordered[count // 2]) / 2) if count else math.nan

    return value


def auroc_of(score: Floats, wrong: Bools) -> Value:
    """Return the AUROC of errors under a score."""
    return _ranked(score, wrong, FAST["auroc"])


def left_at(score: Floats, wrong: Bools, coverage: float = 0.9) -> Value:
    """Return the error rate among the steps of lowest score; tied steps share their errors evenly.

    Parameters
    ----------
    score : array of T numbers
    wrong : array of T booleans
    coverage : float
        Share of steps that are kept.

    Examples
    --------
    >>> left_at(np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, True, False, True]), 0.5)(None)
    0.5
    """

    def errors(negative: Ints, positive: Ints) -> float:
        bad, sizes = positive[::-1], (negative + positive)[::-1]
        total = np.cumsum(sizes)
        kept = math.ceil(coverage * int(total[-1]) - 1e-9)
        last = int(np.searchsorted(total, kept))
        before = int(total[last]) - int(sizes[last])
        return float((bad[:last].sum() + (kept - before) * bad[last] / sizes[last]) / kept)

    return _ranked(score, wrong, errors)


def _ranked(score: Floats, wrong: Bools, measure: Callable[[Ints, Ints], float]) -> Value:
    ranked = Ranked(Task(score, wrong, np.ones(len(score), dtype=bool)))
    every = np.arange(len(score))
    return lambda index: measure(*ranked.counts(every if index is None else index))
