"""The evidence of the alarm: degraded against clean steps, by how new they are, in two small regressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..base.errors import InputError
from ..base.fixed import ONE
from ..log.log import Log, runs_of
from ..monitor.codec import COEF_LIMIT, COEF_UNIT, OFFSET_LIMIT
from .logistic import fit_logistic
from .signal_table import Flags, Floats, Ints, SignalTable
from .words import Finding

FAST = ("odds", "magnitude", "distance")  # what the evidence of a step reads, of the signals in use
CLIP = 3.0  # most that one step says, in nats
COST = 0.02  # share of errors beyond that of clean steps from which a shift counts as degraded
LONG = 300  # steps from which a stretch of a shift is judged by its own errors, not by those of its kind
L2 = 0.01  # penalty on standardized signals, a row
LEAST_WEIGHT = 0.1  # added to the novelty of a step, for its weight: no step is worth nothing
SHRINK = 20.0  # steps of all classes that the mean of one class begins with
WEIGHT = {"odds": 1.0, "distance": 1.0, "magnitude": -0.5}
"""Share of each deviation, where nothing is learned. Degraded input is doubtful and far from its class; most
networks answer it with smaller features, some with larger ones, so that magnitude has half a say."""

LEAST_DEVIATION = 1 / 256  # floor of a deviation, for a signal that hardly moves on clean data


class Moments(NamedTuple):
    """The evidence of a step: coefficients by signal, and an offset a class."""

    names: tuple[str, ...]
    coef: Floats
    offsets: Floats

    def of(self, part: Part) -> Floats:
        """Return the evidence of each step, clipped."""
        x = part.table.of(self.names) / ONE
        value = np.clip(x @ self.coef + self.offsets[part.table.subject], -CLIP, CLIP)
        return np.where(part.frozen, CLIP, value)


@dataclass(frozen=True, eq=False)
class Part:
    """What is learned from of one log."""

    table: SignalTable
    novelty: Floats  # in (0, 1]
    frozen: Flags
    degraded: Flags  # whose shift costs accuracy
    runs: list[slice]  # clean stretches, on which no shift is remembered

    @cached_property
    def clean(self) -> Flags:
        """Steps of the clean stretches."""
        return inside_runs(self.table, self.runs)

    @property
    def teaching(self) -> Flags:
        """Degraded steps that teach: input that stands still is found by that alone."""
        return self.degraded & ~self.frozen


def inside_runs(table: SignalTable, runs: list[slice]) -> Flags:
    """Return which steps lie in some stretches."""
    inside = np.zeros(len(table), dtype=bool)
    for run in runs:
        inside[run] = True
    return inside


def why_not(log: Log, clean_log: Log, names: Sequence[str]) -> Finding | None:
    """Return what is missing for learned evidence; None when it can be learned."""
    if log.labels is None or clean_log.labels is None:
        return {"code": "labels_missing"}
    if log.kinds is None or not (log.kinds > 0).any():
        return {"code": "marks_missing"}
    if not any(name in FAST for name in names):
        return {"code": "signals_missing", "signals": ", ".join(FAST)}
    return None


def degraded_steps(log: Log, clean_rate: float) -> Flags:
    """Return the shifted steps whose shift costs accuracy."""
    assert log.kinds is not None
    wrong = log.errors()
    rates = {int(kind): float(wrong[log.kinds == kind].mean()) for kind in np.unique(log.kinds)}
    out = np.zeros(len(log), dtype=bool)
    for run in runs_of(log, log.kinds):
        kind = int(log.kinds[run.start])
        rate = float(wrong[run].mean()) if run.stop - run.start >= LONG else rates[kind]
        out[run] = kind > 0 and rate > clean_rate + COST
    return out


def learn_moments(parts: Sequence[Part], names: Sequence[str], classes: int) -> Moments:
    """Learn how much more likely a step is on degraded input than on clean."""
    # Centered by class, so that a hard class that stays does not look like a degradation. Both kinds of steps
    # weigh the same: the logit is a log-likelihood ratio. Shifts that cost no accuracy take no part.
    used, x, subject, weights, target = _rows(parts, names)
    means = means_by_class(x[~target], subject[~target], classes, weights[~target])
    coef, bias = _logistic(x - means[subject], target, weights)
    return Moments(used, coef, np.clip(bias - means @ coef, -OFFSET_LIMIT, OFFSET_LIMIT))


def deviations(parts: Sequence[Part], names: Sequence[str], classes: int) -> Moments:
    """Return the mean of deviations from clean means under the same class, standardized: without labels."""
    if not any(name in WEIGHT for name in names):
        raise InputError("missing", f"evidence needs one of the signals {', '.join(WEIGHT)}")
    used, x, subject, weights, target = _rows(parts, names)
    x, subject, weights = x[~target], subject[~target], weights[~target]
    means = means_by_class(x, subject, classes, weights)
    share = np.array([WEIGHT[name] for name in used])
    deviation = np.maximum((x - means[subject]).std(0), LEAST_DEVIATION) if len(x) else LEAST_DEVIATION
    coef = _stored(share / deviation / np.abs(share).sum())
    return Moments(used, coef, np.clip(-(means @ coef), -OFFSET_LIMIT, OFFSET_LIMIT))


def means_by_class(x: Floats, subject: Ints, classes: int, weights: Floats) -> Floats:
    """Return the mean of each column for each class, drawn toward that of all where a class is rare."""
    everywhere = np.average(x, axis=0, weights=weights)
    means = np.empty((classes, x.shape[1]))
    for each in range(classes):
        rows = subject == each
        means[each] = (weights[rows] @ x[rows] + SHRINK * everywhere) / (weights[rows].sum() + SHRINK)
    return means


def _rows(parts: Sequence[Part], names: Sequence[str]) -> tuple[tuple[str, ...], Floats, Ints, Floats, Flags]:
    """Return signals, classes, weights and sides of all clean and degraded steps."""
    used = tuple(name for name in names if name in FAST)
    x, weights, target = _stacked(parts, [part.table.of(used) / ONE for part in parts])
    subject = np.concatenate([part.table.subject[part.clean | part.teaching] for part in parts])
    return used, x, subject.astype(np.int64), weights, target


def _stacked(parts: Sequence[Part], columns: Sequence[Floats]) -> tuple[Floats, Floats, Flags]:
    rows = [part.clean | part.teaching for part in parts]
    x = np.concatenate([each[at] for each, at in zip(columns, rows, strict=True)])
    weights = np.concatenate([part.novelty[at] + LEAST_WEIGHT for part, at in zip(parts, rows, strict=True)])
    target = np.concatenate([part.degraded[at] for part, at in zip(parts, rows, strict=True)])
    return x, weights, target


def _logistic(x: Floats, target: Flags, weights: Floats) -> tuple[Floats, float]:
    high = COEF_LIMIT - 1 / COEF_UNIT
    coef, bias = fit_logistic(x, target, L2 * len(x), -COEF_LIMIT, high, weights=weights)
    stored = _stored(coef)
    return stored, bias + float(x.mean(0) @ (coef - stored))


def _stored(coef: Floats) -> Floats:
    """Return coefficients as the core stores them, so that what goes with them fits."""
    return np.clip(np.round(coef * COEF_UNIT) / COEF_UNIT, -COEF_LIMIT, COEF_LIMIT - 1 / COEF_UNIT)
