"""Small marks by which files are known again: which names were passed, and what a file began with."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

MOST_NAMES = 4096
"""Names that are remembered, the last ones: a position is written with each commit."""

BEGINNING = 4096
"""Bytes of a file that are looked at, at its beginning and at its end."""


def packed(names: Iterable[str]) -> str:
    """Return the checksums of names as a text, those of the last `MOST_NAMES`.

    Examples
    --------
    >>> among(["1.jsonl", "2.jsonl", "3.jsonl"], packed(["1.jsonl", "3.jsonl"]))
    ['1.jsonl', '3.jsonl']
    """
    sums = np.array([_sum(name) for name in sorted(names)[-MOST_NAMES:]], dtype="<u4")
    return base64.b64encode(sums.tobytes()).decode()


def among(names: Sequence[str], text: str) -> list[str]:
    """Return those of sorted names that were packed; all where the text is none of `packed`.

    Of more than `MOST_NAMES`, the ones before the first that is remembered count as packed.
    """
    try:
        sums = np.frombuffer(base64.b64decode(text, validate=True), dtype="<u4").tolist()
    except (ValueError, binascii.Error):
        return list(names)
    there = set(sums)
    known = [_sum(name) in there for name in names]
    full = len(sums) >= MOST_NAMES
    first = known.index(True) if full and True in known else 0
    return [name for place, name in enumerate(names) if known[place] or place < first]


def _sum(name: str) -> int:
    return zlib.crc32(name.encode(errors="surrogateescape"))


def mark_of(content: bytes) -> list[int]:
    """Return the mark of a file that may grow: how many of its first bytes, and their checksum."""
    return [len(content), zlib.crc32(content)]


def has_beginning(path: Path, mark: Any) -> bool:
    """Tell whether a file begins as a mark says; what is no mark says nothing."""
    if not isinstance(mark, list) or len(mark) != 2 or type(mark[0]) is not int:
        return True
    with path.open("rb") as file:
        return mark_of(file.read(min(max(0, mark[0]), BEGINNING))) == mark


def whole(path: Path) -> list[int]:
    """Return the mark of a file that does not grow: its bytes, and a checksum of its two ends."""
    size = path.stat().st_size
    with path.open("rb") as file:
        found = zlib.crc32(file.read(BEGINNING))
        file.seek(max(0, size - BEGINNING))
        found = zlib.crc32(file.read(), found)
    return [size, found]
