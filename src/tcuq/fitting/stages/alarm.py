"""Fifth and sixth stage: where the threshold starts; what the alarm sums, and its limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.fixed import ONE
from ...log.class_names import shift_shown
from ...monitor.alarm import Alarm, AlarmSide
from ...monitor.heads import EvidenceHead
from ...monitor.monitor import Monitor, run_over
from ...monitor.params import Params
from ...monitor.signals import SLOW
from .. import alarms
from ..alarms import ALLOWANCE_NATS, FEWEST, LEAST_RAISED, choose_evidence_limit, clear_at
from ..arrays import added, alarm_on, evidence, leaky_mean
from ..learn_head import (
    CLIP,
    Moments,
    Part,
    degraded_steps,
    deviations,
    inside_runs,
    learn_moments,
    slow_sum,
)
from ..signal_table import Flags, Floats, shift_kinds
from .evidence import parts_of
from .state import FitState, Summed


def set_threshold(state: FitState) -> None:
    """Set reference and slope from the risk on clean steps."""
    state.progress("threshold", 0, 1)
    level = state.params.level
    risk = state.clean_scores.risk
    state.clean_risk = [risk[run] for run in state.clean.runs]
    pooled = np.sort(np.concatenate(state.clean_risk))
    count = len(pooled)
    # The rank that a fresh clean step exceeds with probability at most `level`.
    rank = min(count, math.ceil((1 - level) * (count + 1)))
    reference = float(pooled[rank - 1])
    if (pooled >= reference).mean() > level:
        # Flagging is >=, so a tie at the reference would flag all of it.
        reference = min(1.0, reference + 1 / ONE)
    high, low = np.quantile(pooled, [1 - level / 2, max(0.0, 1 - 2 * level)])
    # Ten flags of debt move the threshold by half of what separates half the level from twice it.
    slope = float(np.clip((high - low) / 20, 1e-4, 0.02))
    state.set(reference=reference, slope=slope)
    state.progress("threshold", 1, 1)


def set_alarm(state: FitState) -> None:
    """Choose what is summed, then its limit from clean stretches."""
    state.progress("alarm", 0, 1)
    if state.request.alarm_of == "sight":
        _say_of_sight(state)
        state.progress("alarm", 1, 1)
        return
    summed = state.summed = choose_sum(state)
    clean = np.concatenate(state.clean_risk)
    count = sum(map(len, summed.runs))
    _note_support(state, count)
    if _all_new(state):
        state.note("all_new_proved" if summed.proved else "all_new")
    # In one order, whatever the stretches: the last digit of a sum of floats depends on it.
    mean = float(np.sort(clean).mean())
    alarm = replace(choose_limits(summed, summed.runs, state), mean=mean)
    state.set(evidence=summed.evidence, alarm=alarm)
    state.findings |= {"clean_steps": len(clean), "clean_marked": state.clean.marked}
    state.findings["run_length"] = state.request.run_length
    if summed.evidence is not None:
        state.findings["evidence"] |= summed.findings
        if state.options.explain and not summed.proved:
            state.findings["left_out"] = state.left_out if state.learned else find_left_out(state, False)
    state.progress("alarm", 1, 1)


def _say_of_sight(state: FitState) -> None:
    """Note what the alarm, which was fitted before the heads, finds and promises."""
    clean, run_length = len(np.concatenate(state.clean_risk)), state.request.run_length
    state.findings |= {"clean_steps": clean, "clean_marked": state.clean.marked, "run_length": run_length}
    if FEWEST <= clean < run_length:
        state.note("few_clean", steps=clean, run_length=run_length, enough=run_length)
    if state.options.explain:
        state.findings["left_out"] = found_by_sight(state)


def choose_limits(summed: Summed, runs: Sequence[Floats], state: FitState) -> Alarm:
    """Choose the limits of an alarm from what it sums on some clean stretches."""
    run_length = state.request.run_length
    if summed.evidence is None:
        return alarms.choose_alarm(runs, run_length, state.rng)
    if sum(map(len, runs)) < FEWEST:
        return Alarm()
    # The limit of a bet depends on the run length alone.
    limit = math.log(run_length)
    if not summed.proved:
        limit = choose_evidence_limit(runs, run_length, state.learned)
    return Alarm(rise=AlarmSide(0.0, limit, clear=clear_at(limit)), least_raised=LEAST_RAISED)


def _note_support(state: FitState, count: int) -> None:
    """Note where there are too few clean steps for the run length."""
    run_length = state.request.run_length
    enough = run_length if state.summed.evidence is not None else 2 * alarms.SUPPORT * run_length
    if count < FEWEST:
        state.note("no_alarm", steps=count, fewest=FEWEST)
    elif count < enough and not state.summed.proved:
        state.note("few_clean", steps=count, run_length=run_length, enough=enough)


REPEATED, STRETCH, FEW = 0.25, 100, 0.3
"""Novelty of a step that repeats the one before, and which share of so many clean steps do so at most in logs
without held objects and overlapping windows: up to 20 % on five networks. With a stretch of them 77 % or more
on six; over whole logs 29 to 78 % on seventeen networks."""


def _all_new(state: FitState) -> bool:
    """Tell whether the clean log shows no held object, which features alone tell from a new one."""
    if state.summed.evidence is None or state.options.baseline_inputs or not state.params.features:
        return False
    repeated = np.concatenate([part.novelty[part.clean] for part in alarm_parts(state)]) < REPEATED
    if len(repeated) < FEWEST:
        return False
    return bool(np.convolve(repeated, np.ones(STRETCH), "valid").max() <= FEW * STRETCH)


def choose_sum(state: FitState) -> Summed:
    """Return what was asked for: evidence, learned or from deviations, a bet on it, or the risk."""
    if state.request.alarm_of == "risk":
        return Summed(state.clean_risk)
    return proved_sum(state) if state.request.alarm_of == "proved" else careful_sum(state)


def careful_sum(state: FitState) -> Summed:
    """Sum what degradation and drift say, as far as steps are new, less a small allowance."""
    head, parts = state.params.evidence, alarm_parts(state)
    assert head is not None
    names = [name for name in SLOW if name in state.params.signals]
    columns = [part.table.of(names) / ONE for part in parts]
    coef, bias = slow_sum(parts, columns, state.learned)
    given = dict(zip(names, coef.tolist(), strict=True))
    head = replace(head, coef={**head.coef, **given}, bias=bias, allowance=ALLOWANCE_NATS)
    runs, findings = clean_sums(parts, head), {"slow": given, "bias": head.bias}
    if state.options.baseline_inputs:
        novelty = np.concatenate([part.novelty[run] for part in parts for run in part.runs])
        mean = float((np.concatenate(runs) + ALLOWANCE_NATS).sum() / novelty.sum())
        head = replace(head, baseline=(state.options.baseline_inputs or 0, mean, alarms.BASELINE_MOST))
    return Summed(runs, head, findings=findings)


def proved_sum(state: FitState) -> Summed:
    """Sum what a bet against clean data earns; its run length is proved where the bet is fair."""
    head, parts = state.params.evidence, alarm_parts(state)
    assert head is not None
    own = [evidence(head, part.table.names, part.table.units, part.table.subject) / ONE for part in parts]
    clean = [each[run] for each, part in zip(own, parts, strict=True) for run in part.runs]
    bet, findings = alarms.fair_bet(np.concatenate(clean), head.clip)
    head = replace(head, bet=bet)
    figures = {"bet": findings, "proved": state.request.run_length}
    return Summed(clean_sums(parts, head), head, proved=True, findings=figures)


def alarm_parts(state: FitState) -> list[Part]:
    """Return what the sum is learned from, with novelty as the core had it."""
    return parts_of(state, state.tables, [table.novelty for table in state.tables])


def clean_sums(parts: Sequence[Part], head: EvidenceHead) -> list[Floats]:
    """Return what the alarm adds to its sum at each step of the clean stretches."""
    stretches = []
    for part in parts:
        table = part.table
        every = added(head, table.names, table.units, table.subject, table.novelty) / ONE
        stretches += [every[run] for run in part.runs]
    return stretches


CLEARLY = 0.1
"""Share of harmful steps that deviations must find more of: less does not carry over to other examples."""


def labels_mislead(state: FitState) -> bool:
    """Tell whether learned evidence does clearly worse on kinds left out; earlier stages then run again."""
    if not state.learned or state.request.alarm_of == "proved":
        return False
    state.left_out, plain = find_left_out(state, True), find_left_out(state, False)
    if state.left_out is None or plain is None:
        return False
    more = plain["on_shifted"] - state.left_out["on_shifted"]
    if more < CLEARLY or plain["on_clean"] > state.left_out["on_clean"]:
        return False
    rates = {"harmful": state.left_out["on_shifted"], "clean": state.left_out["on_clean"]}
    rates |= {"harmful_plain": plain["on_shifted"], "clean_plain": plain["on_clean"]}
    state.misled = {"code": "labels_mislead", **rates}
    state.note("deviations_used", **rates)
    return True


SHORTEST = 30  # steps of a stretch below which it says nothing about a delay


def find_left_out(state: FitState, learned: bool) -> dict[str, Any] | None:
    """Return how alarms do on costly kinds of shift that they were not learned from; None below two."""
    parts = alarm_parts(state)
    if sum(part.clean.sum() for part in parts) < FEWEST:
        return None
    degraded, marks = parts[0].degraded, dict[int, list[Flags]]()
    for kind in _costly(state, degraded):
        held = degraded & (state.log.kinds == kind)
        kept = [replace(parts[0], degraded=degraded & ~held), *parts[1:]]
        if learned and sum(part.teaching.sum() for part in kept) < FEWEST:
            continue
        if learned or not marks:
            found = _alarms(kept, state.params, state.request.run_length, learned)
        marks[kind] = found
    return judged_by_kind(state, degraded, [part.clean for part in parts], marks)


def found_by_sight(state: FitState) -> dict[str, Any] | None:
    """Return how the alarm does on costly kinds of shift, none of which it was fitted to; None below two."""
    log, table = state.log, state.tables[-1]
    unlabeled = log.labels is None or state.clean.log.labels is None
    if state.params.sight is None or log.kinds is None or unlabeled:
        return None
    clean = inside_runs(table, state.clean.runs)
    wrong = float((table.predictions != state.clean.log.labels)[clean].mean())
    degraded = degraded_steps(log, wrong)
    found = [run_over(Monitor(state.params), each)["alarm"] != 0 for each in state.logs]
    calm = [clean] if len(found) == 1 else [np.zeros(len(log), dtype=bool), clean]
    return judged_by_kind(state, degraded, calm, dict.fromkeys(_costly(state, degraded), found))


def _costly(state: FitState, degraded: Flags) -> list[int]:
    """Return the kinds of shift that cost accuracy."""
    kinds = state.log.kinds
    if kinds is None:
        return []
    return [kind for kind in shift_kinds(state.log) if (degraded & (kinds == kind)).any()]


def judged_by_kind(
    state: FitState, degraded: Flags, clean: Sequence[Flags], marks: dict[int, list[Flags]]
) -> dict[str, Any] | None:
    """Return what is found of each kind, where the alarm of a fit without it is on in each log."""
    log = state.log
    delays: dict[int, list[float]] = {}
    on_kind: dict[int, Flags] = {}
    on_clean: list[Flags] = []
    for kind, found in marks.items():
        held = degraded & (log.kinds == kind)
        ends = np.flatnonzero(np.diff(np.concatenate([[0], held, [0]])))
        shown = [found[0][start:stop] for start, stop in zip(ends[::2], ends[1::2], strict=True)]
        judged_on = [on for on in shown if len(on) >= SHORTEST]
        delays[kind] = [float(np.argmax(on)) if on.any() else np.inf for on in judged_on]
        on_kind[kind] = found[0][held]
        on_clean += [on[calm] for on, calm in zip(found, clean, strict=True)]
    judged = {kind: each for kind, each in delays.items() if each}
    if len(judged) < 2:
        return None
    every = [delay for each in judged.values() for delay in each]
    return {
        "kinds": len(judged),
        "found": int(sum(np.isfinite(each).mean() >= 0.5 for each in judged.values())),
        "stretches": len(every),
        "stretches_found": int(np.isfinite(every).sum()),
        "delay": float(np.median(every)),
        "on_shifted": float(np.concatenate(list(on_kind.values())).mean()),
        "on_clean": float(np.concatenate(on_clean).mean()),
        "by_kind": {
            shift_shown(kind, log.shift_names): {
                "stretches": len(each),
                "found": int(np.isfinite(each).sum()),
                "delay": float(np.median(each)),
                "on": float(np.mean(on_kind[kind])),
            }
            for kind, each in judged.items()
        },
    }


def _alarms(parts: Sequence[Part], params: Params, run_length: int, learned: bool) -> list[Flags]:
    """Return where the alarm is on, in each part."""
    moments = (learn_moments if learned else deviations)(parts, params.signals, params.classes)
    columns = [slow_columns(part, moments, params) for part in parts]
    coef, bias = slow_sum(parts, columns, learned)
    pairs = zip(columns, parts, strict=True)
    sums = [np.clip(x @ coef + bias, -CLIP, CLIP) * part.novelty - ALLOWANCE_NATS for x, part in pairs]
    clean = [each[run] for each, part in zip(sums, parts, strict=True) for run in part.runs]
    limit = choose_evidence_limit(clean, run_length, learned)
    return [alarm_on(each, limit, clear_at(limit), LEAST_RAISED) for each in sums]


def slow_columns(part: Part, moments: Moments, params: Params) -> Floats:
    """Return degradation under some evidence, and drift where it is in use, as signals."""
    degradation = 0.5 + leaky_mean(moments.of(part), part.novelty / 8) / 16
    if "drift" not in params.signals:
        return degradation[:, None]
    return np.column_stack([degradation, part.table.of(("drift",))[:, 0] / ONE])
