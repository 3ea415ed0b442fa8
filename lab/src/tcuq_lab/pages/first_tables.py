"""Table 1 of the first screen: errors that are left, and how errors of the prediction are ranked."""

from __future__ import annotations

from collections.abc import Mapping

from ..reproduce.field.lines import Line
from ..reproduce.field.plan import FAMILY, LASTING_LAWS, NETWORKS
from .field import ANSWER, CONFIDENCE, RISK, SIMPLE, Field, direction
from .grids import grid
from .headline import AGAINST, AUROC, COLUMNS, LEFT, SEEN, Place, all_places, called, first_streams, place
from .numbers import around, beyond, number, short
from .wording import named

ERROR = "accuracy error"
MIXED_COLUMNS = (
    ("answers", "errors", CONFIDENCE, "wrong: prediction"),
    ("answers", "errors", ANSWER, "wrong: **our** answer"),
    ("answers", LEFT, CONFIDENCE, "errors left: confidence"),
    ("answers", LEFT, ANSWER, "errors left: **ours**"),
    ("alarms", "costly on", RISK, "alarm on, costly time"),
    ("alarms", "clean on", RISK, "clean time"),
    ("alarms", "benign on", RISK, "other shifts"),
    ("alarms", "collapse found", RISK, "faults found"),
    ("accuracy", ERROR, RISK, "accuracy off by: **ours**"),
    ("accuracy", ERROR, "mean confidence", "mean confidence"),
    ("accuracy", ERROR, "ATC", "ATC"),
)
"""Experiment, column and row of each column of the table, and its heading."""
LASTING = ("costly on", "benign on", "collapse found")
"""Columns of streams whose shifts last; the others are means of all mixed streams."""
READ_MIXED = (
    "Means over mixed streams: runs of heavy-tailed length, half of which hold one object; long runs, one "
    "class with 70 % of the steps, another class at each step, short shifts, and clean data. Ours is fitted "
    "on one mixed development stream and its clean log: answers and errors left by defaults, alarm and "
    "expected accuracy with `about='prediction'`. Costly time, other shifts and faults "
    "(blank, saturated or frozen input) are of streams whose shifts last 600 steps or more. Accuracy off by: "
    "mean distance of the expected accuracy from the true one over 200 steps. Figures of each stream are on "
    "the pages of the experiments; the [targets](#targets) name the worst."
)


def mixed_table(fields: Mapping[str, Field]) -> str:
    """Return the table, or nothing where no mixed stream was measured.

    Parameters
    ----------
    fields : mapping of str to Field
    """
    rows = []
    for task in NETWORKS:
        cells = [_mean(fields.get(name), task, column, row) for name, column, row, _ in MIXED_COLUMNS]
        if any(cells):
            rows.append([named(task), *cells])
    return grid(["", *(head for *_, head in MIXED_COLUMNS)], rows, len(MIXED_COLUMNS)) if rows else ""


def _mean(field: Field | None, task: str, column: str, row: str) -> str:
    if field is None:
        return ""
    streams = LASTING_LAWS if column in LASTING else FAMILY
    found = [field.look(task, stream, row, column) for stream in streams]
    values = [line.value for line in found if line is not None]
    return number(column, sum(values) / len(values)) if values else ""


MOST_ROWS = 12
TITLE = f"errors left at 90 % coverage (lower is better) and {AUROC} (higher is better)"
CAPTION = (
    "Ours are two fits of the standard monitor: errors left are those of the default, `about='answer'` (row "
    "`tcuq answer`), AUROC that of `about='prediction'` (row `tcuq`)."
)
"""Which monitor a figure of ours belongs to."""
SHORT = {LEFT: "errors left", AUROC: "AUROC"}
INTERVALS = (
    "Intervals are made from stretches of the test streams, drawn again: they speak of other stretches of "
    "these networks, not of other networks."
)


def errors_table(field: Field) -> str:
    """Return the table: 4 rows a task; confidence, best simple rule, ensemble and ours by both figures."""
    rows = [
        [
            f"{named(task)}, {name}",
            *(cell for column in SHORT for cell in _cells(place(field, task, stream, column))),
        ]
        for task in field.first_tasks
        for name, stream in first_streams(task).items()
    ]
    others = ("confidence", "simple rule", "ensemble of five", "**ours**")
    head = ["", *(f"{words}: {each}" for words in SHORT.values() for each in others)]
    return grid(head, rows, len(head) - 1)


def _cells(here: Place) -> list[str]:
    def bold(line: Line | None) -> str:
        text = short(line)
        return f"**{text}**" if line is not None and line.value == here.best else text

    simple = f"{bold(here.simple)}<br><sub>{here.simple.row}</sub>" if here.simple else ""
    ours = around(here.ours, bold=here.ours is not None and here.ours.value == here.best)
    gap = around(here.gaps.get("confidence"), signed=True)
    both = "<br>".join(text for text in (ours, f"({gap})" if gap else "") if text)
    return [bold(here.confidence), simple, bold(here.deep), both]


def read_errors() -> str:
    """Return what the columns of the table are."""
    rules = ", ".join(f"`{name}` ({words})" for name, words in SIMPLE.items())
    return (
        "**Errors left**: the share of wrong answers among the 90 % of steps that a method trusts most. "
        f"**{AUROC}**: does the score rank errors of the plain network's prediction above its right answers. "
        "One rule: by errors left every method is judged by its own answers, ours by `tcuq answer`; by AUROC "
        "all are asked about the same events, ours with the risk of `tcuq`, which is fitted for the "
        "prediction (`about='prediction'`, not the default). **Ours** was fitted with labels "
        "of a development stream that mixes paces; in brackets: the difference to confidence. "
        "**Without labels**: fitted on that stream and on clean steps, both without labels "
        "(`tcuq no labels`; figures on the page of the [answers](results/answers.md)). **Confidence**: the "
        "network's largest posterior (`base`). **Ensemble of five**: "
        "five networks, five passes a step (`deep`). **Simple rule**: the best of "
        f"{len(SIMPLE)} on that very stream, which favors it. Bold: the best of confidence, simple "
        "rule, ensemble and ours. \u00b1: the longer side of a 95 % interval; the difference is paired. "
        f"{INTERVALS}\n\nThe simple rules: {rules}."
    )


def behind_table(field: Field) -> str:
    """Return every stream on which ours is behind confidence, a simple rule or the ensemble of five."""
    found: dict[tuple[str, str], dict[tuple[str, str], Line]] = {}
    for here in all_places(field):
        for name, gap in here.gaps.items():
            if direction(gap.column) * gap.value <= -SEEN:
                found.setdefault((here.task, here.stream), {})[here.column, name] = gap
    rows = [
        [
            f"{named(task)}, {called(stream)}",
            *(_gap(gaps.get((column, name))) for column in COLUMNS for name in AGAINST),
        ]
        for (task, stream), gaps in found.items()
    ]
    head = ["", *(f"{SHORT[column]}: {name}" for column in COLUMNS for name in AGAINST)]
    return grid(head, rows, len(head) - 1) if rows else "Nowhere."


def _gap(gap: Line | None) -> str:
    return "" if gap is None else f"**{short(gap, True)}**" if beyond(gap) else short(gap, True)
