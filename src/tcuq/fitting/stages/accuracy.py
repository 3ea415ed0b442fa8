"""Sixth stage: how accurate the classifier is now, estimated from calibrated uncertainty."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...monitor.log import Log
from ...monitor.params import Params
from ..folds import shift_kinds
from ..gated import learn_gated
from ..signal_table import Flags, Floats
from ..some_steps import some_of
from .alarm import AlarmFit

HORIZON = 128
"""Steps that the estimate looks back."""

WINDOW = 200
"""Steps over which it is compared with the truth."""


@dataclass(frozen=True, eq=False)
class Accuracy:
    """The estimate of accuracy.

    Parameters
    ----------
    alarm : AlarmFit
    params : Params
        With horizon and start, where the log has labels.
    findings : dict
    """

    alarm: AlarmFit
    params: Params
    findings: dict[str, Any] = field(default_factory=dict)


def estimate_accuracy(alarm: AlarmFit) -> Accuracy:
    """Set the horizon, and measure the error of the estimate with each kind of shift left out in turn."""
    heads = alarm.threshold.heads
    signals = heads.signals
    reading = signals.reading
    reading.progress("accuracy", 0, 1)
    if signals.errors is None or alarm.params.instant is None:
        reading.progress("accuracy", 1, 1)
        return Accuracy(alarm, alarm.params)
    uncertainty = heads.clean.uncertainty
    clean = np.concatenate([uncertainty[run] for run in reading.clean.runs])
    params = alarm.params.replace(horizon=HORIZON, expected_start=float(1 - clean.mean()))
    findings: dict[str, Any] = {"horizon": HORIZON, "clean_accuracy": float(1 - clean.mean())}
    if reading.options.findings.explain:
        findings |= _error_elsewhere(alarm)
    reading.progress("accuracy", 1, 1)
    return Accuracy(alarm, params, {"expected_accuracy": findings})


def _error_elsewhere(alarm: AlarmFit) -> dict[str, Any]:
    """Return the mean absolute error on windows that show a kind which the heads did not see."""
    heads = alarm.threshold.heads
    signals = heads.signals
    log, table, wrong = signals.reading.log, signals.table, signals.errors
    kinds = shift_kinds(log)
    if not kinds or signals.shuffle is None or wrong is None:
        return {"error": None, "kinds": 0}
    assert log.kinds is not None
    how = signals.reading.options.head
    seed = signals.reading.options.seed
    taught = [(*each, some_of(np.flatnonzero(each[0].settled), seed)) for each in signals.orders()]
    gaps: list[float] = []
    for number, kind in enumerate(kinds):
        held = log.kinds == kind
        parts = [(each, errors, rows[~held[order[rows]]]) for each, errors, order, rows in taught]
        rows = parts[0][2]
        if wrong[rows].all() or not wrong[rows].any():
            continue
        found = learn_gated(heads.weighed, parts, how.l2, how.nonnegative)
        uncertainty = 1 / (1 + np.exp(-np.clip(found.logits(table), -50, 50)))
        gaps += _gaps(log, uncertainty, wrong, held)
        signals.reading.progress("accuracy", number + 1, len(kinds) + 1)
    return {"error": float(np.mean(gaps)) if gaps else None, "windows": len(gaps), "kinds": len(kinds)}


def _gaps(log: Log, uncertainty: Floats, wrong: Flags, held: Flags) -> list[float]:
    """Return how far the estimate is from the truth at the end of each window that shows a held-out step."""
    gaps = []
    for piece in log.pieces():
        level = running(1 - uncertainty[piece], HORIZON)
        errors, shown = wrong[piece], held[piece]
        for stop in range(WINDOW, len(level) + 1, WINDOW):
            if shown[stop - WINDOW : stop].any():
                truth = 1 - errors[stop - WINDOW : stop].mean()
                gaps.append(abs(float(level[stop - 1] - truth)))
    return gaps


def running(values: Floats, horizon: int) -> Floats:
    """Return the leaky mean of some values, as the core keeps it.

    Examples
    --------
    >>> running(np.array([1.0, 0.0]), 16).tolist()
    [1.0, 0.9375]
    """
    out: list[float] = []
    level = float(values[0]) if len(values) else 0.0
    for value in values.tolist():
        level += (value - level) / horizon
        out.append(level)
    return np.array(out)
