"""The first question of a reader: how many errors are left, against what a few lines of code give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..reproduce.field.lines import Line
from ..reproduce.field.plan import CHANGING, UnitPlan
from .field import ANSWER, CONFIDENCE, DEEP, NO_LABELS, RISK, SIMPLE, Field, direction

LEFT, AUROC = "errors at 90 %", "prediction error AUROC"
COLUMNS = (LEFT, AUROC)
MINE = {LEFT: ANSWER, AUROC: RISK}
"""Row of ours for each. Errors left are those of a method's own answers; the AUROC asks every method about
the same events, errors of the plain network's prediction."""
AGAINST = ("confidence", "simple rule", "ensemble")
SEEN = 0.0005
"""Least difference that is not printed as 0."""
SHOWN = {"class 1": "shuffled", CHANGING: "unknown pace"}
"""Streams whose name in result files is not the one that pages print."""


def called(stream: str) -> str:
    """Return a stream as pages call it.

    Examples
    --------
    >>> called("class 1"), called("class 16")
    ('shuffled', 'class 16')
    """
    return SHOWN.get(stream, stream)


class Place(NamedTuple):
    """All that one cell of the first table, or one point of the plot, is about.

    Parameters
    ----------
    task, stream, column : str
    ours, confidence, simple, deep, bare : Line, optional
        None where the result file has no such figure; `bare` is ours, fitted without labels.
    gaps : dict of str to Line
        Ours minus each of `AGAINST`.
    """

    task: str
    stream: str
    column: str
    ours: Line | None
    confidence: Line | None
    simple: Line | None
    deep: Line | None
    bare: Line | None
    gaps: dict[str, Line]

    @property
    def best(self) -> float | None:
        """The best figure of four; ours is the one that was fitted with labels."""
        there = [line.value for line in (self.ours, self.confidence, self.simple, self.deep) if line]
        return None if not there else max(there) if direction(self.column) > 0 else min(there)


def place(field: Field, task: str, stream: str, column: str) -> Place:
    """Return what stands at a place.

    The simple rule is the one with the best figure on this very stream: nobody could have chosen it so well.
    """
    ours = field.look(task, stream, MINE[column], column)
    rivals = {
        "confidence": field.look(task, stream, CONFIDENCE, column),
        "simple rule": field.best(task, stream, tuple(SIMPLE), column),
        "ensemble": field.look(task, stream, DEEP, column),
    }
    gaps = {}
    for name, line in rivals.items():
        gap = line and field.pair(task, stream, MINE[column], line.row, column)
        if gap:
            gaps[name] = gap
    confidence, simple, deep = rivals.values()
    bare = field.look(task, stream, NO_LABELS, column)
    return Place(task, stream, column, ours, confidence, simple, deep, bare, gaps)


def first_streams(task: str) -> dict[str, str]:
    """Return the streams of the first table, by how they are called there.

    Examples
    --------
    >>> list(first_streams("speech_commands"))
    ['shuffled', 'class 16', 'continuous sound', 'unknown pace']
    """
    lived = UnitPlan(task, 0).lived
    return {"shuffled": "class 1", "class 16": "class 16", lived: lived, "unknown pace": CHANGING}


def all_places(field: Field) -> Iterator[Place]:
    """Give every law of every task, for both columns."""
    for task in field.tasks:
        for stream in field.laws(task, LEFT) or field.laws(task, AUROC):
            for column in COLUMNS:
                yield place(field, task, stream, column)
