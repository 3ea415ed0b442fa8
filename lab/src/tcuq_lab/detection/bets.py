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
    """Return conformal p-values, small for a score above most of the clean ones."""
    return np.asarray((count * (1 - rank) + 0.5) / (count + 1))


def jumper(p: Floats, rate: float, bets: str) -> Floats:
    """Return what the simple jumper (Vovk and others 2021) earns: a mixture of bets that forgets."""
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
    """Return the logarithm of 1 + lambda (score - m), which is no gain where the mean of the score is m."""
    level = min(mean + margin, 0.95)
    return np.log1p(stake / level * (np.asarray(score, dtype=np.float64) - level))
