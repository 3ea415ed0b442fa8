"""The leaderboard: a table a track, from result files alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..harness.intervals import Drawn, difference
from ..harness.types import CLEAN
from ..metrics.alarms import CLEAN_ON, DELAY, FALSE, FOUND
from ..metrics.errors import AUROC, NINETY, RELATIVE
from ..metrics.late import ACCEPTED, EXCESS, WRONG
from ..metrics.windows import ERROR
from .results import LATE, RATES, TRACKS, Result

BEGIN, END = "<!-- leaderboard: begin -->", "<!-- leaderboard: end -->"
LATE_COLUMNS = [f"{column}, {rate:.0%}" for rate in RATES for column in (EXCESS, WRONG, ACCEPTED)]
NONE = "No results yet."
SILENT = 0.01
"""A method that accepts less of a stream has fallen silent."""


class Place(NamedTuple):
    """A result with its rank; equal ranks are those that intervals cannot tell apart."""

    rank: int
    result: Result


def ranked(results: Sequence[Result]) -> list[Place]:
    """Return results of one track, the fewest errors first.

    A method shares the rank of the first one before it from which it does not differ: the interval of their
    paired difference holds 0. Otherwise its rank counts the methods before it.
    """
    order = sorted(results, key=lambda each: (each.headline.estimate, each.name))
    places: list[Place] = []
    for number, each in enumerate(order):
        leader = next((place for place in places if place.rank == places[-1].rank), None)
        if leader is not None and tied(leader.result, each):
            places.append(Place(leader.rank, each))
        else:
            places.append(Place(number + 1, each))
    return places


def tied(first: Result, second: Result) -> bool:
    """Return whether the interval of a paired difference of headlines holds 0."""
    pair = [Drawn(each.headline.estimate, each.draws.astype(np.float32)) for each in (first, second)]
    found = difference(pair[:1], pair[1:])
    return found.low <= 0 <= found.high


def rank_line(result: Result, others: Sequence[Result]) -> str:
    """Return the rank of a result among others of its track, and its neighbors, as one line."""
    places = ranked([result, *(each for each in others if each.track == result.track)])
    at = next(number for number, place in enumerate(places) if place.result is result)
    rank = places[at].rank
    tied_with = [place for place in places if place.rank == rank and place.result is not result]
    parts = [f"rank {rank} of {len(places)} in the track {result.track}"]
    before = [place for place in places if place.rank < rank]
    after = [place for place in places if place.rank > rank]
    for word, found in (("behind", before[-1:]), ("level with", tied_with), ("ahead of", after[:1])):
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            parts.append(f"{word} {found[0].result.name} {found[0].result.headline.estimate:.2f}{more}")
    return ", ".join(parts)


def leaderboard(results: Sequence[Result]) -> str:
    """Return the tables of all tracks as Markdown."""
    if not results:
        return NONE + "\n"
    parts = []
    for track in TRACKS:
        places = ranked([each for each in results if each.track == track])
        if places and track == LATE:
            parts += [f"### Track: {track}", "", *_late(places), ""]
        elif places:
            parts += [f"### Track: {track}", "", *_overview(places), "", *_by_stream(places), ""]
    return "\n".join(parts)


def _late(places: Sequence[Place]) -> list[str]:
    """Return a line a method; it has no rank, as one that accepts nothing has no excess."""
    columns = [each.replace("%", " %") for each in LATE_COLUMNS]
    rows = [["method", "excess", *columns, "silent", "state"]]
    for _, each in places:
        head = each.headline
        shares = [one.value for one in each.found.lines if one.column.startswith(ACCEPTED)]
        rows.append(
            [
                _titled(each),
                f"{head.estimate:.1%} ({head.low:.1%} to {head.high:.1%})".replace("%", " %"),
                *(_number(mean_of(each, column), ".1%") for column in LATE_COLUMNS),
                f"{sum(one < SILENT for one in shares)} of {len(shares)}",
                "" if each.state_bytes is None else f"{each.state_bytes:,} B",
            ]
        )
    return markdown(rows, left=1)


def _titled(result: Result) -> str:
    return result.name if result.typed in (None, result.name) else f"{result.name} (`{result.typed}`)"


def _overview(places: Sequence[Place]) -> list[str]:
    rows = [
        [
            "rank",
            "method",
            "relative errors",
            "error AUROC",
            "errors at 90 %",
            "found",
            "delay",
            "clean on",
            "false per 10,000",
            "accuracy error",
            "state",
        ]
    ]
    for rank, each in places:
        head = each.headline
        rows.append(
            [
                str(rank),
                _titled(each),
                f"{head.estimate:.2f} ({head.low:.2f} to {head.high:.2f})",
                _number(mean_of(each, AUROC), ".3f"),
                _number(mean_of(each, NINETY), ".1%"),
                _number(mean_of(each, FOUND), ".0%"),
                _number(middle_of(each, DELAY), ".0f"),
                _number(mean_of(each, CLEAN_ON), ".1%"),
                _number(mean_of(each, FALSE, CLEAN), ".1f"),
                _number(mean_of(each, ERROR), ".3f"),
                "" if each.state_bytes is None else f"{each.state_bytes:,} B",
            ]
        )
    return markdown(rows, left=2)


def _by_stream(places: Sequence[Place]) -> list[str]:
    """Return relative errors stream by stream, means over tasks, of methods with a risk of their own."""
    names = list(dict.fromkeys(s for _, each in places for s in streams_of(each)))
    rows = [["relative errors", *names]]
    for _, each in places:
        if each.name != "confidence" and set(values(each, RELATIVE)) == {1.0}:
            continue  # an alarm beside the same risk
        rows.append([each.name, *(_number(mean_of(each, RELATIVE, name), ".2f") for name in names)])
    return markdown(rows, left=1)


def streams_of(result: Result) -> list[str]:
    """Return the test streams with shifts of a result."""
    return [name for name in result.found.distinct("stream") if name != CLEAN]


def values(result: Result, column: str, stream: str | None = None) -> list[float]:
    """Return a figure of all tasks and test streams, or of one stream."""
    return [
        each.value
        for each in result.found.lines
        if each.column == column and not math.isnan(each.value)
        if (each.stream != CLEAN if stream is None else each.stream == stream)
    ]


def mean_of(result: Result, column: str, stream: str | None = None) -> float:
    """Return the mean of a figure; NaN where there is none."""
    found = values(result, column, stream)
    return float(np.mean(found)) if found else math.nan


def middle_of(result: Result, column: str) -> float:
    """Return the median of a figure, which may be infinite; NaN where there is none."""
    found = sorted(values(result, column))
    return found[len(found) // 2] if found else math.nan


def _number(value: float, form: str) -> str:
    if math.isnan(value):
        return ""
    return "never" if math.isinf(value) else format(value, form).replace("%", " %")


def markdown(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return a table; columns from `left` on are numbers."""
    marks = ["---" if number < left else "---:" for number in range(len(rows[0]))]
    return [f"| {' | '.join(row)} |" for row in (rows[0], marks, *rows[1:])]


def placed(page: str, table: str, marks: tuple[str, str] = (BEGIN, END), gap: str = "\n") -> str:
    """Return a page with the table between its marks."""
    before, begin, rest = page.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        raise ValueError(f"the page lacks {' or '.join(marks)}, expected both")
    return f"{before}{begin}{gap}{table.strip()}{gap}{end}{after}"
