"""Ours against every rival of equal cost, and where the rival is better beyond the interval."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..harness.laws import TOLD, UNTOLD
from ..harness.lines import Line
from ..metrics.alarms import RUN_LENGTH
from .figures import ALARM, ANSWER, Field, Sources, is_worse, on_mixed_paces
from .words import SPACE, grid, percent, place_name, row_name, span

ERRORS, FOUND, DISTANCE, FALSE = "errors at 90 %", "found", "accuracy error", "false per 10,000"
EQUAL = " (equal)"
MEASURES = {
    ("answers", ANSWER, ERRORS): "errors left",
    ("alarms", ALARM, FOUND): "harmful shifts found",
    ("accuracy", ANSWER, DISTANCE): "error of the expected accuracy",
}
"""Experiment, row of ours and column of what is compared, and its name."""
MOST = {"errors left": 3, "harmful shifts found": 4, "error of the expected accuracy": 3}
"""Rows of the short list, at most ten."""
HEAD = ("measure", "task", "stream", "fit", "column", "tcuq", "rival", "rival_value", "difference", "low",
        "high")  # fmt: skip
ASKED = 10_000 / RUN_LENGTH
"""False alarms per 10,000 clean steps that limits of alarms are asked for."""


class Comparison(NamedTuple):
    """Ours, a rival of equal cost, and their paired difference."""

    measure: str
    ours: Line
    rival: Line
    gap: Line


def comparisons(sources: Sources) -> list[Comparison]:
    """Return all comparisons with an interval, the largest differences of each measure first.

    Both fits count that a user may make: on a recording of the same kind of stream, and on one that mixes
    paces. Alarms are compared at equal rates of false alarms where a file has them; elsewhere at their own
    limits, with rivals whose false alarms come at most half as often again as asked for, or at most as often
    as ours.
    """
    found = [
        each
        for (experiment, row, column), measure in MEASURES.items()
        for each in _of(sources.fields[experiment], row, column, measure)
    ]
    return sorted(found, key=lambda each: (list(MOST).index(each.measure), -abs(each.gap.value)))


def losses(found: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons in which the rival is better beyond the interval."""
    return [each for each in found if is_worse(each.gap)]


def _of(field: Field, row: str, column: str, measure: str) -> Iterator[Comparison]:
    for task, stream in field.places(column, row):
        for fit in (TOLD, UNTOLD):
            ours = None
            if column == FOUND:
                ours = field.get(task, stream, row, column + EQUAL, (fit,))
            ours = ours or field.get(task, stream, row, column, (fit,))
            if ours is None:
                continue
            for rival in field.rivals(column):
                other = field.get(task, stream, rival, ours.column, (fit, ""))
                gap = field.gap(ours, rival)
                if other and gap and not math.isnan(gap.low) and _comparable(field, ours, other):
                    yield Comparison(measure, ours, other, gap)


def _comparable(field: Field, ours: Line, rival: Line) -> bool:
    if ours.column != FOUND:
        return True
    rates = [field.get(line.task, line.stream, line.row, FALSE, (line.fit,)) for line in (ours, rival)]
    mine, theirs = (rate.value if rate else math.nan for rate in rates)
    return theirs <= max(1.5 * ASKED, mine)


def short_list(found: Sequence[Comparison]) -> list[Comparison]:
    """Return the largest losses of each measure, one for each stream and measure."""
    kept: list[Comparison] = []
    for measure, most in MOST.items():
        places: dict[tuple[str, str], Comparison] = {}
        for loss in found:
            if loss.measure == measure:
                places.setdefault((loss.ours.task, loss.ours.stream), loss)
        kept += list(places.values())[:most]
    return kept


def losses_table(found: Sequence[Comparison]) -> str:
    """Return losses as a table of five columns."""
    rows = [
        [
            f"{place_name(loss.ours.task, loss.ours.stream)}: {loss.measure}"
            + ("; fitted on mixed paces" if on_mixed_paces(loss.ours) else ""),
            percent(loss.ours.value),
            percent(loss.rival.value),
            f"{percent(loss.gap.value, sign=True)}{SPACE}({span(loss.gap.low, loss.gap.high)})",
            row_name(loss.rival.row),
        ]
        for loss in found
    ]
    return grid(["where and what", "tcuq, %", "rival, %", "difference, points", "rival"], rows)


def losses_csv(found: Sequence[Comparison]) -> str:
    """Return all losses as CSV; shares, not percent."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEAD)
    for loss in found:
        ours, gap = loss.ours, loss.gap
        numbers = (f"{value:.4g}" for value in (loss.rival.value, gap.value, gap.low, gap.high))
        place = (loss.measure, ours.task, ours.stream, ours.fit, ours.column, f"{ours.value:.4g}")
        writer.writerow([*place, loss.rival.row, *numbers])
    return out.getvalue()
