"""Fifth stage: what the alarm sums, and from which limit on it is raised."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...monitor.alarm import Alarm, AlarmSide
from ...monitor.evidence_head import EvidenceHead
from ...monitor.params import Params
from ..alarms import FEWEST, SUPPORT, choose_alarm, choose_allowance, choose_evidence_limit, fair_bet
from ..carry_over import choose_evidence
from ..deviations import deviation_head
from ..learn_head import learn_head, taught_steps, why_not
from ..novelty import find_spread, novelty, weighed
from ..signal_table import Floats, chunks
from .threshold import Threshold

RATIO_CLIP, DEVIATION_CLIP, OLD_CLIP = 3.0, 2.0, 4.0
"""Most that one step adds: of a likelihood ratio, of deviations, and in profiles of earlier releases."""

LEARNED = (0.0, 0.15, 0.3, 0.45, 0.6, 0.8, 1.0, 1.3)
DEVIATING = (0.35, 0.45, 0.6, 0.75, 0.9, 1.1, 1.3)
"""Allowances that are tried. The clean mean of a likelihood ratio is below 0, that of deviations is 0."""

# In quotes, because reaching for numpy.random would import it.
ChooseAlarm = Callable[[Sequence[Floats], int, "np.random.Generator"], Alarm]


@dataclass(frozen=True, eq=False)
class Summed:
    """What an alarm sums, and how its limits are chosen.

    Parameters
    ----------
    runs : list of arrays
        What it takes in at each step of the clean stretches.
    choose : callable
        From such runs, a run length and a generator to an `Alarm`.
    sides : int
        Sides that share the false alarms.
    evidence : EvidenceHead, optional
        What the device computes it with; None for risk.
    findings : dict
    notes : tuple of str
    """

    runs: list[Floats]
    choose: ChooseAlarm
    sides: int
    evidence: EvidenceHead | None = None
    findings: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class AlarmFit:
    """The alarm.

    Parameters
    ----------
    threshold : Threshold
    params : Params
        With alarm and evidence.
    summed : Summed
    findings : dict
    notes : tuple of str
    """

    threshold: Threshold
    params: Params
    summed: Summed
    findings: dict[str, Any]
    notes: tuple[str, ...]


def set_alarm(threshold: Threshold) -> AlarmFit:
    """Choose what is summed, then its limits from a bootstrap over clean stretches."""
    reading = threshold.heads.signals.reading
    reading.progress("alarm", 0, 1)
    run_length, count = reading.options.alarm.run_length, threshold.clean_steps
    summed = choose_sum(threshold)
    notes = [*summed.notes, *_support(count, summed, run_length, threshold.params.instant is not None)]
    alarm = replace(summed.choose(summed.runs, run_length, reading.rng), mean=threshold.mean)
    params = threshold.params.replace(evidence=summed.evidence, alarm=alarm)
    findings = {
        **summed.findings,
        "clean_steps": count,
        "clean_marked": reading.clean.marked,
        "run_length": run_length,
    }
    reading.progress("alarm", 1, 1)
    return AlarmFit(threshold, params, summed, findings, tuple(notes))


def _support(count: int, summed: Summed, run_length: int, two_heads: bool) -> list[str]:
    """Return a note where there are too few clean steps for the run length."""
    if count < FEWEST:
        return [f"no alarm is set: {count} clean steps are too few, {FEWEST} are needed"]
    enough = SUPPORT * summed.sides * run_length
    if summed.choose is _proved_alarm or count >= enough:
        return []
    if two_heads:
        return [
            f"{count:,} clean steps are too few to check one false alarm in {run_length:,} ({enough:,} would "
            "do): several times as many may come"
        ]
    return [
        f"{count:,} clean steps are too few to check a rate of one false alarm in {run_length:,}: the "
        "alarm limit is extrapolated, and false alarms may come several times as often"
    ]


def choose_sum(threshold: Threshold) -> Summed:
    """Return what the options ask for: evidence, learned or from deviations, or the risk."""
    options = threshold.heads.signals.reading.options.alarm
    asked = options.evidence
    if threshold.params.instant is not None and asked is None:
        if options.alarm == "risk":
            return risk_sum(threshold)
        return proved_sum(threshold) if options.alarm == "proved" else careful_sum(threshold)
    if not asked:
        return risk_sum(threshold)
    try:
        return evidence_sum(threshold)
    except ValueError as error:
        if asked != "auto":
            raise
        return replace(risk_sum(threshold), notes=(f"the alarm sums risk: {error}",))


def risk_sum(threshold: Threshold) -> Summed:
    """Sum how far the risk is above its clean mean, and how far below."""
    return Summed(threshold.runs, choose_alarm, sides=2)


def careful_sum(threshold: Threshold) -> Summed:
    """Sum evidence by its novelty, less an allowance: both price in how much neighboring steps repeat."""
    summed = _best_evidence(threshold)
    assert summed.evidence is not None
    if sum(map(len, summed.runs)) < FEWEST:
        return summed
    reading = threshold.heads.signals.reading
    rng = np.random.default_rng([reading.options.seed, 2])
    spread = find_spread(summed.runs)
    weights = [novelty(run, spread) for run in summed.runs]
    tried = DEVIATING if "from" in summed.findings["evidence"] else LEARNED
    clip, run_length = summed.evidence.clip, reading.options.alarm.run_length
    allowance = choose_allowance(summed.runs, weights, clip, run_length, rng, tried)
    findings = {"evidence": {**summed.findings["evidence"], "allowance": allowance, "spread": spread}}
    return replace(
        summed,
        evidence=replace(summed.evidence, allowance=allowance, spread=spread),
        runs=weighed([run - allowance for run in summed.runs], weights),
        findings=findings,
    )


def proved_sum(threshold: Threshold) -> Summed:
    """Sum what a bet against clean data earns; its run length is proved where the bet is fair."""
    summed = _best_evidence(threshold)
    assert summed.evidence is not None
    bet, findings = fair_bet(np.concatenate(summed.runs), summed.evidence.clip)
    # The core divides by a sixteenth of it: with a remainder, repeated evidence could count more than once.
    spread = math.ceil(find_spread(summed.runs) * 4096) / 4096
    weights = [novelty(run, spread) for run in summed.runs]
    run_length = threshold.heads.signals.reading.options.alarm.run_length
    return replace(
        summed,
        evidence=replace(summed.evidence, bet=bet, spread=spread),
        runs=weighed([np.log(bet[0] + bet[1] * run) for run in summed.runs], weights),
        choose=_proved_alarm,
        findings={"evidence": {**summed.findings["evidence"], "bet": findings, "proved": run_length}},
    )


def _proved_alarm(added: Sequence[Floats], run_length: int, rng: np.random.Generator) -> Alarm:
    """Return the limit of a bet, which depends on the run length alone; none where clean steps are few."""
    if sum(map(len, added)) < FEWEST:
        return Alarm()
    return Alarm(rise=AlarmSide(0.0, math.log(run_length)))


def _best_evidence(threshold: Threshold) -> Summed:
    """Return learned evidence where it can be learned and carries over, else deviations from clean steps."""
    signals = threshold.heads.signals
    log, clean_log = signals.reading.log, signals.reading.clean.log
    missing = why_not(log, clean_log, signals.params.signals)
    if missing:
        return deviation_sum(threshold, missing)
    clean = clean_log, signals.clean
    try:
        degraded, taught = taught_steps((log, signals.table), clean, signals.reading.clean.runs)
        how, names, scores = choose_evidence(
            signals.params.signals,
            signals.params.classes,
            log,
            signals.table,
            degraded,
            (signals.clean, taught),
            signals.reading.options.head.l2,
        )
        found = deviation_sum(threshold) if how == "deviations" else evidence_sum(threshold, names)
    except ValueError as error:
        found = deviation_sum(threshold)
        return replace(found, notes=(f"the alarm sums deviations from clean steps: {error}",))
    return replace(found, findings={"evidence": {**found.findings["evidence"], **scores}})


def deviation_sum(threshold: Threshold, why: str | None = None) -> Summed:
    """Sum standardized deviations from clean steps; needs no labels. Why nothing is learned, is kept."""
    signals = threshold.heads.signals
    reading = signals.reading
    clip = reading.options.alarm.evidence_clip or DEVIATION_CLIP
    head, findings = deviation_head(
        signals.params.classes, signals.params.signals, signals.clean, reading.clean.runs, clip
    )
    if why is not None:
        findings["why"] = why
    return Summed(_added(threshold, head), _evidence_alarm, 1, head, {"evidence": findings})


def _added(threshold: Threshold, head: EvidenceHead) -> list[Floats]:
    """Return what a head gives on each clean stretch."""
    table = threshold.heads.signals.clean
    added = np.empty(len(table))
    for part in chunks(len(table)):
        added[part] = head.values(table.registry(part), table.subject[part])
    return [added[run] for run in threshold.heads.signals.reading.clean.runs]


def evidence_sum(threshold: Threshold, names: Sequence[str] | None = None) -> Summed:
    """Sum a log-likelihood ratio of degraded against clean steps, learned from labels and marked shifts."""
    signals = threshold.heads.signals
    reading, options = signals.reading, signals.reading.options
    learned = learn_head(
        signals.params.classes,
        signals.params.signals if names is None else names,
        (reading.log, signals.table),
        (reading.clean.log, signals.clean),
        reading.clean.runs,
        options.head.l2,
        options.alarm.evidence_clip or (RATIO_CLIP if signals.params.instant is not None else OLD_CLIP),
    )
    runs = _added(threshold, learned.head)
    return Summed(
        runs, _evidence_alarm, 1, learned.head, {"evidence": learned.findings}, tuple(learned.warnings)
    )


def _evidence_alarm(added: Sequence[Floats], run_length: int, rng: np.random.Generator) -> Alarm:
    """Choose an alarm that sums evidence, as `choose_alarm` does one that sums risk."""
    return Alarm(rise=choose_evidence_limit(added, run_length, rng))
