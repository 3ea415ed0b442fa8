"""Figures of experiments on streams as tables print them."""

from __future__ import annotations

import math

from ..reproduce.field.lines import Line
from .field import EQUAL, IN_STEPS

MINUS = "\u2212"
SPACE = "\u00a0"
"""At which no line is broken."""


def counts(column: str) -> bool:
    """Return whether a column counts steps or events; others are shares, areas or ratios."""
    return column.removesuffix(EQUAL) in IN_STEPS


def number(column: str, value: float) -> str:
    """Return a figure of a column.

    Examples
    --------
    >>> number("delay", 12.0), number("delay", math.inf), number("clean on", 0.1234), number("errors", -0.01)
    ('12', 'never', '.123', '\u2212.010')
    """
    if math.isinf(value):
        return "never"
    if counts(column):
        return f"{value:.1f}".removesuffix(".0").replace("-", MINUS)
    text = f"{value:.3f}".replace("-", MINUS)
    if text.strip(f"{MINUS}0.") == "":
        text = text.removeprefix(MINUS)
    return text.replace("0.", ".", 1) if text.lstrip(MINUS).startswith("0.") else text


def has_span(line: Line) -> bool:
    """Return whether a figure has an interval; one point is none: there was nothing to draw again."""
    return line.low < line.high


def span(line: Line) -> str:
    """Return the interval of a figure, nothing where there is none."""
    if not has_span(line):
        return ""
    return f"{number(line.column, line.low)} to {number(line.column, line.high)}"


def cell(line: Line | None, signed: bool = False, bold: bool = False) -> str:
    """Return a figure with its interval, in one line.

    Examples
    --------
    >>> cell(Line("mnist", "class 1", "a - b", "", "errors", 0.01, -0.005, 0.025), signed=True)
    '+.010 (\u2212.005 to .025)'
    """
    if line is None:
        return ""
    text = short(line, signed)
    text = f"**{text}**" if bold else text
    return f"{text} ({span(line)})" if span(line) else text


def around(line: Line | None, signed: bool = False, bold: bool = False) -> str:
    """Return a figure with the longer side of its interval, which never breaks.

    Examples
    --------
    >>> around(Line("mnist", "class 1", "a", "", "errors", 0.03, 0.025, 0.04)).replace(SPACE, " ")
    '.030 \u00b1.010'
    """
    if line is None:
        return ""
    if not has_span(line) or not all(map(math.isfinite, (line.value, line.low, line.high))):
        return cell(line, signed, bold)
    text = short(line, signed)
    text = f"**{text}**" if bold else text
    side = max(line.value - line.low, line.high - line.value)
    return f"{text}{SPACE}\u00b1{number(line.column, side)}"


def short(line: Line | None, signed: bool = False) -> str:
    """Return a figure alone; what rounds to 0 has no sign."""
    if line is None:
        return ""
    text = number(line.column, line.value)
    return f"+{text}" if signed and line.value > 0 and text.strip("0.") else text


def beyond(line: Line) -> bool:
    """Return whether the whole interval of a difference lies on one side of 0; none settles nothing."""
    return has_span(line) and (line.low > 0 or line.high < 0)
