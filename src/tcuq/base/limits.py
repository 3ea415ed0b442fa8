"""How large an input may be before it is refused (docs/reference/formats.md)."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from .errors import InputError, InputTypeError

VARIABLE = "TCUQ_LIMITS"  # of the environment: limits of every reader that is given none
LEAST_NESTING = 8  # a lower limit would only cost time: what is nested less is not looked at
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


@dataclass(frozen=True)
class Limits:
    """How large inputs may be. Files come from anywhere; a limit keeps one of them from filling the memory.

    Parameters
    ----------
    line : int, default 1048576
        Bytes of a line of text: of a log, of decisions, of a fleet's events.
    live_line : int, default 65536
        Bytes of a line that `tcuq live` receives.
    file : int, default 2147483648
        Bytes of a log, of decisions or of labels, and of its arrays when they are unpacked.
    inputs : int, default 68719476736
        The same for inputs of a network, which `tcuq record` reads.
    document : int, default 16777216
        Bytes of a file in JSON: parameters, the session of `tcuq live`, a fleet's HEAD.
    model : int, default 67108864
        Bytes of an int8 TFLite file or graph that becomes C.
    message : int, default 1048576
        Bytes of an MQTT message.
    waiting : int, default 268435456
        Bytes of MQTT messages that wait to be taken.
    fields : int, default 10000
        Columns of a table, cells of a row of CSV, arrays of an NPZ file.
    nesting : int, default 64
        Depth of lists and objects in JSON, 8 at least.
    pixels : int, default 33554432
        Pixels of a picture.
    devices : int, default 10000000
        Devices of one version of a fleet.
    """

    line: int = 1 << 20
    live_line: int = 1 << 16
    file: int = 1 << 31
    inputs: int = 1 << 36
    document: int = 1 << 24
    model: int = 1 << 26
    message: int = 1 << 20
    waiting: int = 1 << 28
    fields: int = 10_000
    nesting: int = 64
    pixels: int = 1 << 25
    devices: int = 10_000_000

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            least = LEAST_NESTING if item.name == "nesting" else 1
            if type(value) is not int or not least <= value < 2**63:
                expected = f"expected an integer from {least} to {2**63 - 1}"
                raise InputError("value", f"limit {item.name} is {str(value)[:40]}, {expected}")

    @classmethod
    def of(cls, text: str) -> Limits:
        """Return limits from a text, the others as they are by default.

        Parameters
        ----------
        text : str
            ``name=number`` with commas between; a number may end in K, M, G or T, for powers of 1024.

        Examples
        --------
        >>> found = Limits.of("line=4M, file=8G")
        >>> found.line, found.file
        (4194304, 8589934592)
        """
        names = [item.name for item in fields(cls)]
        sizes: dict[str, int] = {}
        for part in filter(None, (each.strip() for each in text.split(","))):
            match = re.fullmatch(r"(\w+)\s*=\s*([0-9]{1,19})([KMGT]?)", part, re.ASCII)
            if match is None or match[1] not in names:
                expected = f"expected NAME=NUMBER such as file=4G, with a NAME of {', '.join(names)}"
                raise InputError("value", f"{VARIABLE} has {part[:40]!r}, {expected}")
            sizes[match[1]] = int(match[2]) << _UNITS[match[3]]
        return cls(**sizes)

    def but(self, **changes: Any) -> Limits:
        """Return these limits with some of them changed; what is None stays."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})

    def beyond(self, name: str, found: int | None, unit: str = "bytes") -> str:
        """Return what is said of an input beyond a limit: the limit, and how to allow more."""
        most = getattr(self, name)
        need = max(2 * most, 2) if found is None else found
        return f"expected at most {most:,} {unit}; to allow more, set {VARIABLE}={name}={_rounded(need)}"


def _rounded(number: int) -> str:
    """Return a number that is not smaller, as a person would write it."""
    for unit, bits in reversed(_UNITS.items()):
        if bits and number >= 1 << bits:
            return f"{-(-number >> bits)}{unit}"
    return str(number)


def limits_given(limits: Limits | None = None) -> Limits:
    """Return the limits that hold: those passed, else those of the environment, else the defaults."""
    if limits is not None:
        return limits
    text = os.environ.get(VARIABLE, "")
    return Limits.of(text) if text else Limits()


def file_name(path: str | Path) -> str:
    """Return the name of a file to open; a number, which `open` would take for an open file, is refused."""
    try:
        return os.fsdecode(path)
    except TypeError:
        raise InputTypeError("value", f"path is {str(path)[:60]}, expected a file name", "path") from None


def read_limited(path: str | Path, name: str = "document", limits: Limits | None = None) -> bytes:
    """Return the bytes of a file; refuse one beyond a limit before it is read."""
    given = limits_given(limits)
    most = getattr(given, name)
    with open(file_name(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        content = b"" if size > most else up_to(file, most + 1)
    if max(size, len(content)) > most:
        known = size if size > most else None
        has = f"has {size:,} bytes" if known else "has more bytes"
        raise InputError("limit", f"{path}: {has}, {given.beyond(name, known)}")
    return content


def up_to(file: Any, most: int) -> bytes:
    """Read a file piece by piece: a pipe has no size, and its content is limited as well."""
    pieces = []
    while most > 0 and (piece := file.read(min(most, 1 << 20))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)
