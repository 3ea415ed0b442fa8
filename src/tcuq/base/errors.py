"""Errors: a code and fields, and the one place where they become a line of text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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

MOST = 600
"""Characters of a message; what is longer loses its middle."""


class InputError(ValueError):
    """Something that was given cannot be used.

    Decide by `code` and the fields, never by the text, which may change.

    Parameters
    ----------
    code : str
        One of `CODES`.
    name : str
        What it is about: an argument, a field, a column.
    value : Any
        What was given; left out where `problem` says it.
    expected : Any
        What would be right.
    problem : str
        What is wrong with it, in place of the value.
    hint : str
        What to do.
    where : str
        A file, or a place in it.

    Examples
    --------
    >>> error = InputError("value", "burst", 0, "1 to 10", where="monitor.json")
    >>> str(error), error.code, error.name
    ('monitor.json: burst is 0, expected 1 to 10', 'value', 'burst')
    >>> str(InputError("missing", "labels", problem="are missing", hint="record them with the log"))
    'labels are missing; record them with the log'
    """

    def __init__(
        self,
        code: str,
        name: str = "",
        value: Any = None,
        expected: Any = "",
        *,
        problem: str = "",
        hint: str = "",
        where: str = "",
    ) -> None:
        assert code in CODES, code
        super().__init__(code, name, value, expected, problem, hint, where)
        self.code, self.name, self.value, self.expected = code, name, value, expected
        self.problem, self.hint, self.where = problem, hint, where

    def __str__(self) -> str:
        about = " ".join(each for each in (self.name, self.problem or f"is {_shown(self.value)}") if each)
        place = f"{self.where}: " if self.where else ""
        expected = f", expected {self.expected}" if self.expected != "" else ""
        return one_line(f"{place}{about}{expected}{f'; {self.hint}' if self.hint else ''}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), *self.args)


class InputTypeError(InputError, TypeError):
    """An object of the wrong type was given."""


def _again(kind: type[InputError], *fields: Any) -> InputError:
    code, name, value, expected, problem, hint, where = fields
    return kind(code, name, value, expected, problem=problem, hint=hint, where=where)


@contextmanager
def located(where: str) -> Iterator[None]:
    """Have an error say where it arose: a file, or a line of it. The innermost place comes last."""
    try:
        yield
    except InputError as error:
        error.where = f"{where}: {error.where}" if error.where else where
        error.args = (*error.args[:-1], error.where)
        raise


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value) if isinstance(value, str) else str(value)


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
