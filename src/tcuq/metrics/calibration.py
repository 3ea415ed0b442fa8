"""Whether posteriors mean what they say.

Posteriors are taken as they are, not rescaled to sum to 1. A label below 0 means none of the classes: it
makes every prediction wrong where only right or wrong matters, and is refused where the posterior of the
true class is needed. An empty input raises ValueError.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..base.checks import integer
from .inputs import Bools, Floats, Ints, flags, not_empty, same_length, unit, wholes

FLOOR = 1e-12
"""Least posterior of a true class in `nll`."""

BINS = 15
MOST_BINS = 100_000


@dataclass(frozen=True, eq=False)
class Reliability:
    """Bins of confidence, each open below and closed above; NaN means for a bin without steps.

    Parameters
    ----------
    low, high : arrays of numbers
        Ends of each bin, in [0, 1].
    count : array of integers
        Steps in each bin.
    confidence : array of numbers
        Mean confidence in each bin, NaN where there are no steps.
    accuracy : array of numbers
        Share of right steps in each bin, NaN where there are no steps.

    Examples
    --------
    >>> table = reliability([0.5, 0.9, 0.8], [True, True, False], bins=2)
    >>> table.low.tolist(), table.high.tolist(), table.count.tolist()
    ([0.0, 0.5], [0.5, 1.0], [1, 2])
    """

    low: Floats
    high: Floats
    count: Ints
    confidence: Floats
    accuracy: Floats


def _posteriors(probs: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[Floats, Ints]:
    rows = unit("probs", probs, dimensions=2)
    not_empty("probs", rows)
    if rows.shape[1] < 2:
        raise ValueError(f"probs has {rows.shape[1]} classes, expected at least 2")
    truth = wholes("labels", labels, high=rows.shape[1] - 1)
    same_length("probs", rows, "labels", truth)
    return rows, truth


def _known(rows: Floats, truth: Ints) -> None:
    if (truth < 0).any():
        at = int(np.argmax(truth < 0))
        raise ValueError(
            f"labels[{at}] is {truth[at]}, none of the classes, which has no posterior, "
            f"expected 0 to {rows.shape[1] - 1}"
        )


def _top(confidence: npt.ArrayLike, right: npt.ArrayLike) -> tuple[Floats, Bools]:
    top, hits = unit("confidence", confidence), flags("right", right)
    not_empty("confidence", top)
    same_length("confidence", top, "right", hits)
    return top, hits


def nll(probs: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return the mean of -log(posterior of the true class), in nats.

    A posterior below 1e-12 counts as 1e-12, so that one step costs at most 27.6.

    Parameters
    ----------
    probs : array of shape (n, L)
        Posteriors, in [0, 1].
    labels : array of n integers
        True classes, 0 to L - 1.

    Returns
    -------
    float
        0 is best.

    Examples
    --------
    >>> round(nll([[0.5, 0.5], [0.0, 1.0]], [0, 1]), 6)
    0.346574
    """
    rows, truth = _posteriors(probs, labels)
    _known(rows, truth)
    chosen = rows[np.arange(len(rows)), truth]
    return float(np.abs(np.log(np.maximum(chosen, FLOOR))).mean())


def brier(probs: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return the mean, over steps, of the squared errors summed over classes: 0 to 2 for posteriors.

    Parameters
    ----------
    probs : array of shape (n, L)
        Posteriors, in [0, 1].
    labels : array of n integers
        True classes, 0 to L - 1.

    Returns
    -------
    float
        0 is best.

    Examples
    --------
    >>> brier([[0.5, 0.5], [0.0, 1.0]], [0, 1])
    0.25
    """
    rows, truth = _posteriors(probs, labels)
    _known(rows, truth)
    gaps = rows.copy()
    gaps[np.arange(len(rows)), truth] -= 1
    return float((gaps**2).sum(axis=1).mean())


def brier_per_class(probs: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return `brier` divided by the number of classes.

    Parameters
    ----------
    probs : array of shape (n, L)
        Posteriors, in [0, 1].
    labels : array of n integers
        True classes, 0 to L - 1.

    Returns
    -------
    float
        0 is best.

    Examples
    --------
    >>> brier_per_class([[0.5, 0.5], [0.0, 1.0]], [0, 1])
    0.125
    """
    total = brier(probs, labels)
    return total / int(np.shape(probs)[1])


def reliability(confidence: npt.ArrayLike, right: npt.ArrayLike, bins: int = BINS) -> Reliability:
    """Return count, mean confidence and accuracy in bins of equal width.

    Parameters
    ----------
    confidence : array of n numbers
        The top confidence of each step, in [0, 1].
    right : array of n booleans
        Where the prediction is right.
    bins : int, default 15
        The bins are (0, 1/bins], (1/bins, 2/bins], ...; a confidence of 0 goes into the first.

    Returns
    -------
    Reliability
        A row for each bin, for a reliability diagram.

    Examples
    --------
    >>> table = reliability([0.5, 0.9, 0.8], [True, True, False], bins=2)
    >>> table.count.tolist(), table.confidence.round(2).tolist(), table.accuracy.tolist()
    ([1, 2], [0.5, 0.85], [1.0, 0.5])
    """
    top, hits = _top(confidence, right)
    edges = np.arange(integer("bins", bins, 1, MOST_BINS) + 1) / bins
    index = np.searchsorted(edges[1:-1], top, side="left")
    count = np.bincount(index, minlength=bins)
    sums = [np.bincount(index, weights=x, minlength=bins) for x in (top, hits.astype(np.float64))]
    means = [np.divide(x, count, out=np.full(bins, np.nan), where=count > 0) for x in sums]
    return Reliability(edges[:-1], edges[1:], count.astype(np.int64), means[0], means[1])


def ece(confidence: npt.ArrayLike, right: npt.ArrayLike, bins: int = BINS) -> float:
    """Return the expected calibration error: ``|accuracy - mean confidence|`` per bin, weighted by count.

    Parameters
    ----------
    confidence : array of n numbers
        The top confidence of each step, in [0, 1].
    right : array of n booleans
        Where the prediction is right.
    bins : int, default 15
        Bins of equal width, as in `reliability`.

    Returns
    -------
    float
        In [0, 1], 0 is best.

    Examples
    --------
    >>> round(ece([0.9, 0.8, 0.6], [True, True, False], bins=2), 6)
    0.1
    """
    table = reliability(confidence, right, bins)
    used = table.count > 0
    gaps = np.abs(table.accuracy[used] - table.confidence[used])
    return float((table.count[used] * gaps).sum() / table.count.sum())
