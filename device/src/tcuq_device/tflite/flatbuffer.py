"""Tables and vectors of a flatbuffer, from untrusted bytes.

A flatbuffer is a file of little-endian numbers that point at each other. A table begins with the distance
back to its list of fields; an entry of that list says where in the table a field lies, or 0 where the field
is absent. Text, vectors and other tables are reached by a distance forward from the field.

Every place is compared with the length of the file before it is read. Nothing here follows pointers by
itself: the caller asks for one field at a time, so that no cycle can be endless. Arrays are views of the
file; a vector that claims to be long costs nothing unless the file is as long.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError

_WORD = struct.Struct("<I")
_DISTANCE = struct.Struct("<i")
_ENTRY = struct.Struct("<H")
MOST_ITEMS = 4_096
"""Tables in one vector."""
MOST_TEXT = 4_096
"""Bytes in one text."""


class Table:
    """One table of a file; every method refuses a place that lies outside the file."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content = content
        self._at = at
        (back,) = _unpack(_DISTANCE, content, at)
        self._fields = at - back
        (self._length,) = _unpack(_ENTRY, content, self._fields)
        if self._length < 4 or self._length % 2:
            where = f"byte {self._fields}"
            raise InputError("damaged", f"the list of a table's fields has {self._length} bytes", where=where)

    def has(self, field: int) -> bool:
        """Return whether a field is there."""
        return self._place(field) is not None

    def number(self, field: int, kind: str, default: float) -> Any:
        """Return a number of a numpy type such as "<i4", or the default where the field is absent."""
        place = self._place(field)
        if place is None:
            return default
        return _view(self._content, place, 1, np.dtype(kind))[0].item()

    def table(self, field: int) -> Table | None:
        """Return the table that a field points at."""
        place = self._place(field)
        return None if place is None else Table(self._content, _follow(self._content, place))

    def tables(self, field: int) -> list[Table]:
        """Return the tables of a vector; an absent vector is empty."""
        place = self._place(field)
        if place is None:
            return []
        begin, count = self._vector(place)
        if count > MOST_ITEMS:
            problem = f"a vector of {count} tables, expected at most {MOST_ITEMS}"
            raise InputError("limit", problem, where=f"byte {begin}")
        _view(self._content, begin, count, np.dtype("<u4"))
        return [Table(self._content, _follow(self._content, begin + 4 * at)) for at in range(count)]

    def numbers(self, field: int, kind: str) -> npt.NDArray[Any]:
        """Return a vector of numbers as a view of the file; an absent vector is empty."""
        place = self._place(field)
        if place is None:
            return np.empty(0, dtype=kind)
        begin, count = self._vector(place)
        return _view(self._content, begin, count, np.dtype(kind))

    def text(self, field: int) -> str:
        """Return a text, without what is not UTF-8; an absent one is empty."""
        found = self.numbers(field, "<u1")
        if len(found) > MOST_TEXT:
            raise InputError("limit", f"a text has {len(found)} bytes, expected at most {MOST_TEXT}")
        return found.tobytes().decode("utf-8", "replace")

    def appended(self, field: int, values: Sequence[int]) -> bytes:
        """Return the file with other values of a vector of integers, which are put behind its end."""
        place = self._place(field)
        if place is None:
            raise InputError("damaged", f"field {field} of a table is absent")
        end = len(self._content) + -len(self._content) % 4
        vector = np.array([len(values), *values], "<i4").tobytes()
        content = bytearray(self._content.ljust(end, b"\0") + vector)
        _WORD.pack_into(content, place, end - place)
        return bytes(content)

    def _place(self, field: int) -> int | None:
        """Return where a field lies; an old file may have a shorter list of fields."""
        entry = 4 + 2 * field
        if entry + 2 > self._length:
            return None
        (inside,) = _unpack(_ENTRY, self._content, self._fields + entry)
        return self._at + int(inside) if inside else None

    def _vector(self, place: int) -> tuple[int, int]:
        begin = _follow(self._content, place)
        (count,) = _unpack(_WORD, self._content, begin)
        return begin + 4, int(count)


def root(content: bytes) -> Table:
    """Return the table that a file begins with."""
    return Table(content, _follow(content, 0))


def _unpack(kind: struct.Struct, content: bytes, at: int) -> tuple[int, ...]:
    if not 0 <= at <= len(content) - kind.size:
        raise InputError("damaged", f"byte {at} is needed, the file has {len(content)}")
    return kind.unpack_from(content, at)


def _follow(content: bytes, at: int) -> int:
    (forward,) = _unpack(_WORD, content, at)
    return at + int(forward)


def _view(content: bytes, at: int, count: int, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    if not 0 <= at <= len(content) - count * kind.itemsize:
        raise InputError(
            "damaged", f"{count} values from byte {at} on are needed, the file has {len(content)}"
        )
    return np.frombuffer(content, kind, count, at) if count else np.empty(0, kind)
