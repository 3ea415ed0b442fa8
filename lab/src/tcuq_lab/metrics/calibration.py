"""Whether posteriors mean what they say.

Posteriors are taken as they are, not rescaled to sum to 1. A label below 0 means none of the classes: it
makes every prediction wrong where only right or wrong matters, and is refused where the posterior of the
true class is needed. An empty input raises ValueError.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tcuq.metrics import BINS, reliability
from tcuq.metrics.inputs import Floats, Ints, not_empty, same_length, unit, wholes

FLOOR = 1e-12
"""Least posterior of a true class in `nll`."""


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
