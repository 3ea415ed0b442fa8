"""Errors among the steps that are kept, when the steps of highest score are dropped first.

Low scores are safe. Tied scores share their errors evenly: after j of s tied steps with m errors, j * m / s
of them have been kept, which is the mean over all orders of the ties. A threshold alone cannot cut
within a tie; a monitor that breaks ties at random reaches these values on average.

An empty input raises ValueError.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.checks import number
from .inputs import Floats, flags, not_empty, numbers, same_length


class RiskCoverage(NamedTuple):
    """Share of the steps kept, and the error rate among them, safest first.

    Parameters
    ----------
    coverage : array of n numbers
        Share of the steps that are kept: 1/n, 2/n, ... 1.
    error : array of n numbers
        Error rate among the kept steps, in [0, 1].

    Examples
    --------
    >>> curve = risk_coverage([0.1, 0.2, 0.3, 0.4], [False, False, False, True])
    >>> curve.coverage.tolist(), curve.error.tolist()
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.0, 0.25])
    """

    coverage: Floats
    error: Floats


def risk_coverage(score: npt.ArrayLike, wrong: npt.ArrayLike) -> RiskCoverage:
    """Return the error rate among the k safest steps for k = 1 to n.

    Parameters
    ----------
    score : array of n numbers
        Low means safe.
    wrong : array of n booleans
        Where the prediction is wrong.

    Returns
    -------
    RiskCoverage
        `coverage` is k / n. Ties share their errors evenly.

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
