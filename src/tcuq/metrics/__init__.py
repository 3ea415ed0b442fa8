"""Measures of scores, decisions and alarms, with numpy alone, for the monitor and its peers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.checks import integer, number
from ..base.errors import InputError, wrong_type, wrong_value
from .inputs import Floats, Ints, flags, marks, not_empty, numbers, same_length, unit, wholes

__all__ = [
    "Detection",
    "Interval",
    "Reliability",
    "RiskCoverage",
    "auroc",
    "block_bootstrap",
    "detection",
    "paired_difference",
    "reliability",
    "risk_coverage",
    "wilson",
    "worst_window",
]

BINS = 15
MOST_BINS = 100_000
MOST_REPLICATES = 10_000_000


def auroc(score: npt.ArrayLike, positive: npt.ArrayLike) -> float:
    """Return the chance that a random positive scores above a random negative; ties count half.

    Parameters
    ----------
    score : array of n numbers
        High says positive.
    positive : array of n booleans
        Which steps are positive, such as wrong predictions.

    Returns
    -------
    float
        NaN when only one kind is present.

    Examples
    --------
    >>> auroc([0.1, 0.4, 0.35, 0.8], [False, False, True, True])
    0.75
    """
    values, truth = numbers("score", score), flags("positive", positive)
    same_length("score", values, "positive", truth)
    positives = int(truth.sum())
    negatives = len(truth) - positives
    if positives == 0 or negatives == 0:
        return float("nan")
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return float((ranks[truth].sum() - positives * (positives + 1) / 2) / (positives * negatives))


class RiskCoverage(NamedTuple):
    """Share of the steps kept, 1/n, 2/n, ... 1, and the error rate among them, safest first."""

    coverage: Floats
    error: Floats


def risk_coverage(score: npt.ArrayLike, wrong: npt.ArrayLike) -> RiskCoverage:
    """Return the error rate among the k safest steps for k = 1 to n; low scores are safe.

    Tied scores share their errors evenly: after j of s tied steps with m errors, j * m / s of them have been
    kept, which is the mean over all orders of the ties. An empty input raises ValueError.

    Examples
    --------
    >>> curve = risk_coverage([0.1, 0.2, 0.2], [False, True, False])
    >>> curve.error.round(3).tolist()
    [0.0, 0.25, 0.333]
    """
    values, errors = numbers("score", score), flags("wrong", wrong)
    not_empty("score", values)
    same_length("score", values, "wrong", errors)
    _, inverse, sizes = np.unique(values, return_inverse=True, return_counts=True)
    within = np.zeros(len(sizes), dtype=np.int64)
    np.add.at(within, inverse, errors)
    kept = np.arange(1, len(values) + 1)
    into = kept - np.repeat(np.cumsum(sizes) - sizes, sizes)
    before, tied, size = (np.repeat(x, sizes) for x in (np.cumsum(within) - within, within, sizes))
    # One division of integers: the rates at whole counts are the nearest floats, so they compare well.
    return RiskCoverage(kept / len(values), (before * size + into * tied) / (size * kept))


@dataclass(frozen=True, eq=False)
class Reliability:
    """Bins of confidence, each open below and closed above; NaN means for a bin without steps."""

    low: Floats
    high: Floats
    count: Ints
    confidence: Floats
    accuracy: Floats


def reliability(confidence: npt.ArrayLike, right: npt.ArrayLike, bins: int = BINS) -> Reliability:
    """Return count, mean confidence and accuracy in bins of equal width, for a reliability diagram.

    The bins are (0, 1/bins], (1/bins, 2/bins], ...; a confidence of 0 goes into the first.

    Examples
    --------
    >>> table = reliability([0.5, 0.9, 0.8], [True, True, False], bins=2)
    >>> table.count.tolist(), table.confidence.round(2).tolist(), table.accuracy.tolist()
    ([1, 2], [0.5, 0.85], [1.0, 0.5])
    """
    top, hits = unit("confidence", confidence), flags("right", right)
    not_empty("confidence", top)
    same_length("confidence", top, "right", hits)
    edges = np.arange(integer("bins", bins, 1, MOST_BINS) + 1) / bins
    index = np.searchsorted(edges[1:-1], top, side="left")
    count = np.bincount(index, minlength=bins)
    sums = [np.bincount(index, weights=x, minlength=bins) for x in (top, hits.astype(np.float64))]
    means = [np.divide(x, count, out=np.full(bins, np.nan), where=count > 0) for x in sums]
    return Reliability(edges[:-1], edges[1:], count.astype(np.int64), means[0], means[1])


def worst_window(events: npt.ArrayLike, lengths: Sequence[int] | Ints) -> Ints:
    """Return the most events in any n consecutive steps, for each n of `lengths`.

    Examples
    --------
    >>> worst_window([True, False, True, True, False], [1, 2, 5]).tolist()
    [1, 2, 3]
    """
    happened = flags("events", events)
    not_empty("events", happened)
    total = np.concatenate([[0], np.cumsum(happened, dtype=np.int64)])
    sizes = [integer("window length", n, 1, len(happened)) for n in lengths]
    return np.array([(total[n:] - total[:-n]).max() for n in sizes], dtype=np.int64)


@dataclass(frozen=True)
class Detection:
    """An alarm against known shifts.

    Parameters
    ----------
    starts : tuple of int
        First steps of the shifts that the alarm could be raised for: it was off at the step before.
    delays : tuple of int or None
        For each of them, steps from its start to the alarm, 0 at that very step; None when missed.
    already_raised : int
        Shifts that began with the alarm on; they have no delay and are not among `starts`.
    false_onsets : int
        Times that the alarm went on at a clean step.
    clean_steps : int
        Steps that are not shifted: what false alarms are counted over.
    """

    starts: tuple[int, ...]
    delays: tuple[int | None, ...]
    already_raised: int
    false_onsets: int
    clean_steps: int

    @property
    def missed(self) -> int:
        """Shifts that ended without an alarm."""
        return sum(delay is None for delay in self.delays)

    @property
    def median(self) -> float:
        """Median delay, a miss being infinite; the mean of the middle two of an even number; NaN of none."""
        delays = sorted(float("inf") if delay is None else float(delay) for delay in self.delays)
        return (delays[(len(delays) - 1) // 2] + delays[len(delays) // 2]) / 2 if delays else float("nan")


def detection(
    alarm: npt.ArrayLike, shifted: npt.ArrayLike, segments: npt.ArrayLike | None = None
) -> Detection:
    """Compare an alarm with known shifts.

    A shift is a run of shifted steps of one kind within one segment. An alarm after its end does not count.

    Parameters
    ----------
    alarm : array of T booleans or integers
        The alarm is on where this is not 0.
    shifted : array of T booleans or integers
        The input is degraded where this is not 0. Integers are kinds of shift, which are told apart.
    segments : array of T integers, optional
        As in `Log`: a shift ends, and another may begin, where the number changes. The alarm goes on.

    Examples
    --------
    >>> found = detection([0, 1, 0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 1, 0, 0])
    >>> found.starts, found.delays, found.false_onsets, found.clean_steps
    ((3,), (2,), 1, 5)
    """
    on, shift = marks("alarm", alarm), marks("shifted", shifted)
    not_empty("alarm", on)
    same_length("alarm", on, "shifted", shift)
    breaks = np.arange(len(on)) == 0
    if segments is not None:
        pieces = wholes("segments", segments)
        same_length("segments", pieces, "alarm", on)
        breaks[1:] = pieces[1:] != pieces[:-1]
    kinds = np.asarray(shifted)
    breaks[1:] |= (kinds[1:] != kinds[:-1]) & shift[1:] & shift[:-1]
    was_on = np.concatenate([[False], on[:-1]])
    begins = np.flatnonzero(shift & (breaks | ~np.concatenate([[False], shift[:-1]])))
    stops = np.append(np.flatnonzero(~shift | breaks), len(on))
    ends = stops[np.searchsorted(stops, begins, side="right")]
    raised = np.append(np.flatnonzero(on), len(on))
    first = raised[np.searchsorted(raised, begins)]
    counted = ~was_on[begins]
    delays = [int(f - b) if f < e else None for b, e, f in zip(begins, ends, first, strict=True)]
    return Detection(
        tuple(begins[counted].tolist()),
        tuple(delay for delay, kept in zip(delays, counted, strict=True) if kept),
        int((~counted).sum()),
        int((on & ~was_on & ~shift).sum()),
        int((~shift).sum()),
    )


class Interval(NamedTuple):
    """A value on all steps, the interval of its resamples, and the resamples where it was undefined (NaN)."""

    estimate: float
    low: float
    high: float
    undefined: int


def wilson(successes: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Return the Wilson score interval of a share, (0, 1) for n = 0; `z` is a normal quantile, 1.96 for 95 %.

    The trials must be independent; steps of a stream seldom are, and `block_bootstrap` is for them.

    Examples
    --------
    >>> [round(x, 3) for x in wilson(8, 10)]
    [0.49, 0.943]
    """
    trials = integer("n", n, 0, 2**53)
    hits = integer("successes", successes, 0, trials)
    width = number("z", z, 0, 100)
    if width == 0:
        raise InputError("value", "z is 0, expected above 0, up to 100")
    if trials == 0:
        return 0.0, 1.0
    extra = width * width
    middle = (hits + extra / 2) / (trials + extra)
    half = width * math.sqrt(hits / trials * (trials - hits) + extra / 4) / (trials + extra)
    # Exact where nothing or everything succeeds; floats would miss by a hair.
    low = 0.0 if hits == 0 else max(0.0, middle - half)
    return low, 1.0 if hits == trials else min(1.0, middle + half)


