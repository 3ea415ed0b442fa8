"""How well a score ranks errors above correct steps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def auroc(score: npt.ArrayLike, positive: npt.ArrayLike) -> float:
    """Return the chance that a random positive scores above a random negative; ties count half.

    Parameters
    ----------
    score : array of n numbers
    positive : boolean array of n values

    Returns
    -------
    float
        NaN when only one kind is present.

    Examples
    --------
    >>> auroc([0.1, 0.4, 0.35, 0.8], [False, False, True, True])
    0.75
    """
    values, flags = np.asarray(score, dtype=np.float64), np.asarray(positive, dtype=bool)
    positives = int(flags.sum())
    negatives = len(flags) - positives
    if positives == 0 or negatives == 0:
        return float("nan")
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[inverse]
    return float((ranks[flags].sum() - positives * (positives + 1) / 2) / (positives * negatives))
