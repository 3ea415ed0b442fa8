"""How often the classifier itself is right, and whether its posteriors mean what they say.

Posteriors are taken as they are, not rescaled to sum to 1. A label below 0 means none of the classes: no
prediction is right there, and it is refused where the posterior of the true class is needed. An empty input
raises ValueError.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.metrics import BINS, reliability
from tcuq.metrics.inputs import Floats, Ints, not_empty, same_length, unit, wholes


def _pair(predicted: npt.ArrayLike, labels: npt.ArrayLike, most: int | None) -> tuple[Ints, Ints]:
    chosen, truth = wholes("predicted", predicted, low=0, high=most), wholes("labels", labels, high=most)
    not_empty("predicted", chosen)
    same_length("predicted", chosen, "labels", truth)
    return chosen, truth


def accuracy(predicted: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return the share of steps whose prediction is the label."""
    chosen, truth = _pair(predicted, labels, None)
    return float((chosen == truth).mean())


def macro_f1(predicted: npt.ArrayLike, labels: npt.ArrayLike, classes: int) -> float:
    """Return the mean F1 over the classes that are predicted or true at some step."""
    count = integer("classes", classes, 1, 1_000_000)
    chosen, truth = _pair(predicted, labels, count - 1)
    hits = np.bincount(chosen[chosen == truth], minlength=count)
    # F1 = 2 TP / (2 TP + FP + FN), and the bottom is the predicted plus the true steps of the class.
    total = np.bincount(chosen, minlength=count) + np.bincount(truth[truth >= 0], minlength=count)
    present = total > 0
    return float((2 * hits[present] / total[present]).mean())


FLOOR = 1e-12
"""Least posterior of a true class in `nll`."""


def _posteriors(probs: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[Floats, Ints]:
    rows = unit("probs", probs, dimensions=2)
    not_empty("probs", rows)
    if rows.shape[1] < 2:
        raise ValueError(f"probs has {rows.shape[1]} classes, expected at least 2")
    truth = wholes("labels", labels, high=rows.shape[1] - 1)
    same_length("probs", rows, "labels", truth)
    if (truth < 0).any():
        at = int(np.argmax(truth < 0))
        raise ValueError(
            f"labels[{at}] is {truth[at]}, none of the classes, which has no posterior, "
            f"expected 0 to {rows.shape[1] - 1}"
        )
    return rows, truth


def nll(probs: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return the mean of -log(posterior of the true class), in nats; one below 1e-12 counts as 1e-12."""
    rows, truth = _posteriors(probs, labels)
    chosen = rows[np.arange(len(rows)), truth]
    return float(np.abs(np.log(np.maximum(chosen, FLOOR))).mean())


def brier(probs: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return the mean, over steps, of the squared errors summed over classes: 0 to 2 for posteriors."""
    rows, truth = _posteriors(probs, labels)
    gaps = rows.copy()
    gaps[np.arange(len(rows)), truth] -= 1
    return float((gaps**2).sum(axis=1).mean())


def brier_per_class(probs: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return `brier` divided by the number of classes."""
    total = brier(probs, labels)
    return total / int(np.shape(probs)[1])


def ece(confidence: npt.ArrayLike, right: npt.ArrayLike, bins: int = BINS) -> float:
    """Return the expected calibration error: ``|accuracy - mean confidence|`` per bin, weighted by count."""
    table = reliability(confidence, right, bins)
    used = table.count > 0
    gaps = np.abs(table.accuracy[used] - table.confidence[used])
    return float((table.count[used] * gaps).sum() / table.count.sum())
