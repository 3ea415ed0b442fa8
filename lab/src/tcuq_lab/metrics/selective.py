"""Errors among the steps that are kept, as one number: from `tcuq.metrics.risk_coverage`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import number
from tcuq.metrics import risk_coverage


def aurc(score: npt.ArrayLike, wrong: npt.ArrayLike) -> float:
    """Return the area under the risk-coverage curve.

    The mean, over k = 1 to n, of the error rate among the k safest steps. With ties it equals the mean
    of that number over all orders of the tied steps, since the even share is the mean share at each k
    and the area is linear in it. It lies between 0 and 1; a constant score gives the error rate.
    """
    return float(risk_coverage(score, wrong).error.mean())


def risk_at_coverage(score: npt.ArrayLike, wrong: npt.ArrayLike, coverage: float) -> float:
    """Return the error rate among the safest steps, the fewest that make up at least `coverage`."""
    least = number("coverage", coverage, 0, 1)
    curve = risk_coverage(score, wrong)
    return float(curve.error[int(np.argmax(curve.coverage >= least))])
