"""Alarm statistics: causal functions of scores over the steps of runs, (..., T). High says changed.

Each begins with nothing seen, the clean mean standing in, and needs a fixed amount of memory on a device:
a number or two, or a window. Here they are computed for whole runs at once.

Bets against clean data (a conformal martingale, an e-process) are told in logarithms. Bayesian online change
point detection (Adams and MacKay 2007) holds a score for normal about a level that is redrawn at a change
point. What is kept is the probability of each run length, the steps since the last change, with the level
that these steps tell. A run length alone does not tell a rise from a fall, so the statistic is the level in
its own standard errors, expected over all run lengths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Floats

from ..metrics.drops import finite, trailing_sum

UNIFORM_SD = 12**-0.5
"""Standard deviation of a rank that is uniform in [0, 1]."""


@dataclass(frozen=True, eq=False)
class Reference:
    """What is known of a method's clean score."""

    mean: float
    sd: float
    ordered: Floats

    @classmethod
    def of(cls, runs: Sequence[npt.ArrayLike]) -> Reference:
        """Return the reference of some clean runs."""
        scores = np.sort(np.concatenate([finite("score", run) for run in runs] or [np.empty(0)]))
        if not len(scores):
            raise ValueError("the clean scores have 0 entries, expected at least 1")
        # A power of two takes scores near 1, where squares neither overflow nor vanish, and rounds nothing.
        _, exponent = np.frexp(max(abs(scores[0]), abs(scores[-1])))
        near = np.ldexp(scores, -exponent)
        spread = float(np.ldexp(near.std(), exponent)) if scores[0] != scores[-1] else 0.0
        return cls(float(np.ldexp(near.mean(), exponent)), spread or 1.0, scores)

    def standard(self, score: Floats, scale: str = "score") -> Floats:
        """Return the score, or its clean rank, in clean standard deviations from the clean mean."""
        if scale == "score":
            return np.asarray((score - self.mean) / self.sd)
        return np.asarray((self.rank(score) - 0.5) / self.rank_sd)

    def rank(self, score: Floats) -> Floats:
        """Return the share of clean scores below, ties counting half: in [0, 1], 1/2 on clean average."""
        below = np.searchsorted(self.ordered, score, side="left")
        upto = np.searchsorted(self.ordered, score, side="right")
        return np.asarray((below + upto) / (2 * len(self.ordered)))

    @cached_property
    def rank_sd(self) -> float:
        """Standard deviation of the clean rank; that of distinct scores when all are equal."""
        return float(self.rank(self.ordered).std()) or UNIFORM_SD


def window_mean(terms: Floats, last: int = 100) -> Floats:
    """Return the mean of the last terms."""
    steps = terms.shape[-1]
    total = np.zeros((*terms.shape[:-1], steps + 1))
    np.cumsum(terms, axis=-1, out=total[..., 1:])
    begins = np.maximum(np.arange(1, steps + 1) - last, 0)
    return np.asarray((total[..., 1:] - total[..., begins]) / last)


def ewma(terms: Floats, rate: float = 1 / 16) -> Floats:
    """Return the exponentially weighted mean."""
    out, lag, keep = rate * terms, 1, 1 - rate
    while lag < out.shape[-1] and keep > 1e-18:  # sums over 1, 2, 4, ... steps, until the rest is nothing
        out[..., lag:] = out[..., lag:] + keep * out[..., :-lag]
        lag, keep = 2 * lag, keep * keep
    return np.asarray(out)


def cusum(terms: Floats, allowance: float = 0.5) -> Floats:
    """Return S_t = max(0, S_{t-1} + terms_t - allowance) from S = 0: a walk minus its lowest value so far."""
    walk = np.cumsum(terms - allowance, axis=-1)
    return np.asarray(walk - np.minimum(0, np.minimum.accumulate(walk, axis=-1)))


def two_sided_cusum(terms: Floats, allowance: float = 0.5) -> Floats:
    """Return the larger of two sums: of a score that rises, and of one that falls."""
    return np.maximum(cusum(terms, allowance), cusum(-terms, allowance))


def page_hinkley(terms: Floats, allowance: float = 0.25, prior: int = 100) -> Floats:
    """Return the sum of terms above an allowance and their running mean, which `prior` clean steps begin."""
    mean = np.cumsum(terms, axis=-1) / (np.arange(1, terms.shape[-1] + 1) + prior)
    return cusum(terms - mean, allowance)


def shiryaev_roberts(terms: Floats, shift: float = 1.0) -> Floats:
    """Return log R_t, R_t = (1 + R_{t-1}) L_t from R = 0; L_t: a normal's mean has risen by `shift`."""
    ratio = shift * terms - shift**2 / 2
    walk = np.cumsum(ratio, axis=-1)
    return np.asarray(walk + np.logaddexp.accumulate(-(walk - ratio), axis=-1) if walk.size else walk)


@dataclass(frozen=True, eq=False)
class Statistic:
    """A map of the score of each step, and what is made of its past; whoever restarts often maps once."""

    terms: Callable[[Floats], Floats]
    run: Callable[[Floats], Floats]

    def path(self, score: Floats) -> Floats:
        """Return the value after each step of a run of scores, from the starting state."""
        return self.run(self.terms(score))


Factory = Callable[[Reference], Statistic]


def of(run: Callable[[Floats], Floats], scale: str = "score") -> Factory:
    """Return a statistic of the standard score or rank."""
    return lambda reference: Statistic(partial(reference.standard, scale=scale), run)


def _above_quantile(reference: Reference, level: float = 0.9, last: int = 50) -> Statistic:
    """Return the steps, among the last ones, whose score is above a quantile of the clean score."""
    ordered = reference.ordered
    limit = ordered[min(len(ordered) - 1, int(level * len(ordered)))]
    return Statistic(
        lambda score: np.asarray(score > limit, dtype=np.float64),
        lambda terms: trailing_sum(terms.astype(np.int64), last).astype(np.float64),
    )


STATISTICS: Mapping[str, Factory] = MappingProxyType(
    {
        "window_mean": of(window_mean),
        "window_mean_25": of(partial(window_mean, last=25)),
        "ewma_16": of(ewma),
        "ewma_64": of(partial(ewma, rate=1 / 64)),
        "cusum": of(cusum),
        "two_sided_cusum": of(two_sided_cusum),
        "page_hinkley": of(page_hinkley),
        "shiryaev_roberts": of(shiryaev_roberts),
        "rank_cusum": of(cusum, "rank"),
        "frozen_quantile_count": _above_quantile,
    }
)
"""Every statistic that is offered to every method. Others join as `{**STATISTICS, "mine": factory}`."""


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
    """Return how many standard errors the level is above the clean one after each step, as is expected."""
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
