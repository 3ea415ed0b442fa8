"""Rules: what a claim asks of figures, answered point by point.

above
    A row is better than every row of `than`, by at least `by`, or by `share` of the rival's distance to 1
    where that is less; with `ties`, not worse. Differences are means over the streams that both have, with an
    interval from those streams drawn again.
below
    A row is worse than every row of `than`: the same from the other side.
ratio
    A row is at most `most` times the least of `than`.
reaches
    A figure is at least `least`, at most `most`, under `below`, or as good as the paper's (`paper`).
not_worse
    The interval of the difference to a row of `than` does not end before 0.
no_kind_below
    Of a row of differences, no kind's own interval ends before 0.
near
    A figure is less than `within` away from those of `than`.
rises
    Figures get no worse from column to column, and better from the first to the last.
widens
    The lead over the best of `than` is larger in the last column than in the first.
turns
    From row to row, figures go up somewhere and down somewhere.
reported
    Nothing is asked; the figure is shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from tcuq.base.checks import known

from ..reproduce.table import drawn_again
from .claims import Rule
from .figures import NAN, Figure, Found
from .paper import Paper
from .wording import between, listed, shown, signed

NEAR = 1e-9
"""Differences below this are rounding."""
OURS = "tcuq_paper"
"""Row of ours beside which the paper's own method stands."""


@dataclass(frozen=True)
class Point:
    """A rule at one place.

    Parameters
    ----------
    row, task : str
    dwell : float
    column : str
        Empty where a rule looks at several together.
    figure, bar : float
        What came out, and what was asked.
    margin, low, high : float
        By how much the bar is passed, with an interval; negative where it is not.
    met : bool, optional
        None where nothing can be said.
    against : str
        Row that the bar comes from.
    words : str
        What figure and bar are, where these alone do not say it.
    note : str
    """

    row: str
    task: str
    dwell: float
    column: str
    figure: float
    bar: float = NAN
    margin: float = NAN
    low: float = NAN
    high: float = NAN
    met: bool | None = None
    against: str = ""
    words: str = ""
    note: str = ""


@dataclass(frozen=True)
class _Here:
    """Where a rule is asked."""

    rule: Rule
    found: Found
    paper: Paper
    task: str
    dwell: float

    def figure(self, row: str, column: str) -> Figure:
        return self.found.get(self.task, self.dwell, row, column)

    def point(self, row: str, column: str, figure: float = NAN) -> Point:
        return Point(row, self.task, self.dwell, column, figure)


def missing(rule: Rule, found: Mapping[str, Found]) -> list[str]:
    """Return what a rule asks for that has not been run: the experiment, or some of its tasks."""
    if rule.experiment not in found:
        return [rule.experiment]
    return [task for task in rule.tasks if task not in found[rule.experiment].tasks]


def points(rule: Rule, found: Mapping[str, Found], paper: Paper) -> list[Point]:
    """Return the answers to a rule wherever it is asked and was run.

    Parameters
    ----------
    rule : Rule
    found : mapping of str to Found
    paper : Paper
    """
    if rule.experiment not in found:
        return []
    mine = found[rule.experiment]
    for row in (*rule.rows, *rule.more.get("than", ())):
        known(f"row of {rule.experiment}", row, mine.rows)
    # A setting may leave out some columns, such as severities, but not all that are asked for.
    if not set(rule.columns) & set(mine.columns):
        known(f"column of {rule.experiment}", rule.columns[0], mine.columns)
    rule = replace(rule, columns=tuple(each for each in rule.columns if each in mine.columns))
    for dwell in rule.dwells:
        if dwell not in mine.dwells:
            accepted = ", ".join(f"{each:g}" for each in mine.dwells)
            raise ValueError(f"dwell of {rule.experiment} is {dwell:g}, expected {accepted}")
    return [
        point
        for task in rule.tasks or mine.tasks
        if task in mine.tasks
        for dwell in rule.dwells or mine.dwells
        for point in _ANSWERS[rule.kind](_Here(rule, mine, paper, task, dwell))
    ]


def _each(ask: Callable[[_Here, str, str], Point]) -> Callable[[_Here], Iterator[Point]]:
    """Return a rule that is asked of every row and column by itself."""

    def answers(here: _Here) -> Iterator[Point]:
        for row in here.rule.rows:
            for column in here.rule.columns:
                yield ask(here, row, column)

    return answers


