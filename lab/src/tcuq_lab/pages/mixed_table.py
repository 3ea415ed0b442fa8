"""Table 3 of the first screen: mixed streams, as cameras and microphones give them, a row for each task."""

from __future__ import annotations

from collections.abc import Mapping

from ..reproduce.field.plan import FAMILY, LASTING_LAWS, NETWORKS
from .field import ANSWER, CONFIDENCE, RISK, Field
from .grids import grid
from .headline import LEFT
from .numbers import number
from .wording import named

ERROR = "accuracy error"
COLUMNS = (
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
READ = (
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
        cells = [_mean(fields.get(name), task, column, row) for name, column, row, _ in COLUMNS]
        if any(cells):
            rows.append([named(task), *cells])
    return grid(["", *(head for *_, head in COLUMNS)], rows, len(COLUMNS)) if rows else ""


def _mean(field: Field | None, task: str, column: str, row: str) -> str:
    if field is None:
        return ""
    streams = LASTING_LAWS if column in LASTING else FAMILY
    found = [field.look(task, stream, row, column) for stream in streams]
    values = [line.value for line in found if line is not None]
    return number(column, sum(values) / len(values)) if values else ""
