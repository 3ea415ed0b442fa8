"""The two tables of the first screen: errors that are left, and the alarm."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..reproduce.field.lines import Line
from .field import CLEAN, EQUAL, NO_LABELS, RISK, Field, direction
from .grids import grid
from .headline import AUROC, COLUMNS, LEFT, Place, first_streams, place
from .numbers import SPACE, around, counts, number, short
from .wording import named

ALARM_STREAM = "class 16"
ALARM_COLUMNS = {
    "clean on": "clean time on",
    "shifted on": "shifted time on",
    "costly on": "costly time on",
    "found": "shifts found",
    "delay": "median delay, steps",
    "false per 10,000": "false alarms per 10,000 clean steps",
}
"""Columns of the alarm's table and their headings; false alarms are counted on clean test data."""
ON_CLEAN = ("false per 10,000", "run length ratio")
MOST_ROWS = 12
PLAINEST = ("windowed mean", "window mean", "mean", "window")
"""Names of the plainest alarm there is, by which its row is found."""
CALLED = {RISK: "**ours**, fitted with labels", NO_LABELS: "**ours**, without labels"}


def errors_table(field: Field) -> str:
    """Return the table of errors left and of error AUROC, 4 rows a task."""
    rows = []
    for task in field.tasks:
        for called, stream in first_streams(task).items():
            cells = []
            for column in COLUMNS:
                here = place(field, task, stream, column)
                cells += _cells(here)
            rows.append([f"{named(task)}, {called}", *cells])
    head = [""]
    for words in ("errors left", "AUROC"):
        head += [f"{words}: softmax", "simple rule", "deep, 5 runs", "**ours**, minus softmax"]
    return grid(head, rows, len(head) - 1)


def _cells(here: Place) -> list[str]:
    def bold(line: Line | None) -> str:
        text = short(line)
        return f"**{text}**" if line is not None and line.value == here.best else text

    simple = f"{bold(here.simple)}<br><sub>{here.simple.row}</sub>" if here.simple else ""
    ours = around(here.ours, bold=here.ours is not None and here.ours.value == here.best)
    gap = around(here.gaps.get("confidence"), signed=True)
    both = "<br>".join(text for text in (ours, gap) if text)
    return [bold(here.confidence), simple, bold(here.deep), both]


def read_errors() -> str:
    """Return what the columns of the first table are."""
    return (
        f"**{LEFT.capitalize()} coverage** (errors left): the share of wrong answers among the 90 % of steps "
        "that a method trusts most; lower is better. Every method is judged by its own answers, ours by "
        f"`tcuq answer`. **{AUROC}**: does the score rank wrong answers above right ones; rivals by their "
        "own answers, ours by the risk that `tcuq` gives the network's label. "
        "**Softmax**: 1 minus the network's own confidence, `base`. "
        "**Simple rule**: the best of seven on that very stream, named, which favors it. Ours was fitted on "
        "a development stream of changing pace; nobody told it the pace. Bold: the best of the four. "
        "\u00b1: the longer side of a 95 % interval; the difference is paired."
    )


def alarm_look(field: Field, task: str, stream: str, row: str, column: str) -> Line | None:
    """Return a figure of the alarm; false alarms are those on clean test data."""
    if column.removesuffix(EQUAL) in ON_CLEAN:
        found = field.look(task, CLEAN, row, column)
        return found if found is not None else field.look(task, "clean test", row, column)
    return field.look(task, stream, row, column)


def alarm_rows(field: Field, stream: str = ALARM_STREAM) -> list[str]:
    """Return the rows of the alarm: ours, then rivals from the best to the worst.

    Rivals are ranked by their delay at equal false-alarm rates, the mean of their ranks over tasks; by that
    at their own rates where the file has no other.
    """
    delays = [f"delay{EQUAL}", "delay"]
    column = next((each for each in delays if any(field.rivals(t, each) for t in field.tasks)), "delay")
    ranks: dict[str, list[float]] = {}
    for task in field.tasks:
        rivals = field.rivals(task, column)
        values = {}
        for row in rivals:
            line = field.look(task, stream, row, column)
            values[row] = math.inf if line is None else line.value
        for row, value in values.items():
            ranks.setdefault(row, []).append(sum(other < value for other in values.values()))
    rivals = sorted(ranks, key=lambda row: (sum(ranks[row]) / len(ranks[row]), row))
    ours = [row for row in (RISK, NO_LABELS) if any(row in field.rows(t, "delay") for t in field.tasks)]
    return [*ours, *rivals]


def plainest(rows: Sequence[str]) -> str | None:
    """Return the plainest alarm among some rows.

    Examples
    --------
    >>> plainest(["tcuq", "cusum of confidence", "windowed mean of confidence"])
    'windowed mean of confidence'
    """
    return next((row for name in PLAINEST for row in rows if name in row.replace("_", " ")), None)


def alarm_table(field: Field) -> str:
    """Return the table of the alarm: one row a method, the tasks beside each other in every cell."""
    rows = alarm_rows(field)
    kept = rows[:MOST_ROWS]
    plain = plainest(rows)
    if plain is not None and plain not in kept:
        kept[-1] = plain
    lines = []
    for row in kept:
        cells = []
        for column in ALARM_COLUMNS:
            there = [alarm_look(field, task, ALARM_STREAM, row, column) for task in field.tasks]
            cells.append(f"{SPACE}/{SPACE}".join(_rough(column, line) for line in there))
        name = CALLED.get(row, f"`{row}`") + (" (the plainest)" if row == plain else "")
        lines.append([name, *cells])
    text = grid(["", *ALARM_COLUMNS.values()], lines, len(ALARM_COLUMNS))
    left = len(rows) - len(kept)
    return text + (f"\n\n{left} more on the page of the [alarms](results/alarms.md)." if left else "")


def _rough(column: str, line: Line | None) -> str:
    """Return a figure in two digits; the page of the alarms has more, with intervals."""
    if line is None:
        return "-"
    if counts(column) or not math.isfinite(line.value):
        return number(column, line.value)
    return f"{line.value:.2f}".replace("0.", ".", 1) if line.value < 1 else f"{line.value:.2f}"


def read_alarms(field: Field) -> str:
    """Return what the columns of the second table are."""
    tasks = " / ".join(map(named, field.tasks))
    return (
        f"Each cell: {tasks}, on streams of {ALARM_STREAM}. Limits come from development data alone; the "
        "false alarms that came out stand beside every delay. Costly: the shift takes ten points of accuracy "
        "or more. A shift that is never found counts as an infinite delay. Rivals are ordered by their delay "
        "at equal false-alarm rates, which the page of the [alarms](results/alarms.md) shows."
    )


def leads(field: Field) -> tuple[int, int]:
    """Return at how many places of the first table ours is the best of the four, and how many there are."""
    places = [
        place(field, task, stream, column)
        for task in field.tasks
        for stream in first_streams(task).values()
        for column in COLUMNS
    ]
    there = [each for each in places if each.ours is not None]
    first = [each for each in there if each.ours and direction(each.column) and each.ours.value == each.best]
    return len(first), len(there)