def resample(length: int, block: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return `length` indices: blocks from random starts, going on at 0 after the last step."""
    starts = rng.integers(0, length, -(-length // block))
    return np.asarray(((starts[:, None] + np.arange(block)) % length).ravel()[:length], dtype=np.int64)


def bootstrap_settings(
    block: int, longest: int, replicates: int, rng: np.random.Generator, confidence: float
) -> tuple[int, int, float]:
    """Return block (1 to `longest`), replicates and confidence, checked together with the generator."""
    size, count = integer("block", block, 1, longest), integer("replicates", replicates, 1, MOST_REPLICATES)
    inside = number("confidence", confidence, 0, 1)
    if not 0 < inside < 1:
        raise wrong_value("confidence", inside, "above 0 and below 1")
    if not isinstance(rng, np.random.Generator):
        raise wrong_type("rng", rng, "a numpy.random.Generator")
    return size, count, inside


def percentiles(estimate: float, replicates: npt.ArrayLike, confidence: float) -> Interval:
    """Return the interval that holds a share of the replicates; undefined ones (NaN) are left out."""
    # The ends are replicates themselves: the next ones outwards, so infinite values do no harm.
    values = np.asarray(replicates, dtype=np.float64)
    defined = np.sort(values[~np.isnan(values)])
    undefined = len(values) - len(defined)
    if not len(defined):
        return Interval(estimate, float("nan"), float("nan"), undefined)
    outside = int((1 - confidence) / 2 * (len(defined) - 1))
    return Interval(estimate, float(defined[outside]), float(defined[-1 - outside]), undefined)


def block_bootstrap(
    statistic: Callable[..., float],
    arrays: Sequence[npt.ArrayLike],
    block: int,
    replicates: int,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Interval:
    """Return a percentile interval of `statistic(*arrays)` from resampled blocks of steps.

    Each replicate joins blocks of consecutive steps from random starts, wrapping around at the end, and is
    cut to the original length. All arrays are resampled by the same indices, so rows stay together. A block
    must be longer than the dependence in the stream, or the interval is too narrow; it should fit into
    the stream many times. The same seed of `rng` gives the same interval.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = block_bootstrap(np.mean, [np.arange(100) % 2], block=10, replicates=50, rng=rng)
    >>> found.low <= found.estimate <= found.high
    True
    """
    columns = [np.asarray(array) for array in arrays]
    if not columns or any(column.ndim == 0 for column in columns):
        problem = f"arrays has {len(columns)} entries, expected at least 1, each of 1 or more dimensions,"
        raise InputError("value", problem)
    not_empty("arrays[0]", columns[0])
    for at, column in enumerate(columns):
        same_length(f"arrays[{at}]", column, "arrays[0]", columns[0])
    length = len(columns[0])
    size, count, inside = bootstrap_settings(block, length, replicates, rng, confidence)
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
    confidence: float = 0.95,
) -> Interval:
    """Return ``statistic(*first) - statistic(*second)``, with an interval from the same steps for both.

    Two methods on one stream share its hard and easy parts; resampling them together cancels these. An
    interval above 0 as a whole says that the first method is larger beyond chance. See `block_bootstrap`.

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

    return block_bootstrap(difference, [*first, *second], block, replicates, rng, confidence)
