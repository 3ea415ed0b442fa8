"""Does time help on this stream, and what does each signal add? Answers by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..metrics.ranking import auroc
from ..monitor.log import Log, watch
from ..monitor.monitor import Monitor
from ..monitor.params import COEF_LIMIT, Params
from ..monitor.signals import NUMBER
from .logistic import fit_logistic

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

FOLDS = 4
BLOCKS = 12
HELP = 0.01
"""AUROC that time must add before we say that it helps."""


def folds(log: Log) -> npt.NDArray[np.int64]:
    """Return a fold number for each step.

    Whole segments where there are enough, else blocks of time. Where the log tells several kinds of
    shift apart, all steps of a kind go into one fold: what is held out is then a kind that the fit
    has not seen, which is what a device will meet.

    Examples
    --------
    >>> folds(Log(np.full((24, 2), 0.5)))[:6].tolist()
    [0, 0, 1, 1, 2, 2]
    >>> folds(Log(np.full((6, 2), 0.5), shifted=[0, 7, 0, 9, 9, 7]))[[1, 3, 4, 5]].tolist()
    [3, 2, 2, 3]
    """
    pieces = log.pieces()
    out = np.arange(len(log)) * BLOCKS // max(1, len(log)) % FOLDS
    if len(pieces) >= FOLDS:
        for number, piece in enumerate(pieces):
            out[piece] = number % FOLDS
    for number, kind in enumerate(shift_kinds(log)):
        # From the last fold down: `tune` keeps that one for its check, and it must hold a shift.
        out[log.kinds == kind] = (FOLDS - 1 - number) % FOLDS
    return out


def shift_kinds(log: Log) -> list[int]:
    """Return the kinds of shift that a log tells apart; none when there are fewer than two."""
    found = [] if log.kinds is None else [int(kind) for kind in np.unique(log.kinds) if kind]
    return found if len(found) > 1 else []


def signals_of(params: Params, log: Log) -> tuple[Floats, Flags]:
    """Return the core's signals in use (T, k), and which steps have a past to speak of."""
    _, values = watch(Monitor(params), log, signals=True)
    settled = np.ones(len(log), dtype=bool)
    for piece in log.pieces():
        settled[piece.start] = False
    return values[:, [NUMBER[name] for name in params.signals]], settled


def held_out_logits(
    values: Floats, target: Flags, fold: npt.NDArray[np.int64], l2: float, nonnegative: bool
) -> Floats:
    """Return logits of each step from a fit on the other folds; NaN where those hold one kind only."""
    out = np.full(len(values), np.nan)
    for number in range(FOLDS):
        inside = fold == number
        rest = ~inside
        if not inside.any() or target[rest].all() or not target[rest].any():
            continue
        coef, bias = fit_logistic(values[rest], target[rest], l2, 0.0 if nonnegative else -COEF_LIMIT)
        out[inside] = values[inside] @ coef + bias
    return out


def held_out_auroc(
    values: Floats, target: Flags, fold: npt.NDArray[np.int64], l2: float, nonnegative: bool
) -> float:
    """Return the mean over folds of the AUROC of errors on the fold that was left out."""
    logits = held_out_logits(values, target, fold, l2, nonnegative)
    # A fold is left out when the others hold one kind only and nothing could be fitted.
    known = [n for n in range(FOLDS) if np.isfinite(logits[fold == n]).all()]
    scores = [auroc(logits[fold == n], target[fold == n]) for n in known]
    scores = [score for score in scores if np.isfinite(score)]
    return float(np.mean(scores)) if scores else float("nan")


def shuffled(log: Log, order: npt.NDArray[np.int64]) -> Log:
    """Return the log with its steps in another order: the same inferences without their time."""
    mixed = log.take(order)
    return Log(mixed.probs, mixed.features, mixed.labels, shifted=mixed.kinds)


@dataclass(frozen=True)
class Gain:
    """What time and each signal gain: the held-out AUROC of errors, in several settings.

    Parameters
    ----------
    stream, shuffle : float
        All signals, on the stream and on its own shuffle.
    doubt : float
        `doubt` alone: what the current posterior says without any past.
    without, alone : dict of str to float
        Each signal left out; each signal alone.
    kinds : int
        Kinds of shift that took turns in being held out; 0 when segments or stretches of time did.
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
    params: Params,
    log: Log,
    values: Floats,
    settled: Flags,
    l2: float,
    nonnegative: bool,
    order: npt.NDArray[np.int64],
) -> Gain:
    """Measure what time and each signal add on a labeled log.

    Parameters
    ----------
    params : Params
        Says which signals and lags.
    log : Log
        With labels.
    values, settled
        From `signals_of`.
    l2, nonnegative
        As in the fit.
    order : array
        The steps in random order, for the shuffle.
    """
    target = log.errors()[settled]
    fold = folds(log)[settled]
    used = values[settled]

    def score(columns: Sequence[int]) -> float:
        return held_out_auroc(used[:, list(columns)], target, fold, l2, nonnegative)

    every = range(len(params.signals))
    mixed = shuffled(log, order)
    mixed_values, mixed_settled = signals_of(params, mixed)
    doubt = Params(classes=log.classes, signals=("doubt",), lags=(), doubt_mix=params.doubt_mix)
    doubt_values, _ = signals_of(doubt, Log(log.probs, segments=log.segments))
    return Gain(
        stream=score(every),
        shuffle=held_out_auroc(
            mixed_values[mixed_settled],
            mixed.errors()[mixed_settled],
            folds(mixed)[mixed_settled],
            l2,
            nonnegative,
        ),
        doubt=held_out_auroc(doubt_values[settled], target, fold, l2, nonnegative),
        without={
            name: score([c for c in every if c != i]) if len(params.signals) > 1 else float("nan")
            for i, name in enumerate(params.signals)
        },
        alone={name: score([i]) for i, name in enumerate(params.signals)},
        kinds=len(shift_kinds(log)),
    )
