"""Rules: what a claim asks of figures, answered point by point.

above
    A row is better than every row of `than`, by at least `by`, or by `share` of the rival's distance to 1
    where that is less; with `ties`, not worse. Differences are means over the streams that both have.
below
    A row is worse than every row of `than`: the same from the other side.
ratio
    A row is at most `most` times the least of `than`.
reaches
    A figure is at least `least`, at most `most`, under `below`, or as good as the paper's (`paper`).
near
    A figure is less than `within` away from those of `than`.
rises
    Figures get no worse from column to column, and better from the first to the last.
widens
    The lead over the best of `than` is larger in the last column than in the first.
turns
    From row to row, figures go up somewhere and down somewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from .claims import ALL_RIVALS, Rule
from .figures import NAN, Figure, Found
from .paper import Paper

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
    margin : float
        By how much the bar is passed; negative where it is not.
    met : bool, optional
        None where nothing can be said.
    against : str
        Row that the bar comes from.
    """

    row: str
    task: str
    dwell: float
    column: str
    figure: float
    bar: float = NAN
    margin: float = NAN
    met: bool | None = None
    against: str = ""


@dataclass(frozen=True)
class Here:
    """Where a rule is asked."""

    rule: Rule
    found: Found
    paper: Paper
    task: str
    dwell: float

    def figure(self, row: str, column: str) -> Figure:
        """Return the figure of a row."""
        return self.found.get(self.task, self.dwell, row, column)

    def point(self, row: str, column: str, figure: float = NAN) -> Point:
        """Return a point about a row that says nothing yet."""
        return Point(row, self.task, self.dwell, column, figure)


def compared(first: Figure, second: Figure) -> tuple[float, float]:
    """Return two figures over the streams that both have.

    Examples
    --------
    >>> compared(Figure(0.5, streams={"fog": 0.5}), Figure(0.4, streams={"fog": 0.3, "snow": 0.5}))
    (0.5, 0.3)
    """
    both = [name for name in first.streams if name in second.streams]
    pairs = [(first.streams[name], second.streams[name]) for name in both]
    pairs = [pair for pair in pairs if not any(map(math.isnan, pair))]
    if not pairs or len(pairs) == len(first.streams) == len(second.streams):
        return first.value, second.value
    ours, theirs = (math.fsum(values) / len(pairs) for values in zip(*pairs, strict=True))
    return ours, theirs


def lead(here: Here, row: str, column: str) -> Point:
    """Return the point of the rival that leaves a row the least lead."""
    rule, figure = here.rule, here.figure(row, column)
    by, share = rule.more.get("by", 0.0), rule.more.get("share")
    worst = here.point(row, column, figure.value)
    for name in rule.more["than"]:
        if name == row:
            continue
        ours, theirs = compared(figure, here.figure(name, column))
        if math.isnan(ours) or math.isnan(theirs):
            continue
        need = by if share is None else min(by, share * (1 - theirs))
        bar = theirs - need if rule.lower else theirs + need
        margin = 0.0 if ours == bar else bar - ours if rule.lower else ours - bar
        if worst.met is None or margin < worst.margin:
            met = margin >= -NEAR if need or rule.more.get("ties") else margin > NEAR
            worst = replace(worst, figure=ours, bar=bar, margin=margin, met=met, against=name)
    return worst


def behind(here: Here, row: str, column: str) -> Point:
    """Return the point of the rival that leaves a row the least distance below it."""
    other = replace(here.rule, lower=not here.rule.lower)
    return lead(replace(here, rule=other), row, column)


def ratio(here: Here, row: str, column: str) -> Point:
    """Return whether a row is at most a share of the least of its rivals."""
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
    return replace(point, bar=bar, margin=bar - figure, met=figure <= bar + NEAR, against=best)


def reaches(here: Here, row: str, column: str) -> Point:
    """Return whether a figure reaches a bar."""
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
    margin = figure.value - bar if upwards else bar - figure.value
    met = margin > NEAR if "below" in rule.more else margin >= -NEAR
    return replace(point, bar=bar, margin=margin, met=met, against=against)


def near(here: Here, row: str, column: str) -> Point:
    """Return whether a figure is near those of others."""
    figure, within = here.figure(row, column).value, here.rule.more["within"]
    worst = here.point(row, column, figure)
    for name in here.rule.more["than"]:
        distance = abs(figure - here.figure(name, column).value)
        margin = within - distance
        if not math.isnan(distance) and not margin >= worst.margin:
            worst = replace(
                worst, figure=distance, bar=within, margin=margin, met=margin > NEAR, against=name
            )
    return worst


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
    than = [
        row
        for name in rule.more.get("than", ())
        for row in (mine.rivals() if name == ALL_RIVALS else [name])
        if row in mine.rows
    ]
    # A result file of an older release may lack rows.
    rule = replace(rule, rows=tuple(row for row in rule.rows if row in mine.rows))
    if "than" in rule.more:
        if not than:
            return []
        rule = replace(rule, more={**rule.more, "than": tuple(than)})
    # A setting may leave out columns, such as severities, and a file of an older release may lack some.
    rule = replace(rule, columns=tuple(each for each in rule.columns if each in mine.columns))
    if not rule.columns:
        return []
    return [
        point
        for task in rule.tasks or mine.tasks
        if task in mine.tasks
        for dwell in rule.dwells or mine.dwells
        if dwell in mine.dwells
        for point in _ANSWERS[rule.kind](Here(rule, mine, paper, task, dwell))
    ]


def _each(ask: Callable[[Here, str, str], Point]) -> Callable[[Here], Iterator[Point]]:
    """Return a rule that is asked of every row and column by itself."""

    def answers(here: Here) -> Iterator[Point]:
        for row in here.rule.rows:
            for column in here.rule.columns:
                yield ask(here, row, column)

    return answers


def rises(here: Here) -> Iterator[Point]:
    """Give whether figures get no worse from column to column."""
    sign = -1 if here.rule.lower else 1
    for row in here.rule.rows:
        values = [here.figure(row, column).value for column in here.rule.columns]
        point = here.point(row, "")
        if not any(map(math.isnan, values)):
            least = min(sign * (b - a) for a, b in pairwise(values))
            met = least >= -NEAR and sign * (values[-1] - values[0]) > NEAR
            point = replace(point, figure=least, bar=0.0, margin=least, met=met)
        yield point


def widens(here: Here) -> Iterator[Point]:
    """Give whether the lead is larger in the last column than in the first."""
    columns = here.rule.columns
    for row in here.rule.rows:
        first, last = (lead(here, row, column) for column in (columns[0], columns[-1]))
        point = here.point(row, "")
        if first.met is not None and last.met is not None:
            gain = last.margin - first.margin
            point = replace(point, figure=gain, bar=0.0, margin=gain, met=gain > NEAR)
        yield point


def turns(here: Here) -> Iterator[Point]:
    """Give whether figures go up somewhere and down somewhere, from row to row."""
    for column in here.rule.columns:
        values = [here.figure(row, column).value for row in here.rule.rows]
        point = here.point("", column)
        if not any(map(math.isnan, values)):
            steps = [b - a for a, b in pairwise(values)]
            turn = min(max(steps), -min(steps))
            point = replace(point, figure=turn, bar=0.0, margin=turn, met=turn > NEAR)
        yield point


_ANSWERS: Mapping[str, Callable[[Here], Iterator[Point]]] = {
    "above": _each(lead),
    "below": _each(behind),
    "ratio": _each(ratio),
    "reaches": _each(reaches),
    "near": _each(near),
    "rises": rises,
    "widens": widens,
    "turns": turns,
}
