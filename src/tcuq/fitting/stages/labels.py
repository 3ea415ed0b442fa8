"""Eighth stage: what labels that come late may change on the device."""

from __future__ import annotations

import math

import numpy as np

from ...base.errors import InputError
from ...monitor.feedback import Feedback
from ...monitor.log import watch
from ...monitor.monitor import Monitor
from .state import FitState

MEMORY = 16
"""Steps back that a label may be for, unless told otherwise."""

LEAST_SHARE = 0.02
"""Of the log's steps that must be accepted for an error rate to be called reachable."""

HARM = 0.2
"""By how much a harmful shift is taken to raise the share of errors, where labels judge an alarm."""


def set_feedback(state: FitState) -> None:
    """Set the risk from which on steps are doubtful, and what a label says of the alarm."""
    options = state.options
    memory = options.feedback or (MEMORY if options.max_error is not None else 0)
    if not memory:
        return
    if options.max_error is not None and state.errors is None:
        raise InputError("missing", "max_error needs a log with labels: they tell which risk goes with it")
    reference, findings = 0.0, dict[str, float]()
    if options.max_error is not None:
        reference, findings = _reference(state, options.max_error)
    head = Feedback(memory, options.max_error, reference, hard=options.hard, **_scores(state))
    state.params = state.params.replace(feedback=head)
    state.findings["feedback"] = {**findings, "constant": state.params.error_constant}


def _reference(state: FitState, share: float) -> tuple[float, dict[str, float]]:
    """Return the largest risk below which the log's answers are wrong this often at most."""
    steps = watch(Monitor(state.params), state.log)
    wrong = steps["answer"] != state.log.labels
    order = np.argsort(steps["risk"], kind="stable")
    rate = np.cumsum(wrong[order]) / np.arange(1, len(order) + 1)
    held = np.flatnonzero(rate <= share)
    count = int(held[-1]) + 1 if len(held) else 0
    accepted = count / len(order)
    if accepted < LEAST_SHARE:
        surest = f"even of the surest {LEAST_SHARE:.0%} of the log's answers"
        wrong_share = f"{rate[max(0, int(LEAST_SHARE * len(order)) - 1)]:.1%} are wrong"
        state.notes.append(
            f"max_error {share:g} is out of reach: {surest} {wrong_share}; a larger one is needed"
        )
    if count == len(order):
        return 1.0, {"accepted": 1.0}
    return float(steps["risk"][order[count]]), {"accepted": accepted}


def _scores(state: FitState) -> dict[str, float]:
    """Return what a wrong and a right answer say for a harmful shift; 0 without labels."""
    labels = state.clean.log.labels
    if labels is None or state.request.alarm_of == "proved":
        return {}
    runs = state.clean.runs
    steps = watch(Monitor(state.params), state.clean.log)
    wrong = np.concatenate([(steps["answer"] != labels)[run] for run in runs]) if runs else np.zeros(1)
    clean = min(max(float(wrong.mean()), 0.01), 0.7)
    harmful = clean + HARM
    return {"wrong_score": math.log(harmful / clean), "right_score": math.log((1 - clean) / (1 - harmful))}
