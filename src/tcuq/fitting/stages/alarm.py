"""Fifth stage: what the alarm sums, and from which limit on it is raised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...monitor.alarm import Alarm, AlarmSide
from ...monitor.evidence_head import EvidenceHead
from ..alarms import FEWEST, SUPPORT, choose_alarm, choose_allowance, choose_evidence_limit, fair_bet
from ..carry_over import choose_evidence
from ..deviations import deviation_head
from ..learn_head import learn_head, taught_steps, why_not
from ..novelty import find_spread, novelty, weighed
from ..signal_table import Floats, chunks
from .state import FitState, Summed

RATIO_CLIP, DEVIATION_CLIP = 3.0, 2.0
"""Most that one step adds: of a likelihood ratio, and of deviations."""

ALLOWANCES = {
    "learned": (0.0, 0.15, 0.3, 0.45, 0.6, 0.8, 1.0, 1.3),
    "deviations": (0.35, 0.45, 0.6, 0.75, 0.9, 1.1, 1.3),
}
"""Allowances that are tried. The clean mean of a likelihood ratio is below 0, that of deviations is 0."""


def set_alarm(state: FitState) -> None:
    """Choose what is summed, then its limits from a bootstrap over clean stretches."""
    state.progress("alarm", 0, 1)
    summed = state.summed = choose_sum(state)
    clean = np.concatenate(state.clean_risk)
    state.notes += [*summed.notes, *_support(state, len(clean))]
    # In one order, whatever the stretches: the last digit of a sum of floats depends on it.
    mean = float(np.sort(clean).mean())
    alarm = replace(choose_limits(summed, summed.runs, state), mean=mean)
    state.params = state.params.replace(evidence=summed.evidence, alarm=alarm)
    state.findings |= {"evidence": summed.findings} if summed.findings else {}
    state.findings |= {
        "clean_steps": len(clean),
        "clean_marked": state.clean.marked,
        "run_length": state.request.run_length,
    }
    state.progress("alarm", 1, 1)


def choose_limits(summed: Summed, runs: Sequence[Floats], state: FitState) -> Alarm:
    """Choose the limits of an alarm from what it sums on some clean stretches."""
    run_length = state.request.run_length
    if summed.proved:  # a bet, whose limit depends on the run length alone
        enough = sum(map(len, runs)) >= FEWEST
        return Alarm(rise=AlarmSide(0.0, math.log(run_length))) if enough else Alarm()
    if summed.evidence is None:
        return choose_alarm(runs, run_length, state.rng)
    return Alarm(rise=choose_evidence_limit(runs, run_length, state.rng))


def _support(state: FitState, count: int) -> list[str]:
    """Return a note where there are too few clean steps for the run length."""
    run_length = state.request.run_length
    if count < FEWEST:
        return [f"no alarm is set: {count} clean steps are too few, {FEWEST} are needed"]
    sides = 2 if state.summed.evidence is None else 1
    enough = SUPPORT * sides * run_length
    if state.summed.proved or count >= enough:
        return []
    return [
        f"{count:,} clean steps are too few to check one false alarm in {run_length:,} ({enough:,} would "
        "do): several times as many may come"
    ]


def choose_sum(state: FitState) -> Summed:
    """Return what was asked for: evidence, learned or from deviations, or the risk."""
    if state.request.alarm_of == "risk":
        return Summed("risk", state.clean_risk)
    return proved_sum(state) if state.request.alarm_of == "proved" else careful_sum(state)


def careful_sum(state: FitState) -> Summed:
    """Sum evidence by its novelty, less an allowance: both price in how much neighboring steps repeat."""
    summed = _best_evidence(state)
    assert summed.evidence is not None
    if sum(map(len, summed.runs)) < FEWEST:
        return summed
    rng = np.random.default_rng([state.request.seed, 2])
    spread = find_spread(summed.runs)
    weights = [novelty(run, spread) for run in summed.runs]
    clip, tried = summed.evidence.clip, ALLOWANCES[summed.of]
    allowance = choose_allowance(summed.runs, weights, clip, state.request.run_length, rng, tried)
    return summed._replace(
        evidence=replace(summed.evidence, allowance=allowance, spread=spread),
        runs=weighed([run - allowance for run in summed.runs], weights),
        findings={**summed.findings, "allowance": allowance, "spread": spread},
    )


def proved_sum(state: FitState) -> Summed:
    """Sum what a bet against clean data earns; its run length is proved where the bet is fair."""
    summed = _best_evidence(state)
    assert summed.evidence is not None
    bet, findings = fair_bet(np.concatenate(summed.runs), summed.evidence.clip)
    # The core divides by a sixteenth of it: with a remainder, repeated evidence could count more than once.
    spread = math.ceil(find_spread(summed.runs) * 4096) / 4096
    weights = [novelty(run, spread) for run in summed.runs]
    return summed._replace(
        evidence=replace(summed.evidence, bet=bet, spread=spread),
        runs=weighed([np.log(bet[0] + bet[1] * run) for run in summed.runs], weights),
        proved=True,
        findings={**summed.findings, "bet": findings, "proved": state.request.run_length},
    )


def _best_evidence(state: FitState) -> Summed:
    """Return learned evidence where it can be learned and carries over, else deviations from clean steps."""
    params, clean_log = state.params, state.clean.log
    missing = why_not(state.log, clean_log, params.signals)
    if missing:
        return deviation_sum(state, missing)
    try:
        degraded, taught = taught_steps(
            (state.log, state.table), (clean_log, state.clean_table), state.clean.runs
        )
        how, names, scores = choose_evidence(
            params.signals,
            params.classes,
            state.log,
            state.table,
            degraded,
            (state.clean_table, taught),
            state.options.l2,
        )
        found = deviation_sum(state) if how == "deviations" else learned_sum(state, names)
    except ValueError as error:
        note = f"the alarm sums deviations from clean steps: {error}"
        return deviation_sum(state)._replace(notes=(note,))
    return found._replace(findings={**found.findings, **scores})


def deviation_sum(state: FitState, why: str | None = None) -> Summed:
    """Sum standardized deviations from clean steps; needs no labels. Why nothing is learned, is kept."""
    params = state.params
    head, findings = deviation_head(
        params.classes, params.signals, state.clean_table, state.clean.runs, DEVIATION_CLIP
    )
    if why is not None:
        findings["why"] = why
    return Summed("deviations", _added(state, head), head, findings=findings)


def learned_sum(state: FitState, names: Sequence[str]) -> Summed:
    """Sum a log-likelihood ratio of degraded against clean steps, learned from labels and marked shifts."""
    learned = learn_head(
        state.params.classes,
        names,
        (state.log, state.table),
        (state.clean.log, state.clean_table),
        state.clean.runs,
        state.options.l2,
        RATIO_CLIP,
    )
    return Summed(
        "learned",
        _added(state, learned.head),
        learned.head,
        findings=learned.findings,
        notes=tuple(learned.warnings),
    )


def _added(state: FitState, head: EvidenceHead) -> list[Floats]:
    """Return what a head gives on each clean stretch."""
    table = state.clean_table
    added = np.empty(len(table))
    for part in chunks(len(table)):
        added[part] = head.values(table.registry(part), table.subject[part])
    return [added[run] for run in state.clean.runs]
