"""Alarm statistics: causal functions of scores over the steps of runs, (..., T). High says changed.

Each begins with nothing seen, the clean mean standing in, and needs a fixed amount of memory on a device:
a number or two, or a window. Here they are computed for whole runs at once.
"""

from __future__ import annotations

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
    """Return S_t = max(0, S_{t-1} + terms_t - allowance) from S = 0: a walk minus its lowest value so far.

    Examples
    --------
    >>> cusum(np.array([1.0, -3.0, 2.0]), 0.0).tolist()
    [1.0, 0.0, 2.0]
    """
    walk = np.cumsum(terms - allowance, axis=-1)
    return np.asarray(walk - np.minimum(0, np.minimum.accumulate(walk, axis=-1)))


def two_sided_cusum(terms: Floats, allowance: float = 0.5) -> Floats:
    """Return the larger of two sums: of a score that rises, and of one that falls."""
    return np.maximum(cusum(terms, allowance), cusum(-terms, allowance))


def page_hinkley(terms: Floats, allowance: float = 0.25, prior: int = 100) -> Floats:
    """Return the sum of terms above their own running mean and an allowance.

    The running mean starts at the clean mean with the weight of `prior` steps. It follows a change, so
    a slow one is forgiven.
    """
    mean = np.cumsum(terms, axis=-1) / (np.arange(1, terms.shape[-1] + 1) + prior)
    return cusum(terms - mean, allowance)


def shiryaev_roberts(terms: Floats, shift: float = 1.0) -> Floats:
    """Return the logarithm of R_t = (1 + R_{t-1}) * L_t from R = 0.

    L_t is the likelihood ratio of a normal score whose mean has risen by `shift` standard deviations.
    """
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
