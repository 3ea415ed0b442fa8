"""Names of classes: text from outside that is shown to people, so it is checked once, here."""

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
            raise InputError("value", f"names has {names.ndim} dimensions, expected one name a class")
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
    """Return a class as a person reads it: its number, and its name where there is one.

    >>> class_shown(1, ("cat", "dog")), class_shown(1, None)
    ('1 (dog)', '1')
    """
    name = names[number] if names is not None and 0 <= number < len(names) else ""
    return f"{number} ({name})" if name else str(number)


def class_number(label: str, names: Sequence[str]) -> int:
    """Return the class that a name stands for."""
    found = [number for number, name in enumerate(names) if name == label]
    if len(found) == 1:
        return found[0]
    if found:
        numbers = " and ".join(map(str, found[:2]))
        raise InputError("value", f"label is {label!r}, the name of classes {numbers}, expected a number")
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    raise wrong_value("label", label, f"a number or one of {shown}")


def numbered(labels: npt.NDArray[Any], names: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return labels given as names as the numbers of their classes."""
    known = {label: class_number(str(label), names) for label in np.unique(labels).tolist()}
    return np.array([known[label] for label in labels.tolist()], dtype=np.int64)


def counted(label: int, classes: int) -> str:
    """Return the end of a message about a label that is too large: labels may count from 1."""
    return "; classes count from 0: subtract 1 if yours count from 1" if label == classes else ""
