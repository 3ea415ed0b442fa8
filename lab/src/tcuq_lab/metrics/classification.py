"""How often the classifier itself is right.

A label below 0 means none of the classes: no prediction is right there. An empty input raises ValueError.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.metrics.inputs import Ints, not_empty, same_length, wholes


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
    """Return the mean F1 over the classes that are predicted or true at some step.

    A class that is neither predicted nor true has no F1 and is left out; one that is only predicted, or
    only true, counts as 0. A label below 0 is a false positive of the class predicted there.
    """
    count = integer("classes", classes, 1, 1_000_000)
    chosen, truth = _pair(predicted, labels, count - 1)
    hits = np.bincount(chosen[chosen == truth], minlength=count)
    # F1 = 2 TP / (2 TP + FP + FN), and the bottom is the predicted plus the true steps of the class.
    total = np.bincount(chosen, minlength=count) + np.bincount(truth[truth >= 0], minlength=count)
    present = total > 0
    return float((2 * hits[present] / total[present]).mean())
