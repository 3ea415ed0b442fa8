"""Seventh and eighth stage: how accurate the classifier is now; what labels that come late may change."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.errors import InputError
from ...base.fixed import ONE
from ...base.spelling import option
from ...labels.accuracy import SHARE, half_band, new_inputs
from ...log.log import Log
from ...monitor.feedback import Feedback
from ...monitor.monitor import Monitor, run_over
from ...monitor.steps import FROZEN
from .. import right_of
from ..arrays import MOST, leaky_mean
from ..learn_head import inside_runs
from ..signal_table import Flags, Floats, SignalTable, shift_kinds, some_of
from .heads import relearn
from .state import FitState

HORIZON = 32  # steps that the estimate looks back
EVERY, PIECE, FEWEST = 16, 500, 20
"""Steps from one comparison of the band with the truth to the next; steps of clean pieces, which the heads
without one kind judge, then those without the next; fewest comparisons that an error is read off."""

WINDOW, FEW_WINDOWS = 200, 5
"""Steps over which it is compared with the truth; shifted such windows below which labels say too little."""


def estimate_accuracy(state: FitState) -> None:
    """Set the horizon, and measure the error of the estimate with each kind of shift left out in turn."""
    state.progress("accuracy", 0, 1)
    if state.params.sight is not None:
        _by_sight(state)
    elif state.errors is not None and state.request.two_heads:
        uncertainty = state.clean_scores.uncertainty
        start = float(1 - np.concatenate([uncertainty[run] for run in state.clean.runs]).mean())
        findings: dict[str, Any] = {"horizon": HORIZON, "clean_accuracy": start}
        findings |= _error_elsewhere(state, _by_heads(state)) if state.options.explain else {}
        band = findings.pop("accuracy_error", None)
        state.set(horizon=HORIZON, expected_start=start, accuracy_error=band)
        state.findings["expected_accuracy"] = findings
    state.progress("accuracy", 1, 1)


Learn = Callable[[Flags], Floats | None]
"""Returns how likely each step is right, by what some rows of the log teach; None where they cannot."""


def _by_sight(state: FitState) -> None:
    """Set what the expected accuracy is a mean of: uncertainty, what risk leans on, and distance."""
    assert state.params.sight is not None
    weight, findings = 1.0, dict[str, Any]()
    if state.errors is not None:
        chances = _chances(state, state.log, state.table, right_of.WEIGHTS)
        weight = _weight(state, chances, np.ones(len(state.log), dtype=bool))
        if state.options.explain:
            findings = _error_elsewhere(state, lambda kept: chances[_weight(state, chances, kept)])
    clean = inside_runs(state.tables[-1], state.clean.runs)
    start = float(_chances(state, state.clean.log, state.tables[-1], [weight])[weight][clean].mean())
    findings = {"horizon": HORIZON, "clean_accuracy": start, **findings}
    band = findings.pop("accuracy_error", None)
    sight = replace(state.params.sight, accuracy=right_of.weighed(weight).tolist())
    state.set(horizon=HORIZON, expected_start=start, accuracy_error=band, sight=sight)
    state.findings["expected_accuracy"] = findings


def _chances(state: FitState, log: Log, table: SignalTable, weights: Sequence[float]) -> dict[float, Floats]:
    """Return how likely each step of a log is right, with some weights of the distance."""
    steps = run_over(Monitor(state.params), log)
    uncertainty, far, still = steps["uncertainty"], steps["degradation"], steps["moved"] == FROZEN

    def chance(weight: float) -> Floats:
        seen = right_of.chance(uncertainty, table.anchor / ONE, far, weight)
        return np.asarray(np.where(still, 1 - uncertainty, seen))

    return {weight: chance(weight) for weight in weights}


def _weight(state: FitState, chances: dict[float, Floats], kept: Flags) -> float:
    """Return the weight of the distance with which the windows among some rows are closest to the truth."""
    log, wrong = state.log, state.errors
    assert wrong is not None
    windows = [each for each in windows_of(log) if kept[each].all()]
    if log.kinds is None or sum(bool(log.kinds[each].any()) for each in windows) < FEW_WINDOWS:
        return 1.0
    gaps = {
        weight: np.mean([abs(chance[each].mean() - 1 + wrong[each].mean()) for each in windows])
        for weight, chance in chances.items()
    }
    return min(gaps, key=lambda weight: float(gaps[weight]))


def windows_of(log: Log) -> list[slice]:
    """Return the stretches over which an estimate is compared with the truth."""
    ends = [(piece.start, piece.stop - WINDOW + 1) for piece in log.pieces()]
    return [slice(at, at + WINDOW) for start, stop in ends for at in range(start, stop, WINDOW)]


def _by_heads(state: FitState) -> Learn:
    """Return what heads learn from some rows of the log and of its other orders."""
    table, learned = state.table, None
    seed = state.request.seed
    every = [(*each, some_of(np.flatnonzero(each[0].settled), seed)) for each in state.orders()]

    def learn(kept: Flags) -> Floats | None:
        nonlocal learned
        parts = [(each, errors, rows[kept[order[rows]]]) for each, errors, order, rows in every]
        wrong, rows = parts[0][1], parts[0][2]
        if wrong[rows].all() or not wrong[rows].any():
            return None
        learned = relearn(state, parts, learned)
        return np.asarray(1 / (1 + np.exp(np.clip(learned.logits(table), -50, 50))))

    return learn


def _error_elsewhere(state: FitState, learn: Learn) -> dict[str, Any]:
    """Return the mean absolute error on windows that show a kind which was left out of what was learned."""
    log, table, wrong = state.log, state.table, state.errors
    kinds = shift_kinds(log)
    if not kinds or state.shuffle is None or wrong is None:
        return {"error": None, "kinds": 0}
    assert log.kinds is not None
    pieces, right, starts = log.pieces(), ~wrong, ~table.settled
    windows = windows_of(log)
    gaps: list[list[float]] = []
    points: list[Floats] = []
    # The truth is the same leaky mean of what was right, so that both speak of the same steps.
    truth = running(right, starts)
    novelty = np.concatenate([new_inputs(table.novelty[piece] / MOST, HORIZON) for piece in pieces])
    alarm = run_over(Monitor(state.params), log)["alarm"] != 0
    compared = np.zeros(len(log), dtype=bool)
    for piece in pieces:
        compared[piece][EVERY - 1 :: EVERY] = True
    confidence, above, predicted = _simple(state)
    for number, kind in enumerate(kinds):
        held = log.kinds == kind
        chance = learn(~held)
        if chance is None:
            continue
        expected = running(chance, starts)
        pairs = ((expected, right), (confidence, predicted), (above, predicted))
        for at in (each for each in windows if held[each].any()):
            gaps.append([abs(float(one[at].mean() - other[at].mean())) for one, other in pairs])
        shown = held | ((log.kinds == 0) & (np.arange(len(log)) // PIECE % len(kinds) == number))
        points.append(np.column_stack([expected - truth, expected, novelty, alarm])[compared & shown])
        state.progress("accuracy", number + 1, len(kinds) + 1)
    means = np.mean(gaps, axis=0).tolist() if gaps else [None] * 3
    errors = dict(zip(("error", "error_confidence", "error_atc"), means, strict=True))
    return {**errors, "windows": len(gaps), "kinds": len(kinds), "accuracy_error": _errors(points)}


def _simple(state: FitState) -> tuple[Floats, Floats, Flags]:
    """Return confidence and ATC, and where predictions are right, which is what they speak of."""
    log, clean = state.log, state.clean.log
    inside = inside_runs(state.tables[-1], state.clean.runs)
    clean_confidence = clean.confidence()[inside]
    wrong = 0.0 if clean.labels is None else float(clean.errors()[inside].mean())
    confidence = log.confidence()
    return confidence, (confidence > np.quantile(clean_confidence, wrong)).astype(np.float64), ~log.errors()


def _errors(points: list[Floats]) -> tuple[float, float] | None:
    """Return the least errors with which the band holds its share of the truths; None with one kind."""
    if len(points) < 2:
        return None
    rows = np.concatenate(points)
    off, on = (rows[rows[:, 3] == alarm] for alarm in (0, 1))
    return _least(off), _least(on if len(on) >= FEWEST else rows)


def _least(rows: Floats) -> float:
    gaps, expected, novelty, _ = rows.T
    errors = np.arange(1, 101) / 200
    held = [(np.abs(gaps) <= half_band(expected, novelty, error)).mean() >= SHARE for error in errors]
    return float(errors[int(np.argmax(held))] if any(held) else errors[-1])


def running(values: Floats | Flags, starts: Flags) -> Floats:
    """Return the leaky mean of some values, as the core keeps it; it begins with the first of a segment."""
    return leaky_mean(values, np.where(starts, 1.0, 1 / HORIZON))


MEMORY = 16  # steps back that a label may be for, unless told otherwise
LEAST_SHARE = 0.02  # of the log's steps that must be accepted for an error rate to be called reachable
HARM = 0.2  # by how much a harmful shift is taken to raise the share of errors, where labels judge an alarm


def set_feedback(state: FitState) -> None:
    """Set the risk from which on steps are doubtful, and what a label says of the alarm."""
    options = state.options
    memory = options.feedback or (MEMORY if options.max_error is not None else 0)
    if not memory:
        return
    if options.max_error is not None and state.errors is None:
        needs = f"{option('max_error')} needs a log with labels"
        raise InputError("missing", f"{needs}: they tell which risk goes with it")
    reference, findings = 0.0, dict[str, float]()
    if options.max_error is not None:
        reference, findings = _reference(state, options.max_error)
    head = Feedback(memory, options.max_error, reference, hard=options.hard, **_scores(state))
    state.set(feedback=head)
    state.findings["feedback"] = {**findings, "constant": state.params.error_constant}


def _reference(state: FitState, share: float) -> tuple[float, dict[str, float]]:
    """Return the largest risk below which the log's answers are wrong this often at most."""
    steps = run_over(Monitor(state.params), state.log)
    wrong = steps["answer"] != state.log.labels
    order = np.argsort(steps["risk"], kind="stable")
    rate = np.cumsum(wrong[order]) / np.arange(1, len(order) + 1)
    held = np.flatnonzero(rate <= share)
    count = int(held[-1]) + 1 if len(held) else 0
    accepted = count / len(order)
    if accepted < LEAST_SHARE:
        surest = float(rate[max(0, int(LEAST_SHARE * len(order)) - 1)])
        state.note("error_out_of_reach", max_error=share, share=LEAST_SHARE, wrong=surest)
    if count == len(order):
        return 1.0, {"accepted": 1.0}
    return float(steps["risk"][order[count]]), {"accepted": accepted}


def _scores(state: FitState) -> dict[str, float]:
    """Return what a wrong and a right answer say for a harmful shift; 0 without labels."""
    labels = state.clean.log.labels
    if labels is None or state.request.alarm_of == "proved":
        return {}
    runs = state.clean.runs
    steps = run_over(Monitor(state.params), state.clean.log)
    wrong = np.concatenate([(steps["answer"] != labels)[run] for run in runs]) if runs else np.zeros(1)
    clean = min(max(float(wrong.mean()), 0.01), 0.7)
    harmful = clean + HARM
    return {"wrong_score": math.log(harmful / clean), "right_score": math.log((1 - clean) / (1 - harmful))}
