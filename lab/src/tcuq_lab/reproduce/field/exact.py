"""Ends of intervals for few events, where drawing stretches again says too little.

All stretches may hold the same share or no event at all; then all replicates are the same, and their spread
is 0 though the truth is not known. These intervals take every event as independent of all others.
"""

from __future__ import annotations

import math

NORMAL = 1.959964
"""Quantile of the normal distribution, for intervals of 95 %."""


def poisson(count: float) -> tuple[float, float]:
    """Return the interval of the mean of a Poisson count: Byar's approximation of the exact one.

    Parameters
    ----------
    count : float

    Examples
    --------
    >>> [[round(end, 2) for end in poisson(count)] for count in (0, 1, 10)]
    [[0.0, 3.67], [0.01, 5.56], [4.79, 18.39]]
    """
    low = 0.0 if count <= 0 else count * max(0.0, 1 - 1 / (9 * count) - NORMAL / (3 * math.sqrt(count))) ** 3
    more = count + 1
    return low, more * (1 - 1 / (9 * more) + NORMAL / (3 * math.sqrt(more))) ** 3


def paired(events: float) -> float:
    """Return the least half width of a paired difference of two shares.

    It is that of Agresti and Min (2005), who add half a pair to each way to agree or differ, where no pair
    differs.

    Parameters
    ----------
    events : float
        Pairs, above 0.

    Examples
    --------
    >>> round(paired(65), 3)
    0.029
    """
    return NORMAL / (events + 2)
