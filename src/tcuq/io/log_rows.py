"""Logs as rows of text: what a line of CSV or JSON must hold, and int8 told from float."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.checks import guess, note_unknown
from ..base.errors import InputError, located, placed, wrong_value
from ..base.limits import Limits
from ..log.class_names import ShiftNumbers, checked_names, class_number
from ..log.columns import ALIASES, EXPECTED, PLAIN, Layout
from ..log.log import Log, Softmax, log_of
from .rows import csv_rows, parse_object, short
from .sources import Lines, check_length
from .values import (
    BESIDE,
    Shape,
    check_label,
    first_bad,
    logits_hint,
    plausible,
)

LOW, HIGH = -128, 127

_INTEGERS = re.compile(r"[\s,+\-0-9]*")


def written_whole(cells: Sequence[str] | Sequence[float]) -> bool:
    """Tell whether every number is written as an integer: without a point and without an exponent."""
    if isinstance(cells[0], str):
        return _INTEGERS.fullmatch(",".join(map(str, cells))) is not None
    return set(map(type, cells)) == {int}


def written_int8(values: Sequence[float], posteriors: bool) -> bool:
    """Tell int8 from float by how one row is written, as integers; the one rule of all text formats."""
    # A one-hot row is float: many programs write a certain 1.0 as 1. A lone 0 or 1 makes one of two classes.
    if min(values) < LOW or max(values) > HIGH:
        return False
    certain = min(values) >= 0 and max(values) <= 1 and (len(values) == 1 or sum(values) == 1)
    return not (posteriors and certain)


class Table(NamedTuple):
    """Posteriors, features or gauges, a row a line: numbers, as they are written, whether as integers."""

    values: npt.NDArray[np.float64]
    cells: Sequence[Sequence[str] | Sequence[float]]
    whole: bool


Read = tuple[Mapping[str, Table], Mapping[str, Sequence[Any]]]
"""Tables by name, and the cells of `label`, `segment` and `shifted`."""


class LogRows:
    """The steps of one log; the first valid line settles columns, widths, and int8 or float."""

    names: tuple[str, ...] | None = None
    gauge_names: Sequence[str] | None = None
    _titles: Mapping[str, Sequence[str]] = {}
    """Columns of the tables, where they have names of their own."""

    def __init__(self, softmax: Softmax | None) -> None:
        self.begun, self.rows = False, 0
        self._softmax, self._shifts = softmax, ShiftNumbers()
        self._types: dict[str, tuple[np.dtype[Any], int]] = {}
        self._line = 0
        self._kept: dict[str, bytearray] = {}

    def read(self, lines: list[str], numbers: list[int]) -> dict[str, npt.NDArray[Any]] | None:
        """Return the columns of some lines; None for one that only names the classes."""
        read = self._read(lines)
        if read is None:
            return None
        tables, plain = read
        columns = {name: self._judged(name, table) for name, table in tables.items()}
        classes = max(2, tables["probs"].values.shape[1])
        for name, cells in plain.items():
            known = {cell: self._integer(name, cell, classes) for cell in dict.fromkeys(cells)}
            columns[name] = np.array([known[cell] for cell in cells], np.int64)
        if not self.begun:
            self.begun, self._line = True, numbers[0]
            self._types = {name: (values.dtype, values[0].size) for name, values in columns.items()}
        return columns

    def _judged(self, name: str, table: Table) -> npt.NDArray[Any]:
        """Return rows as int8 or float; refuse one that cannot be right or contradicts the first."""
        values, cells, whole = table
        posteriors, row = name == "probs" and self._softmax is None, values[0].tolist()
        raw = self._types[name][0] == np.int8 if self.begun else whole and written_int8(row, posteriors)
        if name == "gauges":
            raw = False
        if raw:
            if not whole or values.min() < LOW or values.max() > HIGH:
                raise self._not_int8(name, row, cells)
            return values.astype(np.int8)
        if len(values) == 1 and plausible(row, posteriors):
            return values
        titles = self._titles.get(name) or [f"{name}[{at}]" for at in range(values.shape[1])]
        if bad := first_bad(values, posteriors, titles):
            hint = logits_hint(values[0]) if posteriors else ""
            if whole:
                hint = (self._since(name, "float") or f", or int8 {LOW} to {HIGH}") + hint
            raise InputError("value", bad[1] + hint)
        return values

    def _not_int8(self, name: str, values: list[float], cells: Sequence[Any]) -> InputError:
        if len(cells) > 1:  # the first of several may be good, and what is said of them is not shown
            return InputError("value", "a row is not int8")
        whole = [written_whole([cell]) for cell in cells[0]]
        at = whole.index(False) if False in whole else [LOW <= each <= HIGH for each in values].index(False)
        title, since = (
            self._titles[name][at] if name in self._titles else f"{name}[{at}]",
            self._since(name, "int8"),
        )
        if whole[at]:
            return wrong_value(title, values[at], f"{LOW} to {HIGH}{since}")
        expected = f"an integer in {LOW} to {HIGH}{since} (write 1 as 1.0)"
        return InputError("value", f"{title} is {str(cells[0][at]).strip()}, expected {expected}", title)

    def _since(self, name: str, kind: str) -> str:
        what = "features" if name == "features" else "logits" if self._softmax else "posteriors"
        return f", as {what} were read as {kind} from line {self._line} on" if self.begun else ""

    def take(self, lines: list[str], numbers: list[int]) -> None:
        """Take some lines; see `tcuq.io.rows.Rows`."""
        columns = self.read(lines, numbers)
        if columns is not None:
            for name, values in columns.items():
                self._kept.setdefault(name, bytearray()).extend(values.tobytes())
            self.rows += len(lines)

    def _read(self, lines: list[str]) -> Read | None:
        """Return what lines hold; None for one that only names the classes."""
        raise NotImplementedError

    def _cell(self, name: str, cell: Any) -> int | str:
        """Return a label, segment or mark of a shift: a number, or a name."""
        raise NotImplementedError

    def _integer(self, name: str, cell: Any, classes: int) -> int:
        value = self._cell(name, cell)
        if name == "shifted":
            return self._shifts.of(value)
        number = class_number(value, self.names or ()) if isinstance(value, str) else value
        if name == "label":
            check_label(number, classes)
        return number

    def log(self, where: str) -> Log:
        """Return what was taken, and forget it; `where` is its name in messages."""
        self.rows, kept, self._kept = 0, self._kept, {}
        columns: dict[str, Any] = {}
        for name, (kind, width) in self._types.items():
            values = np.frombuffer(kept.pop(name), kind)
            columns[name] = values.reshape(-1, width) if name in _TABLES else values
        shifts = self._shifts.names or None
        with located(where):
            columns |= {"names": self.names, "shift_names": shifts, "gauge_names": self.gauge_names}
            return log_of(**columns, softmax=self._softmax)


_NAMES = re.compile(r"\s*#\s*names\s*:", re.IGNORECASE)
"""Begins the line before the header that names the classes: ``# names: cat,dog``."""


