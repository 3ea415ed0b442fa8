"""Fields of a dataclass that may be left out, and hold a value once the object is made."""

from __future__ import annotations

from typing import Generic, TypeVar

Value = TypeVar("Value")


class Filled(Generic[Value]):
    """A field that takes a value or None, and is read as a value.

    The class that has it must put a value in place of None in `__post_init__`. Readers need not ask whether
    there is one, and neither does a type checker.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Value:
        # Of the class itself, a dataclass asks for the default.
        value: Value = None if instance is None else instance.__dict__[self._name]  # type: ignore[assignment]
        return value

    def __set__(self, instance: object, value: Value | None) -> None:
        instance.__dict__[self._name] = value
