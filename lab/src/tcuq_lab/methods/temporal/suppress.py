"""SUPPRESS: averaged scores, a fixed threshold, silence after each detection, as in keyword spotters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ..method import Answer, Observed
from ..scores import unsure
from .streaming import COUNTER, Streaming, ages, mean_of_last

THRESHOLD = 0.7
"""Averaged confidence from which a detection counts; what is usual, not tuned."""


class Detections(NamedTuple):
    """Steps at which a prediction is reported, and those at which it would be but for the silence."""

    fired: npt.NDArray[np.bool_]
    suppressed: npt.NDArray[np.bool_]


class Suppress(Streaming):
    """1 - max p averaged over the last steps; reports are spaced.

    Settings: `last`, the steps averaged, the current one among them; `threshold`, the averaged confidence at
    which a prediction is reported; `silence`, the steps after a report in which the same one is not reported
    again. The score does not depend on the last two.
    """

    name = "suppress"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = tuple(
        {"last": last, "threshold": THRESHOLD, "silence": 2 * last} for last in (1, 2, 3, 4, 6, 8, 16, 32)
    )

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer with the network's own posteriors and the averaged doubt, during silence too."""
        return Answer(seen.probs, mean_of_last(unsure(seen.probs), ages(seen), setting["last"]))

    def decisions(self, seen: Observed) -> Detections:
        """Return what would be reported, with the setting that was kept."""
        found = self.answer(seen)
        sure = 1.0 - found.score >= self.setting["threshold"]
        predictions = found.predictions().tolist()
        fired = np.zeros(len(seen), dtype=bool)
        for piece in seen.pieces():
            reported, since = -1, 0
            for step in (np.flatnonzero(sure[piece]) + piece.start).tolist():
                if predictions[step] != reported or step - since > self.setting["silence"]:
                    fired[step], reported, since = True, predictions[step], step
        return Detections(fired, sure & ~fired)

    def state(self) -> int:
        """Return the bytes of a ring of 8-bit scores, the prediction reported (2) and the steps since (2)."""
        return int(self.setting["last"] - 1) + COUNTER + 4
