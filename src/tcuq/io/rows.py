"""Rows of CSV and JSON lines: a block of lines becomes columns, and is read line by line where one is bad."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Protocol

from ..base.errors import InputError, one_line, placed
from ..base.json_text import check_depth, not_json
from ..base.limits import Limits
from .sources import Lines, LongLine, check_length

Bad = Callable[[str], None]
"""Called with the message of a bad line, which is then skipped."""

BLOCK = 1 << 10
"""Lines that are taken together, as far as they are all good."""


class Rows(Protocol):
    """Takes lines of one file, alone after an error among several. A bad one leaves no trace."""

    begun: bool
    """Whether a line has settled what the others must be."""

    def take(self, lines: list[str], numbers: list[int]) -> None:
        """Take some lines, which have these numbers."""


def taken(lines: Lines, rows: Rows, where: str, on_bad: Bad | None = None) -> Iterator[None]:
    """Hand lines over, block by block, and pause after each; bad ones are skipped where there is `on_bad`."""
    while block := list(islice(lines, BLOCK if rows.begun else 1)):
        block = [(number, line) for number, line in block if line.strip()]
        if len(block) < 2 or not _takes(rows, block):
            for number, line in block:
                try:
                    check_length(line)
                    rows.take([line], [number])
                except ValueError as error:
                    refuse(placed(error, f"{where}, line {number}"), on_bad)
        yield


def _takes(rows: Rows, block: list[tuple[int, str]]) -> bool:
    numbers, lines = zip(*block, strict=True)
    if any(isinstance(line, LongLine) for line in lines):
        return False
    try:
        rows.take(list(lines), list(numbers))
    except ValueError:
        return False
    return True


def refuse(error: InputError, on_bad: Bad | None) -> None:
    """Raise an error, or hand its text to `on_bad` when bad lines are skipped."""
    if on_bad is None:
        raise error from None
    on_bad(str(error))


def csv_rows(lines: list[str], width: int | None = None) -> list[list[str]]:
    """Return the cells of each line; refuse another number of them. Each line stands alone."""
    try:
        rows = list(csv.reader(lines, strict=True))
    except csv.Error as error:
        raise InputError("damaged", str(error)) from None
    if len(rows) != len(lines):
        raise InputError("damaged", "a quote is not closed")
    for row in rows:
        if width not in (None, len(row)):
            raise InputError("value", f"the row has {len(row)} values, the header has {width}")
    return rows


def _pairs(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(items)
    content = dict(pairs)
    if len(content) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise InputError("conflict", f"key {one_line(repr(twice), 60)} is there twice, expected once")
    return content


# One decoder for all lines: json.loads would build one for each.
_DECODE = json.JSONDecoder(object_pairs_hook=_pairs).decode


def parse_object(
    text: str, aliases: Mapping[str, str] | None = None, limits: Limits | None = None
) -> dict[str, Any]:
    """Return the object of one line; refuse anything else, and keys that stand twice."""
    check_depth(text, limits)
    try:
        content = _DECODE(text.strip())
    except (ValueError, RecursionError) as error:
        raise not_json(error) from None
    if not isinstance(content, dict):
        raise InputError("value", f"the line holds {short(content)}, expected an object in braces")
    if aliases and not aliases.keys().isdisjoint(content):
        return _pairs((aliases.get(key, key), value) for key, value in content.items())
    return content


def short(value: Any) -> str:
    """Return a value of JSON as a message shows it."""
    try:
        text = json.dumps(value)
    except RecursionError:
        return "a deeply nested value"
    return text if len(text) <= 40 else f"{text[:37]}..."


_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_QUOTED = re.compile(r"'+[=+\-@\t\r]")


def csv_name(name: str) -> str:
    """Return a name as it stands in CSV: one that a table program would take for a formula begins with '."""
    return f"'{name}" if _FORMULA.match(name) else name


def name_in_csv(text: str) -> str:
    """Return the name that `csv_name` was given."""
    return text[1:] if _QUOTED.match(text) else text
