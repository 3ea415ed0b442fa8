"""Paces of a stream in words: how long a class, or one example, stays."""

from __future__ import annotations

from typing import NamedTuple

from ...base.checks import number
from ...base.errors import InputError, InputTypeError, wrong_value

LONGEST = 10_000
"""Steps that a class stays on average, at most."""

WANTED = "expected mixed, or a list of shuffled, dwell=N and held=N"


class Pace(NamedTuple):
    """How a part of a stream goes."""

    word: str  # shuffled, dwell (examples of one class) or held (one example, shaken)
    mean: float = 1.0  # steps that the class, or the example, stays

    def __str__(self) -> str:
        return self.word if self.word == "shuffled" else f"{self.word}={self.mean:g}"


MIXED = (Pace("dwell", 16.0), Pace("shuffled"), Pace("held", 8.0), Pace("dwell", 4.0))
"""Neither the pace nor the kind of dwell of a user's stream is known: some of each."""

UNLABELED = (Pace("held", 8.0), Pace("shuffled"))
"""What is left where no labels say which examples are of one class."""


def paces_of(text: bool | str) -> tuple[Pace, ...]:
    """Return the paces that a text names."""
    if text is True or text == "mixed":
        return MIXED
    if not isinstance(text, str):
        raise InputTypeError("value", f"stream is {text!r}, {WANTED}")
    found = []
    for each in text.split(","):
        word, equals, value = each.strip().partition("=")
        if (word, equals) == ("shuffled", ""):
            found.append(Pace(word))
            continue
        if word not in ("dwell", "held") or not equals:
            raise InputError("value", f"stream is {each.strip()!r}, {WANTED}")
        try:
            mean = float(value)
        except ValueError:
            raise wrong_value("stream", each.strip(), f"a number after {word}=") from None
        found.append(Pace(word, number(f"{word} of stream", mean, 1, LONGEST)))
    return tuple(found)
