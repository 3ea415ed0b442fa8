"""MEDIAN: the median of the last scores: a mean that one odd step cannot move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..method import Answer, Observed
from ..scores import unsure
from .streaming import COUNTER, Streaming, ages, pasts


class Median(Streaming):
    """Median of 1 - max p over the last steps, the current one among them: `last` in the setting."""

    name = "median"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = tuple(
        {"last": last} for last in (1, 3, 5, 7, 9, 13, 17, 33)
    )

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer with the network's own posteriors and the median."""
        age, values = ages(seen), unsure(seen.probs)
        # What is not there sorts to the end, and the middle is counted from the beginning.
        window = np.full((len(seen), setting["last"]), np.inf)
        window[:, 0] = values
        for lag, (now, then) in enumerate(pasts(age, setting["last"]), 1):
            window[now, lag] = values[then]
        window.sort(axis=1)
        count, every = np.minimum(age + 1, setting["last"]), np.arange(len(seen))
        return Answer(seen.probs, (window[every, (count - 1) // 2] + window[every, count // 2]) / 2)

    def state(self) -> int:
        """Return the bytes of a ring of 8-bit scores."""
        return int(self.setting["last"] - 1) + COUNTER
