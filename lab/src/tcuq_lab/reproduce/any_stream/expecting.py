"""How near the expected accuracy comes to that of the answers, against two rules of the literature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tcuq.metrics.inputs import Bools, Floats
from tcuq.monitor.log import Log

from .drawn import Value, draw, mean_of
from .fits import Monitors, said
from .lines import Line, line
from .units import Unit

COLUMN = "error of the expected accuracy"
OURS, ATC, DOC = "expected_accuracy", "threshold on confidence (ATC)", "difference of confidences (DoC)"
WINDOW = 200
WINDOWS = 5
"""Windows drawn together, as many steps as elsewhere."""


class ConfidenceRules:
    """Accuracy from mean confidence, as development data gives it.

    ATC (average thresholded confidence): the threshold below which as large a share of development steps
    lies as were wrong; the accuracy of a window is its share at or above it. DoC (difference of
    confidences): development accuracy, less the drop of the mean confidence since.

    Parameters
    ----------
    confidence : array of T numbers
    right : array of T booleans

    Examples
    --------
    >>> rules = ConfidenceRules(np.array([0.2, 0.6, 0.8, 1.0]), np.array([False, True, True, True]))
    >>> rules.atc(np.array([0.3, 0.7])), round(rules.doc(np.array([0.5, 0.6])), 3)
    (0.5, 0.65)
    """

    def __init__(self, confidence: Floats, right: Bools) -> None:
        self.accuracy, self.mean = float(right.mean()), float(confidence.mean())
        wrong = int((~right).sum())
        self.threshold = float(np.append(np.sort(confidence), np.inf)[wrong])

    def atc(self, window: Floats) -> float:
        """Return the share of a window at or above the threshold."""
        return float((window >= self.threshold).mean())

    def doc(self, window: Floats) -> float:
        """Return development accuracy less the drop of the mean confidence, within 0 and 1."""
        return min(1.0, max(0.0, self.accuracy - (self.mean - float(window.mean()))))


def window_errors(expected: Floats, right: Bools, window: int = WINDOW) -> Floats:
    """Return how far a value at the end of each window is from the accuracy within it.

    Examples
    --------
    >>> window_errors(np.array([0.0, 0.75, 0.0, 1.0, 1.0]), np.array([1, 0, 1, 1, 1], bool), 2).tolist()
    [0.25, 0.0]
    """
    count = len(right) // window
    truth = right[: count * window].reshape(count, window).mean(axis=1)
    return np.asarray(np.abs(expected[window - 1 : count * window : window] - truth))


def errors(log: Log, steps: Any, rules: ConfidenceRules, has: bool) -> dict[str, Floats]:
    """Return the distance of each row from the accuracy of the answers, window by window.

    Parameters
    ----------
    log : Log
    steps : structured array
        What the monitor said.
    rules : ConfidenceRules
    has : bool
        Whether the monitor expects an accuracy at all.
    """
    right, sure = np.asarray(steps["answer"] == log.labels), log.confidence()
    ends = np.zeros((2, len(log)))
    for end in range(WINDOW, len(log) + 1, WINDOW):
        ends[:, end - 1] = rules.atc(sure[end - WINDOW : end]), rules.doc(sure[end - WINDOW : end])
    found = {OURS: window_errors(steps["expected_accuracy"], right)} if has else {}
    return found | {ATC: window_errors(ends[0], right), DOC: window_errors(ends[1], right)}


def expecting(task: str, units: Sequence[Unit], fits: Sequence[Monitors]) -> list[Line]:
    """Return mean distances over windows on every stream, and by how much ours is below each rule."""
    ready = []
    for unit, fit in zip(units, fits, strict=True):
        right = np.asarray(said(fit.answer, unit.dev)["answer"] == unit.dev.labels)
        ready.append(ConfidenceRules(unit.dev.confidence(), right))
    lines = []
    for stream in units[0].streams:
        values: dict[str, list[Value]] = {}
        lengths = []
        for unit, fit, rules in zip(units, fits, ready, strict=True):
            log = unit.streams[stream].log
            has = fit.answer.horizon > 0
            for row, each in errors(log, said(fit.answer, log), rules, has).items():
                values.setdefault(row, []).append(mean_of(each))
            lengths.append(len(log) // WINDOW)
        found = draw(values, lengths, f"expecting {task} {stream}", WINDOWS)
        lines += [line(task, stream, row, COLUMN, each.mean()) for row, each in found.items()]
        lines += [
            line(task, stream, f"{OURS} - {row}", COLUMN, found[OURS].less(found[row]))
            for row in (ATC, DOC)
            if OURS in found
        ]
    return lines
