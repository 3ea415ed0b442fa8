"""Sixth stage: what the alarm sums, and from which limit on it is raised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from ...base.fixed import ONE
from ...monitor.alarm import Alarm, AlarmSide
from ...monitor.evidence_head import EvidenceHead
from ...monitor.signals import SLOW
from ..alarms import (
    ALLOWANCE_NATS,
    FEWEST,
    HOLD,
    OWN_MOST,
    SUPPORT,
    caution_of,
    choose_alarm,
    choose_evidence_limit,
    clear_at,
    fair_bet,
)
from ..learn_head import Part, learn_sum, standard_sum
from ..left_out import find_left_out
from ..looks import MOST
from ..signal_table import Floats, chunks
from .evidence import parts_of
from .state import FitState, Summed


def set_alarm(state: FitState) -> None:
    """Choose what is summed, then its limit from clean stretches."""
    state.progress("alarm", 0, 1)
    summed = state.summed = choose_sum(state)
    clean = np.concatenate(state.clean_risk)
    count = sum(map(len, summed.runs))
    state.notes += _support(state, count) + _all_new(state)
    # In one order, whatever the stretches: the last digit of a sum of floats depends on it.
    mean = float(np.sort(clean).mean())
    alarm = replace(choose_limits(summed, summed.runs, state), mean=mean)
    state.params = state.params.replace(evidence=summed.evidence, alarm=alarm)
    state.findings |= {
        "clean_steps": len(clean),
        "clean_marked": state.clean.marked,
        "run_length": state.request.run_length,
    }
    if summed.evidence is not None:
        state.findings["evidence"] |= summed.findings
        if state.options.explain and not summed.proved:
            state.findings["left_out"] = find_left_out(
                state.log, alarm_parts(state), state.params, state.request.run_length, state.learned
            )
    state.progress("alarm", 1, 1)


def choose_limits(summed: Summed, runs: Sequence[Floats], state: FitState) -> Alarm:
    """Choose the limits of an alarm from what it sums on some clean stretches."""
    run_length = state.request.run_length
    if summed.evidence is None:
        return choose_alarm(runs, run_length, state.rng)
    if sum(map(len, runs)) < FEWEST:
        return Alarm()
    # The limit of a bet depends on the run length alone.
    caution = caution_of(state.learned)
    limit = math.log(run_length) if summed.proved else choose_evidence_limit(runs, run_length, caution)
    return Alarm(rise=AlarmSide(0.0, limit, clear=clear_at(limit)), hold=HOLD)


def _support(state: FitState, count: int) -> list[str]:
    """Return a note where there are too few clean steps for the run length."""
    run_length = state.request.run_length
    if count < FEWEST:
        return [f"no alarm is set: {count} clean steps are too few, {FEWEST} are needed"]
    enough = run_length if state.summed.evidence is not None else 2 * SUPPORT * run_length
    if state.summed.proved or count >= enough:
        return []
    return [
        f"{count:,} clean steps are too few to check one false alarm in {run_length:,} ({enough:,} would "
        "do): several times as many may come"
    ]


REPEATED, STRETCH, FEW = 0.25, 100, 0.3
"""Look of a step that repeats the one before, and which share of so many clean steps do so at most in logs
without held objects and overlapping windows: up to 20 % on five networks. With a stretch of them 77 % or more
on six; over whole logs 29 to 78 % on seventeen networks."""


def _all_new(state: FitState) -> list[str]:
    """Return a note where the clean log does not show how the alarm takes held objects.

    Features tell a held object from a new one; a softmax is much the same for both.
    """
    if state.summed.evidence is None or state.options.own_looks or not state.params.features:
        return []
    repeated = np.concatenate([part.looks[part.clean] for part in alarm_parts(state)]) < REPEATED
    if len(repeated) < FEWEST or np.convolve(repeated, np.ones(STRETCH), "valid").max() > FEW * STRETCH:
        return []
    own = "" if state.summed.proved else ", or fit with `own_looks=200`"
    return [
        "features hardly ever repeat in the clean log, as they do where an object is held or windows "
        f"overlap: if your devices see that, record a clean stretch of it{own}; else the alarm may be on for "
        "much of clean time"
    ]


def choose_sum(state: FitState) -> Summed:
    """Return what was asked for: evidence, learned or from deviations, a bet on it, or the risk."""
    if state.request.alarm_of == "risk":
        return Summed("risk", state.clean_risk)
    return proved_sum(state) if state.request.alarm_of == "proved" else careful_sum(state)


def careful_sum(state: FitState) -> Summed:
    """Sum what severity and drift say, as far as steps are new, less a small allowance."""
    head, parts = state.params.evidence, alarm_parts(state)
    assert head is not None
    names = [name for name in SLOW if name in state.params.signals]
    columns = [part.table.of(names) / ONE for part in parts]
    coef, bias = (learn_sum if state.learned else standard_sum)(parts, columns)
    given = dict(zip(names, coef.tolist(), strict=True))
    head = replace(head, coef={**head.coef, **given}, bias=bias, allowance=ALLOWANCE_NATS)
    runs, findings = added(parts, head), {"slow": given, "bias": head.bias}
    if state.options.own_looks:
        looks = np.concatenate([part.looks[run] for part in parts for run in part.runs])
        mean = float((np.concatenate(runs) + ALLOWANCE_NATS).sum() / looks.sum())
        head = replace(head, own=(state.options.own_looks, mean, OWN_MOST))
    return Summed(_of(state), runs, head, findings=findings)


def proved_sum(state: FitState) -> Summed:
    """Sum what a bet against clean data earns; its run length is proved where the bet is fair."""
    head, parts = state.params.evidence, alarm_parts(state)
    assert head is not None
    clean = [
        head.values(part.table.registry(run), part.table.subject[run]) for part in parts for run in part.runs
    ]
    bet, findings = fair_bet(np.concatenate(clean), head.clip)
    head = replace(head, bet=bet)
    told = {"bet": findings, "proved": state.request.run_length}
    return Summed(_of(state), added(parts, head), head, proved=True, findings=told)


def _of(state: FitState) -> Literal["learned", "deviations"]:
    return "learned" if state.learned else "deviations"


def alarm_parts(state: FitState) -> list[Part]:
    """Return what the sum is learned from, with looks as the core had them."""
    tables = [state.table] + ([] if state.clean_table is state.table else [state.clean_table])
    looks = [table.look / MOST for table in tables]
    return parts_of(state, state.table, state.clean_table, looks, state.still)


def added(parts: Sequence[Part], head: EvidenceHead) -> list[Floats]:
    """Return what the alarm adds to its sum at each step of the clean stretches, as the core does."""
    found = []
    for part in parts:
        table, every = part.table, np.empty(len(part.table))
        for at in chunks(len(table)):
            every[at] = head.added(table.registry(at), table.subject[at], part.looks[at])
        found += [every[run] for run in part.runs]
    return found
