"""MEAN_POSTERIOR: the mean of the last posteriors, read at the network's prediction or answered with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ...metrics import aurc
from ..method import Answer, Labeled, Observed
from ..scores import unsure
from .streaming import COUNTER, Streaming, ages, mean_of_last

LAST = (1, 2, 3, 4, 6, 8, 16, 32)


class MeanPosterior(Streaming):
    """1 - the mean of the last posteriors at the answered class.

    Settings: `last`, the posteriors averaged, the current one among them; `answer`, whether the answer is
    that of the network ("own") or of the mean ("mean").
    """

    name = "mean_posterior"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = tuple({"last": last, "answer": "own"} for last in LAST)

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Answer with the network's posteriors, or with their means."""
        mean = mean_of_last(seen.probs, ages(seen), setting["last"])
        if setting["answer"] == "mean":
            return Answer(mean, unsure(mean))
        return Answer(seen.probs, unsure(mean, seen.probs.argmax(axis=1)))

    def state(self) -> int:
        """Return the bytes of a ring of 8-bit posteriors."""
        return int(self.setting["last"] - 1) * self.classes + COUNTER


class MeanAnswer(MeanPosterior):
    """The same mean, which also names the answer."""

    name = "mean_answer"
    grid: ClassVar[tuple[Mapping[str, Any], ...]] = tuple({"last": last, "answer": "mean"} for last in LAST)

    def fit(self, dev: Labeled) -> None:
        """Keep the setting with the least area under risk and coverage.

        Labels, and so errors, differ between settings: one that errs more may rank its errors better.
        """
        best = float("inf")
        for setting in self.grid:
            found = self.score(dev.observed, setting)
            area = aurc(found.score, found.predictions() != dev.labels)
            if area < best:
                best, self.setting = area, setting
