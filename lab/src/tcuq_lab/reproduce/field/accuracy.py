"""How near estimates of the accuracy come to the true one, in windows of 200 steps.

Every estimate is judged by the accuracy of the answers that it is about: those of the plain network, of an
ensemble, or of the monitor. Row `tcuq` speaks of the network's prediction, as most rivals do; `tcuq answer`
speaks of the monitor's own answer. Estimates of the literature see the steps of the window alone. The
monitor's is what it says at the last step, from all that it saw.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from tcuq import FitOptions, Monitor, Params, fit
from tcuq.log.log import Log
from tcuq.metrics.inputs import Bools, Floats
from tcuq.monitor.monitor import run_over

from ...methods.estimates import ESTIMATES, Atc, Doc, Estimate, Gde, MeanConfidence
from ..rows import Row, row_of
from .accuracy_windows import BIAS, ERROR, SIZE, Cut, Judged, cut, development, joined, windows_of
from .experiment import TITLES, Comparison, Key, Measured, StreamExperiment
from .intervals import REPLICATES, Drawn
from .plan import CLEAN_TEST, DEV, UNTOLD, fits_of
from .units import PLAIN, Unit

OURS, ANSWER = "tcuq", "tcuq answer"
OF_WINDOW = "window mean"
"""Suffix of the rows whose estimate is the mean certainty of the window's own steps, as the others' is."""
DEEP = row_of("deep")
ATC_DEEP, ATC_CLEAN, DOC_CLEAN = "ATC, deep", "ATC, clean dev only", "DoC, clean dev only"
SAID = f"{ERROR}, said"
"""What the fit expects the error to be, on kinds of shift that it left out in turn."""
CLEAN_STREAM, ALL_TYPES = "clean", "all types, shuffled"
RUN_LENGTH = 2000
"""Clean steps per false alarm that fits are asked for; estimates do not depend on it."""
RIVALS = (*(each.name for each in ESTIMATES), ATC_CLEAN, DOC_CLEAN, Gde.name, ATC_DEEP)


@dataclass(frozen=True, eq=False)
class Fitted:
    """All that is fitted to one development stream.

    Parameters
    ----------
    monitors : dict of str to Params
        About the prediction and about the answer.
    plain, deep : dict of str to Estimate
        By row: of the plain network's accuracy, and of the ensemble's.
    """

    monitors: dict[str, Params]
    plain: dict[str, Estimate]
    deep: dict[str, Estimate] = field(default_factory=dict)

    def choices(self) -> dict[str, Any]:
        """Return the settings that were chosen, and the errors of all trials on development windows."""
        return {
            row: {
                "setting": dict(each.setting),
                "trials": [
                    {**setting, "error": round(error, 4)}
                    for setting, error in zip(each.grid, each.trials, strict=True)
                ],
            }
            for row, each in (self.plain | self.deep).items()
            if each.trials
        }


def fitted(unit: Unit, role: str) -> Fitted:
    """Fit everything to a development stream.

    Parameters
    ----------
    unit : Unit
    role : str
    """
    log, shown = unit.log(role), unit.shown(role)
    given: dict[str, Any] = {"clean": unit.clean_log(role), "run_length": RUN_LENGTH, "force": True}
    given["options"] = FitOptions(explain=role == DEV)
    monitors = {
        OURS: fit(log, about="prediction", **given),
        ANSWER: fit(log, about="answer", **given),
    }
    seen = unit.observed(role)
    second = _second(unit, role)
    every = development(shown, seen, other=second)
    clean = development(shown, seen, shown.shifts == 0)
    plain: dict[str, Estimate] = {}
    for row, estimate, dev in (
        *((each.name, each(), every) for each in ESTIMATES),
        (ATC_CLEAN, Atc(), clean),
        (DOC_CLEAN, Doc(), clean),
        *([] if second is None else [(Gde.name, Gde(), every)]),
    ):
        estimate.fit(dev)
        plain[row] = estimate
    found = Fitted(monitors, plain)
    if unit.has(DEEP):
        found.deep[ATC_DEEP] = Atc()
        found.deep[ATC_DEEP].fit(development(shown, unit.observed(role, DEEP)))
    return found


def _second(unit: Unit, role: str) -> Any:
    """Return the posteriors of the ensemble's other members together; None where there is no ensemble.

    No single one of them is recorded. The plain network is the first member, and posteriors of
    the ensemble are the mean of all.
    """
    if not unit.has(DEEP):
        return None
    members = DEEP.method.members
    ensemble, plain = (unit.observed(role, each).probs.astype(np.float64) for each in (DEEP, PLAIN))
    return np.maximum(members * ensemble - plain, 0) / (members - 1)


def said(params: Params, log: Log) -> Any:
    """Return what a fresh monitor says to each stretch of a stream: what one learns outlives a reset."""
    return np.concatenate([run_over(Monitor(params), log.take(piece)) for piece in log.pieces()])


def judged(unit: Unit, role: str, found: Fitted) -> dict[str, Judged]:
    """Return every row's estimates beside their truths on a test stream.

    Parameters
    ----------
    unit : Unit
    role : str
    found : Fitted
    """
    shown = unit.shown(role)
    windows = cut(shown.judged, shown.segments, SIZE)
    log, out = unit.log(role, labels=False), {}
    for row, params in found.monitors.items():
        steps = said(params, log)
        right = steps["answer" if row == ANSWER else "prediction"] == shown.labels
        out[row] = Judged.of(windows, shown, steps["expected_accuracy"][windows.ends], right)
        sure = 1 - steps["uncertainty"][windows.steps].mean(axis=1)
        out[f"{row}, {OF_WINDOW}"] = Judged.of(windows, shown, sure, right)
    return out | {
        row: Judged.of(windows, shown, estimate, right)
        for row, estimate, right in _rivals(unit, role, found, windows)
    }


def _rivals(unit: Unit, role: str, found: Fitted, windows: Cut) -> Iterator[tuple[str, Floats, Bools]]:
    """Yield each rival's name, its estimates, and where the answers that it is about are right."""
    networks: list[tuple[Row, dict[str, Estimate]]] = [(PLAIN, found.plain), (DEEP, found.deep)]
    for network, estimates in networks:
        if estimates:
            seen = unit.observed(role, network)
            right = seen.probs.argmax(axis=1) == unit.shown(role).labels
            shown = windows_of(seen, windows.steps, _second(unit, role) if network is PLAIN else None)
            for row, each in estimates.items():
                yield row, each.of(shown), right


