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
from dataclasses import replace
from itertools import pairwise

from . import claim_single as single
from .claim_points import NEAR, Here, Point
from .claims import ALL_RIVALS, Rule
from .figures import Found
from .paper import Paper
from .wording import shown, signed


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
            words = ", ".join(map(shown, values))
            point = replace(point, figure=least, bar=0.0, margin=least, met=met, words=words)
        yield point


def widens(here: Here) -> Iterator[Point]:
    """Give whether the lead is larger in the last column than in the first."""
    columns = here.rule.columns
    for row in here.rule.rows:
        first, last = (single.lead(here, row, column) for column in (columns[0], columns[-1]))
        point = here.point(row, "")
        if first.met is not None and last.met is not None:
            gain = last.margin - first.margin
            leads = (f"{signed(each.margin)} over {each.against}" for each in (first, last))
            words = f"lead {' to '.join(leads)}"
            point = replace(point, figure=gain, bar=0.0, margin=gain, met=gain > NEAR, words=words)
        yield point


def turns(here: Here) -> Iterator[Point]:
    """Give whether figures go up somewhere and down somewhere, from row to row."""
    for column in here.rule.columns:
        values = [here.figure(row, column).value for row in here.rule.rows]
        point = here.point("", column)
        if not any(map(math.isnan, values)):
            steps = [b - a for a, b in pairwise(values)]
            turn = min(max(steps), -min(steps))
            words = ", ".join(map(shown, values))
            point = replace(point, figure=turn, bar=0.0, margin=turn, met=turn > NEAR, words=words)
        yield point


_ANSWERS: Mapping[str, Callable[[Here], Iterator[Point]]] = {
    "above": _each(single.lead),
    "below": _each(single.behind),
    "ratio": _each(single.ratio),
    "reaches": _each(single.reaches),
    "not_worse": _each(single.not_worse),
    "near": _each(single.near),
    "no_kind_below": _each(single.no_kind_below),
    "rises": rises,
    "widens": widens,
    "turns": turns,
    "reported": _each(single.reported),
}
