"""Differences in words: what something adds, where, and where nothing can be measured."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..lines import Found, Line
from ..plan import UNTOLD

LEAST = 0.0005
"""Differences below it are not measurable, whatever their interval: three digits do not show them."""


def lines_of(found: Found, task: str, row: str, column: str, fit: str = UNTOLD) -> list[Line]:
    """Return the figures of a row on all streams; undefined ones are left out."""
    there = [
        each
        for each in found.lines
        if (each.task, each.row, each.fit, each.column) == (task, row, fit, column)
    ]
    return [each for each in there if not math.isnan(each.value)]


def measurable(line: Line) -> bool:
    """Return whether a difference is there: its interval leaves 0 out, and it shows in three digits.

    Examples
    --------
    >>> [measurable(Line("", "", "", "", "", v, v - 0.01, v + 0.01)) for v in (0.02, 0.005)]
    [True, False]
    """
    return abs(line.value) >= LEAST and (line.low > 0 or line.high < 0)


def figure(line: Line, sign: int = 1) -> str:
    """Return a value with its interval.

    Examples
    --------
    >>> figure(Line("", "", "", "", "", -0.1, -0.2, -0.05), -1)
    '0.100 (0.050 to 0.200)'
    """
    low, high = sorted((sign * line.low, sign * line.high))
    return f"{sign * line.value:.3f} ({low:.3f} to {high:.3f})"


def adds(
    found: Found, task: str, subject: str, row: str, column: str, of: str, better: int = 1, fit: str = UNTOLD
) -> str:
    """Say what something adds on each stream.

    Parameters
    ----------
    found : Found
    task, subject : str
    row : str
        "A - B".
    column : str
    of : str
        What it is added to, in words.
    better : int
        1 where more is better, -1 where less is.
    fit : str
    """
    lines = lines_of(found, task, row, column, fit)
    if not lines:
        return ""
    gains = [line for line in lines if measurable(line) and line.value * better > 0]
    losses = [line for line in lines if measurable(line) and line.value * better < 0]
    rest = [line.stream for line in lines if not measurable(line)]
    if not gains and not losses:
        return f"{subject} adds nothing measurable to {of} on any stream"
    parts = []
    if gains:
        sign, verb = (1, f"adds {{}} to {of}") if better > 0 else (-1, f"takes {{}} off {of}")
        parts.append(f"{subject} {_listed(gains, verb, sign)}")
    if losses:
        sign, verb = (-1, f"costs {{}} of {of}") if better > 0 else (1, f"brings {{}} more of {of}")
        parts.append(f"{'it' if gains else subject} {_listed(losses, verb, sign)}")
    if rest:
        parts.append(f"nothing measurable at {in_words(rest)}")
    return "; ".join(parts)


def _listed(lines: list[Line], verb: str, sign: int) -> str:
    first, *others = lines
    text = f"{verb.format(figure(first, sign))} at {first.stream}"
    return in_words([text, *(f"{figure(each, sign)} at {each.stream}" for each in others)])


def in_words(parts: Iterable[str]) -> str:
    """Join parts as a list in words.

    Examples
    --------
    >>> in_words(["a", "b", "c"])
    'a, b and c'
    """
    *before, last = parts
    return f"{', '.join(before)} and {last}" if before else last
