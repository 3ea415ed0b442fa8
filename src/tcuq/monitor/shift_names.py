"""Kinds of shift by name: a column `shifted` may hold names in place of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError, wrong_value
from .class_names import LONGEST, texts_of

MOST = 255
"""Kinds of shift that a log tells apart."""

_CLEAN = ("", "clean", "0", "false")


class ShiftNumbers:
    """Number the kinds of shift of one stream by name, in the order in which they come.

    `names` are known already: that of kind 1, of kind 2, and so on.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.names = list(names)
        self._known = {name: number for number, name in enumerate(self.names, 1)}
        self._plain = False

    def of(self, value: str | int) -> int:
        """Return the number of a kind; 0 is clean."""
        text = value.strip() if isinstance(value, str) else str(int(value))
        if text.lower() in _CLEAN:
            return 0
        if text in self._known:
            return self._known[text]
        number = 1 if text.lower() == "true" else int(text) if text.isdecimal() else None
        if self._plain if number is None else self.names:
            raise wrong_value("shifted", text, "names of shifts or numbers, not both")
        if number is None:
            return self._next(text)
        self._plain = True
        return number

    def _next(self, name: str) -> int:
        if len(name) > LONGEST or not name.isprintable():
            expected = f"expected at most {LONGEST} printable characters"
            raise InputError("value", f"shifted is {name[:20]!r}, {expected}")
        if len(self.names) == MOST:
            raise wrong_value("shifted", name, f"at most {MOST} kinds of shift")
        self.names.append(name)
        self._known[name] = len(self.names)
        return len(self.names)


def shifts_by_name(
    values: npt.NDArray[Any], names: Sequence[str] | None
) -> tuple[npt.NDArray[np.int64], tuple[str, ...] | None]:
    """Return the numbers of kinds of shift that are given as text, and their names.

    >>> numbers, names = shifts_by_name(np.array(["clean", "blur", "fog", "blur"]), None)
    >>> numbers.tolist(), names
    ([0, 1, 2, 1], ('blur', 'fog'))
    """
    known = ShiftNumbers(names or ())
    numbers = np.array([known.of(each) for each in texts_of(values)], dtype=np.int64)
    return numbers, tuple(known.names) or None


def shift_shown(kind: int, names: Sequence[str] | None) -> str:
    """Return a kind of shift as a person reads it."""
    if not kind:
        return "clean"
    return names[kind - 1] if names is not None and kind <= len(names) else f"shift {kind}"
