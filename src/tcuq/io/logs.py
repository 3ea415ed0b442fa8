"""Reading and writing logs in whatever format they are; CSV, one row per step."""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import note_unknown
from ..base.errors import InputError, placed, wrong_value
from ..base.limits import Limits, limits_given
from ..log.class_names import ShiftNumbers, checked_names, class_number
from ..log.columns import EXPECTED, PLAIN, Layout
from ..log.log import Log
from ..log.logits import paired, softmax
from ..monitor.params import Params
from .jsonl import RowParser, Steps
from .sources import TABLES, check_length, decode_lines, format_of, put, read_bytes, read_lines, shown
from .tables import encode_log, log_table, package, read_npz, table_parts, table_pieces
from .values import Bad, Kind, Shape, Softmax, check_label, log_parts, make_log, written_whole


def read_log(
    path: str | Path,
    format: str | None = None,
    on_bad: Bad | None = None,
    params: Params | None = None,
    *,
    logits: bool = False,
    logits_scale: float | None = None,
    limits: Limits | None = None,
    max_bytes: int | None = None,
) -> Log:
    r"""Read a log of a classifier's outputs.

    Parameters
    ----------
    path : path
        ``.csv``, ``.npz``, ``.jsonl``, ``.ndjson``, or ``.parquet``, ``.arrow`` and ``.feather``, which need
        pyarrow (``pip install pyarrow``); ``"-"`` is standard input.
    format : str, optional
        One of `FORMATS`; it overrides the extension.
    on_bad : callable, optional
        Called with the message of each bad line of a text format, which is skipped. Without it, the
        first bad line is an error that names the line.
    params : Params, optional
        Of the monitor that will read the log: a log of another shape is refused.
    logits : bool, default False
        What stands for posteriors in the file are logits: softmax is applied.
    logits_scale : float, optional
        What one unit of int8 logits is worth.
    limits : Limits, optional
        How large the file may be, its arrays when they are unpacked, and a line of it; see `tcuq.io.Limits`.
        A line that is too long is a bad line.
    max_bytes : int, optional
        Stands for the limit `file` alone.

    Returns
    -------
    Log
        In the text formats, the first valid row tells whether posteriors and features are int8
        (written as integers) or float; see `tcuq.io.values.written_int8`.

    Warns
    -----
    InputNote
        Where the file has columns that are not read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = "p0,p1,label\n0.9,0.1,0\n0.2,0.8,0\n"
    ...     _ = Path(folder, "dev.csv").write_text(text, encoding="utf-8")
    ...     log = read_log(f"{folder}/dev.csv")
    >>> len(log), log.classes, log.errors().tolist()
    (2, 2, [False, True])
    """
    given = limits_given(limits).but(file=max_bytes)
    told: dict[str, Any] = {"format": format, "logits": logits, "logits_scale": logits_scale}
    return next(read_parts(path, on_bad, params, **told, limits=given, whole=True))


PART = 1 << 14
"""Steps that are read at a time where a log need not be held whole."""


def read_parts(
    path: str | Path,
    on_bad: Bad | None = None,
    params: Params | None = None,
    *,
    format: str | None = None,
    logits: bool = False,
    logits_scale: float | None = None,
    limits: Limits | None = None,
    whole: bool = False,
) -> Iterator[Log]:
    """Read a log some steps at a time, as far as its format allows; an NPZ file is held whole."""
    kind, where, rows = format_of(path, format), shown(path), None if whole else PART
    limits = limits_given(limits)
    shape = None if params is None else Shape.of(params)
    apply = (lambda table: softmax(paired(table), logits_scale)) if logits else None
    parts: Iterator[Log]
    if kind == "npz":
        log = read_npz(read_bytes(path, limits), where, limits, apply)
        step = len(log) if rows is None else rows
        parts = (log.take(slice(at, at + step)) for at in range(0, len(log), step))
    elif kind in TABLES:
        parts = table_parts(path, kind, where, limits, apply, rows is None)
    else:
        lines = enumerate(decode_lines(read_lines(path, limits, whole=True)), 1)
        if kind == "csv":
            parts = log_parts(lines, csv_table(lines, where, apply, limits), where, on_bad, rows)
        else:
            steps = Steps(RowParser(shape, apply, where, limits))
            parts = log_parts(lines, steps, where, on_bad, rows)
    for part in parts:
        if shape is not None:
            shape.check_log(part, where)
        yield part


LOG_ENDINGS = ".npz, .parquet, .arrow or .feather"


def log_format(path: str | Path) -> str:
    """Return the format of a log that is to be written; refuse one that only is read."""
    if Path(path).suffix.lower() not in LOG_ENDINGS.replace(" or", ",").split(", "):
        raise InputError("unsupported", f"{path}: a log is written as {LOG_ENDINGS}")
    kind = format_of(path)
    if kind in TABLES:
        package(kind)  # missing, it is to be missed before the work
    return kind


def write_log(path: str | Path, log: Log) -> None:
    """Write a log, whole or not at all.

    Parameters
    ----------
    path : path
        ``.npz``, or ``.parquet``, ``.arrow`` and ``.feather``, which need pyarrow. In tables posteriors and
        features are columns of lists; names and the scale of features are in the metadata.
    log : Log
        What to write.

    Examples
    --------
    >>> import tempfile
    >>> from tcuq import Log
    >>> from tcuq.io import read_log
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_log(f"{folder}/dev.npz", Log([[0.9, 0.1]], labels=[0]))
    ...     read_log(f"{folder}/dev.npz").labels.tolist()
    [0]
    """
    kind = log_format(path)
    put(path, table_pieces([log_table(log)], kind) if kind in TABLES else encode_log(log))


_NAMES = re.compile(r"\s*#\s*names\s*:", re.IGNORECASE)
"""Begins the line before the header that names the classes: ``# names: cat,dog``."""


def _header(cells: Sequence[str], where: str) -> Layout:
    """Read the first row; refuse one without posteriors, and note columns that are not known."""
    if len(cells) == 1 and ";" in cells[0]:
        raise InputError("unsupported", "the columns are separated by semicolons, expected commas")
    if _is_number(cells[0]) and {"p", "p0"}.isdisjoint(map(str.strip, cells)):
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

    def add_all(self, lines: list[str]) -> bool:
        """Take many rows at once; False, and nothing taken, where one of them may be bad."""
        text = "".join(lines)
        # Python and numpy read all other numbers alike; of too long a line only the beginning is here.
        if not self._raw or any(mark in text for mark in '"_xX') or {*map(type, lines)} != {str}:
            return False
        used = [place for _, places, _ in self._parts for place in places] + [*self._plain.values()]
        good = {line.count(",") for line in lines} == {len(self._names) - 1}
        whole = any(self._raw) and written_whole([text])
        try:
            values = np.loadtxt(lines, delimiter=",", comments=None, usecols=used, ndmin=2)
            *tables, plain = np.split(
                values, np.cumsum([len(places) for _, places, _ in self._parts]), axis=1
            )
            good &= all(
                part[2].certain(table, whole) for part, table in zip(self._parts, tables, strict=True)
            )
            for name, column in zip(self._plain, plain.T, strict=True) if good else ():
                for value in np.unique(column).tolist():
                    self._integer(name, repr(value))
        except ValueError:
            good = False
        if good:
            for numbers, table in zip(self._numbers, tables, strict=True):
                numbers.frombytes(table.tobytes())
            for name, column in zip(self._plain, plain.T.astype(np.int64), strict=True):
                self._integers[name] += column.tolist()
            self.rows += len(lines)
        return good

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
