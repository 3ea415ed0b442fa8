"""Experiment `accuracy`: how near estimates of the accuracy come to the true one, in windows of 200 steps.

Every estimate is judged by the accuracy of the answers that it is about. Those of the literature see the
steps of the window alone; the monitor's is what it says at the last step, from all that it saw.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tcuq import Params

from ..harness.declare import Case, Comparison, Play, Row
from ..harness.figures import Figure
from ..harness.intervals import REPLICATES, Drawn
from ..harness.laws import DEV, UNTOLD
from ..harness.types import Answers, Outputs
from ..methods.confidence import Stacked
from ..methods.estimates import ATC, DOC, ESTIMATES, GDE, MEAN_CONFIDENCE, OTHER, Estimate, Estimated
from ..methods.method import Scored
from ..methods.tcuq import Ours, run
from ..metrics.alarms import RUN_LENGTH
from ..metrics.drops import errors_alone
from ..metrics.windows import BIAS, ERROR, accuracy
from ..reproduce.rows import row_of
from ..reproduce.units import Unit
from .experiment import StreamExperiment, monitor_of, notes_of, plays_of

OURS, ANSWER = "tcuq", "tcuq answer"
OF_WINDOW = "window mean"
"""Suffix of the rows whose estimate is the mean certainty of the window's own steps, as the others' is."""
DEEP = row_of("deep")
STACKED = "stacked regression"
ATC_DEEP, ATC_CLEAN, DOC_CLEAN = "ATC, deep", "ATC, clean dev only", "DoC, clean dev only"
SAID = f"{ERROR}, said"
"""What the fit expects the error to be, on kinds of shift that it left out in turn."""
RIVALS = (*(each.name for each in ESTIMATES), ATC_CLEAN, DOC_CLEAN, GDE.name, ATC_DEEP, STACKED)


class Expected(Ours):
    """A monitor, whose estimate is what it says at the end of a window, or the certainty of its steps."""

    def __init__(self, params: Params, about: str, window: bool) -> None:
        super().__init__(params, about)
        self.window = window

    def watch(self, seen: Outputs) -> Answers:
        """Say risk, class and accuracy."""
        steps, _ = run(self.params, seen)
        said: Any = steps["expected_accuracy"]
        if self.window:
            certain = 1 - steps["uncertainty"]
            said = lambda rows: certain[rows].mean(axis=1)  # noqa: E731
        return Answers(steps["risk"], steps[self.about].astype(np.int64), accuracy=said)


def _ours(about: str, window: bool, unit: Unit, role: str) -> Expected:
    params = monitor_of(unit, role, explain=role == DEV, about=about, run_length=RUN_LENGTH)
    return Expected(params, about, window)


def _estimated(kind: Estimate, clean: bool, network: Any, unit: Unit, role: str) -> Estimated:
    found = Estimated(kind)
    found.fit(unit.dev(role or DEV, True, network), clean)
    return found


def _stacked(unit: Unit, role: str) -> Scored:
    found = Scored(Stacked, errors_alone)
    found.fit(unit.dev(role, True))
    return found


def second(unit: Unit, role: str) -> Outputs:
    """Return the plain network's outputs, and the posteriors of the ensemble's other members together.

    No single one of them is recorded. The plain network is the first member, and posteriors of
    the ensemble are the mean of all.
    """
    plain, members = unit.outputs(role), DEEP.method.members
    ensemble = unit.outputs(role, DEEP).probs.astype(np.float64)
    other = np.maximum(members * ensemble - plain.probs.astype(np.float64), 0) / (members - 1)
    return replace(plain, extra={**plain.extra, OTHER: other})


def _not_said(play: Play) -> bool:
    return play.stream != SAID_OF


def rows(unit: Unit) -> list[Row]:
    """Return the monitor's estimates and those of the literature."""
    found = [
        Row(
            name + (f", {OF_WINDOW}" if window else ""),
            partial(_ours, about, window),
            shown=_not_said if window else lambda play: True,
        )
        for name, about in ((OURS, "prediction"), (ANSWER, "answer"))
        for window in (False, True)
    ]
    found.append(Row(STACKED, _stacked, shown=_not_said))
    rivals: list[tuple[str, Estimate, bool, Any]]
    rivals = [(each.name, each, False, None) for each in ESTIMATES]
    rivals += [(ATC_CLEAN, ATC, True, None), (DOC_CLEAN, DOC, True, None)]
    if unit.has(DEEP):
        rivals += [(GDE.name, GDE, False, second), (ATC_DEEP, ATC, False, DEEP)]
    return found + [
        Row(
            name,
            partial(_estimated, kind, clean, network),
            kind is not MEAN_CONFIDENCE,
            network,
            shown=_not_said,
        )
        for name, kind, clean, network in rivals
    ]


def judged(case: Case) -> dict[str, Figure]:
    """Return all columns; of single corruption types the mean alone."""
    found = accuracy(case)
    few = case.play.stream.startswith("type ")
    return {column: each for column, each in found.items() if not few or column in (ERROR, BIAS)}


def said(case: Case) -> dict[str, Drawn]:
    """Return what the fit says of its own error, once, where a stream is only a reason to ask."""
    if case.play.stream != SAID_OF or not isinstance(case.method, Expected) or case.method.window:
        return {}
    error = case.method.params.notes["fit"]["expected_accuracy"]["error"]
    known = np.nan if error is None else error
    return {SAID: Drawn(known, np.full(REPLICATES, known, dtype=np.float32))}


SAID_OF = "dev"
"""Stream under which that stands."""


def plays(unit: Unit) -> Iterator[Play]:
    """Give all streams, and the development stream for what a fit says of itself."""
    yield from plays_of(unit, types="untold")
    yield Play(SAID_OF, DEV, UNTOLD, DEV)


def measured(case: Case) -> dict[str, Any]:
    """Return the figures of a case."""
    return dict(said(case)) if case.play.stream == SAID_OF else dict(judged(case))


COMPARISONS = tuple(
    Comparison(ours, rival, ERROR, second_fit="" if rival == MEAN_CONFIDENCE.name else None)
    for ours in (OURS, ANSWER)
    for rival in (*RIVALS, f"{ours}, {OF_WINDOW}")
)
SPEC = StreamExperiment(
    "accuracy",
    "How accurate is the classifier now",
    rows,
    plays,
    (measured,),
    COMPARISONS,
    notes=notes_of("accuracy"),
)
