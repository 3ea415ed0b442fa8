"""Where the monitor does not help: every place where it is behind, found by looking at all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..reproduce.field.lines import Line
from ..reproduce.field.plan import CHANGING
from .field import ALL_TYPES, ANSWER, CONFIDENCE, EQUAL, NO_LABELS, RISK, TYPE, Field, direction
from .grids import grid
from .headline import AGAINST, COLUMNS, all_places
from .numbers import beyond, cell, number, short
from .wording import listed, named

ERRORS, ACCURACY, DELAY = "errors", "accuracy error", "delay"


class Shortfall(NamedTuple):
    """A law at which ours is behind somewhere.

    Parameters
    ----------
    task, stream : str
    gaps : dict of (column, rival) to Line
        Ours minus the rival, where ours is the worse one.
    """

    task: str
    stream: str
    gaps: dict[tuple[str, str], Line]


def shortfalls(field: Field) -> list[Shortfall]:
    """Return the laws at which ours is behind confidence, the best simple rule or an ensemble."""
    found: dict[tuple[str, str], dict[tuple[str, str], Line]] = {}
    for place in all_places(field):
        for name, gap in place.gaps.items():
            if direction(gap.column) * gap.value < 0:
                found.setdefault((place.task, place.stream), {})[place.column, name] = gap
    return [Shortfall(*where, gaps) for where, gaps in found.items()]


def worse_types(field: Field) -> dict[str, list[Line]]:
    """Return the corruption types on which answers have more errors than labels, by task, worst first."""
    found = {}
    for task in field.tasks:
        streams = [each for each in field.streams(task, ERRORS) if each.startswith(TYPE) or each == ALL_TYPES]
        gaps = [field.pair(task, stream, ANSWER, CONFIDENCE, ERRORS) for stream in streams]
        worse = [gap for gap in gaps if gap is not None and gap.value > 0]
        if worse:
            found[task] = sorted(worse, key=lambda gap: -gap.value)
    return found


def behind(field: Field, ours: Sequence[str], column: str) -> list[tuple[Line, Line]]:
    """Return our figure and the best rival's wherever a rival is better in a column.

    Parameters
    ----------
    field : Field
    ours : sequence of str
        Rows of ours; the best of them stands for all.
    column : str
    """
    found = []
    for task in field.tasks:
        for law in field.laws(task, column):
            mine = field.best(task, law, ours, column)
            theirs = field.best(task, law, field.rivals(task, column), column)
            if mine and theirs and direction(column) * (mine.value - theirs.value) < 0:
                found.append((mine, theirs))
    return found


def section(fields: Mapping[str, Field]) -> list[str]:
    """Return the part of the first page.

    Parameters
    ----------
    fields : mapping of str to Field
    """
    out = ["## Where it does not help"]
    if not fields:
        return [*out, "Not run yet."]
    if "answers" in fields:
        out += _answers(fields["answers"])
    if "alarms" in fields:
        column = f"{DELAY}{EQUAL}"
        found = behind(fields["alarms"], (RISK, NO_LABELS), column)
        out.append(_rivals("Alarm, delay at equal false-alarm rates", fields["alarms"], column, found))
    if "accuracy" in fields:
        found = behind(fields["accuracy"], (RISK, ANSWER), ACCURACY)
        out.append(_rivals("Expected accuracy, mean distance", fields["accuracy"], ACCURACY, found))
    return out


def _answers(field: Field) -> list[str]:
    found = shortfalls(field)
    asked = sum(len(place.gaps) for place in all_places(field))
    behind_, settled = (
        sum(len(each.gaps) for each in found),
        sum(beyond(gap) for each in found for gap in each.gaps.values()),
    )
    out = [
        f"Ours is behind in {behind_} of {asked} comparisons, in {settled} of them beyond the 95 % interval. "
        "All of them are here, as ours minus the other; **bold**: beyond the interval. "
        f"`{CHANGING}` is the unknown pace."
    ]
    heads = {"errors at 90 %": "errors left", "error AUROC": "AUROC"}
    if found:
        rows = [
            [
                f"{named(each.task)}, {each.stream}",
                *(_gap(each.gaps.get((column, name))) for column in COLUMNS for name in AGAINST),
            ]
            for each in found
        ]
        head = ["", *(f"{heads[column]}: {name}" for column in COLUMNS for name in AGAINST)]
        out.append(grid(head, rows, len(head) - 1))
    worse = worse_types(field)
    for task, gaps in worse.items():
        names = listed(f"{_called(gap.stream)} {cell(gap, signed=True, bold=beyond(gap))}" for gap in gaps)
        out.append(
            f"Streams of one corruption type, shuffled, on which the answer errs more than the label, "
            f"{named(task)}: {names}."
        )
    if field.tasks and not worse:
        out.append("On no stream of one corruption type does the answer err more than the label.")
    return out


def _called(stream: str) -> str:
    return "all types together" if stream == ALL_TYPES else stream.removeprefix(TYPE)


def _gap(gap: Line | None) -> str:
    return "" if gap is None else f"**{short(gap, True)}**" if beyond(gap) else short(gap, True)


def _rivals(title: str, field: Field, column: str, found: Sequence[tuple[Line, Line]]) -> str:
    asked = sum(len(field.laws(task, column)) for task in field.tasks)
    if not asked:
        return f"{title}: not measured."
    if not found:
        return f"{title}: no rival is better on any of {asked} streams."
    parts = (
        f"{named(mine.task)} {mine.stream} {number(column, mine.value)} against "
        f"{number(column, theirs.value)} of `{theirs.row}`"
        for mine, theirs in found
    )
    return f"{title}: a rival is better on {len(found)} of {asked} streams: {'; '.join(parts)}."