class CsvRows(LogRows):
    """Rows below a header, which is read first. Where the classes have names, labels may be names."""

    def __init__(self, lines: Lines, softmax: Softmax | None, where: str, limits: Limits) -> None:
        super().__init__(softmax)
        filled = (each for each in lines if each[1].strip())
        first, classes = next(filled, None), None
        try:
            if first is not None and (mark := _NAMES.match(first[1])):
                check_length(first[1])
                classes = [cell.strip() for cell in csv_rows([first[1][mark.end() :]])[0]]
                first = next(filled, None)
            if first is None:
                raise InputError("missing", f"is empty, expected a header with {EXPECTED}")
            check_length(first[1])
            header = _header(csv_rows([first[1]])[0], limits)
            self.names = checked_names(classes, max(2, len(header.probs)))
        except ValueError as error:
            raise placed(error, where if first is None else f"{where}, line {first[0]}") from None
        note_unknown("column", header.names, header.known, where)
        place = {name: at for at, name in enumerate(header.names)}
        titles = {name: getattr(header, name) for name in _TABLES}
        self.gauge_names = header.details.get("gauge_names")
        self._width = len(header.names)
        self._titles = {name: columns for name, columns in titles.items() if columns}
        self._places = {name: [place[each] for each in columns] for name, columns in self._titles.items()}
        self._plain = {name: place[name] for name in ("label", "segment", "shifted") if name in place}

    def _read(self, lines: list[str]) -> Read:
        return self._at_once(lines) or self._cells(lines)

    def _at_once(self, lines: list[str]) -> Read | None:
        """Read a block by numpy; None where a line has anything but plain numbers."""
        text = "".join(lines)
        # Python and numpy read all other numbers alike.
        if len(lines) < 2 or any(mark in text for mark in '"_xX'):
            return None
        if {line.count(",") for line in lines} != {self._width - 1}:
            return None
        used = [*chain.from_iterable(self._places.values()), *self._plain.values()]
        try:
            values = np.loadtxt(lines, delimiter=",", comments=None, usecols=used, ndmin=2)
        except ValueError:
            return None
        whole, at = written_whole([text]), 0
        tables: dict[str, Table] = {}
        for name, places in self._places.items():
            tables[name] = Table(values[:, at : at + len(places)], lines, whole)
            at += len(places)
        plain = dict(zip(self._plain, values[:, at:].T.tolist(), strict=True))
        return (tables, plain) if np.isfinite(values).all() else None

    def _cells(self, lines: list[str]) -> Read:
        rows = csv_rows(lines, self._width)
        tables = {}
        for name, places in self._places.items():
            cells = [[row[place] for place in places] for row in rows]
            whole = all(map(written_whole, cells))
            tables[name] = Table(_numbers(self._titles[name], cells), cells, whole)
        return tables, {name: [row[place] for row in rows] for name, place in self._plain.items()}

    def _cell(self, name: str, cell: str | float) -> int | str:
        text = cell if isinstance(cell, str) else repr(cell)
        if name == "shifted" and not _is_number(text):
            return text
        if name == "label" and self.names is not None and text.strip() and not _is_number(text):
            return text.strip()
        value = _number(name, text)
        low, high = (0, 255) if name == "shifted" else (-(2**53), 2**53)
        if value != np.floor(value) or not low <= value <= high:
            raise wrong_value(name, value, "0 to 255" if name == "shifted" else "an integer")
        return int(value)


