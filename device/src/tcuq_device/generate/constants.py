"""Definitions of constants in C."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

import numpy.typing as npt


class Constants:
    """Definitions of constants; equal arrays are defined once."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self._known: dict[tuple[str, bytes], str] = {}

    def array(self, kind: str, name: str, values: npt.NDArray[Any], form: str = "d") -> str:
        """Define an array of one dimension, and return its name; form "x" writes hexadecimal words."""
        key = (kind, values.tobytes())
        if key not in self._known:
            self._known[key] = name
            self.text.append(f"static const {kind} {name}[{len(values)}] = {{\n{_rows(values, form)}}};\n")
        return self._known[key]

    def record(self, kind: str, name: str, lines: Iterable[str]) -> str:
        """Define a struct from the lines of its members, and return its name."""
        body = "".join(f"    {line},\n" for line in lines)
        self.text.append(f"static const {kind} {name} = {{\n{body}}};\n\n")
        return name


def _rows(values: npt.NDArray[Any], form: str) -> str:
    if form == "x":
        texts = [f"0x{value:08X}u" for value in values.tolist()]
    else:
        # The lowest number of 32 bits cannot be written as one literal of its type.
        texts = ["-2147483647 - 1" if value == -(2**31) else str(value) for value in values.tolist()]
    return textwrap.fill(", ".join(texts), 106, initial_indent="    ", subsequent_indent="    ") + ",\n"
