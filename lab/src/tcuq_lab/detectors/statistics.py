"""Alarm statistics: causal functions of a method's score, standardized by its own clean scores.

Each has a starting state, to which it returns after an alarm, and needs a fixed amount of memory on a device:
a number or two, or a window. Here they are computed for a whole run at once. High says changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer, number
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

    def standard(self, score: Floats) -> Floats:
        """Return the score in standard deviations from its clean mean."""
        return np.asarray((score - self.mean) / self.sd)

    def rank(self, score: Floats) -> Floats:
        """Return the share of clean scores below, ties counting half: in [0, 1], 1/2 on clean average."""
        below = np.searchsorted(self.ordered, score, side="left")
        upto = np.searchsorted(self.ordered, score, side="right")
        return np.asarray((below + upto) / (2 * len(self.ordered)))

    @cached_property
    def rank_sd(self) -> float:
        """Standard deviation of the clean rank; that of distinct scores when all are equal."""
        return float(self.rank(self.ordered).std()) or UNIFORM_SD


class Statistic(ABC):
    """A statistic of one score.

    It is a pointwise map of the score, `terms`, followed by the part with a memory, `run`; whoever restarts
    often maps once.
    """

    reference: Reference

    def terms(self, score: Floats) -> Floats:
        """Return what each step brings in: the standard score unless a statistic says otherwise."""
        return self.reference.standard(score)

    @abstractmethod
    def run(self, terms: Floats) -> Floats:
        """Return the value after each step, from the starting state."""

    def path(self, score: Floats) -> Floats:
        """Return the value after each step of a run of scores, from the starting state."""
        return self.run(self.terms(score))


Factory = Callable[[Reference], Statistic]


def one_sided(excess: Floats) -> Floats:
    """Return S_t = max(0, S_{t-1} + excess_t) from S = 0: a walk minus its lowest value so far.

    Examples
    --------
    >>> one_sided(np.array([1.0, -3.0, 2.0])).tolist()
    [1.0, 0.0, 2.0]
    """
    walk = np.cumsum(excess)
    return np.asarray(walk - np.minimum(0, np.minimum.accumulate(walk)))


@dataclass(frozen=True, eq=False)
class WindowMean(Statistic):
    """Mean of the last m standard scores, the window being filled with the clean mean at the start."""

    reference: Reference
    m: int = 100

    def __post_init__(self) -> None:
        integer("m", self.m, 1, 1_000_000)

    def run(self, terms: Floats) -> Floats:
        """Return the value after each step, from the starting state."""
        total = np.concatenate([[0.0], np.cumsum(terms)])
        after = np.arange(1, len(terms) + 1)
        return np.asarray((total[after] - total[np.maximum(after - self.m, 0)]) / self.m)


@dataclass(frozen=True, eq=False)
class Ewma(Statistic):
    """Exponentially weighted mean of the standard score, from 0."""

    reference: Reference
    rate: float = 1 / 16

    def __post_init__(self) -> None:
        number("rate", self.rate, 1e-6, 1)

    def run(self, terms: Floats) -> Floats:
        """Return the value after each step, from the starting state."""
        out, lag, keep = self.rate * terms, 1, 1 - self.rate
        while lag < len(out) and keep > 1e-18:  # sums over 1, 2, 4, ... steps, until the rest is nothing
            out[lag:] = out[lag:] + keep * out[:-lag]
            lag, keep = 2 * lag, keep * keep
        return np.asarray(out)


@dataclass(frozen=True, eq=False)
class Cusum(Statistic):
    """One-sided cumulative sum of the standard score above an allowance, in standard deviations."""

    reference: Reference
    allowance: float = 0.5

    def __post_init__(self) -> None:
        number("allowance", self.allowance, 0, 100)

    def run(self, terms: Floats) -> Floats:
        """Return the value after each step, from the starting state."""
        return one_sided(terms - self.allowance)


@dataclass(frozen=True, eq=False)
class TwoSidedCusum(Cusum):
    """The larger of two cumulative sums: a score that rises, and one that falls."""

    def run(self, terms: Floats) -> Floats:
        """Return the value after each step, from the starting state."""
        return np.maximum(one_sided(terms - self.allowance), one_sided(-terms - self.allowance))


@dataclass(frozen=True, eq=False)
class PageHinkley(Statistic):
    """One-sided sum of the standard score above its own running mean and an allowance.

    The running mean starts at the clean mean with the weight of `prior` steps. It follows a change, so
    a slow one is forgiven.
    """

    reference: Reference
    allowance: float = 0.25
    prior: int = 100

    def __post_init__(self) -> None:
        number("allowance", self.allowance, 0, 100)
        integer("prior", self.prior, 0, 1_000_000)

    def run(self, terms: Floats) -> Floats:
        """Return the value after each step, from the starting state."""
        mean = np.cumsum(terms) / (np.arange(1, len(terms) + 1) + self.prior)
        return one_sided(terms - mean - self.allowance)


@dataclass(frozen=True, eq=False)
class ShiryaevRoberts(Statistic):
    """Logarithm of R_t = (1 + R_{t-1}) * L_t from R = 0.

    L_t is the likelihood ratio of a normal score whose mean has risen by `shift` standard deviations.
    """

    reference: Reference
    shift: float = 1.0

    def __post_init__(self) -> None:
        number("shift", self.shift, 1e-3, 100)

    def run(self, terms: Floats) -> Floats:
        """Return the value after each step, from the starting state."""
        ratio = self.shift * terms - self.shift**2 / 2
        walk = np.cumsum(ratio)
        return np.asarray(walk + np.logaddexp.accumulate(-(walk - ratio)) if len(walk) else walk)


@dataclass(frozen=True, eq=False)
class RankCusum(Statistic):
    """One-sided sum of the clean rank of the score, in standard deviations of that rank: no scale matters."""

    reference: Reference
    allowance: float = 0.5

    def __post_init__(self) -> None:
        number("allowance", self.allowance, 0, 100)

    def terms(self, score: Floats) -> Floats:
        """Return the clean rank of each step, standardized."""
        return np.asarray((self.reference.rank(score) - 0.5) / self.reference.rank_sd)

    def run(self, terms: Floats) -> Floats:
        """Return the value after each step, from the starting state."""
        return one_sided(terms - self.allowance)


@dataclass(frozen=True, eq=False)
class FrozenQuantileCount(Statistic):
    """Steps, among the last `window`, whose score is above a quantile of the clean score."""

    reference: Reference
    level: float = 0.9
    window: int = 50

    def __post_init__(self) -> None:
        number("level", self.level, 0, 1)
        integer("window", self.window, 1, 1_000_000)

    def terms(self, score: Floats) -> Floats:
        """Return 1 where the score is above the clean quantile, else 0."""
        ordered = self.reference.ordered
        return np.asarray(score > ordered[min(len(ordered) - 1, int(self.level * len(ordered)))], float)

    def run(self, terms: Floats) -> Floats:
        """Return the value after each step, from the starting state."""
        return trailing_sum(terms.astype(np.int64), self.window).astype(np.float64)


STATISTICS: Mapping[str, Factory] = MappingProxyType(
    {
        "window_mean": WindowMean,
        "window_mean_25": lambda reference: WindowMean(reference, 25),
        "ewma_16": Ewma,
        "ewma_64": lambda reference: Ewma(reference, 1 / 64),
        "cusum": Cusum,
        "two_sided_cusum": TwoSidedCusum,
        "page_hinkley": PageHinkley,
        "shiryaev_roberts": ShiryaevRoberts,
        "rank_cusum": RankCusum,
        "frozen_quantile_count": FrozenQuantileCount,
    }
)
"""Every statistic that is offered to every method. Others join as `{**STATISTICS, "mine": factory}`."""
