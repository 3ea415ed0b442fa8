"""Which answers are wrong, and how many errors are left: every row, on every stream, with every fit.

Rows that answer with a class of their own are judged by their own errors in `error AUROC` and `errors`; the
column `prediction error AUROC` asks all of them for the risk of the plain network's prediction, so
that it is about the same errors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tcuq.metrics.inputs import Ints

from ..rows import row_of
from .answers_rows import (
    INT8,
    LEARNED,
    OURS,
    RIVALS,
    TCUQ,
    TCUQ_ANSWER,
    TCUQ_BARE,
    UNFITTED,
    Fits,
    Monitors,
    Rated,
    Streams,
    int8_confidence,
    rated,
    shares_networks,
)
from .experiment import TITLES, Comparison, Key, Measured, StreamExperiment
from .intervals import Drawn, averaged, drawn
from .plan import CLEAN_TEST, TOLD, UNTOLD, fits_of
from .stretch_figures import Auroc, LeftAt, Mean
from .units import Shown, Unit

AUROC, PREDICTION_AUROC, ERRORS = "error AUROC", "prediction error AUROC", "errors"
LEFT = {"errors at 90 %": 0.9, "errors at 80 %": 0.8}
CLEAN, TYPES = "clean", "all types, shuffled"
TYPE_ROWS = ("vote_8", "belief", TCUQ_ANSWER, TCUQ_BARE)
"""Rows with a class of their own that are shown single corruption types, beside the plain network."""
BLOCK = 50
"""Steps of a shuffled stream that are drawn together: its only memory is that of the row."""


def columns(said: Rated, shown: Shown, prediction: Ints, name: str) -> dict[str, Drawn]:
    """Return the figures of a row on a stream.

    Parameters
    ----------
    said : Rated
    shown : Shown
    prediction : array of T integers
        Of the plain network.
    name : str
        See `intervals.draws`.
    """
    wrong, judged, segments = said.predictions != shown.labels, shown.judged, shown.segments
    figures: dict[str, Any] = {
        AUROC: Auroc(said.score, wrong, segments, judged),
        ERRORS: Mean(wrong, segments, judged),
    }
    figures |= {column: LeftAt(said.score, wrong, segments, kept, judged) for column, kept in LEFT.items()}
    if said.prediction_score is not None:
        figures[PREDICTION_AUROC] = Auroc(said.prediction_score, prediction != shown.labels, segments, judged)
    return {column: drawn(figure, shown.stretches, name) for column, figure in figures.items()}


class _Judge:
    """Collects the figures of one network."""

    def __init__(self, unit: Unit) -> None:
        self.unit, self.plain = unit, Streams(unit)
        self.figures: dict[Key, Drawn] = {}
        self.choices: dict[str, dict[str, Any]] = {}

    def streams(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Give each stream: its name, its role, and the development stream of each fit."""
        plan = self.unit.plan
        for law in plan.judged:
            yield law, f"test {law}", {fit: plan.fitted_on(law, fit) for fit in fits_of(law)}
        if plan.only:
            return
        yield CLEAN, CLEAN_TEST, {UNTOLD: plan.fitted_on(plan.type_law, UNTOLD)}

    def prediction(self, role: str) -> Ints:
        """Return the prediction of the plain network at each step of a stream."""
        return np.asarray(self.plain.seen(role).probs.argmax(axis=1), dtype=np.int64)

    def judge(
        self, row: str, fitted: bool, said: Callable[[str, str], Rated], same: Callable[[str], str]
    ) -> None:
        """Measure a row on all streams.

        Parameters
        ----------
        row : str
        fitted : bool
            Whether to one of the development streams.
        said : callable
            Takes the role of the stream that it is fitted to, "" for none, and that of the one that is shown.
        same : callable
            Takes the role of a fit; two that give the same say the same.
        """
        for stream, role, fits in self.streams():
            shown, prediction, known = self.unit.shown(role), self.prediction(role), {}
            for fit, on in (fits if fitted else {"": ""}).items():
                if same(on) not in known:
                    name = f"{self.unit.task} {self.unit.seed} {role}"
                    known[same(on)] = columns(said(on, role), shown, prediction, name)
                for column, figure in known[same(on)].items():
                    self.figures[Key(stream, row, fit, column)] = figure

    def keep(self, row: str, fitted: bool, choice: Callable[[str], Any]) -> None:
        """Keep what was chosen on each development stream."""
        roles = {role: None for _, _, fits in self.streams() for role in fits.values()}
        self.choices[row] = {role: choice(role) for role in (roles if fitted else [""])}


def measure(unit: Unit) -> Measured:
    """Measure all rows whose networks exist.

    Parameters
    ----------
    unit : Unit
    """
    found = _Judge(unit)
    for name in RIVALS:
        _rival(found, name)
    monitors = Monitors(unit)
    for name in OURS:
        _ours(found, name, monitors)
    if not unit.plan.only:
        found.figures |= types(unit, monitors)
    return Measured(found.figures, found.choices)