def measure(unit: Unit) -> Measured:
    """Measure one network on all streams.

    Parameters
    ----------
    unit : Unit
    """
    fits = cache(lambda role: fitted(unit, role))
    figures: dict[Key, Drawn] = {}
    on_clean = judged(unit, CLEAN_TEST, fits(DEV))
    clean_means = {row: float(each.truth.mean()) for row, each in on_clean.items()}

    def keep(stream: str, how: str, role: str, found: dict[str, Judged], only: tuple[str, ...] = ()) -> None:
        for row, each in found.items():
            key = Key(stream, row, "" if row == MeanConfidence.name else how, "")
            for column, value in each.figures(f"{unit.task} {unit.seed} {role}", clean_means[row]).items():
                if not only or column in only:
                    figures[key._replace(column=column)] = value

    keep(CLEAN_STREAM, UNTOLD, CLEAN_TEST, on_clean)
    for law in unit.plan.judged:
        for how in fits_of(law):
            keep(law, how, f"test {law}", judged(unit, f"test {law}", fits(unit.plan.fitted_on(law, how))))
    types = {name: judged(unit, f"type {name}", fits(DEV)) for name in unit.plan.types}
    for name, found in types.items():
        keep(f"type {name}", UNTOLD, f"type {name}", found, (ERROR, BIAS))
    together = {row: joined([each[row] for each in types.values()]) for row in on_clean}
    keep(ALL_TYPES, UNTOLD, ALL_TYPES, together)
    for row, params in fits(DEV).monitors.items():
        figures[Key("dev", row, UNTOLD, SAID)] = _constant(params.notes["fit"]["expected_accuracy"]["error"])
    roles = dict.fromkeys(
        [DEV, *(unit.plan.fitted_on(law, how) for law in unit.plan.judged for how in fits_of(law))]
    )
    return Measured(figures, {role: fits(role).choices() for role in roles})


def _constant(value: float | None) -> Drawn:
    known = np.nan if value is None else value
    return Drawn(known, np.full(REPLICATES, known, dtype=np.float32))


COMPARISONS = tuple(
    Comparison(ours, rival, ERROR, second_fit="" if rival == MeanConfidence.name else None)
    for ours in (OURS, ANSWER)
    for rival in (*RIVALS, f"{ours}, {OF_WINDOW}")
)

NOTES = (
    "`GDE` compares the plain network with the other four members of the ensemble together, as no single "
    "second network is recorded; agreement with four is a little higher than with one.",
    "`COT` takes the class mix of the development stream for that of every window of 200 steps, as its paper "
    "does; where classes stay, few windows have it. `BBSE` estimates the mix of each window.",
)
SPEC = StreamExperiment("accuracy", TITLES["accuracy"], measure, COMPARISONS, notes=NOTES)