def _header(cells: list[str], limits: Limits) -> Layout:
    if len(cells) > limits.fields:
        expected = limits.beyond("fields", len(cells), "columns")
        raise InputError("limit", f"the header has {len(cells):,} columns, {expected}")
    if len(cells) == 1 and ";" in cells[0]:
        raise InputError("unsupported", "the columns are separated by semicolons, expected commas")
    if _is_number(cells[0]) and {"p", "p0"}.isdisjoint(map(str.strip, cells)):
        raise InputError("missing", "the first line must name the columns: p0,p1,...")
    return Layout.of(cells)


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


def _numbers(names: Sequence[str], rows: list[list[str]]) -> npt.NDArray[np.float64]:
    try:
        values = np.array(rows, np.float64)
        if np.isfinite(values).all() and not any("_" in text for row in rows for text in row):
            return values
    except ValueError:
        pass
    return np.array([[_number(name, text) for name, text in zip(names, row, strict=True)] for row in rows])


_TABLES = {"probs": 1000, "features": 256, "gauges": 16}
"""By how many numbers each has at most."""
KEYS = (*_TABLES, "label", "segment", "shifted")
_ALL = ", ".join(KEYS)
NAMES, GAUGE_NAMES = "names", "gauge_names"
"""Keys of a line before the first step that names classes or gauges: ``{"names": ["cat", "dog"]}``."""

_PLAIN: dict[str, set[type]] = {"label": {int, str}, "segment": {int}, "shifted": {bool, int, str}}
"""Types of the cells of other keys."""


