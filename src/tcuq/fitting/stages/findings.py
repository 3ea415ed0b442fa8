"""Last stage: what each signal adds, whether time helps, false alarms elsewhere; all of it into the notes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...log.log import Log
from ...metrics import auroc
from ...monitor.cost import cost
from ...monitor.params import Params
from ...monitor.signals import FEATURE_BASED, ordered
from ..alarms import alarms_in
from ..logistic import Rows, fit_logistic, linear
from ..signal_table import FOLDS, Flags, Ints, folds, shift_kinds, some_of
from ..simple_rules import COVERAGE, left_wrong, looked_at, simple_rules
from ..words import HELP
from .alarm import choose_limits
from .evidence import sight_elsewhere
from .heads import doubt_of
from .state import FitState

HARM = 0.005  # held-out AUROC that a signal may cost before the fit speaks up


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
            _note_harmful(state, findings["signals"])
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
    total, answered = 3 + len(names) * (2 if len(names) > 1 else 1), 0

    def score(signals: Rows, target: Flags = target, fold: Ints = fold) -> float:
        nonlocal answered
        value = held_out_auroc(signals, target, fold, state.options.l2)
        answered += 1
        state.progress("findings", answered, total)
        return value

    stream, every = table.of(names, rows), range(len(names))
    gain = {
        "stream": score(stream),
        "shuffle": score(
            shuffle.table.of(names, mixed), shuffle.errors[mixed], folds(log, shuffle.order)[mixed]
        ),
        "doubt": score(table.of(("doubt",), rows)),
        "kinds": len(shift_kinds(log)),
    }
    others = [[c for c in every if c != i] for i in every]
    without = [score(stream[:, columns]) if columns else np.nan for columns in others]
    alone = [score(stream[:, [i]]) for i in every]
    coef, means = state.params.coef, state.params.clean_means
    figures: dict[str, Any] = {
        "time_helps": gain["stream"] - max(gain["doubt"], gain["shuffle"]) >= HELP,
        "time": gain,
        "signals": {
            name: {
                "coef": coef[name],
                "clean_mean": means[name],
                "alone": alone[i],
                "adds": gain["stream"] - without[i],
            }
            for i, name in enumerate(names)
        },
    }
    if len(rows) < int(table.settled.sum()):
        figures["explained_steps"] = len(rows)
    return figures


def _beside_rules(state: FitState) -> dict[str, Any]:
    """Return errors left at a coverage, of the monitor on folds that it was not fitted to, and of rules."""
    log, wrong = state.log, state.errors
    assert wrong is not None and log.labels is not None and state.held_out is not None
    (seen, logits), rows = state.held_out, looked_at(log)
    if not len(seen):
        return {}
    doubt = doubt_of(state, seen, logits)
    rates = {"monitor": {"wrong": float(wrong[seen].mean()), "left": left_wrong(wrong[seen], doubt)}}
    part = log.take(rows)
    if len(rows) < len(log):  # each block is a stream of its own
        cuts = np.diff(rows, prepend=rows[0]) != 1
        segments = np.zeros(len(rows), dtype=np.int64) if part.segments is None else part.segments
        cuts |= np.diff(segments, prepend=segments[0]) != 0
        part = Log(part.probs, labels=part.labels, segments=np.cumsum(cuts))
    inside = np.isin(rows, seen)
    for rule in simple_rules(part):
        missed = (rule.answers != part.labels)[inside]
        rates[rule.name] = {"wrong": float(missed.mean()), "left": left_wrong(missed, rule.doubt[inside])}
    return {"coverage": COVERAGE, "steps": len(seen), "kinds": len(shift_kinds(log)), "of": rates}


def _note_harmful(state: FitState, signals: Mapping[str, Mapping[str, float]]) -> None:
    """Note each signal that costs AUROC on held-out steps."""
    for name, row in signals.items():
        if row["adds"] <= -HARM:
            what = "features_harm" if name in FEATURE_BASED else "signal_harms"
            state.note(what, signal=name, loss=-row["adds"])


def _run_length_elsewhere(state: FitState) -> dict[str, int] | None:
    """Set the alarm on one half of the clean steps, count false alarms on the other, both ways."""
    if state.request.alarm_of == "sight":
        return sight_elsewhere(state)
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
        if alarm.rise is not None or alarm.fall is not None:  # a half of too few steps shows nothing
            raised, during = alarms_in(halves[there], alarm)
            alarms, inside = alarms + raised, inside + during
            steps += sum(map(len, halves[there]))
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


def held_out_auroc(signals: Rows, target: Flags, fold: Ints, l2: float) -> float:
    """Return the mean AUROC of errors over folds that were left out, where the others hold both values."""
    scores, found = [], None
    for number in range(FOLDS):
        inside = fold == number
        rest = ~inside
        if not inside.any() or target[rest].all() or not target[rest].any():
            continue
        found = fit_logistic(signals[rest], target[rest], l2, start=found)
        scores.append(auroc(linear(signals[inside], *found), target[inside]))
    scores = [score for score in scores if np.isfinite(score)]
    return float(np.mean(scores)) if scores else float("nan")


def without_unused(params: Params) -> tuple[Params, dict[str, Any] | None]:
    """Drop signals and features that no weight reads, and say what that saves; no decision changes."""
    assert params.coef is not None and params.clean_means is not None
    read = {name for name, value in params.coef.items() if value != 0}
    if params.instant is not None:
        read |= {name for name, value in params.instant.coef.items() if value != 0} | {"disbelief"}
    if params.sight is not None:  # which looks at both
        read |= {"odds", *({"distance"} & set(params.signals))}
    if params.evidence is not None:
        # What tells how new a step is stays too.
        read |= {*params.evidence.coef, "distance" if "distance" in params.signals else "odds"}
    if not read:  # a monitor has at least one signal
        read.add("doubt" if "doubt" in params.signals else params.signals[0])
    kept = ordered(read & set(params.signals))
    if params.sight is not None:  # says it all the same: the fit has added this signal, nobody asked for it
        params = _of_signals(
            params, [each for each in params.signals if each in kept or each != "degradation"]
        )
    reads_features = bool(read & set(FEATURE_BASED))
    if kept == params.signals and (reads_features or not params.features):
        return params, None
    slim = _of_signals(params, kept)
    if not reads_features:
        slim = slim.replace(features=0, feature_scale=1.0, feature_zero_point=0)
    before, after = cost(params), cost(slim)
    return slim, {
        "signals": [name for name in params.signals if name not in kept],
        "features": params.features - slim.features,
        "ram_bytes": before.ram_bytes - after.ram_bytes,
        "instructions": before.instructions - after.instructions,
    }


def _of_signals(params: Params, kept: Sequence[str]) -> Params:
    """Return parameters with some of their signals, and of the others nothing."""
    assert params.coef is not None and params.clean_means is not None
    instant = params.instant
    if instant is not None:
        instant = replace(instant, coef={name: instant.coef[name] for name in instant.coef if name in kept})
    return params.replace(
        signals=kept,
        centers=params.centers if "distance" in kept else None,
        instant=instant,
        coef={name: params.coef[name] for name in kept},
        clean_means={name: params.clean_means[name] for name in kept},
    )
