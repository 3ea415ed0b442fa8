"""The alarm on the first page: one table at class 16, and one of the streams on which it is harder."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..reproduce.field.alarming.limits import RUN_LENGTH
from ..reproduce.field.lines import Line
from ..reproduce.field.plan import CHANGING, UnitPlan
from .field import CLEAN, EQUAL, NO_LABELS, RISK, Field
from .grids import grid
from .headline import called
from .numbers import counts, number
from .wording import named

ALARM_STREAM = "class 16"
ALARM_COLUMNS = {
    "clean on": "alarm on, clean time",
    "shifted on": "alarm on, shifted time",
    "costly on": "alarm on, shifts that cost 10 points or more",
    "found": "of those, found",
    "delay": "median delay, steps",
    "false per 10,000": "false alarms that came per 10,000 clean steps",
}
"""Columns of the alarm's table and their headings; false alarms are those of clean time of the stream."""
FALSE = "false per 10,000"
ON_CLEAN = (FALSE, "run length ratio")
MOST_ROWS = 12
BETWEEN = "\u202f/\u202f"
"""Tasks of one cell; narrow spaces that do not break, so that seven columns have room."""
WHOLE = 9.95
"""Delays from which decimals are left to the page of the alarms; false alarms have none here."""
PLAINEST = ("windowed mean", "window mean", "mean", "window")
"""Names of the plainest alarm there is, by which its row is found."""
CALLED = {RISK: "**ours**, fitted with labels, `about='prediction'`", NO_LABELS: "**ours**, without labels"}
TITLE = f"the alarm, asked for {10_000 / RUN_LENGTH:g} false alarms per 10,000 clean steps"
READ_HARDER = (
    "Delays are at equal false-alarm rates, clean time is at the limits of Table 2. `never`: ours "
    "misses half of the costly shifts or more."
)


def alarm_look(field: Field, task: str, stream: str, row: str, column: str) -> Line | None:
    """Return a figure of the alarm; false alarms on clean test data where the stream itself has none."""
    found = field.look(task, stream, row, column)
    if found is None and column.removesuffix(EQUAL) in ON_CLEAN:
        return field.look(task, CLEAN, row, column)
    return found


def alarm_rows(field: Field, stream: str = ALARM_STREAM) -> list[str]:
    """Return the rows of the alarm: ours, then rivals from the best to the worst.

    Rivals are ranked by their delay at equal false-alarm rates, the mean of their ranks over tasks; by that
    at their own rates where the file has no other.
    """
    delays = [f"delay{EQUAL}", "delay"]
    column = next((each for each in delays if any(field.rivals(t, each) for t in field.first_tasks)), "delay")
    ranks: dict[str, list[float]] = {}
    for task in field.first_tasks:
        rivals = field.rivals(task, column)
        values = {}
        for row in rivals:
            line = field.look(task, stream, row, column)
            values[row] = math.inf if line is None else line.value
        for row, value in values.items():
            ranks.setdefault(row, []).append(sum(other < value for other in values.values()))
    rivals = sorted(ranks, key=lambda row: (sum(ranks[row]) / len(ranks[row]), row))
    ours = [row for row in (RISK, NO_LABELS) if any(row in field.rows(t, "delay") for t in field.first_tasks)]
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
            there = [alarm_look(field, task, ALARM_STREAM, row, column) for task in field.first_tasks]
            cells.append(BETWEEN.join(_rough(column, line) for line in there))
        name = CALLED.get(row, f"`{row}`") + (" (the plainest)" if row == plain else "")
        lines.append([name, *cells])
    text = grid(["", *ALARM_COLUMNS.values()], lines, len(ALARM_COLUMNS))
    return text


def _rough(column: str, line: Line | None) -> str:
    """Return a figure in two digits; the page of the alarms has more, with intervals."""
    if line is None:
        return "-"
    if counts(column) or not math.isfinite(line.value):
        whole = math.isfinite(line.value) and (line.value >= WHOLE or column in ON_CLEAN)
        return f"{line.value:.0f}" if whole else number(column, line.value)
    return f"{line.value:.2f}".replace("0.", ".", 1) if line.value < 1 else f"{line.value:.2f}"


def read_alarms(field: Field) -> str:
    """Return what the columns of the table are."""
    tasks = " / ".join(map(named, field.first_tasks))
    return (
        f"Each cell: {tasks}, on streams of {ALARM_STREAM}. Limits come from development data alone, "
        f"for a run length of {RUN_LENGTH:,} clean steps; the false alarms that came out stand beside every "
        "delay. Cost is counted in points of accuracy. A shift "
        "that is never found counts as an infinite delay. Rivals are ordered by their delay "
        "at equal false-alarm rates; all of them are on the page of the [alarms](results/alarms.md). "
        "`CUSUM, deep`: a CUSUM of the confidence of the ensemble of five, five passes a step. "
        "Fitted with labels: with true classes, and marks of which steps are shifted; with "
        "`about='prediction'`, where the default is `about='answer'`."
    )


def harder_table(field: Field) -> str:
    """Return delays at equal false-alarm rates, and clean time, where the alarm is harder."""
    delay = f"delay{EQUAL}"
    rows = []
    for task in field.first_tasks:
        for stream in (UnitPlan(task, 0).lived, CHANGING):
            best = field.best(task, stream, field.rivals(task, delay), delay)
            mine = [field.look(task, stream, row, delay) for row in (RISK, NO_LABELS)]
            on = [field.look(task, stream, row, "clean on") for row in (RISK, NO_LABELS)]
            if not any(mine):
                continue
            rival = f"{_rough(delay, best)}<br><sub>{best.row}</sub>" if best else ""
            if best and math.isinf(best.value):
                rival = number(delay, best.value)  # that of all of them
            cells = (
                [_rough(delay, line) for line in mine] + [rival] + [_rough("clean on", line) for line in on]
            )
            rows.append([f"{named(task)}, {called(stream)}", *cells])
    if not rows:
        return ""
    head = ["", "delay: ours", "ours, without labels", "best rival", "alarm on, clean time: ours",
            "ours, without labels"]  # fmt: skip
    return grid(head, rows, len(head) - 1)