def _rival(found: _Judge, name: str) -> None:
    if name == INT8:
        found.judge(
            name, False, lambda _, role: int8_confidence(found.plain.seen(role), found.prediction(role)), str
        )
        return
    row = row_of(name)
    # A run of a few streams is for the plain network: others would have to be recorded for it.
    if not found.unit.has(row) or (found.unit.plan.only and not shares_networks(row)):
        return
    # A unit of its own for other networks: what they said takes much memory, and is let go after the row.
    streams = (
        found.plain if shares_networks(row) else Streams(Unit(found.unit.plan, found.unit.recordings), row)
    )
    fits, fitted = Fits(streams, row), name not in UNFITTED

    def said(on: str, role: str) -> Rated:
        seen = streams.seen(role)
        return rated(row, fits.get(on).answer(seen), seen, found.prediction(role))

    def same(on: str) -> str:
        return on if name in LEARNED else json.dumps(fits.choice(on), sort_keys=True)

    found.judge(name, fitted, said, same)
    found.keep(name, fitted, fits.choice)


def _ours(found: _Judge, name: str, monitors: Monitors) -> None:
    def said(on: str, role: str) -> Rated:
        return monitors.rated(name, on, found.plain.seen(role))

    found.judge(name, True, said, str)
    found.keep(name, True, lambda role: monitors.choice(name, role))


def types(unit: Unit, monitors: Monitors) -> dict[Key, Drawn]:
    """Return errors of predictions and answers on shuffled streams of one corruption type, and over all.

    Parameters
    ----------
    unit : Unit
    monitors : Monitors
    """
    law = unit.plan.type_law
    fits = {fit: unit.plan.fitted_on(law, fit) for fit in fits_of(law)}
    found: dict[Key, Drawn] = {}
    for kind in unit.plan.types:
        role = f"type {kind}"
        seen, shown = unit.observed(role), unit.shown(role)
        answers = {("base", ""): np.asarray(seen.probs.argmax(axis=1))}
        for name in TYPE_ROWS:
            if name in OURS:
                for fit, on in fits.items():
                    answers[name, fit] = monitors.rated(name, on, seen).predictions
            else:
                answers[name, ""] = row_of(name).method().answer(seen).predictions()
        for (name, fit), answered in answers.items():
            wrong = answered != shown.labels
            found[Key(role, name, fit, ERRORS)] = averaged(
                [
                    _by_blocks(wrong[piece], f"{unit.task} {unit.seed} {role} {number}")
                    for number, piece in enumerate(seen.pieces())
                ]
            )
    for name, fit in dict.fromkeys((key.row, key.fit) for key in found):
        parts = [found[Key(f"type {kind}", name, fit, ERRORS)] for kind in unit.plan.types]
        found[Key(TYPES, name, fit, ERRORS)] = averaged(parts)
    return found


def _by_blocks(wrong: Any, name: str) -> Drawn:
    """Return the error rate of one severity, whose blocks are drawn again."""
    blocks = np.minimum(np.arange(len(wrong)) // BLOCK, max(1, len(wrong) // BLOCK) - 1)
    return drawn(Mean(wrong, blocks), int(blocks[-1]) + 1, name)


def comparisons() -> tuple[Comparison, ...]:
    """Return what is compared: ours with every other row.

    Where errors are counted, each row is wrong where its own class is; `prediction error AUROC` is about the
    plain network's prediction in all rows.
    """
    others = (*RIVALS, *OURS)
    ninety = next(iter(LEFT))
    found = [Comparison(TCUQ, each, column) for column in (PREDICTION_AUROC, AUROC) for each in others]
    found += [Comparison(TCUQ_ANSWER, each, ninety) for each in others]
    found += [Comparison(TCUQ_BARE, each, ninety) for each in UNFITTED]
    found += [Comparison(TCUQ_BARE, each, PREDICTION_AUROC) for each in ("base", INT8)]
    found += [Comparison(each, "base", ERRORS) for each in TYPE_ROWS]
    found += [Comparison(each, "base", ERRORS, "/") for each in (TCUQ_ANSWER, TCUQ_BARE)]
    found.append(Comparison(TCUQ_ANSWER, "belief_told", ninety, second_fit=TOLD, first_fit=UNTOLD))
    return tuple(each for each in found if each.first != each.second)


NOTES = (
    "Rows with settings try eight on the development stream and keep the one with the best AUROC of their "
    "own errors; `mean_answer`, whose settings answer differently, the one with the least area under risk "
    "and coverage.",
    "Where `odin` keeps a gain of 0, it does not perturb its input; the choices say on which streams.",
    "`hmm` learns its switch rate and its temperature from the development stream by expectation "
    "maximization; its fits read no labels.",
    "A fit with labels reads true classes and marks of which steps are shifted.",
)
SPEC = StreamExperiment(
    "answers",
    TITLES["answers"],
    measure,
    comparisons(),
    notes=NOTES,
)
