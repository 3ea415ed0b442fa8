"""Rules over the last eight steps with an answer of their own, and nothing to tune."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..method import Answer, Observed
from ..scores import unsure
from .mean_posterior import MeanAnswer
from .streaming import ages, pasts
from .vote import TIE, Vote

LAST = 8
NUDGE = 1e-6
"""Added to the newest vote, half of it to the one before, and so on: it decides ties alone."""


class Vote8(Vote):
    """Answers with the majority of the last eight predictions; of equal ones, with the one seen latest.

    The score is the share of votes against the answer; 1 less the current posterior of the answer orders
    equal shares.
    """

    name = "vote_8"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ({"last": LAST, "weight": TIE},)

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer with the shares of the votes."""
        age, predictions, every = ages(seen), seen.probs.argmax(axis=1), np.arange(len(seen))
        votes = np.zeros(seen.probs.shape)
        votes[every, predictions] = 1 + NUDGE
        for lag, (now, then) in enumerate(pasts(age, setting["last"]), 1):
            votes[now, predictions[then]] += 1 + NUDGE / 2**lag
        chosen = votes.argmax(axis=1)
        count = np.minimum(age + 1, setting["last"])
        against = 1 - np.floor(votes[every, chosen]) / count
        shares = votes / votes.sum(axis=1, keepdims=True)
        return Answer(shares, against + setting["weight"] * unsure(seen.probs, chosen))


class Mean8(MeanAnswer):
    """Answers with the mean of the last eight posteriors; the score is 1 less its largest value."""

    name = "mean_8"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = ({"last": LAST, "answer": "mean"},)
