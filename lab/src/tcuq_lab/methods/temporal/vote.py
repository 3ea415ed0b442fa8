"""VOTE: a vote over the last predictions, as devices take it to calm a jumping one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..method import Answer, Observed
from ..scores import unsure
from .streaming import COUNTER, Streaming, ages, pasts

TIE = 0.02
"""Weight of 1 - max p below the step between two shares of up to 49 votes: it orders equal votes alone."""


class Vote(Streaming):
    """Share of the last predictions that differ from the current one.

    Settings: `last`, the predictions that vote, the current one among them; `weight`, how much 1 - max p adds
    to the share. A vote knows few values, so a small weight orders equal ones; a weight of 1 sums both.
    """

    name = "vote"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = (
        *({"last": last, "weight": TIE} for last in (1, 3, 5, 9, 17)),
        *({"last": last, "weight": 1.0} for last in (5, 9, 17)),
    )

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer with the network's own posteriors and the share that disagrees."""
        age, predictions = ages(seen), seen.probs.argmax(axis=1)
        against = np.zeros(len(seen))
        for now, then in pasts(age, setting["last"]):
            against[now] += predictions[then] != predictions[now]
        share = against / np.minimum(age + 1, setting["last"])
        return Answer(seen.probs, share + setting["weight"] * unsure(seen.probs))

    def state(self) -> int:
        """Return the bytes of a ring of predictions."""
        size = 1 if self.classes <= 256 else 2
        return int(self.setting["last"] - 1) * size + COUNTER
