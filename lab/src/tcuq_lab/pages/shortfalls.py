"""Where the monitor does not help: every place where it is behind, found by looking at all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..reproduce.field.lines import Line
from .field import ALL_TYPES, ANSWER, CONFIDENCE, DEEP, EQUAL, NO_LABELS, RISK, SIMPLE, TYPE, Field, direction
from .grids import grid
from .headline import AGAINST, AUROC, COLUMNS, LEFT, SEEN, all_places, called
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
            if direction(gap.column) * gap.value <= -SEEN:
                found.setdefault((place.task, place.stream), {})[place.column, name] = gap
    return [Shortfall(*where, gaps) for where, gaps in found.items()]


def worse_types(field: Field) -> dict[str, list[Line]]:
    """Return the corruption types on which answers have more errors than predictions, by task, worst first.

    A difference that prints as 0 is none.
    """
    return {
        task: worse
        for task in field.tasks
        if (worse := _worse(field, task, [s for s in field.streams(task, ERRORS) if _of_types(s)]))
    }


def worse_laws(field: Field) -> list[Line]:
    """Return the laws, of all corruption types mixed, on which answers have more errors than predictions."""
    return [gap for task in field.tasks for gap in _worse(field, task, field.laws(task, ERRORS))]


def _of_types(stream: str) -> bool:
    return stream.startswith(TYPE) or stream == ALL_TYPES


def _worse(field: Field, task: str, streams: Sequence[str]) -> list[Line]:
    gaps = [field.pair(task, stream, ANSWER, CONFIDENCE, ERRORS) for stream in streams]
    worse = [gap for gap in gaps if gap is not None and gap.value >= SEEN]
    return sorted(worse, key=lambda gap: -gap.value)


def behind(field: Field, ours: str, column: str) -> list[tuple[Line, Line]]:
    """Return our figure and the best rival's wherever a rival is better in a column.

    Parameters
    ----------
    field : Field
    ours : str
        Row of ours.
    column : str
    """
    found = []
    for task in field.tasks:
        for law in field.laws(task, column):
            mine = field.look(task, law, ours, column)
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
        title = "Alarm, delay in steps at equal false-alarm rates"
        for row, words in ((RISK, "fitted with labels"), (NO_LABELS, "fitted without labels")):
            out.append(_rivals(f"{title}, ours {words}", fields["alarms"], row, f"{DELAY}{EQUAL}"))
    if "accuracy" in fields:
        title = "Expected accuracy, mean distance, ours fitted with `about='prediction'`"
        out.append(_rivals(title, fields["accuracy"], RISK, ACCURACY))
        out += _one_pass(fields["accuracy"])
    return out


def _answers(field: Field) -> list[str]:
    found = shortfalls(field)
    asked = sum(len(place.gaps) for place in all_places(field))
    behind_, settled = (
        sum(len(each.gaps) for each in found),
        sum(beyond(gap) for each in found for gap in each.gaps.values()),
    )
    out = [
        f"Ours, fitted with labels, is behind in {behind_} of {asked} comparisons with confidence, the best "
        f"of the {len(SIMPLE)} simple rules and the ensemble of five, in {settled} of them beyond the 95 % "
        "interval. All of them are here, as ours minus the other, judged as in Table 1; **bold**: "
        "beyond the interval. A difference that rounds to .000 counts as level."
    ]
    heads = {LEFT: "errors left", AUROC: "AUROC"}
    if found:
        rows = [
            [
                f"{named(each.task)}, {called(each.stream)}",
                *(_gap(each.gaps.get((column, name))) for column in COLUMNS for name in AGAINST),
            ]
            for each in found
        ]
        head = ["", *(f"{heads[column]}: {name}" for column in COLUMNS for name in AGAINST)]
        out.append(grid(head, rows, len(head) - 1))
    laws = [
        f"{named(gap.task)} {called(gap.stream)} {cell(gap, signed=True, bold=beyond(gap))}"
        for gap in worse_laws(field)
    ]
    if laws:
        out.append(f"Our answer is wrong more often than the network's prediction on {listed(laws)}.")
    worse = worse_types(field)
    for task, gaps in worse.items():
        names = listed(f"{_called(gap.stream)} {cell(gap, signed=True, bold=beyond(gap))}" for gap in gaps)
        out.append(
            f"{named(task)}, shuffled streams of one corruption type: our answer is wrong more often than "
            f"the network's prediction on {names}."
        )
    if field.tasks and not worse:
        out.append(
            "On no stream of one corruption type is our answer wrong more often than the network's "
            "prediction."
        )
    return out


def _called(stream: str) -> str:
    return "all types together" if stream == ALL_TYPES else stream.removeprefix(TYPE)


def _gap(gap: Line | None) -> str:
    return "" if gap is None else f"**{short(gap, True)}**" if beyond(gap) else short(gap, True)


def _rivals(title: str, field: Field, row: str, column: str) -> str:
    found = behind(field, row, column)
    asked = sum(field.look(task, law, row, column) is not None
                for task in field.tasks for law in field.laws(task, column))  # fmt: skip
    if not asked:
        return f"{title}: not measured."
    if not found:
        return f"{title}: no rival is better on any of {asked} streams."
    groups: dict[tuple[str, str], list[tuple[Line, Line]]] = {}
    for mine, theirs in found:
        groups.setdefault((theirs.row, mine.task), []).append((mine, theirs))
    by: dict[str, list[str]] = {}
    for (rival, task), pairs in groups.items():
        by.setdefault(rival, []).append(_group(field, task, column, pairs))
    said = "; ".join(f"`{rival}` on {listed(parts)}" for rival, parts in by.items())
    return f"{title}: the best rival is better on {len(found)} of {asked} streams: {said}."


def closer(field: Field, ours: str, rival: str) -> dict[str, list[Line]]:
    """Return where a rival's expected accuracy is closer than ours, by task, as paired differences.

    Parameters
    ----------
    field : Field
    ours, rival : str
        Rows.
    """
    found = {}
    for task in field.tasks:
        gaps = [field.pair(task, law, ours, rival, ACCURACY) for law in field.laws(task, ACCURACY)]
        found[task] = [gap for gap in gaps if gap is not None and gap.value > 0]
    return found


def _one_pass(field: Field) -> list[str]:
    """Return how often the best estimate of one network is closer than ours, for both of our fits."""
    rivals = dict.fromkeys(
        row for task in field.tasks for row in field.rivals(task, ACCURACY) if DEEP not in row
    )
    parts = []
    for ours, words in ((RISK, "`about='prediction'`"), (ANSWER, "the default, `about='answer'`")):
        laws = {
            task: sum(field.look(task, law, ours, ACCURACY) is not None for law in field.laws(task, ACCURACY))
            for task in field.tasks
        }
        counts = {row: closer(field, ours, row) for row in rivals}
        if not any(laws.values()) or not counts:
            continue
        most = max(counts, key=lambda row: sum(map(len, counts[row].values())))
        gaps = [gap for each in counts[most].values() for gap in each]
        where = listed(f"{named(task)} {len(each)} of {laws[task]}" for task, each in counts[most].items())
        parts.append(
            f"than {words}: `{most}` on {len(gaps)} of {sum(laws.values())} streams ({where}), on "
            f"{sum(map(beyond, gaps))} of them beyond the interval"
            if gaps
            else f"than {words}: none on any of {sum(laws.values())} streams"
        )
    if not parts:
        return []
    return [f"Of the estimates that need one network and one pass, closer most often {'; '.join(parts)}."]


def _group(field: Field, task: str, column: str, pairs: Sequence[tuple[Line, Line]]) -> str:
    """Return on which streams of a task one rival is better, and by how much."""
    laws = field.laws(task, column)
    whole = len(pairs) == len(laws)
    names = f"all {len(laws)} streams" if whole else listed(called(mine.stream) for mine, _ in pairs)
    gaps = [abs(mine.value - theirs.value) for mine, theirs in pairs]
    finite = [gap for gap in gaps if math.isfinite(gap)]
    low, high = (number(column, end) for end in (min(finite), max(finite))) if finite else ("", "")
    parts = [] if not finite else [f"by {low}" if low == high else f"by {low} to {high}"]
    parts += [
        f"ours never on {called(mine.stream)}, {number(column, theirs.value)} there"
        for mine, theirs in pairs
        if math.isinf(mine.value)
    ]
    return f"{named(task)} {names} ({'; '.join(parts)})"
