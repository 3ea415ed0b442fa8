"""The interval of a figure from its replicates: a t distribution about the value.

Percentiles of replicates hold the truth too seldom where a figure is biased on few units, as an AUROC is, and
where few units are drawn again.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from tcuq.metrics import Interval, percentiles

LEVEL = 0.95


def quantile(freedom: int, confidence: float = LEVEL) -> float:
    """Return how many standard errors the ends of an interval are away.

    Parameters
    ----------
    freedom : int
        Degrees of freedom of a t distribution; 0 stands for a normal one.
    confidence : float

    Examples
    --------
    >>> [round(quantile(freedom), 2) for freedom in (0, 4, 11, 55)]
    [1.96, 2.77, 2.2, 2.0]
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    if freedom < 1:
        return z
    n = float(freedom)  # the expansion about the normal quantile
    t = z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
    return t + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)


def about_value(
    value: float, replicates: npt.ArrayLike, freedom: int, confidence: float = LEVEL, wider: float = 1.0
) -> Interval:
    """Return the interval of a figure.

    Its half width is a quantile of the t distribution times the root mean square distance of the replicates
    from the value, which counts their bias too. It does not go beyond the least and the largest replicate, so
    that a share stays one. With infinite replicates it is that of percentiles.

    Parameters
    ----------
    value : float
    replicates : array of floats
        NaN says undefined; such ones are left out and counted.
    freedom : int
        See `quantile`.
    confidence : float
    wider : float
        Factor on the spread of the replicates, where it is known to be too small.

    Examples
    --------
    >>> about_value(2.0, [1.0, 3.0] * 1000, 11)
    Interval(estimate=2.0, low=1.0, high=3.0, undefined=0)
    """
    values = np.asarray(replicates, dtype=np.float64)
    defined = values[~np.isnan(values)]
    if not len(defined) or not np.isfinite(value) or not np.isfinite(defined).all():
        return percentiles(value, values, confidence)
    half = wider * quantile(freedom, confidence) * math.sqrt(float(np.mean((defined - value) ** 2)))
    low = max(value - half, min(value, float(defined.min())))
    high = min(value + half, max(value, float(defined.max())))
    return Interval(value, low, high, len(values) - len(defined))