def compared(first: Figure, second: Figure) -> tuple[float, float, float, float, int]:
    """Return two figures over the streams that both have, an interval of their difference, and the streams.

    Examples
    --------
    >>> a, b = (Figure(v, streams={"fog": v, "snow": v + d}) for v, d in ((0.5, 0.0), (0.4, 0.1)))
    >>> ours, theirs, low, high, n = compared(replace(a, streams={"fog": 0.5}), b)
    >>> ours, theirs, n
    (0.5, 0.4, 1)
    """
    both = [name for name in first.streams if name in second.streams]
    pairs = [(first.streams[name], second.streams[name]) for name in both]
    pairs = [pair for pair in pairs if not any(map(math.isnan, pair))]
    if not pairs:
        return first.value, second.value, NAN, NAN, 0
    low, high = drawn_again([a - b for a, b in pairs])
    if len(pairs) == len(first.streams) == len(second.streams):
        return first.value, second.value, low, high, len(pairs)
    ours, theirs = (math.fsum(values) / len(pairs) for values in zip(*pairs, strict=True))
    return ours, theirs, low, high, len(pairs)


def _lead(here: _Here, row: str, column: str) -> Point:
    """Return the point of the rival that leaves a row the least lead."""
    rule, figure = here.rule, here.figure(row, column)
    by, share = rule.more.get("by", 0.0), rule.more.get("share")
    worst = here.point(row, column, figure.value)
    for name in rule.more["than"]:
        if name == row:
            continue
        rival = here.figure(name, column)
        ours, theirs, low, high, streams = compared(figure, rival)
        if math.isnan(ours) or math.isnan(theirs):
            continue
        need = by if share is None else min(by, share * (1 - theirs))
        if rule.lower:
            low, high = -high, -low
            bar = theirs - need
            margin = 0.0 if ours == bar else bar - ours
        else:
            bar = theirs + need
            margin = 0.0 if ours == bar else ours - bar
        if worst.met is None or margin < worst.margin:
            most = len(figure.streams)
            note = (
                f"over the {streams} of {most} corruption types that both have" if 0 < streams < most else ""
            )
            met = margin >= -NEAR if need or rule.more.get("ties") else margin > NEAR
            worst = replace(
                worst,
                figure=ours,
                bar=bar,
                margin=margin,
                low=low - need,
                high=high - need,
                met=met,
                against=name,
                note=note,
            )
    return worst


def _behind(here: _Here, row: str, column: str) -> Point:
    other = replace(here.rule, lower=not here.rule.lower)
    return _lead(replace(here, rule=other), row, column)


def _ratio(here: _Here, row: str, column: str) -> Point:
    figure = here.figure(row, column).value
    rivals = {name: here.figure(name, column).value for name in here.rule.more["than"] if name != row}
    known_ones = {name: value for name, value in rivals.items() if not math.isnan(value)}
    point = here.point(row, column, figure)
    if math.isnan(figure) or not known_ones:
        return point
    best = min(known_ones, key=lambda name: known_ones[name])
    bar = here.rule.more["most"] * known_ones[best]
    if math.isinf(figure):
        return replace(point, bar=bar, met=False, against=best, margin=NAN if math.isinf(bar) else -math.inf)
    share = f"{shown(figure / known_ones[best])} of {shown(known_ones[best])}" if known_ones[best] else ""
    return replace(point, bar=bar, margin=bar - figure, met=figure <= bar + NEAR, against=best, note=share)


def _reaches(here: _Here, row: str, column: str) -> Point:
    rule, figure = here.rule, here.figure(row, column)
    upwards = not rule.lower if "paper" in rule.more else "least" in rule.more
    against = ""
    if "paper" in rule.more:
        printed = here.paper.column(rule.experiment, here.task, column)
        if row not in printed and OURS not in printed:
            raise ValueError(
                f"the paper has no {column} of {rule.experiment} on {here.task}, expected a printed one"
            )
        bar, against = printed.get(row, printed.get(OURS, NAN)), "the paper"
    else:
        bar = next(float(rule.more[name]) for name in ("least", "most", "below") if name in rule.more)
    point = here.point(row, column, figure.value)
    if math.isnan(figure.value):
        return point
    sign = 1 if upwards else -1
    margin = sign * (figure.value - bar)
    low, high = sorted((sign * (figure.low - bar), sign * (figure.high - bar)))
    if not figure.streams:  # then the two are the least and the most of the seeds
        low = high = NAN
    met = margin > NEAR if "below" in rule.more else margin >= -NEAR
    return replace(point, bar=bar, margin=margin, low=low, high=high, met=met, against=against)


