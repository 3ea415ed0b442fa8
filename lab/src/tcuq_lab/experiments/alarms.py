"""Experiment `alarms`: which alarm tells a shift that costs accuracy from clean time, and how soon.

Limits come from clean development time, for one false alarm in 2,000 clean steps, but in the columns that end
in " (equal)"; `notes.json` says how those are to be read, and `metrics.alarms` what is counted.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..detectors.alarm import CLEAN_ON, COSTLY_OFF, RIVALS, Alarm, Rival, Scorer
from ..detectors.windows import EVERY
from ..harness.declare import Case, Comparison, Inverse, Row
from ..harness.figures import Figure
from ..harness.laws import DEV, TOLD, UNTOLD, fit_shown
from ..harness.types import CLEAN, Dev
from ..methods.confidence import ConfidenceNorm
from ..methods.method import labeled
from ..methods.tcuq import Ours
from ..metrics.alarms import EQUAL, FALSE, RATIO, RUN_LENGTH, alarm, alarm_equal
from ..reproduce.rows import row_of
from ..reproduce.units import Unit, network_of
from .experiment import StreamExperiment, monitor_of, notes_of, plays_of

NOT_EQUAL = "less than half of the equal rate"
"""Streams and rows, among the choices, whose false alarms stay far below the rate asked for at any limit."""


def _ours(unit: Unit, role: str, labels: bool = True, **options: Any) -> Ours:
    return Ours(monitor_of(unit, role, labels, run_length=RUN_LENGTH, **options), movable=True)


def _rival(rival: Rival, unit: Unit, role: str) -> Alarm:
    learn = _confidence_norm if rival.row == ConfidenceNorm.name else None
    found = Alarm(rival, learn)
    dev = unit.dev(role, True, network_of(rival.row))
    found.fit(replace(dev, errors=unit.error_rates(DEV)))
    return found


def _confidence_norm(dev: Dev) -> Scorer:
    method = ConfidenceNorm()
    method.fit(labeled(dev))
    return lambda seen: np.asarray(method.answer(seen).score, dtype=np.float64)


def rows(unit: Unit) -> list[Row]:
    """Return the rows whose networks are there; a run of a few streams is for the plain network."""
    ours = [
        Row("tcuq", partial(_ours, about="prediction")),
        Row("tcuq no labels", partial(_ours, labels=False)),
        Row("tcuq proved", partial(_ours, about="prediction", alarm="proved")),
    ]
    kept = [
        each for each in RIVALS if unit.has(row_of(each.row)) and not (unit.plan.only and each.row == "deep")
    ]
    return ours + [Row(each.name, partial(_rival, each), network=network_of(each.row)) for each in kept]


def equal(case: Case) -> dict[str, Figure]:
    """Return the figures at equal false alarms, of the fit that pages show."""
    stream = case.play.stream
    return {} if stream == CLEAN or case.play.fit != fit_shown(stream) else alarm_equal(case)


COMPARED = ("found", "delay", "clean on", "found (equal)", "delay (equal)", "clean on (equal)")
OTHERS = ("tcuq no labels", "tcuq proved", *(rival.name for rival in RIVALS))
SPEC = StreamExperiment(
    "alarms",
    "How soon an alarm comes, and how often for nothing",
    rows,
    partial(plays_of, fits=(TOLD, UNTOLD)),
    (alarm, equal),
    tuple(Comparison("tcuq", other, column) for other in OTHERS for column in COMPARED),
    tuple(Inverse(RATIO + end, FALSE + end, 10_000 / RUN_LENGTH) for end in ("", EQUAL)),
    notes_of(
        "alarms",
        not_equal=NOT_EQUAL,
        clean_on=CLEAN_ON,
        costly_off=COSTLY_OFF,
        every=EVERY,
        wait=(EVERY - 1) / 2,
    ),
)
