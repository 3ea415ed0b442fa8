"""Numbers and words as the report prints them."""

from __future__ import annotations

import html

NBSP = "\u00a0"
MINUS = "\u2212"
DASH = "\u2013"


def escape(text: object) -> str:
    """Return text that is safe inside elements and quoted attributes."""
    return html.escape(str(text), quote=True)


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent, with a space that does not break.

    >>> percent(0.0981).replace(NBSP, " ")
    '9.8 %'
    """
    return f"{100 * share:.{digits}f}{NBSP}%"


def aim(share: float) -> str:
    """Return a set value in percent, without digits that were never given.

    >>> aim(0.15).replace(NBSP, " "), aim(0.125).replace(NBSP, " ")
    ('15 %', '12.5 %')
    """
    return f"{100 * share:.4g}{NBSP}%"


def count(number: int) -> str:
    """Return a whole number with separators."""
    return f"{number:,}"


def decimal(value: float, digits: int = 3) -> str:
    """Return a number with a real minus sign and no negative zero.

    >>> decimal(-0.0), decimal(-1.5, 1) == MINUS + "1.5"
    ('0.000', True)
    """
    shown = f"{value:.{digits}f}"
    return shown.replace("-", MINUS) if shown.strip("-0.") else shown.lstrip("-")


def short(value: float) -> str:
    """Return a number with up to four digits that mean something.

    >>> short(0.5), short(0.00599)
    ('0.5', '0.00599')
    """
    return f"{value:.4g}".replace("-", MINUS)


def times(number: int) -> str:
    """Return how often, in words."""
    return {0: "never", 1: "once", 2: "twice"}.get(number, f"{number:,} times")


def plural(number: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun.

    >>> plural(1, "step"), plural(2000, "step")
    ('1 step', '2,000 steps')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
