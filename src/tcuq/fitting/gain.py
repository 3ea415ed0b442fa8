"""Does time help on this stream, and what does each signal add? Answers by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..metrics import auroc
from ..monitor.params import COEF_LIMIT
from .folds import FOLDS
from .logistic import Rows, fit_logistic, linear

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

HELP = 0.01
"""AUROC that time must add before we say that it helps."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps that a question is answered on.

    Parameters
    ----------
    signals : array of shape (n, k)
        Floats, or uint16 in units of 1/65536.
    target : array of n booleans
        Errors.
    fold : array of n integers
    """

    signals: Rows
    target: Flags
    fold: npt.NDArray[np.int64]

    def columns(self, chosen: Sequence[int]) -> Steps:
        """Return the same steps with some of the signals."""
        return Steps(self.signals[:, list(chosen)], self.target, self.fold)


def held_out_logits(steps: Steps, l2: float, nonnegative: bool) -> Floats:
    """Return logits of each step from a fit on the other folds; NaN where those hold one kind only."""
    target, out = steps.target, np.full(len(steps.target), np.nan)
    for number in range(FOLDS):
        inside = steps.fold == number
        rest = ~inside
        if not inside.any() or target[rest].all() or not target[rest].any():
            continue
        coef, bias = fit_logistic(steps.signals[rest], target[rest], l2, 0.0 if nonnegative else -COEF_LIMIT)
        out[inside] = linear(steps.signals[inside], coef, bias)
    return out


def held_out_auroc(steps: Steps, l2: float, nonnegative: bool) -> float:
    """Return the mean over folds of the AUROC of errors on the fold that was left out."""
    logits, fold = held_out_logits(steps, l2, nonnegative), steps.fold
    # A fold is left out when the others hold one kind only and nothing could be fitted.
    known = [n for n in range(FOLDS) if np.isfinite(logits[fold == n]).all()]
    scores = [auroc(logits[fold == n], steps.target[fold == n]) for n in known]
    scores = [score for score in scores if np.isfinite(score)]
    return float(np.mean(scores)) if scores else float("nan")


@dataclass(frozen=True)
class Gain:
    """What time and each signal gain: the held-out AUROC of errors, in several settings.

    `doubt` is what the current posterior says without any past; `kinds` took turns in being held out, 0
    when segments or stretches of time did.
    """

    stream: float
    shuffle: float
    doubt: float
    without: dict[str, float]
    alone: dict[str, float]
    kinds: int = 0

    @property
    def time_helps(self) -> bool:
        """Whether the order of the steps adds to what the steps say without it."""
        return self.stream - max(self.doubt, self.shuffle) >= HELP

    def sentence(self) -> str:
        """Say it in words."""
        turns = f" with {self.kinds} kinds of shift held out in turn" if self.kinds else ""
        figures = (
            f"held-out AUROC of errors {self.stream:.3f} on the stream{turns}, {self.shuffle:.3f} on its own "
            f"shuffle, {self.doubt:.3f} from the current posterior alone"
        )
        if not np.isfinite([self.stream, self.shuffle, self.doubt]).all():
            return f"Whether time helps cannot be told, with too few errors in some of the folds: {figures}."
        if self.time_helps:
            return f"Time helps here: {figures}."
        if self.stream - self.doubt >= HELP:
            return f"The signals help here, but not through time, as the shuffle does as well: {figures}."
        return (
            f"Time does not help here: {figures}. The past adds less than {HELP}; the stream may be "
            "shuffled, or the classifier's errors may not depend on its past."
        )


def measure_gain(
    names: Sequence[str],
    stream: Steps,
    shuffle: Steps,
    doubt: Steps,
    kinds: int,
    l2: float,
    nonnegative: bool,
    progress: Callable[[int, int], None],
) -> Gain:
    """Measure what time and each signal add on a labeled log.

    `doubt` are the steps of the log with that signal alone.
    """
    total, answered = 3 + len(names) * (2 if len(names) > 1 else 1), 0

    def score(steps: Steps) -> float:
        nonlocal answered
        found = held_out_auroc(steps, l2, nonnegative)
        answered += 1
        progress(answered, total)
        return found

    every = range(len(names))
    return Gain(
        stream=score(stream),
        shuffle=score(shuffle),
        doubt=score(doubt),
        without={
            name: score(stream.columns([c for c in every if c != i])) if len(names) > 1 else float("nan")
            for i, name in enumerate(names)
        },
        alone={name: score(stream.columns([i])) for i, name in enumerate(names)},
        kinds=kinds,
    )
