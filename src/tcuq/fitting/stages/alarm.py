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
from .. import alarms
from ..alarms import FEWEST, LEAST_RAISED, clear_at
from ..arrays import added, evidence
from ..learn_head import (
    Part,
    degraded_steps,
    inside_runs,
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
    proved = state.request.alarm_of == "proved"
    summed = state.summed = proved_sum(state) if proved else Summed(state.clean_risk)
    clean = np.concatenate(state.clean_risk)
    _note_support(state, sum(map(len, summed.runs)))
    # In one order, whatever the stretches: the last digit of a sum of floats depends on it.
    mean = float(np.sort(clean).mean())
    alarm = replace(choose_limits(summed, summed.runs, state), mean=mean)
    state.set(evidence=summed.evidence, alarm=alarm)
    state.findings |= {"clean_steps": len(clean), "clean_marked": state.clean.marked}
    state.findings["run_length"] = state.request.run_length
    if summed.evidence is not None:
        state.findings["evidence"] |= summed.findings
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
    limit = math.log(run_length)  # whatever the clean steps show
    return Alarm(rise=AlarmSide(0.0, limit, clear=clear_at(limit)), least_raised=LEAST_RAISED)


def _note_support(state: FitState, count: int) -> None:
    """Note where there are too few clean steps for the run length."""
    run_length = state.request.run_length
    enough = 2 * alarms.SUPPORT * run_length
    if count < FEWEST:
        state.note("no_alarm", steps=count, fewest=FEWEST)
    elif count < enough and state.summed.evidence is None:
        state.note("few_clean", steps=count, run_length=run_length, enough=enough)


def proved_sum(state: FitState) -> Summed:
    """Sum what a bet against clean data earns; its run length is proved where the bet is fair."""
    head, parts = state.params.evidence, alarm_parts(state)
    assert head is not None
    own = [evidence(head, part.table.names, part.table.units, part.table.subject) / ONE for part in parts]
    clean = [each[run] for each, part in zip(own, parts, strict=True) for run in part.runs]
    bet, findings = alarms.fair_bet(np.concatenate(clean), head.clip)
    head = replace(head, bet=bet)
    figures = {"bet": findings, "proved": state.request.run_length}
    return Summed(clean_sums(parts, head), head, figures)


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


SHORTEST = 30  # steps of a stretch below which it says nothing about a delay


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
    """Return what is found of each kind, where the alarm is on in each log."""
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
