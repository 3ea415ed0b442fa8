"""Last stage: what each signal adds, whether time helps, false alarms elsewhere; all of it into the notes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...base.fixed import ONE
from ...monitor.log import Log
from ...monitor.params import Params
from ...monitor.signals import FEATURE_BASED
from ..alarms import alarms_in
from ..folds import FOLDS, folds, shift_kinds
from ..gain import Gain, Steps, measure_gain
from ..gated import learn_gated
from ..simple_rules import COVERAGE, left_wrong, looked_at, simple_rules
from ..some_steps import some_of
from ..unused import without_unused
from .alarm import choose_limits
from .state import FitState

HARM = 0.005
"""Held-out AUROC that a signal may cost before the fit speaks up."""


def conclude(state: FitState) -> Params:
    """Explain the fit, drop what no weight reads, and write all findings into the notes."""
    options, log, findings = state.options, state.log, state.findings
    state.progress("findings", 0, 1)
    if options.signals is None:
        findings["profile"] = state.request.profile
    if options.explain and state.shuffle is not None:
        findings |= _explained(state)
        if state.request.two_heads:
            findings["rules"] = _beside_rules(state)
        else:  # one head's regression says little of two
            state.notes += _harmful(findings["signals"])
    if options.explain:
        findings["run_length_elsewhere"] = _run_length_elsewhere(state)
    params, dropped = without_unused(state.params) if options.drop_unused else (state.params, None)
    if dropped is None and options.use_features and log.width and not state.params.features:
        dropped = {"signals": [], "features": log.width, "ram_bytes": 0, "instructions": 0}
    if dropped is not None:
        findings["dropped"] = dropped
    if log.shift_names is not None:
        findings["shifts"] = list(log.shift_names)
    findings["warnings"] = state.notes
    state.progress("findings", 1, 1)
    return params.replace(notes={"fit": _plain(findings)})


def _explained(state: FitState) -> dict[str, Any]:
    """Return whether time helps and what each signal adds, on held-out steps."""
    log, table, shuffle, wrong = state.log, state.table, state.shuffle, state.errors
    assert shuffle is not None and wrong is not None
    seed, names = state.request.seed, state.weighed
    rows = some_of(np.flatnonzero(table.settled), seed)
    mixed = some_of(np.flatnonzero(shuffle.table.settled), seed)
    target, fold = wrong[rows], folds(log)[rows]
    gain = measure_gain(
        names,
        Steps(table.of(names, rows), target, fold),
        Steps(shuffle.table.of(names, mixed), shuffle.errors[mixed], folds(log, shuffle.order)[mixed]),
        Steps(table.of(("doubt",), rows), target, fold),
        len(shift_kinds(log)),
        state.options.l2,
        state.options.nonnegative,
        lambda done, total: state.progress("findings", done, total),
    )
    found = {
        "time_helps": gain.time_helps,
        "time": gain.sentence(),
        "signals": _signal_table(state, gain),
    }
    if len(rows) < int(table.settled.sum()):
        found["explained_steps"] = len(rows)
    return found


def _beside_rules(state: FitState) -> dict[str, Any]:
    """Return errors left at a coverage, of the monitor on folds that it was not fitted to, and of rules."""
    log, table, shuffle, wrong = state.log, state.table, state.shuffle, state.errors
    assert shuffle is not None and wrong is not None and log.labels is not None
    fold, mixed_fold = folds(log), folds(log, shuffle.order)
    rows, seed, options = looked_at(log), state.request.seed, state.options
    taught = some_of(np.flatnonzero(table.settled), seed)
    mixed = some_of(np.flatnonzero(shuffle.table.settled), seed)
    logits = np.full(len(log), np.nan)
    for number in range(FOLDS):
        kept, others = taught[fold[taught] != number], mixed[mixed_fold[mixed] != number]
        inside = np.zeros(len(log), dtype=bool)
        inside[rows] = fold[rows] == number
        if inside.any() and wrong[kept].any() and not wrong[kept].all():
            parts = [(table, wrong, kept), (shuffle.table, shuffle.errors, others)]
            found_heads = learn_gated(state.weighed, parts, options.l2, options.nonnegative)
            logits[inside] = found_heads.logits(table, inside)
    seen = rows[np.isfinite(logits[rows])]
    if not len(seen):
        return {}
    uncertainty = 1 / (1 + np.exp(-np.clip(logits[seen], -50, 50)))
    blend = state.params.blend
    doubt = blend * uncertainty + (1 - blend) * table.anchor[seen] / ONE
    found = {"monitor": {"wrong": float(wrong[seen].mean()), "left": left_wrong(wrong[seen], doubt)}}
    part = log.take(rows)
    if len(rows) < len(log):  # each block is a stream of its own
        cuts = np.diff(rows, prepend=rows[0]) != 1
        segments = np.zeros(len(rows), dtype=np.int64) if part.segments is None else part.segments
        cuts |= np.diff(segments, prepend=segments[0]) != 0
        part = Log(part.probs, labels=part.labels, segments=np.cumsum(cuts))
    inside = np.isin(rows, seen)
    for rule in simple_rules(part):
        missed = (rule.answers != part.labels)[inside]
        found[rule.name] = {"wrong": float(missed.mean()), "left": left_wrong(missed, rule.doubt[inside])}
    return {"coverage": COVERAGE, "steps": len(seen), "kinds": len(shift_kinds(log)), "of": found}


def _signal_table(state: FitState, gain: Gain) -> dict[str, dict[str, float]]:
    """Return, for each signal, its coefficient and clean mean, and its held-out AUROC alone and added."""
    coef, means = state.params.coef, state.params.clean_means
    assert coef is not None and means is not None
    return {
        name: {
            "coef": coef[name],
            "clean_mean": means[name],
            "alone": gain.alone[name],
            "adds": gain.stream - gain.without[name],
        }
        for name in state.weighed
    }


def _harmful(signals: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return a note on each signal that costs AUROC on held-out steps."""
    ways = {
        True: "leave the features out with `use_features=False`",
        False: "the standard profile may do better",
    }
    return [
        f"{name} costs {-row['adds']:.3f} of AUROC on held-out steps: what it learned does not carry over; "
        f"{ways[name in FEATURE_BASED]}"
        for name, row in signals.items()
        if row["adds"] <= -HARM
    ]


def _run_length_elsewhere(state: FitState) -> dict[str, int] | None:
    """Set the alarm on one half of the clean steps, count false alarms on the other, both ways."""
    runs = state.summed.runs
    if len(runs) > 1:
        halves = [list(runs[0::2]), list(runs[1::2])]
    elif len(runs[0]) > 1:
        middle = len(runs[0]) // 2
        halves = [[runs[0][:middle]], [runs[0][middle:]]]
    else:
        return None
    alarms = steps = inside = 0
    for here, there in ((0, 1), (1, 0)):
        alarm = choose_limits(state.summed, halves[here], state)
        if alarm.rise is None and alarm.fall is None:
            continue  # a half of too few steps for an alarm shows nothing
        for side, sign in ((alarm.rise, 1), (alarm.fall, -1)):
            if side is not None:
                reference = alarm.mean + sign * side.allowance
                raised, _, during = alarms_in(halves[there], reference, sign, side, alarm.hold)
                alarms, inside = alarms + raised, inside + during
        steps += sum(len(run) for run in halves[there])
    return {"false_alarms": alarms, "steps": steps, "alarm_steps": inside} if steps else None


def _plain(value: Any) -> Any:
    """Return JSON-able content with floats of six digits; NaN becomes null."""
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