class JsonRows(LogRows):
    """Objects of one step each, whose keys and lengths are those of the first, or of a `shape`."""

    def __init__(
        self, shape: Shape | None, softmax: Softmax | None, where: str, limits: Limits | None = None
    ) -> None:
        super().__init__(softmax)
        self._shape, self._where, self._limits = shape, where, limits
        self._told = False

    def _read(self, lines: list[str]) -> Read | None:
        objects = [parse_object(line, ALIASES, self._limits) for line in lines]
        if objects[0] and objects[0].keys() <= {NAMES, GAUGE_NAMES}:
            self._take_names(**objects[0])
            return None
        for content in objects:
            if content.keys() != self._types.keys():
                self._check_keys(content)
        tables, plain = {}, {}
        for key in KEYS:
            if key in objects[0]:
                values = [content[key] for content in objects]
                if key in _TABLES:
                    tables[key] = self._table(key, values)
                    continue
                if not {*map(type, values)} <= _PLAIN[key]:
                    raise _odd(key, next(value for value in values if type(value) not in _PLAIN[key]))
                plain[key] = values
        widths = {name: table.values.shape[1] for name, table in tables.items()}
        width = widths["probs"]
        if self._shape is not None and not self.begun:
            self._shape.check_row(width, widths.get("features"))
        if self.names is not None and max(2, width) != len(self.names):
            raise InputError("value", f"probs has {width} values, and there are {len(self.names)} names")
        return tables, plain

    def _cell(self, name: str, cell: Any) -> int | str:
        if isinstance(cell, str):
            if name == "label" and self.names is None:
                raise _odd(name, cell)
            return cell
        low, high = (0, 255) if name == "shifted" else (-(2**53), 2**53)
        if not low <= cell <= high:
            raise _odd(name, cell)
        return int(cell)

    def _take_names(self, names: Any = None, gauge_names: Any = None) -> None:
        if self.begun or (names is not None and self.names is not None):
            raise InputError("value", "names come after the first line, expected before the first step")
        self.gauge_names = gauge_names or self.gauge_names
        if names is None and gauge_names is not None:
            return
        if not isinstance(names, list):
            raise InputError("value", f"names is {short(names)}, expected a list of texts", "names")
        checked = checked_names(names, len(names) if self._shape is None else self._shape.classes)
        if self._shape is not None:
            self._shape.check_names(checked)
        self.names = checked

    def _check_keys(self, content: dict[str, Any]) -> None:
        unknown = [key for key in content if key not in KEYS]
        if "probs" not in content:
            raise InputError("missing", f"key 'probs' is missing, expected {_ALL}{guess(unknown, 'probs')}")
        if unknown and not self._told:
            note_unknown("key", [key for key in content if key not in BESIDE], KEYS, self._where)
            self._told = True
        if self.begun and content.keys() - {*unknown} != self._types.keys():
            odd = next(key for key in KEYS if (key in content) != (key in self._types))
            first = ", ".join(key for key in KEYS if key in self._types)
            what = "new" if odd in content else "missing"
            raise InputError("value", f"key {odd!r} is {what}; the first line has {first}")

    def _table(self, key: str, rows: list[Any]) -> Table:
        for values in rows:
            if not isinstance(values, list) or not values:
                raise InputError("value", f"{key} is {short(values)}, expected a list of numbers", key)
        kinds = {*map(type, chain.from_iterable(rows))}
        if not kinds <= {int, float}:
            odd = next(each for each in chain.from_iterable(rows) if type(each) not in (int, float))
            raise InputError("value", f"{key} holds {short(odd)}, expected numbers")
        width, most = len(rows[0]), _TABLES[key]
        if self.begun and {*map(len, rows)} != {self._types[key][1]}:
            expected = f"expected {self._types[key][1]} as on the first line"
            raise InputError("value", f"{key} has {width} values, {expected}")
        if width > most:
            raise InputError("limit", f"{key} has {width} values, expected at most {most}")
        try:
            return Table(np.array(rows, np.float64), rows, kinds == {int})
        except OverflowError:
            raise InputError("limit", f"{key} holds an integer of more than 300 digits") from None


def _odd(key: str, value: Any) -> InputError:
    """Return the error of a label, a segment or a mark of a shift."""
    expected = "true, false, 0 to 255 or a name" if key == "shifted" else "an integer"
    hint = " (-1: none of the classes)" if key == "label" and value is None else ""
    return InputError("value", f"{key} is {short(value)}, expected {expected}{hint}", key)
