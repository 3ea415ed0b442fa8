"""What evidence for a change amounts to after each step: bets against clean data, and changes of a level.

Bets are a conformal martingale and an e-process. Bayesian online change point detection (Adams and MacKay
2007) holds a score for normal about a level that is redrawn at a change point. What is kept is the
probability of each run length, the steps since the last change, with the level that these steps tell. A run
length alone does not tell a rise from a fall, so the statistic is the level in its own standard errors,
expected over all run lengths.
"""

from __future__ import annotations

import math

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


LONGEST = 128
"""Run lengths that are told apart; longer runs count as this long."""
PRIOR = 0.25
"""Steps that the clean level counts for after a change: levels spread by 2 clean standard deviations."""


def expected_rise(values: Floats, hazard: float, learned: bool) -> Floats:
    """Return how many standard errors the level is above the clean one after each step, as is expected.

    Examples
    --------
    >>> steps = np.repeat([0.0, 4.0], 40)[None]
    >>> expected_rise(steps, 0.01, False)[0, [39, 42, 79]].round(1).tolist()
    [0.0, 6.6, 25.1]
    """
    runs, steps = values.shape
    count = PRIOR + np.arange(LONGEST)
    shape = 1 + np.arange(LONGEST) / 2
    wider = 1 + 1 / count
    mean, spread = np.zeros((runs, LONGEST)), np.ones((runs, LONGEST))
    chance = np.zeros((runs, LONGEST))
    chance[:, 0] = 1.0
    constant = -np.log(wider) / 2
    if learned:
        constant = constant + [math.lgamma(a + 0.5) - math.lgamma(a) - math.log(a) / 2 for a in shape]
    found = np.empty((runs, steps))
    for step, x in enumerate(np.ascontiguousarray(values.T)):
        apart = x[:, None] - mean
        square = apart * apart / wider
        if learned:
            log = constant - np.log(spread / shape) / 2 - (shape + 0.5) * np.log1p(square / (2 * spread))
        else:
            log = constant - square / 2
        log += np.log(np.maximum(chance, 1e-300))
        chance = np.exp(log - log.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        mean += apart / (count + 1)  # every run goes on by this step
        if learned:
            spread += square / 2
            spread[:, -1] *= shape[-1] / (shape[-1] + 0.5)  # of a run that counts no longer than before
        apart = mean * np.sqrt((shape + 0.5) / spread) if learned else mean
        found[:, step] = (chance * apart * np.sqrt(count + 1)).sum(axis=1)
        # The last two become one, as likely as both.
        ends = chance[:, -2:].sum(axis=1)
        share = chance[:, -2:] / np.maximum(ends, 1e-300)[:, None]
        for state, first in ((mean, 0.0), (spread, 1.0)):
            last = (share * state[:, -2:]).sum(axis=1)
            state[:, 1:] = state[:, :-1].copy()
            state[:, 0], state[:, -1] = first, np.where(ends > 1e-300, last, state[:, -1])
        chance[:, 1:] = (1 - hazard) * chance[:, :-1]
        chance[:, 0], chance[:, -1] = hazard, (1 - hazard) * ends
    return found
