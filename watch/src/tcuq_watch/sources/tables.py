"""Events in Parquet files: opened at any row, streamed by row group, turned into columns of `Events`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, located
from tcuq.base.limits import limits_given
from tcuq.base.optional import needed
from tcuq.monitor.columns import Layout

from ..engine.events import MAX_NUMBER, Events
from .arrivals import is_name, seconds
from .step_reader import NO_TIME, StepReader

PLAIN = ("device", "boot", "seq", "time", "version", "params", "label", "segment")

Array = npt.NDArray[Any]


def _arrow(module: str = "pyarrow") -> Any:
    return needed(module, "tcuq-watch[tables]", "a Parquet file")


class EventTable:
    """A Parquet file of events that is being read, from row `at` on."""

    def __init__(self, path: Path, at: int, reader: StepReader) -> None:
        self.path, self.at, self._reader = path, at, reader
        parquet = _arrow("pyarrow.parquet")
        try:
            self._file = parquet.ParquetFile(
                path, pre_buffer=False, thrift_string_size_limit=1 << 24, thrift_container_size_limit=1 << 20
            )
            metadata = self._file.metadata
            self.rows: int = metadata.num_rows
            sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
            names = list(self._file.schema_arrow.names)
        except Exception as error:
            _raise_of_disk(error)
            raise InputError("damaged", f"{path}: is not a Parquet file, or is damaged") from None
        self._layout = _layout(path, names)
        wanted = {*PLAIN, *self._layout.probs, *self._layout.features}
        ours = dict(zip(names, self._layout.names, strict=True))
        self._names = {name: own for name, own in ours.items() if own in wanted}
        ends = np.cumsum(sizes, dtype=np.int64)
        first = int(np.searchsorted(ends, at, side="right"))
        self._skip = at - (int(ends[first - 1]) if first else 0)
        self._groups = list(range(first, len(sizes)))
        self._batches: Iterator[Any] | None = None

    def read(self, count: int) -> bool:
        """Take about `count` rows; tell whether there may be more.

        A file that breaks off in the middle is counted, and counts as read.
        """
        try:
            if self._batches is None:
                names, size = list(self._names), min(count, 1 << 16)
                self._batches = self._file.iter_batches(size, self._groups, names, use_threads=False)
            batch = next(self._batches, None) if self._groups else None
            if batch is None:
                return False
            batch = batch.rename_columns([self._names[name] for name in batch.schema.names])
            skipped = min(self._skip, batch.num_rows)
            self._skip -= skipped
            add_batch(self._reader, batch.slice(skipped), self._layout, f"{self.path.name}, row {self.at}")
            self.at += batch.num_rows - skipped
        except Exception as error:
            _raise_of_disk(error)
            problem = f"{self.path}, from row {self.at} on: {str(error)[:120]}"
            self._reader.bad("unreadable file", problem, max(1, self.rows - self.at))
            self.at = self.rows
            return False
        return True

    def close(self) -> None:
        """Let go of the file."""
        self._file.close(force=True)


def _raise_of_disk(error: Exception) -> None:
    """Raise what is no fault of a file."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno):
        raise error


def _layout(path: Path, names: list[str]) -> Layout:
    with located(str(path)):
        if len(names) > (most := limits_given().fields):
            raise InputError("limit", f"has {len(names):,} columns, expected at most {most:,}")
        if not {"probs", "p", "p0"} & set(names):
            raise InputError("missing", "column 'probs' is missing, expected a list a row, or p0, p1, ...")
        return Layout.of(names, lists=True)


def add_batch(reader: StepReader, batch: Any, layout: Layout, where: str) -> None:
    """Take the rows of an Arrow record batch as columns; bad ones are counted."""
    columns = dict(zip(batch.schema.names, map(_plain, batch.columns), strict=True))
    for column in columns.values():
        column.validate(full=True)
    good = np.ones(batch.num_rows, dtype=bool)

    def keep(kind: str, fine: Array) -> None:
        if lost := int((good & ~fine).sum()):
            reader.bad(kind, f"{where} and after: {kind} is missing or out of range", lost)
        good[:] &= fine

    devices, fine = _devices(columns.get("device"), reader.device, batch.num_rows)
    keep("device name", fine)
    numbers = {}
    for name, least in (("boot", 0), ("seq", 0), ("label", -MAX_NUMBER), ("segment", -MAX_NUMBER)):
        numbers[name], fine = _integers(columns.get(name), least, batch.num_rows)
        keep(name, fine)
    probs = _Rows([columns[name] for name in layout.probs], reader.rows.softmax is None)
    keep("probs", probs.fine)
    features = _Rows([columns[name] for name in layout.features], False) if layout.features else None
    if features is not None:
        keep("features", features.fine)
    versions, fine = _texts(columns.get("version", columns.get("params")), batch.num_rows)
    keep("version", fine)
    times = _times(columns.get("time"), batch.num_rows)

    begins, segments = np.zeros(batch.num_rows, dtype=bool), numbers["segment"]
    for row in np.flatnonzero(good & (segments != -1)).tolist():
        begins[row] = reader.segment_begins(devices[row], int(segments[row]))
    shapes = probs.shapes if features is None else probs.shapes * (1 << 20) + features.shapes
    for version in dict.fromkeys(versions[good].tolist()):
        rows = np.flatnonzero(good & (versions == version))
        for some in np.split(rows, np.flatnonzero(np.diff(shapes[rows])) + 1):
            reader.rows.add_events(
                Events(
                    devices[some],
                    numbers["boot"][some],
                    numbers["seq"][some],
                    probs.table(some),
                    None if features is None else features.table(some),
                    None if np.isnan(times[some]).all() else times[some],
                    version,
                    labels=numbers["label"][some] if (numbers["label"][some] >= 0).any() else None,
                    begins=begins[some] if begins[some].any() else None,
                )
            )


