"""Experiment `answers`: which answers are wrong, and how many errors are left."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tcuq.log.quantize import quantize_probs

from ..harness.declare import Case, Comparison, Metric, Play, Row
from ..harness.intervals import Drawn, averaged
from ..harness.laws import CLEAN_DEV, TOLD, UNTOLD
from ..harness.types import Answers, Outputs
from ..methods.method import Method, Scored
from ..methods.tcuq import Ours
from ..metrics import errors
from ..metrics.drops import errors_alone
from ..metrics.errors import AUROC, ERRORS, NINETY, PREDICTION_AUROC
from ..reproduce.rows import LEARNED, TUNED, UNFITTED, row_of
from ..reproduce.units import ALL_TYPES, Unit, network_of
from .experiment import StreamExperiment, monitor_of, notes_of, plays_of

TCUQ, TCUQ_ANSWER, TCUQ_BARE = "tcuq", "tcuq answer", "tcuq no labels"
INT8 = "int8 confidence"
OURS = (TCUQ, TCUQ_ANSWER, TCUQ_BARE)
RIVALS = (UNFITTED[0], INT8, *UNFITTED[1:], *TUNED, *LEARNED)
TYPE_ROWS = ("vote_8", "belief", TCUQ_ANSWER, TCUQ_BARE)
"""Rows with a class of their own that are shown single corruption types, beside the plain network."""


class Int8:
    """1 less the confidence that a monitor reads, which has 255 values."""

    def watch(self, seen: Outputs) -> Answers:
        """Say the doubt of each step."""
        given = quantize_probs(seen.probs)
        score = 1 - (given.max(axis=1).astype(np.float64) + 128) / 256
        return Answers(score, np.asarray(given.argmax(axis=1), dtype=np.int64), prediction_risk=score)


def scored(name: str, unit: Unit, role: str) -> Scored:
    """Return a method of `METHODS`, fitted by how well it finds its own errors."""
    row = row_of(name)
    found = Scored(row.method, errors_alone)
    if row.method.learn is not Method.learn:
        banks = unit.recordings.banks(unit.task, "dev", unit.seed, [row], ["clean"])
        found.learn(banks[row.label]["clean"], unit.recordings.part(unit.task, "dev").y)
    if role:
        found.fit(unit.dev(role, True, network_of(name)))
    return found


def _labeled(about: str, unit: Unit, role: str) -> Ours:
    return Ours(monitor_of(unit, role, about=about), about)


def _bare(unit: Unit, role: str) -> Ours:
    first, second = (monitor_of(unit, role, False, about=each) for each in ("answer", "prediction"))
    return Ours(first, "answer", second)


def _of_types(case: Case) -> dict[str, Drawn]:
    """Return the errors on single corruption types, and over all of them."""
    if case.play.stream != ALL_TYPES:
        return errors.errors_by_blocks(case)
    by_type: dict[str, list[Drawn]] = {}
    for piece in case.truth.pieces():
        kind = case.truth.names[case.truth.sources[piece.start]].partition("/")[0]
        parts = by_type.setdefault(kind, [])
        name = f"{case.streams.draws(f'type {kind}')} {len(parts)}"
        parts.append(errors.by_blocks(case.wrong[piece], name))
    return {ERRORS: averaged([averaged(parts) for parts in by_type.values()])}


def _single(play: Play) -> bool:
    return play.stream.startswith("type ") or play.stream == ALL_TYPES


def _judged(case: Case) -> dict[str, Any]:
    if _single(case.play):
        return dict(_of_types(case))
    found: dict[str, Any] = {}
    for metric in (errors.ranking, errors.errors, errors.left, errors.prediction_ranking):
        found |= metric(case)
    return found


METRICS: tuple[Metric, ...] = (_judged,)


def rows(unit: Unit) -> list[Row]:
    """Return the rows whose networks are there; a run of a few streams is for the plain network."""
    found = []
    for name in RIVALS:
        fits, shown = name not in (*UNFITTED, INT8), partial(_shown, name)
        if name == INT8:
            found.append(Row(name, lambda unit, role: Int8(), False, shown=shown))
            continue
        network = network_of(name)
        if unit.has(row_of(name)) and not (unit.plan.only and network is not None):
            key = None if name in LEARNED else _key
            found.append(Row(name, partial(scored, name), fits, network, shown=shown, key=key))
    ours: tuple[Callable[[Unit, str], Ours], ...]
    ours = (partial(_labeled, "prediction"), partial(_labeled, "answer"), _bare)
    return found + [Row(name, fit, shown=partial(_shown, name)) for name, fit in zip(OURS, ours, strict=True)]


def _shown(name: str, play: Play) -> bool:
    return not _single(play) or name in ("base", *TYPE_ROWS)


def _key(method: Scored) -> str:
    return json.dumps(method.choice, sort_keys=True)


def comparisons() -> tuple[Comparison, ...]:
    """Return what is compared: ours with every other row.

    Where errors are counted, each row is wrong where its own class is; `prediction error AUROC` is about the
    plain network's prediction in all rows.
    """
    others = (*RIVALS, *OURS)
    found = [Comparison(TCUQ, each, column) for column in (PREDICTION_AUROC, AUROC) for each in others]
    found += [Comparison(TCUQ_ANSWER, each, NINETY) for each in others]
    found += [Comparison(TCUQ_BARE, each, NINETY) for each in RIVALS[: len(UNFITTED) + 1]]
    found += [Comparison(TCUQ_BARE, each, PREDICTION_AUROC) for each in ("base", INT8)]
    found += [Comparison(each, "base", ERRORS) for each in TYPE_ROWS]
    found += [Comparison(each, "base", ERRORS, "/") for each in (TCUQ_ANSWER, TCUQ_BARE)]
    found.append(Comparison(TCUQ_ANSWER, "belief_told", NINETY, second_fit=TOLD, first_fit=UNTOLD))
    return tuple(each for each in found if each.first != each.second)


SPEC = StreamExperiment(
    "answers",
    "Which answers are wrong, and how many errors are left",
    rows,
    partial(plays_of, types="fits"),
    METRICS,
    comparisons(),
    notes=notes_of("answers"),
    spare=CLEAN_DEV,
)
