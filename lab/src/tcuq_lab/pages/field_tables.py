"""Tables of experiments on streams: rows by stream, and rows by column, with all fits in one cell."""

from __future__ import annotations

from collections.abc import Sequence

from ..reproduce.field.plan import FAMILY, UNTOLD, fit_shown
from .field import CLEAN, EQUAL, TYPE, Field, direction, is_pair
from .grids import grid
from .headline import called
from .numbers import SPACE, around, number
from .wording import named

FIT_NAMES = {"told": "same pace", UNTOLD: "mixed paces", "other": "other pace"}
"""What pages call the fits of result files."""


def fitted_cell(field: Field, task: str, stream: str, row: str, column: str, best: float | None) -> str:
    """Return a figure of the fit that a user of the stream has, and below it those of the others."""
    mine = field.fit_of(task, row, column, fit_shown(stream))
    line = field.found.get(task, stream, row, mine, column)
    others = {fit: field.found.get(task, stream, row, fit, column) for fit in FIT_NAMES if fit != mine}
    more = [
        f"{FIT_NAMES[fit].replace(' ', SPACE)}{SPACE}{number(column, each.value)}"
        for fit, each in others.items()
        if each
    ]
    first = around(line, bold=line is not None and line.value == best)
    return "<br>".join(text for text in (first, *more) if text)


def named_row(field: Field, task: str, row: str, column: str) -> str:
    """Return the name of a row; one that not all networks have says how many do."""
    networks = field.networks(task, column)
    most, mine = max(networks.values(), default=0), networks.get(row, 0)
    few = f" [{mine} of {most} networks]" if 0 < mine < most else ""
    told = f" ({FIT_NAMES['told']})" if field.fit_of(task, row, column) == "told" else ""
    return f"`{row}`{told}{few}"


def by_stream(field: Field, task: str, column: str, rows: Sequence[str], streams: Sequence[str]) -> str:
    """Return rows and streams of one column; the best of each stream is bold.

    Parameters
    ----------
    field : Field
    task, column : str
    rows, streams : sequence of str
    """
    best = {stream: _best(field, task, stream, rows, column) for stream in streams}
    lines = [
        [
            named_row(field, task, row, column),
            *(fitted_cell(field, task, stream, row, column, best[stream]) for stream in streams),
        ]
        for row in rows
    ]
    return grid(["", *map(called, streams)], lines, len(streams))


def by_column(
    field: Field,
    task: str,
    stream: str,
    rows: Sequence[str],
    columns: Sequence[str],
    clean: Sequence[str] = (),
) -> str:
    """Return rows and columns of one stream; the best of each column is bold.

    Parameters
    ----------
    field : Field
    task, stream : str
    rows, columns : sequence of str
    clean : sequence of str
        Further columns, whose figures are those on clean test data.
    """
    places = {column: (stream, column) for column in columns}
    places |= {f"{column}, clean data": (CLEAN, column) for column in clean}
    best = {head: _best(field, task, at, rows, column) for head, (at, column) in places.items()}
    lines = [
        [
            f"`{row}`",
            *(fitted_cell(field, task, at, row, column, best[head]) for head, (at, column) in places.items()),
        ]
        for row in rows
        if any(field.look(task, stream, row, column) for column in columns)
    ]
    return grid(["", *map(headed, places)], lines, len(places))


HEADS = {
    "clean on": "alarm on, clean time",
    "shifted on": "alarm on, shifted time",
    "costly on": "alarm on, shifts that cost 10 points or more",
    "benign on": "alarm on, other shifts",
    "found": "found, of those shifts",
    "collapse found": "faults of the sensor with the alarm on at some step",
    "already on": "already on when they begin",
    "delay": "median delay, steps",
    "clears": "steps until it clears, median",
    "false per 10,000": "false alarms per 10,000 steps",
    "run length ratio": "run length, share of the one asked for",
}
"""Columns of the alarm in plain words."""


def headed(column: str) -> str:
    """Return a column in plain words; what follows its name stays.

    Examples
    --------
    >>> headed("delay (equal)"), headed("false per 10,000, clean data"), headed("errors")
    ('median delay, steps (equal)', 'false alarms per 10,000 steps, clean data', 'errors')
    """
    for name, words in HEADS.items():
        if column in (name, f"{name}{EQUAL}", f"{name}, clean data"):
            return words + column.removeprefix(name)
    return column


def _best(field: Field, task: str, stream: str, rows: Sequence[str], column: str) -> float | None:
    if not direction(column) or any(is_pair(row) for row in rows):
        return None
    line = field.best(task, stream, rows, column)
    return None if line is None else line.value


def pairs(field: Field, task: str, column: str, streams: Sequence[str]) -> str:
    """Return the paired differences and ratios of a column, of the fit that a user of the stream has."""
    there = [
        line
        for line in field.lines(task, column)
        if is_pair(line.row) and line.fit in (fit_shown(line.stream), "")
    ]
    rows = dict.fromkeys(line.row for line in there)
    if not rows:
        return ""
    figures = {(line.row, line.stream): line for line in there}
    lines = [
        [f"`{row}`", *(around(figures.get((row, stream)), signed=" - " in row) for stream in streams)]
        for row in rows
    ]
    return grid(["", *map(called, streams)], lines, len(streams))


def types(field: Field, task: str, column: str) -> str:
    """Return the streams of one corruption type, one line each, nothing where there are none."""
    streams = [each for each in field.streams(task, column) if each.startswith((TYPE, "all types"))]
    rows = [
        row
        for row in dict.fromkeys(line.row for line in field.lines(task, column))
        if any(field.look(task, stream, row, column) for stream in streams)
    ]
    if not streams or not rows:
        return ""
    lines = [
        [
            stream.removeprefix(TYPE),
            *(around(field.look(task, stream, row, column), signed=" - " in row) for row in rows),
        ]
        for stream in streams
    ]
    return grid(["", *(f"`{row}`" for row in rows)], lines, len(rows))


def told_worth(field: Field, column: str) -> str:
    """Return what knowing the pace is worth: means over streams of the three fits of every fitted row.

    Mixed streams are left out: they have one development stream, whatever their pace.
    """
    rows: dict[str, list[str]] = {}
    for task in field.tasks:
        laws = [law for law in field.laws(task, column) if law not in FAMILY]
        for row in field.rows(task, column):
            values = []
            for fit in ("told", UNTOLD, "other"):
                found = [field.found.get(task, law, row, fit, column) for law in laws]
                there = [line.value for line in found if line is not None]
                values.append(sum(there) / len(there) if there and len(there) == len(laws) else None)
            if all(value is not None for value in values):
                rows.setdefault(row, []).append(" / ".join(number(column, each or 0.0) for each in values))
    lines = [[f"`{row}`", *cells] for row, cells in rows.items() if len(cells) == len(field.tasks)]
    return grid(["", *map(named, field.tasks)], lines, len(field.tasks)) if lines else ""


def plain_streams(field: Field, task: str, column: str) -> list[str]:
    """Return the streams of a table: laws, clean data and others, without single corruption types."""
    return [each for each in field.streams(task, column) if not each.startswith((TYPE, "all types"))]


def is_clean(stream: str) -> bool:
    """Return whether a stream is clean test data."""
    return stream in (CLEAN, "clean test")
