"""A page for each experiment that repeats one of the paper: what is asked, and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .about import OLDER, PARAGRAPHS, READING
from .content import Content, claimed
from .field import RISK
from .figures import NAN, PAIRED, Figure, Found
from .grids import MADE, grid, page, paged
from .paper import Paper
from .verdicts import claims_page
from .wording import between, named, sense, shown, took

BACK = "[All results](../RESULTS.md)."
FULL_DWELL = 16.0
"""Dwell whose tables come first."""


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
    """

    task: str
    dwell: float
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[Cell, ...]]
    printed: Mapping[str, Mapping[str, float]]
    paired: bool = False


def tables(found: Found, paper: Paper, task: str, dwell: float) -> list[Table]:
    """Return the tables of a task at a dwell: that of the rows, and that of differences where there are any.

    Parameters
    ----------
    found : Found
    paper : Paper
    task : str
    dwell : float
    """
    here = found.at(task, dwell)
    plain = [row for row in here.rows if PAIRED not in row]
    paired = [row for row in here.rows if PAIRED in row]
    made = [_made(here, paper, task, dwell, plain)] if plain else []
    if paired:
        made.append(replace(_made(here, paper, task, dwell, paired), paired=True))
    return made


def _made(here: Found, paper: Paper, task: str, dwell: float, rows: Sequence[str]) -> Table:
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


def notes(found: Found, paper: Paper) -> list[str]:
    """Return what keeps the paper's figures beside an experiment from being the same quantity."""
    parts = [part for part in paper.of(found.name) if part.task in found.tasks and part.note]
    return list(dict.fromkeys(f"{part.where}: {part.note}" for part in parts))


def paper_pages(content: Content) -> dict[str, str]:
    """Return the pages by file name.

    Parameters
    ----------
    content : Content
    """
    pages: dict[str, str] = {}
    for name, found in content.found.items():
        pages |= experiment_pages(name, found, content.paper)
    return pages | {
        "claims.md": claims_page(
            content.claims, content.claims_judged, claimed(content.found, content.fields), content.paper
        ),
        "paper.md": alone_page(content),
    }


def alone_page(content: Content) -> str:
    """Return the page of what the paper printed and no result here stands beside."""
    rows = [
        [
            part.where,
            named(part.task),
            part.column,
            ", ".join(f"`{row}` {value:g}" for row, value in part.rows.items()),
        ]
        for part in content.alone
    ]
    head = [
        "# Figures of the paper without a counterpart",
        MADE,
        "Printed there, and not among the results here: not run, or not possible with the data at hand. "
        f"{BACK}",
        content.paper.about,
    ]
    return page([*head, grid(["where", "data", "figure", "printed"], rows) if rows else "There are none."])


def experiment_pages(name: str, found: Found, paper: Paper) -> dict[str, str]:
    """Return the page of an experiment, or several where one would be too long."""
    head = [
        f"# {found.title}",
        PARAGRAPHS.get(name, ""),
        f"Paper: {found.paper}." if found.paper else "",
        f"Run it again: `{found.command}` ({took(found.seconds)}). {BACK}",
        OLDER if any(row.startswith(RISK) for row in found.rows) else "",
    ]
    full = FULL_DWELL if FULL_DWELL in found.dwells else found.dwells[0]
    sections = []
    for dwell in sorted(found.dwells, key=lambda each: each != full):
        for task in found.tasks:
            for table in tables(found, paper, task, dwell):
                where = named(task) if len(found.dwells) == 1 else f"{named(task)}, dwell {dwell:g}"
                where += ", differences" if table.paired else ""
                sections.append([f"**{where}**", _table(table)])
    beside = notes(found, paper)
    if beside:
        sections.append(["Beside the paper's figures:", "\n".join(f"- {remark}." for remark in beside)])
    sections.append([f"How to read: {READING}"])
    versions = ", ".join(f"{each} {number}" for each, number in found.versions.items())
    sections.append([f"Versions: {versions}."])
    return paged(name, head, sections, MADE)


def _table(table: Table) -> str:
    head = [""]
    for column in table.columns:
        head += [column, *(["paper"] if column in table.printed else [])]
    rows = []
    for row, cells in table.rows.items():
        line = [f"`{row}`"]
        for column, cell in zip(table.columns, cells, strict=True):
            line.append(_cell(cell))
            if column in table.printed:
                line.append(f"{table.printed[column][row]:g}" if row in table.printed[column] else "")
        rows.append(line)
    return grid(head, rows, len(head) - 1)


def _cell(cell: Cell) -> str:
    if not cell.there:
        return ""
    text = shown(cell.figure.value)
    if cell.best:
        text = f"**{text}**"
    span = between(cell.figure.low, cell.figure.high)
    return text + (f" ({span})" if span else "") + (f" [{cell.figure.n} of {cell.of}]" if cell.of else "")
