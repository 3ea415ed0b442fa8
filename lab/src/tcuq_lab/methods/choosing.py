"""How settings are chosen, the same for every method of an experiment; a method as experiments fit it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics import auroc
from tcuq.metrics.inputs import Floats

from ..harness.types import Answers, Dev, Outputs
from ..metrics import aurc, average_precision
from ..metrics.drops import WINDOW, clean_band, drop_events, pieces, reaches, smooth
from .method import Labeled, Method, Recorded

Bools = npt.NDArray[np.bool_]
Measure = Callable[..., float]
"""Takes score, wrong answers, kinds of shift, segments, and the steps that are judged."""


def errors_alone(
    score: npt.NDArray[Any],
    wrong: Bools,
    kinds: npt.NDArray[np.uint8],
    segments: npt.NDArray[np.int64] | None = None,
    inside: Bools | None = None,
) -> float:
    """Return the AUROC of errors; see `objective` for what is given.

    Examples
    --------
    >>> errors_alone(np.array([0.1, 0.9, 0.5]), np.array([False, True, True]), np.zeros(3, np.uint8))
    1.0
    """
    judged = np.ones(len(wrong), dtype=bool) if inside is None else inside
    return auroc(score[judged], wrong[judged])


def objective(
    score: npt.NDArray[Any],
    wrong: Bools,
    kinds: npt.NDArray[np.uint8],
    segments: npt.NDArray[np.int64] | None = None,
    inside: Bools | None = None,
) -> float:
    """Return how well a score finds errors and drops of accuracy on a development stream."""
    judged = np.ones(len(wrong), dtype=bool) if inside is None else inside
    found = [auroc(score[judged], wrong[judged]), _drops(score, ~wrong, kinds > 0, segments, judged)]
    known = [each for each in found if np.isfinite(each)]
    return float(np.mean(known)) if known else 0.0


def _drops(
    score: npt.NDArray[Any],
    right: Bools,
    shifted: Bools,
    segments: npt.NDArray[np.int64] | None,
    inside: Bools,
) -> float:
    """Return the AUPRC of drop events; NaN without a clean window, or where all or no windows are drops."""
    parts = pieces(len(right), segments)
    try:
        band = clean_band([right[part] for part in parts], WINDOW, [~shifted[part] for part in parts])
    except ValueError:
        return float("nan")
    drops = drop_events(right, band, segments)
    judged = drops.judged & ~reaches(shifted & ~inside, WINDOW, segments)
    event = drops.event[judged]
    if not event.any() or event.all():
        return float("nan")
    return average_precision(smooth(score, WINDOW, segments)[judged], event)


OWN_CLASS = ("vote_8", "mean_8", "belief", "belief_told", "hmm", "mean_answer", "belief_stay", "stacked")
"""Rules over the plain network that answer with a class of their own."""


def speaks_of_prediction(kind: type[Method]) -> bool:
    """Return whether a method answers with the plain network's prediction."""
    return kind.recipe == "plain" and kind.members == 1 and kind.name not in OWN_CLASS


HORIZON = 200
"""Steps that an expected accuracy looks back."""


def causal_mean(values: Floats, last: int) -> Floats:
    """Return the mean of the last values of each step, or of as many as there are."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - last)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))


class Scored:
    """A method of `METHODS`, whose settings are chosen by what an experiment judges by."""

    def __init__(self, kind: type[Method], measure: Measure | None = None) -> None:
        self.method = kind()
        self.method.measure = measure

    def learn(self, clean: Recorded, y: Any) -> None:
        """Learn from what was recorded of clean development examples, before any stream is seen."""
        if type(self.method).learn is not Method.learn:
            self.method.learn(clean, y)

    def fit(self, dev: Dev) -> None:
        """Keep the setting that is best on the judged steps of a development stream."""
        self.method.fit(labeled(dev))

    def watch(self, seen: Outputs) -> Answers:
        """Return its score and its class, and what it says of the plain network's prediction."""
        found = self.method.answer(seen)
        score = np.asarray(found.score, dtype=np.float64)
        accuracy = None
        if self.method.calibrated:
            accuracy = np.concatenate([1 - causal_mean(score[piece], HORIZON) for piece in seen.pieces()])
        if speaks_of_prediction(type(self.method)):
            return Answers(score, found.predictions(), prediction_risk=score)
        return Answers(score, found.predictions(), None, accuracy, None, self._tied(seen), found.probs)

    def _tied(self, seen: Outputs) -> Any:
        """Return what a vote says of the prediction: its shares are few, so ties are ordered as its own."""
        if self.method.name != "vote_8":
            return None
        from .rules import LAST, TIE, Vote

        return np.asarray(Vote().score(seen, {"last": LAST, "weight": TIE}).score, dtype=np.float64)

    @property
    def choice(self) -> dict[str, Any]:
        """What was chosen on a stream, as JSON takes it."""
        found = {name: _plain(value) for name, value in self.method.setting.items()}
        for name in ("temperature", "coef", "bias"):
            value = vars(self.method).get(name)
            if value is not None:
                found[name] = _plain(value)
        return found


def labeled(dev: Dev) -> Labeled:
    """Return the steps of a development stream that are judged."""
    kept = dev.labels >= 0
    if kept.all():
        return Labeled(dev.outputs(), dev.labels, dev.shifted)
    return Labeled(dev.taken(kept), dev.labels[kept], dev.shifted[kept])


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, np.ndarray)):
        return [_plain(each) for each in value]
    return round(float(value), 6) if isinstance(value, (float, np.floating)) else value


def least_area(method: Method, dev: Labeled) -> Mapping[str, Any]:
    """Return the setting with the least area under risk and coverage, the first of equal ones.

    Where settings answer differently, errors differ too: one that errs more may rank its errors better.
    """

    def area(setting: Mapping[str, Any]) -> float:
        found = method.score(dev.observed, setting)
        return aurc(found.score, found.predictions() != dev.labels)

    return min(method.grid, key=area)
