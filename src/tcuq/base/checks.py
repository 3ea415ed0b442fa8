"""Checks of single values, whose errors name the value and the accepted range."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def _shown(value: float) -> str:
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else f"{value:g}"


def integer(name: str, value: Any, low: int, high: int) -> int:
    """Return `value` as an int in [low, high].

    Examples
    --------
    >>> integer("burst", 0, 1, 10)
    Traceback (most recent call last):
    ...
    ValueError: burst is 0, expected 1 to 10
    """
    expected = f"expected {low} to {high}"
    if isinstance(value, bool):
        raise ValueError(f"{name} is {value}, {expected}")
    try:
        number_ = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} is {value!r}, not an integer, {expected}") from None
    if not low <= number_ <= high:
        raise ValueError(f"{name} is {value}, {expected}")
    return number_


def number(name: str, value: Any, low: float, high: float) -> float:
    """Return `value` as a float in [low, high]; NaN is refused.

    Examples
    --------
    >>> number("blend", 1.5, 0, 1)
    Traceback (most recent call last):
    ...
    ValueError: blend is 1.5, expected 0 to 1
    """
    expected = f"expected {_shown(low)} to {_shown(high)}"
    if isinstance(value, (bool, str, bytes)) or value is None:
        raise ValueError(f"{name} is {value!r}, not a number, {expected}")
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}, not a number, {expected}") from None
    except OverflowError:
        raise ValueError(f"{name} is beyond all floats, {expected}") from None
    if not low <= result <= high:
        raise ValueError(f"{name} is {result:g}, {expected}")
    return result


def known_only(what: str, values: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse a name that is not among those known.

    Examples
    --------
    >>> known_only("field", {"hue": 1}, ("size", "shape"))
    Traceback (most recent call last):
    ...
    ValueError: field 'hue' is unknown, expected one of size, shape
    """
    for name in values:
        if name not in known:
            raise ValueError(f"{what} {name!r} is unknown, expected one of {', '.join(known)}")


def known(what: str, name: str, names: Iterable[str], hint: str = "") -> str:
    """Return a name that is among those known, or say which one was probably meant.

    Examples
    --------
    >>> known("corruption", "fogg", {"fog": 1, "snow": 2})
    Traceback (most recent call last):
    ...
    ValueError: corruption 'fogg' is unknown; did you mean fog?
    """
    all_names = list(names)
    if name not in all_names:
        import difflib  # slow to import, and seldom needed

        near = difflib.get_close_matches(str(name), all_names, n=1, cutoff=0.0)[0]
        raise ValueError(f"{what} {name!r} is unknown; did you mean {near}?{hint}")
    return name
