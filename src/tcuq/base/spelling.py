"""How a message names an option: a keyword for Python's reader, or as the command line spells it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Spelling = Callable[[str, Any], str]


def keyword(name: str, value: Any = None) -> str:
    """Return an option as a keyword of Python."""
    if isinstance(value, str):
        value = f'"{value}"'
    elif isinstance(value, tuple):
        value = f"({', '.join(f'{each:g}' for each in value)})"
    return f"`{name}`" if value is None else f"`{name}={value}`"


_SPELLING: ContextVar[Spelling] = ContextVar("spelling", default=keyword)


def option(name: str, value: Any = None) -> str:
    """Return an option as whoever reads a message would give it, with a value if one is advised."""
    return _SPELLING.get()(name, value)


@contextmanager
def spelled(spelling: Spelling) -> Iterator[None]:
    """Have messages name options in another way."""
    token = _SPELLING.set(spelling)
    try:
        yield
    finally:
        _SPELLING.reset(token)
