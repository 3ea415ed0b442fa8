"""Tables as both pages show them: rows and columns of a task at a dwell, the paper's figures beside ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .figures import NAN, PAIRED, Figure, Found
from .paper import Paper
from .wording import sense

FULL_DWELL = 16.0
"""Dwell whose tables are always shown whole."""
SHORT = 8
"""Rows up to which a table is never cut."""
OURS = ("tcuq_paper", "tcuq")
ALWAYS = ("base", "deep", *OURS)
"""Rows that a cut table keeps, with the best of the others."""


@dataclass(frozen=True)
class Cell:
    """A figure in a table.

    Parameters
    ----------
    figure : Figure
    best : bool
        None of its column is better.
    of : int
        Streams on which others of its column are defined; 0 where it has them all.
    there : bool
        Its row has such a figure at all.
    """

    figure: Figure
    best: bool = False
    of: int = 0
    there: bool = True


@dataclass(frozen=True)
class Table:
    """Rows and columns of a task at a dwell.

    Parameters
    ----------
    task : str
    dwell : float
    columns : tuple of str
    rows : mapping of str to cells
    printed : mapping of str to mapping
        Figures of the paper, by column and row.
    paired : bool
        Its rows are differences of two others.
    cut : int
        Rows that were left out.
    """

    task: str
    dwell: float
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[Cell, ...]]
    printed: Mapping[str, Mapping[str, float]]
    paired: bool = False
    cut: int = 0


def tables(found: Found, paper: Paper, task: str, dwell: float, whole: bool = True) -> list[Table]:
    """Return the tables of a task at a dwell: that of the rows, and that of differences where there are any.

    Parameters
    ----------
    found : Found
    paper : Paper
    task : str
    dwell : float
    whole : bool
        All rows, not only `ALWAYS` and the best of the others.
    """
    here = found.at(task, dwell)
    plain = [row for row in here.rows if PAIRED not in row]
    paired = [row for row in here.rows if PAIRED in row]
    made = [_table(here, paper, task, dwell, plain)] if plain else []
    if paired:
        made.append(replace(_table(here, paper, task, dwell, paired), paired=True))
    return made if whole else [_cut(each) for each in made]


def _table(here: Found, paper: Paper, task: str, dwell: float, rows: Sequence[str]) -> Table:
    columns = tuple(
        column for column in here.columns if any((task, dwell, row, column) in here.figures for row in rows)
    )
    cells: dict[str, list[Cell]] = {row: [] for row in rows}
    for column in columns:
        figures = {row: here.get(task, dwell, row, column) for row in rows}
        best = NAN if PAIRED in rows[0] else _best(column, [figure.value for figure in figures.values()])
        most = max(figure.n for figure in figures.values())
        for row, figure in figures.items():
            fewer = most if 0 < figure.n < most and not math.isnan(figure.value) else 0
            there = (task, dwell, row, column) in here.figures
            cells[row].append(Cell(figure, len(rows) > 1 and figure.value == best, fewer, there))
    printed = {column: paper.column(here.name, task, column) for column in columns}
    kept = {column: figures for column, figures in printed.items() if set(figures) & set(rows)}
    return Table(task, dwell, columns, {row: tuple(each) for row, each in cells.items()}, kept)


def _best(column: str, values: Sequence[float]) -> float:
    """Return the best of some values, NaN where none is better than the others."""
    known = [value for value in values if math.isfinite(value)]
    if len(set(known)) < 2 or not sense(column):
        return NAN
    return max(known) if sense(column) > 0 else min(known)


def _cut(table: Table) -> Table:
    """Return a table with few rows: those that are always shown, and the best of the others."""
    if len(table.rows) <= SHORT:
        return table
    others = {row: cells[0].figure.value for row, cells in table.rows.items() if row not in ALWAYS}
    best = _best(table.columns[0], list(others.values()))
    rival = [row for row, value in others.items() if value == best][:1]
    rows = {row: cells for row, cells in table.rows.items() if row in (*ALWAYS, *rival)}
    return replace(table, rows=rows, cut=len(table.rows) - len(rows))


def notes(found: Found, paper: Paper) -> list[str]:
    """Return what keeps the paper's figures beside an experiment from being the same quantity."""
    parts = [part for part in paper.of(found.name) if part.task in found.tasks and part.note]
    return list(dict.fromkeys(f"{part.where}: {part.note}" for part in parts))
