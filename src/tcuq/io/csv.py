"""Logs as CSV: one row a step, columns by name."""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError, placed, wrong_value
from ..base.limits import Limits
from ..base.unknown import note_unknown
from ..monitor.class_names import ShiftNumbers, checked_names, class_number
from ..monitor.columns import EXPECTED, PLAIN, Layout
from ..monitor.log import Log
from .sources import check_length
from .values import Kind, Softmax, check_label, make_log

_NAMES = re.compile(r"\s*#\s*names\s*:", re.IGNORECASE)
"""Begins the line before the header that names the classes: ``# names: cat,dog``."""


def _header(cells: Sequence[str], where: str) -> Layout:
    """Read the first row; refuse one without posteriors, and note columns that are not known."""
    if len(cells) == 1 and ";" in cells[0]:
        raise InputError("unsupported", "the columns are separated by semicolons, expected commas")
    if all(map(_is_number, cells)):
        raise InputError("missing", "the first line must name the columns: p0,p1,...")
    layout = Layout.of(cells)
    note_unknown("column", layout.names, layout.known, where)
    return layout


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(name: str, text: str) -> float:
    accepted = "0 to 255" if name == "shifted" else "an integer" if name in PLAIN else "a number"
    hint = " (-1: none of the classes)" if name == "label" and not text.strip() else ""
    value = float(text) if _is_number(text) else np.nan
    # float() also takes 1_000, which no writer means.
    if "_" in text or not np.isfinite(value):
        raise wrong_value(name, text, f"{accepted}{hint}")
    return value


def _numbers(names: Sequence[str], cells: Sequence[str]) -> list[float]:
    try:
        values = list(map(float, cells))
        # sum() is NaN or infinite when a value is.
        if abs(sum(values)) < np.inf and "_" not in "".join(cells):
            return values
    except ValueError:
        pass
    return [_number(name, text) for name, text in zip(names, cells, strict=True)]


class Table:
    """The rows of one file, each judged when it comes; a bad one is an error and leaves no trace."""

    def __init__(
        self, header: Layout, softmax: Softmax | None = None, classes: Sequence[str] | None = None
    ) -> None:
        self._names, self._softmax = header.names, softmax
        self._named = checked_names(classes, max(2, len(header.probs)))
        place = {name: at for at, name in enumerate(header.names)}
        logits = softmax is not None
        self._parts: list[tuple[list[str], list[int], Kind]] = []
        for columns, name in ((header.probs, "probs"), (header.features, "features")):
            if columns:
                kind = Kind(name, columns, logits and name == "probs")
                self._parts.append((columns, [place[column] for column in columns], kind))
        self._classes = max(2, len(header.probs))
        self._plain = {name: place[name] for name in ("label", "segment", "shifted") if name in place}
        self._raw: list[bool] = []
        self._shifts = ShiftNumbers()
        self._empty()

    def _empty(self) -> None:
        self._numbers = [array("d") for _ in self._parts]
        self._integers: dict[str, list[int]] = {name: [] for name in self._plain}
        self.rows = 0

    def add(self, line: str, number: int) -> None:
        """Take one row."""
        cells = _cells(line)
        if len(cells) != len(self._names):
            raise InputError("value", f"the row has {len(cells)} values, the header has {len(self._names)}")
        rows, raw = [], []
        for columns, places, kind in self._parts:
            texts = [cells[place] for place in places]
            values = _numbers(columns, texts)
            raw.append(kind.judge(values, texts))
            rows.append(values)
        integers = {name: self._integer(name, cells[place]) for name, place in self._plain.items()}
        if not self._raw:
            self._raw = raw
            for found, (_, _, kind) in zip(raw, self._parts, strict=True):
                kind.settle(found, number)
        for numbers, values in zip(self._numbers, rows, strict=True):
            numbers.extend(values)
        for name, value in integers.items():
            self._integers[name].append(value)
        self.rows += 1

    def _integer(self, name: str, text: str) -> int:
        if name == "shifted" and not _is_number(text):
            return self._shifts.of(text)
        if name == "label" and self._named is not None and text.strip() and not _is_number(text):
            return class_number(text.strip(), self._named)
        value = _number(name, text)
        low, high = (0, 255) if name == "shifted" else (-(2**53), 2**53)
        if value != np.floor(value) or not low <= value <= high:
            raise wrong_value(name, value, "0 to 255" if name == "shifted" else "an integer")
        if name == "label":
            check_label(int(value), self._classes)
        return self._shifts.of(int(value)) if name == "shifted" else int(value)

    def log(self) -> Log:
        """Return what was taken, and forget it."""
        tables: list[npt.NDArray[Any]] = []
        for (columns, _, _), numbers, raw in zip(self._parts, self._numbers, self._raw, strict=True):
            table = np.frombuffer(numbers, dtype=np.float64).reshape(-1, len(columns))
            tables.append(table.astype(np.int8) if raw else table)
        more: dict[str, Any] = {name: np.array(rows, np.int64) for name, rows in self._integers.items()}
        more |= {"softmax": self._softmax, "names": self._named, "shift_names": self._shifts.names or None}
        probs, *features = tables
        self._empty()
        return make_log(probs, features[0] if features else None, **more)


Lines = Iterator[tuple[int, str]]


def csv_table(lines: Lines, where: str, softmax: Softmax | None, limits: Limits) -> Table:
    """Read the header from the numbered lines of a CSV file; return what takes the other lines.

    Each line stands alone: a quote that is not closed spoils its own line and no other. A line ``# names:
    cat,dog`` before the header names the classes.
    """
    first, classes = next(lines, None), None
    try:
        if first is not None and (mark := _NAMES.match(first[1])):
            classes = [cell.strip() for cell in _cells(first[1][mark.end() :])]
            first = next(lines, None)
        if first is None:
            raise InputError("missing", f"is empty, expected a header with {EXPECTED}")
        header = _cells(first[1])
        if len(header) > limits.fields:
            expected = limits.beyond("fields", len(header), "columns")
            raise InputError("limit", f"the header has {len(header):,} columns, {expected}")
        return Table(_header(header, where), softmax, classes)
    except ValueError as error:
        raise placed(error, where if first is None else f"{where}, line {first[0]}") from None


def _cells(line: str) -> list[str]:
    check_length(line)
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise InputError("damaged", str(error)) from None