def _plain(column: Any) -> Any:
    """Return a column without a dictionary, and texts as bytes: they may be no UTF-8."""
    arrow = _arrow()
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    binary = {arrow.string(): arrow.binary(), arrow.large_string(): arrow.large_binary()}
    return column.cast(binary[column.type]) if column.type in binary else column


def _numpy(column: Any) -> Array:
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _texts(column: Any, rows: int) -> tuple[Array, Array]:
    """Return texts, None where there is none, and which could be read; equal ones are one object."""
    if column is None or column.null_count == rows:
        return np.full(rows, None, dtype=object), np.ones(rows, dtype=bool)
    types = _arrow().types
    if not types.is_binary(column.type) and not types.is_large_binary(column.type):
        return np.full(rows, None, dtype=object), np.zeros(rows, dtype=bool)
    coded = column.dictionary_encode()
    texts = [text.decode(errors="surrogateescape") for text in coded.dictionary.to_pylist()]
    table = np.array([*texts, None], dtype=object)
    places = _numpy(coded.indices.fill_null(len(texts)))
    return table[places], np.array([*map(str.isprintable, texts), True])[places]


def _devices(column: Any, device: str | None, rows: int) -> tuple[Array, Array]:
    if column is not None and _arrow().types.is_integer(column.type):
        column = column.cast(_arrow().string()).cast(_arrow().binary())
    names, fine = _texts(column, rows)
    names[np.equal(names, None)] = device
    known = {name: is_name(name) for name in dict.fromkeys(names.tolist())}
    return names, fine & np.array([known[name] for name in names.tolist()], dtype=bool)


def _integers(column: Any, least: int, rows: int) -> tuple[npt.NDArray[np.int64], Array]:
    """Return integers, -1 where there is none, and which could be read."""
    if column is None or column.null_count == rows:
        return np.full(rows, -1, dtype=np.int64), np.ones(rows, dtype=bool)
    if not _arrow().types.is_integer(column.type):
        return np.full(rows, -1, dtype=np.int64), _numpy(column.is_null())
    numbers, missing = _numpy(column.fill_null(0)), _numpy(column.is_null())
    fine = (numbers < MAX_NUMBER) & (numbers >= least)
    return np.where(missing | ~fine, -1, numbers).astype(np.int64), fine


def _times(column: Any, rows: int) -> npt.NDArray[np.float64]:
    """Return seconds since 1970, NaN where nothing is said."""
    if column is None or column.null_count == rows:
        return np.full(rows, np.nan)
    times = _numpy(column)
    if times.dtype.kind == "M":
        whole = times.astype("datetime64[us]").astype(np.int64) / 1e6
        return np.asarray(np.where(np.isnat(times), np.nan, whole))
    if times.dtype.kind in "iuf":
        return np.asarray(times, dtype=np.float64)
    texts, _ = _texts(column, rows)
    told = np.array([seconds(text) for text in texts.tolist()])
    return np.where(np.isnan(told) & ~np.equal(texts, None).astype(bool), NO_TIME, told)


class _Rows:
    """Posteriors or features: a column of lists, or a column a number. `fine` tells which rows are whole.

    Integers of other types than int8 are int8 or float by row, as in text; `shapes` differ where rows differ
    in that, or in their width.
    """

    def __init__(self, columns: list[Any], posteriors: bool) -> None:
        types, first = _arrow().types, columns[0]
        lists = types.is_list(first.type) or types.is_large_list(first.type)
        if lists or types.is_fixed_size_list(first.type):
            valid = _numpy(first.is_valid())
            self._lengths = np.where(valid, _numpy(first.value_lengths().fill_null(0)), 0).astype(np.int64)
            flat = first.flatten()
            holes = _numpy(flat.is_null())
        else:
            self._lengths = np.full(len(first), len(columns))
            flat = np.stack([_numpy(column) for column in columns], axis=1).reshape(-1)
            holes = np.stack([_numpy(column.is_null()) for column in columns], axis=1).reshape(-1)
        self._flat = flat if isinstance(flat, np.ndarray) else _numpy(flat)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self.fine = (self._lengths > 0) & (self._flat.dtype.kind in "iuf")
        self.fine &= self._over(holes, np.add) == 0
        self.shapes, self._raw = self._lengths * 2, np.zeros(len(self.fine), dtype=bool)
        if self._flat.dtype.kind in "iu" and self._flat.dtype.itemsize > 1:
            least, most = self._over(self._flat, np.minimum), self._over(self._flat, np.maximum)
            self._raw = (least >= -128) & (most <= 127)
            if posteriors:  # a one-hot row is certain, and float
                certain = (self._over(self._flat, np.add) == 1) | (self._lengths == 1)
                self._raw &= ~((least >= 0) & (most <= 1) & certain)
            self.shapes = self.shapes + self._raw

    def _over(self, flat: Array, how: Any) -> Array:
        """Return a reduction of each row; 0 for an empty one."""
        made = np.zeros(len(self._lengths), dtype=np.int64)
        some = self._lengths > 0
        if some.any():
            made[some] = how.reduceat(flat, self._starts[some], dtype=np.int64)
        return made

    def table(self, rows: Array) -> Array:
        """Return rows that have one shape."""
        width = int(self._lengths[rows[0]])
        values = self._flat[self._starts[rows][:, None] + np.arange(width)]
        if values.dtype.kind == "f" or values.dtype.itemsize == 1:
            return values
        return values.astype(np.int8 if self._raw[rows[0]] else np.float64)
