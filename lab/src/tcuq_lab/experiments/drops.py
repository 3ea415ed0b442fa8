"""Drops of accuracy and wrong answers ranked by a score, and intervals from blocks of steps.

A drop event is a step at which the accuracy of the last 100 steps is far below its clean level; see
`tcuq_lab.metrics.drops`. Blocks of steps are drawn within each stream, the same for both rows of a pair;
the metric is computed on each stream and averaged over streams. By default a block has four mean lengths of a
clean or shifted stretch: a stretch depends on its type and severity as a whole, so shorter blocks cut events
apart and make intervals too narrow. The interval is that of a t distribution with one degree of freedom less
than there are blocks, for every stream; `coverage` simulates how often it holds the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.metrics import Interval, auroc, bootstrap_settings, resample
from tcuq.metrics.inputs import Bools, Floats, Ints

from ..harness.intervals import about_value
from ..metrics import average_precision
from ..metrics.drops import WINDOW, Band, drop_events, smooth

Measure = Callable[[Floats, Bools], float]
STRETCHES = 4
"""Mean clean or shifted stretches in a block."""


class Ranking(NamedTuple):
    """A score, what is positive, and the steps that are judged; all of the length of the stream."""

    score: Floats
    positive: Bools
    judged: Bools

    def measure(self, measure: Measure) -> float:
        """Return a measure over the judged steps."""
        return float(measure(self.score[self.judged], self.positive[self.judged]))

    @property
    def share(self) -> float:
        """Share of the judged steps that are positive: what an AUPRC is at chance."""
        return float(self.positive[self.judged].mean()) if self.judged.any() else math.nan


def drops(score: npt.ArrayLike, right: npt.ArrayLike, band: Band) -> Ranking:
    """Return a smoothed score for drop events against the other steps with a full window."""
    found = drop_events(right, band)
    return Ranking(smooth(score, band.m), found.event, found.judged)


def counted(ranking: Ranking) -> Callable[[Ints], tuple[Ints, Ints]]:
    """Return what counts negatives and positives at each distinct score, the highest first, of some steps."""
    distinct, inverse = np.unique(ranking.score[ranking.judged], return_inverse=True)
    levels = len(distinct)
    # Falling scores, negatives and positives of each apart; steps that are not judged come last.
    slot = np.full(len(ranking.score), 2 * levels, dtype=np.int64)
    slot[ranking.judged] = 2 * (levels - 1 - inverse.ravel()) + ranking.positive[ranking.judged]

    def counts(index: Ints) -> tuple[Ints, Ints]:
        found = np.bincount(slot[index], minlength=2 * levels + 1)[:-1].reshape(-1, 2)
        return found[:, 0], found[:, 1]

    return counts


def _auprc(negative: Ints, positive: Ints) -> float:
    hits, false = np.cumsum(positive), np.cumsum(negative)
    if not len(hits) or not hits[-1]:
        return math.nan
    gained = positive > 0
    share = hits[gained] / (hits[gained] + false[gained])
    return float((positive[gained] * share).sum() / hits[-1])


def _auroc(negative: Ints, positive: Ints) -> float:
    hits, false = int(positive.sum()), int(negative.sum())
    if not hits or not false:
        return math.nan
    below = false - np.cumsum(negative) + negative / 2
    return float((positive * below).sum() / (hits * false))


MEASURES: Mapping[str, tuple[Measure, Callable[[Ints, Ints], float]]] = MappingProxyType(
    {"auprc": (average_precision, _auprc), "auroc": (auroc, _auroc)}
)
"""Measures of a ranking, and the same from counts, for thousands of draws."""


def block_length(kinds: Sequence[Any]) -> int:
    """Return four mean lengths of a clean or shifted stretch, or two windows where that is more.

    It is never more than a quarter of the shortest stream, so that some blocks fit into it.

    Examples
    --------
    >>> block_length([np.arange(8000) // 250 % 2])
    1000
    """
    steps = sum(map(len, kinds))
    runs = sum(1 + int((np.diff(each > 0)).sum()) for each in kinds)
    wanted = max(2 * WINDOW, -(-STRETCHES * steps // max(1, runs)))
    return max(1, min(wanted, min(map(len, kinds)) // 4))


def from_blocks(
    values: Callable[[int, Ints | None], float],
    lengths: Sequence[int],
    block: int,
    replicates: int,
    rng: np.random.Generator,
) -> Interval:
    """Return an interval of the mean over streams of a statistic, from blocks within each stream."""
    size, count, inside = bootstrap_settings(block, min(lengths), replicates, rng, 0.95)
    draws = [mean([values(i, resample(n, size, rng)) for i, n in enumerate(lengths)]) for _ in range(count)]
    blocks = sum(-(-n // size) for n in lengths)
    freedom = max(1, blocks - len(lengths))
    # Means of as many blocks as there are vary less than the truth allows, by (blocks - 1) / blocks a stream.
    value = mean([values(i, None) for i in range(len(lengths))])
    return about_value(value, draws, freedom, inside, math.sqrt(blocks / freedom))


def mean(values: Sequence[float]) -> float:
    """Return the mean of the values that are defined."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def interval(
    rows: Sequence[Sequence[Ranking]],
    measure: str,
    kinds: Sequence[Any],
    rng: np.random.Generator,
    replicates: int = 1000,
) -> Interval:
    """Return a measure of one row, or by how much the first of two exceeds the second, over all streams.

    `rows` has the rankings of each row, one a stream, and `kinds` the corruption type of each step, 0 where
    the input is clean.
    """
    whole, fast = MEASURES[measure]
    ready = [[(each, counted(each)) for each in row] for row in rows]

    def value(ranking: Ranking, counts: Any, index: Ints | None) -> float:
        return ranking.measure(whole) if index is None else fast(*counts(index))

    def values(at: int, index: Ints | None) -> float:
        found = [value(*row[at], index) for row in ready]
        return found[0] - found[1] if len(found) == 2 else found[0]

    return from_blocks(values, [len(each) for each in kinds], block_length(kinds), replicates, rng)
