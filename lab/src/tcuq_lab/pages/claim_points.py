"""A rule of a claim at one place, and figures of two rows over what both have."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..reproduce.table import drawn_again
from .claims import Rule
from .figures import NAN, Figure, Found
from .paper import Paper

NEAR = 1e-9
"""Differences below this are rounding."""


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


def compared(first: Figure, second: Figure) -> tuple[float, float, float, float, int]:
    """Return two figures over the streams that both have, an interval of their difference, and the streams.

    Examples
    --------
    >>> from dataclasses import replace
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
