"""CONFORMAL: how rare the doubt of an answer is among clean examples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import number

from .given import check_clean
from .method import Answer, Method, MethodCost, Observed, Recorded
from .scores import Doubles, unsure


class Conformal(Method):
    """Split conformal on the doubt 1 - max p; the score is 1 minus the p-value.

    The p-value of a step is (1 + clean development examples with at least its doubt) / (1 + all of them).
    Ties count in full and nothing is drawn at random, so that among examples like the clean ones a p-value is
    at most a level with at most that chance. No labels are used.

    The score never falls where the doubt rises. As a ranking it is BASE up to ties: doubts between two
    neighbors of the clean ones become equal, and so do all beyond the largest. What it adds is the unit: a
    threshold can be told beforehand, see `refused`. There is nothing to tune.
    """

    name = "conformal"
    clean: Doubles | None = None
    """Doubts of clean examples, rising."""

    def learn(self, clean: Recorded, y: npt.NDArray[np.int64]) -> None:
        """Keep the doubts of clean examples; labels decide nothing, but one below 0 is refused."""
        check_clean(self.name, clean.probs, y)
        self.clean = np.sort(unsure(clean.probs))

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Return 1 minus the p-value of every step."""
        return Answer(seen.probs, 1 - p_values(self._clean(), unsure(seen.probs)))

    def refused(self, score: npt.NDArray[np.float64], level: float) -> npt.NDArray[np.bool_]:
        """Return the steps whose p-value is at most a level: at most that share of clean ones, on average."""
        whole = len(self._clean()) + 1
        # The hair saves levels such as 0.29, which times 100 is less than 29.
        most = math.floor(number("level", level, 0, 1) * whole * (1 + 1e-12))
        # Back to counts, in which a comparison is exact.
        return np.asarray(np.rint((1 - score) * whole) <= most)

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return one pass; the clean doubts are stored beside the network."""
        from .counting import counted

        return counted(self.loaded(), shape, stored=len(self._clean()))

    def _clean(self) -> Doubles:
        if self.clean is None:
            raise ValueError("conformal has no clean doubts; learn() with development examples is needed")
        return self.clean


def p_values(clean: Doubles, doubt: Doubles) -> Doubles:
    """Return conformal p-values of doubts against clean ones, which rise."""
    above = len(clean) - np.searchsorted(clean, doubt, side="left")
    return np.asarray((1 + above) / (1 + len(clean)))
