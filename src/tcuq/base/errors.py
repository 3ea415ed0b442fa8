"""Errors: a code and fields, and the one place where they become a line of text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

CODES = {
    "value": "a value is out of range, or of the wrong kind or shape",
    "missing": "something that is needed is not there",
    "unknown": "a name is not among those known",
    "conflict": "two things do not go together",
    "damaged": "content cannot be read, or contradicts itself",
    "limit": "there is more of something than is accepted",
    "exists": "something is in the way of what would be written",
    "busy": "another process or thread is using it",
    "needs": "a package or a program is not installed",
    "unsupported": "it may be right, and is not handled here",
    "failed": "a model, a program or the system failed",
    "usage": "the command line is wrong",
}
"""What went wrong, for programs to decide by."""

MOST = 600  # characters of a message; what is longer loses its middle


class InputError(ValueError):
    """Something that was given cannot be used. Decide by its fields; the text is for people and may change.

    Parameters
    ----------
    code : str
        One of `CODES`.
    problem : str
        What is wrong, what was expected, and what to do.
    name, value, expected : optional
        Where one value is wrong: what it belongs to, the value, and what would be right.
    where : str
        A file, or a place in it.

    Examples
    --------
    >>> error = wrong_value("burst", 0, "1 to 10")
    >>> str(error), error.code, error.name
    ('burst is 0, expected 1 to 10', 'value', 'burst')
    """

    __module__ = "tcuq"

    def __init__(
        self,
        code: str,
        problem: str = "",
        name: str = "",
        value: Any = None,
        expected: Any = "",
        where: str = "",
    ) -> None:
        assert code in CODES, code
        super().__init__(code, problem, name, value, expected, where)
        self.code, self.problem, self.name = code, problem, name
        self.value, self.expected, self.where = value, expected, where

    def __str__(self) -> str:
        problem = self.problem or f"{self.name} is {_shown(self.value)}, expected {self.expected}"
        return one_line(f"{self.where}: {problem}" if self.where else problem)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.problem, self.name, self.value, self.expected, self.where)


class InputTypeError(InputError, TypeError):
    """An object of the wrong type was given."""

    __module__ = "tcuq"


def wrong_value(name: str, value: Any, expected: Any) -> InputError:
    """Return the error of one value."""
    return InputError("value", name=name, value=value, expected=expected)


def wrong_type(name: str, value: Any, expected: Any) -> InputTypeError:
    """Return the error of one object, whose type is named."""
    problem = f"{name} is {type(value).__name__}, expected {expected}"
    return InputTypeError("value", problem, name, value, expected)


def placed(error: Exception, where: str) -> InputError:
    """Return an error that also says where it arose: a file, or a line of it."""
    refusal = error if isinstance(error, InputError) else InputError("value", str(error))
    refusal.where = f"{where}: {refusal.where}" if refusal.where else where
    return refusal


@contextmanager
def located(where: str) -> Iterator[None]:
    """Have errors say where they arose."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        raise placed(error, where) from None


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value) if isinstance(value, str) else str(value)


def one_line(text: str, most: int = MOST) -> str:
    """Return a message as one line that a terminal can show; its middle is left out where it is long."""
    short = _cut(text, most)
    if short.isprintable():
        return short
    escaped = [c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in short]
    return _cut("".join(escaped), most)


def _cut(text: str, most: int) -> str:
    end = most // 4
    return text if len(text) <= most else f"{text[: most - end]} ... {text[-end:]}"


def needed(module: str, install: str, what: str) -> Any:
    """Import a package that is used here alone, or say in one line how to get it."""
    try:
        return import_module(module)
    except ImportError:
        problem = f"{what} needs the package {module.partition('.')[0]}"
        raise InputError("needs", f"{problem}; install it with: pip install {install}") from None
