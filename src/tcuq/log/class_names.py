"""Names of classes and of kinds of shift: text from outside that people see, so it is checked once, here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError, wrong_value

LONGEST = 64
"""Characters of a name at most: it stands in tables, in a tooltip and on a line of a terminal."""


def checked_name(name: Any, place: int) -> str:
    """Return the name of a class; refuse what cannot be shown."""
    if not isinstance(name, str):
        raise wrong_value(f"names[{place}]", name, "a text")
    if len(name) > LONGEST:
        problem = f"names[{place}] is {name[:20]!r}... of {len(name)} characters"
        raise InputError("limit", f"{problem}, expected at most {LONGEST}")
    if not name.strip():
        raise wrong_value(f"names[{place}]", name, "a name")
    if not name.isprintable():  # no line breaks, no escapes of a terminal, no marks that turn the direction
        raise wrong_value(f"names[{place}]", name, "printable characters only")
    return str(name)


def checked_names(names: Any, classes: int) -> tuple[str, ...] | None:
    """Return one name a class; None where there are none."""
    if names is None:
        return None
    if isinstance(names, np.ndarray):
        if names.ndim != 1:
            raise InputError("value", f"names has {names.ndim} dimensions, expected one name per class")
        names = texts_of(names)
    if isinstance(names, (str, bytes)) or not isinstance(names, Sequence):
        raise wrong_value("names", names, "a list of texts")
    if len(names) != classes:
        raise InputError("value", f"names has {len(names)} entries, expected {classes}")
    return tuple(checked_name(name, place) for place, name in enumerate(names))


def texts_of(names: npt.NDArray[Any]) -> list[Any]:
    """Return the entries of an array; numpy keeps texts as numbers, of which damage makes no characters."""
    try:
        return list(names.tolist())
    except (SystemError, ValueError):
        raise InputError("damaged", "names are damaged, expected texts") from None


def class_shown(number: int, names: Sequence[str] | None) -> str:
    """Return a class as a person reads it: its number, and its name where there is one."""
    name = names[number] if names is not None and 0 <= number < len(names) else ""
    return f"{number} ({name})" if name else str(number)


def class_number(label: str, names: Sequence[str]) -> int:
    """Return the class that a name stands for."""
    numbers = [number for number, name in enumerate(names) if name == label]
    if len(numbers) == 1:
        return numbers[0]
    if numbers:
        both = " and ".join(map(str, numbers[:2]))
        raise InputError("value", f"label is {label!r}, the name of classes {both}, expected a number")
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    raise wrong_value("label", label, f"a number or one of {shown}")


def numbered(labels: npt.NDArray[Any], names: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return labels given as names as the numbers of their classes."""
    known = {label: class_number(str(label), names) for label in np.unique(labels).tolist()}
    return np.array([known[label] for label in labels.tolist()], dtype=np.int64)


def classes_expected(label: int, classes: int) -> str:
    """Return what labels may be, for a message about one that is none; labels may count from 1."""
    hint = "; classes count from 0: subtract 1 if yours count from 1" if label == classes else ""
    return f"0 to {classes - 1}, or -1 for none of the classes{hint}"


MOST_KINDS = 255
"""Kinds of shift that a log tells apart."""

_CLEAN = ("", "clean", "0", "false")


class ShiftNumbers:
    """Number the kinds of shift of one stream by name, in the order in which they come."""

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
        if len(self.names) == MOST_KINDS:
            raise wrong_value("shifted", name, f"at most {MOST_KINDS} kinds of shift")
        self.names.append(name)
        self._known[name] = len(self.names)
        return len(self.names)


def shifts_by_name(
    values: npt.NDArray[Any], names: Sequence[str] | None
) -> tuple[npt.NDArray[np.int64], tuple[str, ...] | None]:
    """Return the numbers of kinds of shift that are given as text, and their names."""
    known = ShiftNumbers(names or ())
    numbers = np.array([known.of(each) for each in texts_of(values)], dtype=np.int64)
    return numbers, tuple(known.names) or None


def shift_shown(kind: int, names: Sequence[str] | None) -> str:
    """Return a kind of shift as a person reads it."""
    if not kind:
        return "clean"
    return names[kind - 1] if names is not None and kind <= len(names) else f"shift {kind}"
