"""How well a score ranks positives above negatives, high saying positive.

Whatever is undefined is NaN, an empty input included; curves, which cannot be, raise ValueError.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import number
from tcuq.metrics import risk_coverage
from tcuq.metrics.inputs import flags, numbers, same_length

NAN = float("nan")


def average_precision(score: npt.ArrayLike, positive: npt.ArrayLike) -> float:
    """Return the step-wise area under the precision-recall curve; tied scores are one threshold."""
    values, truth = numbers("score", score), flags("positive", positive)
    same_length("score", values, "positive", truth)
    if not truth.any():
        return NAN
    distinct, inverse, sizes = np.unique(values, return_inverse=True, return_counts=True)
    gained = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(gained, inverse, truth)
    gained, flagged = gained[::-1], np.cumsum(sizes[::-1])  # at or above each distinct score, falling
    hits = np.cumsum(gained)
    return float((gained * (hits / flagged)).sum() / hits[-1])


def prevalence(positive: npt.ArrayLike) -> float:
    """Return the share of positives, which is also the average precision of a constant score."""
    truth = flags("positive", positive)
    return float(truth.mean()) if len(truth) else NAN


def precision_lift(score: npt.ArrayLike, positive: npt.ArrayLike) -> float:
    """Return how much of the way from prevalence to 1 the average precision goes; 0 of a constant score."""
    base = prevalence(positive)
    area = average_precision(score, positive)
    return (area - base) / (1 - base) if base < 1 else NAN


def aurc(score: npt.ArrayLike, wrong: npt.ArrayLike) -> float:
    """Return the area under the risk-coverage curve: the mean, over k, of the error of the k safest steps."""
    return float(risk_coverage(score, wrong).error.mean())


def risk_at_coverage(score: npt.ArrayLike, wrong: npt.ArrayLike, coverage: float) -> float:
    """Return the error rate among the safest steps, the fewest that make up at least `coverage`."""
    least = number("coverage", coverage, 0, 1)
    curve = risk_coverage(score, wrong)
    return float(curve.error[int(np.argmax(curve.coverage >= least))])
