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

    Parameters
    ----------
    score : array of n numbers
        Risk of each step; low means safe.
    wrong : array of n booleans
        Where the prediction is wrong.

    Returns
    -------
    float
        In [0, 1], lower is better.

    Examples
    --------
    >>> round(aurc([0.1, 0.2, 0.3, 0.4], [False, False, False, True]), 4)
    0.0625
    """
    return float(risk_coverage(score, wrong).error.mean())


def risk_at_coverage(score: npt.ArrayLike, wrong: npt.ArrayLike, coverage: float) -> float:
    """Return the error rate among the safest steps, the fewest that make up at least `coverage`.

    Parameters
    ----------
    score : array of n numbers
        Risk of each step; low means safe.
    wrong : array of n booleans
        Where the prediction is wrong.
    coverage : float
        In [0, 1]; below 1 / n it means one step.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> risk_at_coverage([0.1, 0.2, 0.3, 0.4], [False, False, True, True], 0.5)
    0.0
    >>> risk_at_coverage([0.1, 0.2, 0.3, 0.4], [False, False, True, True], 1)
    0.5
    """
    least = number("coverage", coverage, 0, 1)
    curve = risk_coverage(score, wrong)
    return float(curve.error[int(np.argmax(curve.coverage >= least))])
