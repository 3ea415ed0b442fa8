"""Checks of single values and of names, whose errors say what is accepted; fields with a late value."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from .errors import InputError, one_line, wrong_value

CLOSE = 0.7  # share of letters in common from which on one name is offered for another
LONGEST = 64  # letters of a name that is compared
MOST = 40  # names that are compared with those that may have been meant
MOST_NAMES = 12  # names that an error lists


def _shown(value: float) -> str:
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else f"{value:g}"


def integer(name: str, value: Any, low: int, high: int) -> int:
    """Return `value` as an int in [low, high]."""
    expected = f"{low} to {high}"
    if isinstance(value, bool):
        raise wrong_value(name, value, expected)
    try:
        whole = operator.index(value)
    except TypeError:
        problem = f"{name} is {value}, expected an integer, {expected}" if isinstance(value, float) else ""
        raise InputError("value", problem, name, value, f"an integer, {expected}") from None
    if not low <= whole <= high:
        raise wrong_value(name, value, expected)
    return whole


def number(name: str, value: Any, low: float, high: float) -> float:
    """Return `value` as a float in [low, high]; NaN is refused."""
    expected = f"{_shown(low)} to {_shown(high)}"
    if isinstance(value, (bool, str, bytes)) or value is None:
        raise wrong_value(name, value, f"a number, {expected}")
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise wrong_value(name, value, f"a number, {expected}") from None
    except OverflowError:
        raise InputError("value", f"{name} is too large for a float, expected {expected}", name) from None
    if not low <= result <= high:
        raise wrong_value(name, result, expected)
    return result


def known_only(what: str, values: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse a name that is not among those known."""
    for name in values:
        if name not in known:
            raise InputError("unknown", f"{what} {name!r} is unknown, expected {', '.join(known)}", name)


def known(what: str, name: str, names: Iterable[str], hint: str = "") -> str:
    """Return a name that is among those known, or say which one was probably meant, or which there are."""
    all_names = list(names)
    if name not in all_names:
        near = nearest(name, all_names)
        if near is not None:
            raise InputError("unknown", f"{what} {name!r} is unknown; did you mean {near}?{hint}", name)
        shown = all_names if len(all_names) <= MOST_NAMES + 1 else all_names[:MOST_NAMES]
        left = len(all_names) - len(shown)
        listed = ", ".join(map(str, shown)) + (f" and {left} more" if left else "")
        expected = f"expected one of {listed}" if all_names else "and there is none to choose from"
        raise InputError("unknown", f"{what} {name!r} is unknown, {expected}{hint}", name)
    return name


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that was probably meant: one that is spelled nearly so, or begins so."""
    import difflib  # slow to import, and seldom needed

    text = str(name).lower()
    spelled = {str(each).lower(): str(each) for each in names}
    if len(text) > LONGEST:  # the time grows with the square of it
        return None
    begun = [each for each in spelled if len(text) >= 3 and each.startswith(text)]
    near = difflib.get_close_matches(text, spelled, n=1, cutoff=CLOSE) or begun
    return spelled[near[0]] if near else None


def put(instance: Any, **values: Any) -> None:
    """Set fields of a frozen object while it is made."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


Value = TypeVar("Value")


class Filled(Generic[Value]):
    """A field that takes a value or None, for which `__post_init__` puts one, and is read as a value."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Value:
        # Of the class itself, a dataclass asks for the default.
        value: Value = None if instance is None else instance.__dict__[self._name]  # type: ignore[assignment]
        return value

    def __set__(self, instance: object, value: Value | None) -> None:
        instance.__dict__[self._name] = value


_POSTERIORS = {"p0", "p", "probs"}
_DECIDED = {"risk", "threshold", "abstain", "alarm"}
"""Columns that only a log has, and those that decisions always have: one is easily taken for the other."""


class InputNote(UserWarning):
    """Something about an input that you may want to know; it is read all the same."""


def unknown_text(what: str, names: Sequence[str], known: Collection[str]) -> str | None:
    """Return a sentence about the columns of an input that are not used, None where all are."""
    unknown = [name for name in names if name not in known]
    if not unknown:
        return None
    shown = ", ".join(map(repr, unknown[:8])) + (f" and {len(unknown) - 8} more" if len(unknown) > 8 else "")
    verb = f"{what} {shown} is" if len(unknown) == 1 else f"{what}s {shown} are"
    # Either number of a word may be there: label or labels.
    free = [name for name in known if not {name, f"{name}s", name.removesuffix("s")} & set(names)]
    guesses = [
        f" Is {name!r} meant to be {near!r}?" for name in unknown[:MOST] if (near := nearest(name, free))
    ]
    return one_line(f"{verb} not used.{''.join(guesses[:3])}")


def note_unknown(what: str, names: Sequence[str], known: Collection[str], where: str) -> None:
    """Say once which columns of an input are not used."""
    text = unknown_text(what, names, known)
    if text is not None:
        warnings.warn(InputNote(f"{where}: {text}"), stacklevel=4)


def guess(names: Sequence[str], missing: str) -> str:
    """Return the question to add when a name is missing and another one looks like it, or nothing."""
    present = set(names)
    if missing in _POSTERIORS and present >= _DECIDED:
        return ". These are decisions, as `tcuq run` writes them; pass the log that they were made from"
    if missing in ("step", "prediction", *_DECIDED) and present & _POSTERIORS and not present & _DECIDED:
        return ". This is a log; `tcuq run` makes decisions of it"
    if missing == "prediction" and "label" in present and present >= _DECIDED:
        return ". An older tcuq called it 'label' and made these decisions; make them again with `tcuq run`"
    near = nearest(missing, [name for name in names[: 25 * MOST] if len(name) <= LONGEST])
    return "" if near is None else f". Is {near!r} meant to be {missing!r}?"
