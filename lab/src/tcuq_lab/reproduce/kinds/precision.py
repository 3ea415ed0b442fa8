"""Precision: the integer core against the same equations in float64, with the same parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tcuq.monitor.quantize import quantize_features, quantize_probs
from tcuq.monitor.reference import reference

from ...comparison.records import Record, record
from ...methods.method import Answer, Monitored, Observed
from ..experiment import Experiment
from ..recordings import Recordings
from .comparison import DROP, Answering, Judge, fit_rows, known_options
from .schedule import BURSTS
from .unit import Unit

INTEGERS, REALS = "integers", "float64"
GAP = "risk_gap"
"""Largest distance of the two risks over all steps of all test streams."""


@dataclass(frozen=True)
class InFloat64:
    """A fitted monitor whose risk is computed in float64 from the int8 input that the core sees."""

    monitor: Monitored

    def answer(self, seen: Observed) -> Answer:
        """Answer a stream of one segment."""
        probs, log, params = self.monitor.posteriors(seen), self.monitor.log(seen), self.monitor.params
        features = (
            None
            if log.features is None
            else quantize_features(log.features, params.feature_scale, params.feature_zero_point)
        )
        return Answer(probs, reference(params, quantize_probs(log.probs), features).risk)


def measure(experiment: Experiment, unit: Unit, recordings: Recordings) -> list[Record]:
    """Return drops, errors and OOD inputs by the risk of the core and by that of float64.

    A row with a monitor becomes two: "tcuq, integers" and "tcuq, float64". The second also has the largest
    distance of its risk from the first.
    """
    known_options(experiment)
    schedule = unit.schedule(recordings)
    banks = unit.banks(experiment, recordings, schedule)
    methods: dict[str, Answering] = {}
    pairs: list[tuple[str, str]] = []
    for label, method in fit_rows(experiment.rows, banks[0], schedule, unit.fits(recordings)).items():
        if not method.has_monitor:
            methods[label] = method
            continue
        pairs.append((f"{label}, {INTEGERS}", f"{label}, {REALS}"))
        methods |= dict(zip(pairs[-1], (method, InFloat64(method.monitored())), strict=True))
        for bank in banks:
            bank.update(dict.fromkeys(pairs[-1], bank[label]))
    judge = Judge.over(schedule, methods, *banks)
    tests, ood = judge.cases(schedule.unseen_tests()), judge.cases({BURSTS: schedule.ood_tests()[BURSTS]})
    found = judge.metrics(tests, (DROP, "own/smoothed/unseen"), ("mixed_failure_auroc", "own/plain/unseen"))
    asked = judge.metrics(ood, ("ood_auroc", "own/plain/all"))
    found += [{**row, "variant": f"own/plain/{BURSTS}"} for row in asked]
    shown = [*tests, *ood]
    for core, real in pairs:
        gaps = [np.abs(each.answer(core).risk - each.answer(real).risk) for each in shown]
        largest, steps = max(float(gap.max()) for gap in gaps), sum(map(len, gaps))
        found.append(record("pooled", real, GAP, "all", largest, steps))
    return found
