"""Fifth stage: what the alarm sums, and from which limit on it is raised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...monitor.alarm import Alarm
from ...monitor.evidence_head import EvidenceHead
from ...monitor.params import Params
from ..alarms import FEWEST, SUPPORT, choose_alarm, choose_evidence_limit
from ..learn_head import learn_head
from ..signal_table import Floats, chunks
from .threshold import Threshold

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
    notes = list(summed.notes)
    if count < FEWEST:
        notes.append(f"no alarm is set: {count} clean steps are too few, {FEWEST} are needed")
    elif count < SUPPORT * summed.sides * run_length:
        notes.append(
            f"{count:,} clean steps are too few to check a rate of one false alarm in {run_length:,}: the "
            "alarm limit is extrapolated, and false alarms may come several times as often"
        )
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


def choose_sum(threshold: Threshold) -> Summed:
    """Return what the options ask for: learned evidence, or the risk."""
    asked = threshold.heads.signals.reading.options.alarm.evidence
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


def evidence_sum(threshold: Threshold) -> Summed:
    """Sum a log-likelihood ratio of degraded against clean steps, learned from labels and marked shifts."""
    signals = threshold.heads.signals
    reading, options = signals.reading, signals.reading.options
    learned = learn_head(
        signals.params.classes,
        signals.params.signals,
        (reading.log, signals.table),
        (reading.clean.log, signals.clean),
        reading.clean.runs,
        options.head.l2,
        options.alarm.evidence_clip,
    )
    table, added = signals.clean, np.empty(len(signals.clean))
    for part in chunks(len(table)):
        added[part] = learned.head.values(table.registry(part), table.labels[part])
    runs = [added[run] for run in reading.clean.runs]
    return Summed(
        runs, _evidence_alarm, 1, learned.head, {"evidence": learned.findings}, tuple(learned.warnings)
    )


def _evidence_alarm(added: Sequence[Floats], run_length: int, rng: np.random.Generator) -> Alarm:
    """Choose an alarm that sums evidence, as `choose_alarm` does one that sums risk."""
    return Alarm(rise=choose_evidence_limit(added, run_length, rng))
