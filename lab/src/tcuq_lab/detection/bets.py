"""What bets against clean data earn at each step, in logarithms: a conformal martingale, an e-process."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Floats

LINEAR = (0.0, -1.0, -2.0)
"""Slopes of bets on p-values below one half."""
POWERS = (1.0, 0.7, 0.4)
"""Exponents of bets that win on small p-values."""


def p_values(rank: Floats, count: int) -> Floats:
    """Return conformal p-values, small for a score above most of the clean ones.

    Parameters
    ----------
    rank : array
        Share of clean scores below, ties counting half.
    count : int
        Clean scores.

    Examples
    --------
    >>> p_values(np.array([0.0, 1.0]), 9).tolist()
    [0.95, 0.05]
    """
    return np.asarray((count * (1 - rank) + 0.5) / (count + 1))


def jumper(p: Floats, rate: float, bets: str) -> Floats:
    """Return what the simple jumper (Vovk and others 2021) earns: a mixture of bets that forgets.

    Parameters
    ----------
    p : array (K, T)
        p-values of K runs.
    rate : float
        Share of the stakes that is spread evenly again at each step; 1 learns nothing from the past.
    bets : {"linear", "power"}
        1 + slope * (p - 1/2), or exponent * p^(exponent - 1).

    Examples
    --------
    >>> low = jumper(np.full((1, 3), 0.01), 0.01, "linear")[0]
    >>> bool((low > 0).all() and low[2] > low[0])
    True
    """
    runs, steps = p.shape
    slopes = np.array(LINEAR if bets == "linear" else POWERS)
    stakes = np.full((runs, len(slopes)), 1 / len(slopes))
    earned = np.empty((runs, steps))
    for step in range(steps):
        x = p[:, step, None]
        factor = 1 + slopes * (x - 0.5) if bets == "linear" else slopes * x ** (slopes - 1)
        held = ((1 - rate) * stakes + rate / len(slopes)) * factor
        total = held.sum(axis=1)
        earned[:, step] = np.log(total)
        stakes = held / total[:, None]
    return earned


def e_values(score: npt.ArrayLike, mean: float, margin: float, stake: float) -> Floats:
    """Return the logarithm of 1 + lambda (score - m), which is no gain where the mean of the score is m.

    Parameters
    ----------
    score : array
        In [0, 1].
    mean : float
        On clean data; m lies `margin` above it.
    margin : float
    stake : float
        Lambda as a share of its largest value, 1 / m.

    Examples
    --------
    >>> e_values([0.0, 0.5, 1.0], 0.4, 0.1, 0.5).round(3).tolist()
    [-0.693, 0.0, 0.405]
    """
    level = min(mean + margin, 0.95)
    return np.log1p(stake / level * (np.asarray(score, dtype=np.float64) - level))
