# SPDX-License-Identifier: MIT
"""Messages about input that nobody vouches for: one line, no control characters, not too long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

MOST = 600
"""Characters of a message; what is longer loses its middle."""


def one_line(text: str, most: int = MOST) -> str:
    r"""Return a message as one line that a terminal can show; its middle is left out where it is long.

    Examples
    --------
    >>> one_line("label is 'a\x1b[2J\n', expected a number")
    "label is 'a\\x1b[2J\\n', expected a number"
    >>> one_line(f"label is {'9' * 5000}, expected 0 to 9", 60)
    'label is 999999999999999999999999999999999999 ... expected 0 to 9'
    """
    short = _cut(text, most)
    if short.isprintable():
        return short
    escaped = (
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in short
    )
    return _cut("".join(escaped), most)


def _cut(text: str, most: int) -> str:
    end = most // 4
    return text if len(text) <= most else f"{text[: most - end]} ... {text[-end:]}"


@contextmanager
def as_one_line() -> Iterator[None]:
    """Have a `ValueError` say one line, whatever it was raised about."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        told = one_line(text)
        if told == text and type(error).__module__ != "builtins":
            raise
        raise ValueError(told) from None