def _not_worse(here: _Here, row: str, column: str) -> Point:
    sign = -1 if here.rule.lower else 1
    worst = here.point(row, column)
    for name in here.rule.more["than"]:
        ours, theirs, low, high, streams = compared(here.figure(row, column), here.figure(name, column))
        if math.isnan(ours) or math.isnan(theirs):
            continue
        low, high = sorted((sign * low, sign * high))
        gain = sign * (ours - theirs)
        reach = gain if math.isnan(high) else high
        if worst.met is None or reach < worst.margin:
            words = f"difference {signed(gain)}: {shown(ours)} against {shown(theirs)} of {name}"
            note = "" if streams > 1 else "no interval from fewer than two streams"
            worst = replace(
                worst,
                figure=gain,
                bar=0.0,
                margin=reach,
                low=low,
                high=high,
                met=reach >= -NEAR,
                against=name,
                words=words,
                note=note,
            )
    return worst


def _near(here: _Here, row: str, column: str) -> Point:
    figure = here.figure(row, column).value
    within = here.rule.more["within"]
    worst = here.point(row, column, figure)
    for name in here.rule.more["than"]:
        distance = abs(figure - here.figure(name, column).value)
        if not math.isnan(distance) and not within - distance >= worst.margin:
            words = f"{shown(figure)} against {shown(here.figure(name, column).value)} of {name}"
            margin = within - distance
            worst = replace(
                worst,
                figure=distance,
                bar=within,
                margin=margin,
                met=margin > NEAR,
                against=name,
                words=words,
            )
    return worst


def _no_kind_below(here: _Here, row: str, column: str) -> Point:
    figure = here.figure(row, column)
    point = here.point(row, column)
    if not figure.spans:
        return point
    worst = min(figure.spans, key=lambda name: figure.spans[name][1])
    low, high = figure.spans[worst]
    fallen = [name for name, (_, top) in figure.spans.items() if top < -NEAR]
    value = figure.streams.get(worst, NAN)
    words = f"lowest corruption type, {worst}: {signed(value)}"
    note = f"below: {listed(fallen)}" if fallen else f"none of {len(figure.spans)} types below"
    return replace(
        point, figure=value, bar=0.0, margin=high, low=low, high=high, met=not fallen, words=words, note=note
    )


def _rises(here: _Here) -> Iterator[Point]:
    sign = -1 if here.rule.lower else 1
    for row in here.rule.rows:
        values = [here.figure(row, column).value for column in here.rule.columns]
        point = here.point(row, "")
        if not any(map(math.isnan, values)):
            least = min(sign * (b - a) for a, b in pairwise(values))
            met = least >= -NEAR and sign * (values[-1] - values[0]) > NEAR
            words = ", ".join(map(shown, values))
            point = replace(point, figure=least, bar=0.0, margin=least, met=met, words=words)
        yield point


def _widens(here: _Here) -> Iterator[Point]:
    columns = here.rule.columns
    for row in here.rule.rows:
        first, last = (_lead(here, row, column) for column in (columns[0], columns[-1]))
        point = here.point(row, "")
        if first.met is not None and last.met is not None:
            gain = last.margin - first.margin
            leads = (f"{signed(each.margin)} over {each.against}" for each in (first, last))
            words = f"lead {' to '.join(leads)}"
            point = replace(point, figure=gain, bar=0.0, margin=gain, met=gain > NEAR, words=words)
        yield point


def _turns(here: _Here) -> Iterator[Point]:
    for column in here.rule.columns:
        values = [here.figure(row, column).value for row in here.rule.rows]
        point = here.point("", column)
        if not any(map(math.isnan, values)):
            steps = [b - a for a, b in pairwise(values)]
            turn = min(max(steps), -min(steps))
            words = ", ".join(map(shown, values))
            point = replace(point, figure=turn, bar=0.0, margin=turn, met=turn > NEAR, words=words)
        yield point


def _reported(here: _Here, row: str, column: str) -> Point:
    figure = here.figure(row, column)
    return replace(here.point(row, column, figure.value), note=between(figure.low, figure.high))


_ANSWERS: Mapping[str, Callable[[_Here], Iterator[Point]]] = {
    "above": _each(_lead),
    "below": _each(_behind),
    "ratio": _each(_ratio),
    "reaches": _each(_reaches),
    "not_worse": _each(_not_worse),
    "near": _each(_near),
    "no_kind_below": _each(_no_kind_below),
    "rises": _rises,
    "widens": _widens,
    "turns": _turns,
    "reported": _each(_reported),
}
