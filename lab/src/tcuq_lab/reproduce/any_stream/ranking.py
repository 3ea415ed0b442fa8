"""How well errors of the network's label are ranked: risk against confidence, old monitors, simple rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tcuq.metrics.inputs import Floats
from tcuq.monitor.log import Log
from tcuq.monitor.quantize import quantize_probs

from ...methods.confidence_norm import ConfidenceNorm
from ...methods.method import Labeled, Observed
from ...methods.scores import unsure
from ...methods.temporal.belief import REDRAW, beliefs, mean_run
from ...methods.temporal.mean_posterior import MeanPosterior
from ...methods.temporal.vote import Vote
from .drawn import Value, auroc_of, draw
from .fits import Monitors, said, told
from .lines import Line, line
from .units import Shown, Unit

COLUMN = "AUROC of label errors"
OURS, INT8, FLOAT, TOLD = "risk", "int8 confidence", "float confidence", "extended, told the stream"


def observed(log: Log) -> Observed:
    """Return what a method may see of a log."""
    return Observed(log.probs, log.features, segments=log.segments)


def labeled(log: Log) -> Labeled:
    """Return a log as methods are tuned on it."""
    assert log.labels is not None
    kinds = np.zeros(len(log), np.uint8) if log.kinds is None else log.kinds
    return Labeled(observed(log), log.labels, kinds)


def int8_doubt(log: Log) -> Floats:
    """Return 1 less the confidence that the monitor reads, which has 255 values.

    Examples
    --------
    >>> int8_doubt(Log([[0.999, 0.001], [0.75, 0.25]])).tolist()
    [0.00390625, 0.25]
    """
    top = quantize_probs(log.probs).max(axis=1).astype(np.float64) + 128
    return np.asarray(1 - top / 256)


def redraw_told(log: Log) -> float:
    """Return the chance of another class that a belief is told by a development stream of the same law."""
    classes = log.classes
    return min(1.0, classes / (mean_run(labeled(log)) * (classes - 1)))


class Rules:
    """Simple rules, tuned on the development stream of a network.

    Parameters
    ----------
    dev : Log
    """

    def __init__(self, dev: Log) -> None:
        self._rules = {
            "vote": Vote(),
            "mean posterior": MeanPosterior(),
            "confidence and norm": ConfidenceNorm(),
        }
        if dev.features is None:
            del self._rules["confidence and norm"]
        for rule in self._rules.values():
            rule.fit(labeled(dev))

    def scores(self, shown: Shown) -> dict[str, Floats]:
        """Return the risk of the label by each rule."""
        seen, label = observed(shown.log), shown.log.predictions()
        found = {name: np.asarray(rule.answer(seen).score, np.float64) for name, rule in self._rules.items()}
        found["belief"] = unsure(beliefs(seen, REDRAW), label)
        if shown.told is not None:
            found["belief, told the stream"] = unsure(beliefs(seen, redraw_told(shown.told)), label)
        return found


def scores(unit: Unit, fits: Monitors, rules: Rules, stream: str) -> dict[str, Floats]:
    """Return the risk of the label at each step, by row."""
    shown = unit.streams[stream]
    found = {
        OURS: np.asarray(said(fits.label, shown.log)["risk"]),
        INT8: int8_doubt(shown.log),
        FLOAT: unsure(shown.log.probs),
    }
    if shown.told is not None:
        found[TOLD] = np.asarray(said(told(shown.told), shown.log)["risk"])
    return found | rules.scores(shown)


def ranking(task: str, units: Sequence[Unit], fits: Sequence[Monitors]) -> list[Line]:
    """Return the AUROC of every row on every stream, and by how much ours is above each other."""
    rules = [Rules(unit.dev) for unit in units]
    lines = []
    for stream in units[0].streams:
        values: dict[str, list[Value]] = {}
        for unit, fit, rule in zip(units, fits, rules, strict=True):
            wrong = unit.streams[stream].log.errors()
            for row, score in scores(unit, fit, rule, stream).items():
                values.setdefault(row, []).append(auroc_of(score, wrong))
        lengths = [len(unit.streams[stream].log) for unit in units]
        found = draw(values, lengths, f"ranking {task} {stream}")
        lines += [line(task, stream, row, COLUMN, each.mean()) for row, each in found.items()]
        lines += [
            line(task, stream, f"{OURS} - {row}", COLUMN, found[OURS].less(each))
            for row, each in found.items()
            if row != OURS
        ]
    return lines
