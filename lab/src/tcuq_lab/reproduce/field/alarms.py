"""Experiment `alarms`: which alarm tells a shift that costs accuracy from clean time, and how soon.

Limits come from clean development time, for one false alarm in 2,000 clean steps; the false alarms that came
out on test data stand beside every delay. Columns that end in " (equal)" compare rankings: there, and only
there, the limit of every row is such that false alarms on the clean time of that test stream come once in
2,000 steps. That limit is chosen once, on all stretches of the stream; intervals take it as given and do not
choose it again when stretches are drawn again, so they leave out what it would vary.

An alarm is false when it begins on a clean step, 50 steps or more after a shift; one that comes back within
50 steps is the same alarm, and one that lasts counts again every 150 clean steps. `clean on` counts every
clean step, also those right after a shift. A shift is found when the alarm goes from off to on within it; one
that was on already has to go off and on again. `collapse found` asks less, of faults of the sensor alone: is
the alarm on at any step of them?
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tcuq.metrics.inputs import Bools

from ...detection.window_tests import EVERY
from ..rows import row_of
from .alarming.choosing import CLEAN_ON, COSTLY_OFF, choose, development
from .alarming.counting import Scene, costly_sources, false_starts, scene_of
from .alarming.figures import FALSE, RATIO, clean_figures, shift_figures
from .alarming.limits import RUN_LENGTH, Watched, candidates, find_limit, rested_sums
from .alarming.ours import OURS, fitted_limit, said, summed
from .alarming.rivals import RIVALS, Rival
from .alarming.seen import Scorer, Seen, scorer_of, seen_of
from .experiment import TITLES, Comparison, Inverse, Key, Measured, StreamExperiment
from .intervals import Drawn
from .plan import CLEAN_TEST, TOLD, UNTOLD, fit_shown, fits_of
from .units import Unit

CLEAN = "clean"
EQUAL = " (equal)"
NOT_EQUAL = "less than half of the equal rate"
"""Streams and rows, among the choices, whose false alarms stay far below the rate asked for at any limit."""


class _Tables:
    """Figures of one network, as they come in."""

    def __init__(self, unit: Unit) -> None:
        self.unit, self.figures = unit, {}
        self.worse = costly_sources(unit.error_rates(f"test {unit.plan.laws[0]}"))
        self.off: dict[str, dict[str, Any]] = {}
        self._scenes: dict[str, Scene] = {}
        self._seen: dict[tuple[str, str, Scorer], Seen] = {}

    figures: dict[Key, Drawn]

    def scene(self, role: str) -> Scene:
        """Return when a test stream is shifted."""
        if role not in self._scenes:
            self._scenes[role] = scene_of(self.unit.shown(role))
        return self._scenes[role]

    def seen(self, role: str, row: str, scorer: Scorer) -> Seen:
        """Return what rivals see of a test stream."""
        place = role, row, scorer
        if place not in self._seen:
            self._seen[place] = seen_of(self.unit, role, row_of(row), scorer)
        return self._seen[place]

    def add(self, stream: str, row: str, fit: str, on: Bools, suffix: str = "") -> None:
        """Add the figures of an alarm on a test stream."""
        role = CLEAN_TEST if stream == CLEAN else f"test {stream}"
        scene, name = self.scene(role), f"{self.unit.task} {self.unit.seed} {role}"
        found = clean_figures(on, scene, name)
        if stream != CLEAN:
            found |= shift_figures(on, scene, self.worse, name)
        self.figures |= {Key(stream, row, fit, column + suffix): each for column, each in found.items()}

    def add_equal(self, stream: str, row: str, fit: str, watched: Watched, tried: Any) -> None:
        """Add the figures at the limit that gives the false alarms asked for on this very stream."""
        settled = self.scene(f"test {stream}").settled
        on = watched(np.array([find_limit(watched, tried, settled)]))[0]
        self.add(stream, row, fit, on, EQUAL)
        count, asked = int(false_starts(on, settled).sum()), int(settled.sum() / RUN_LENGTH)
        if count < asked / 2:
            self.off.setdefault(stream, {})[row] = {"false alarms": count, "asked for": asked}


def measure(unit: Unit, laws: Sequence[str] | None = None, rivals: Sequence[Rival] = RIVALS) -> Measured:
    """Return the figures of one network.

    Parameters
    ----------
    unit : Unit
    laws : sequence of str, optional
        All of the plan by default.
    rivals : sequence of Rival
        Those whose networks are missing are left out.
    """
    laws = unit.plan.judged if laws is None else laws
    # A run of a few streams is for the plain network: others would have to be recorded for it.
    rivals = [
        each for each in rivals if unit.has(row_of(each.row)) and not (unit.plan.only and each.row == "deep")
    ]
    tables, choices = _Tables(unit), {}
    told: dict[str, list[str]] = {}
    for law in laws:  # mixed streams have one development stream
        if TOLD in fits_of(law):
            told.setdefault(unit.plan.fitted_on(law, TOLD), []).append(law)
    untold = [law for law in laws if UNTOLD in fits_of(law)]
    first = [] if unit.plan.only and not untold else [(UNTOLD, [CLEAN, *untold])]
    for fit, streams in (*first, *((TOLD, each) for each in told.values())):
        role = unit.plan.fitted_on(streams[-1], fit)
        about: dict[str, Any] = {}
        for row, fitted in OURS.items():
            about[row] = _ours(tables, row, fit, fitted(unit, role), streams)
        scorers = {each.row: scorer_of(unit, role, row_of(each.row)) for each in rivals}
        devs = {name: development(unit, role, name, each) for name, each in scorers.items()}
        for rival in rivals:
            chosen = choose(rival, devs[rival.row])
            about[rival.name] = chosen.about
            for stream in streams:
                seen = tables.seen(_role(stream), rival.row, scorers[rival.row])
                prepared = chosen.prepared(seen)
                tables.add(stream, rival.name, fit, prepared.on(np.array([chosen.limit]))[0])
                if stream != CLEAN and fit == fit_shown(stream):
                    tried = prepared.path(tables.scene(_role(stream)).settled)
                    tables.add_equal(stream, rival.name, fit, prepared.on, tried)
        choices[fit if fit == UNTOLD else f"{fit}, {streams[0]}"] = about
    shifts = {law: _costly(tables.scene(f"test {law}"), tables.worse) for law in laws}
    choices["test"] = {"costly sources": tables.worse, "costly shifts": shifts, NOT_EQUAL: tables.off}
    return Measured(tables.figures, choices)


def _role(stream: str) -> str:
    return CLEAN_TEST if stream == CLEAN else f"test {stream}"


def _costly(scene: Scene, worse: Sequence[str]) -> int:
    return sum(name in worse for *_, name in scene.shifts)


def _ours(tables: _Tables, row: str, fit: str, params: Any, streams: Sequence[str]) -> dict[str, Any]:
    """Add the figures of a monitor, and return what was fitted."""
    for stream in streams:
        found = said(params, tables.unit.log(_role(stream), labels=False))
        tables.add(stream, row, fit, found.on)
        if found.added is None or not fitted_limit(params):
            continue
        watched = summed(params, found.added)
        differ = float((watched(np.array([fitted_limit(params)]))[0] != found.on).mean())
        if differ:
            raise RuntimeError(f"the alarm of {row} on {stream} is not what its sum says at {differ:.2%}")
        if stream != CLEAN and fit == fit_shown(stream):
            tried = candidates(rested_sums(found.added, tables.scene(_role(stream)).settled))
            tables.add_equal(stream, row, fit, watched, tried[tried >= 1])
    head = params.evidence
    return {
        "limit": 0.0 if params.alarm.rise is None else params.alarm.rise.limit,
        "sums": "risk" if head is None else "evidence" if head.bet is None else "bets",
    }


NOTES = (
    "Columns that end in (equal) have the limit at which false alarms on that very test stream come once in "
    "2,000 clean steps. It is chosen once, on all stretches: intervals take it as given.",
    "Some rows stay below that rate at any limit. The choices name those that reach less than half of it, "
    f"under '{NOT_EQUAL}'; there, the rates are not equal.",
    "Settings of rivals are those with the least sum, on development data, of the mean delay in steps over "
    f"costly shifts (a miss costs the whole shift), {CLEAN_ON:.0f} times the share of clean time under "
    f"alarm, and {COSTLY_OFF:.0f} times the share of costly time without alarm: the same for all rivals.",
    "A fit with labels reads true classes and marks of which steps are shifted. All rivals read these marks, "
    "as their limits come from clean steps; `CUSUM, confidence and norm` also reads true classes and "
    "features.",
    f"`MMD window` and `classifier drift` look every {EVERY} steps, which adds {(EVERY - 1) / 2:g} to a "
    "delay on average; `ADWIN` looks every 4 or 8 steps. All others look at every step.",
    "`CUSUM, feature distance` sums the Mahalanobis distance of features from the clean mean of their "
    "predicted class, `CUSUM, energy` the energy of the recorded logits, `CUSUM, nearest neighbors` the "
    "distance of normalized features from the 4th or 16th nearest of up to 2,000 clean ones, and "
    "`CUSUM, belief` 1 less the largest belief of a Bayes filter.",
    "A run length does not tell a rise from a fall, so `BOCPD` is on while the level since the last change, "
    "in its standard errors, is expected to be above a limit.",
    "A delay over networks is the median of the delays at all shifts of all networks together; a miss counts "
    "as infinite, and `found` says how many are not. So it is for `clears`.",
    "The run length ratio is that of the false alarms of all networks together.",
)
"""How rows and columns are to be read."""
COMPARED = ("found", "delay", "clean on", "found (equal)", "delay (equal)", "clean on (equal)")
SPEC = StreamExperiment(
    "alarms",
    TITLES["alarms"],
    measure,
    tuple(
        Comparison("tcuq", other, column)
        for other in (*list(OURS)[1:], *(rival.name for rival in RIVALS))
        for column in COMPARED
    ),
    notes=NOTES,
    inverses=tuple(Inverse(RATIO + end, FALSE + end, 10_000 / RUN_LENGTH) for end in ("", EQUAL)),
)
