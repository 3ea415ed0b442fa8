"""Events in Parquet files: opened at any row, streamed by row group, turned into columns of `Events`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, located, needed
from tcuq.base.limits import limits_given
from tcuq.monitor.columns import Layout

from ..engine.events import MAX_NUMBER, Events
from .arrivals import is_name, seconds
from .step_reader import NO_TIME, StepReader, joined_columns

PLAIN = ("device", "boot", "seq", "time", "version", "params", "label")

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
            add_batch(self._reader, batch.slice(skipped), self._layout, self.path.name)
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
    """Take the rows of an Arrow record batch: as columns where all are in order, else one by one as lines."""
    columns = dict(zip(batch.schema.names, map(_plain, batch.columns), strict=True))
    columns["time"] = _times(columns.get("time", _arrow().nulls(batch.num_rows)))
    for events in _as_events(reader, columns, layout) or ():
        reader.rows.add_events(events)
        columns = {}
    if not columns:
        return
    names = list(columns)
    for row in zip(*(_values(column) for column in columns.values()), strict=True):
        step = {name: value for name, value in zip(names, row, strict=True) if value is not None}
        reader.take(joined_columns(layout, step), shown=f"{where}: {str(step)[:60]}")


def _as_events(reader: StepReader, columns: dict[str, Any], layout: Layout) -> list[Events] | None:
    """Return the rows of a batch as events, by version; None where a row needs a closer look."""
    times = columns["time"]
    nothing = _arrow().nulls(len(times))
    probs = _table([columns[name] for name in layout.probs], reader.rows.softmax is None)
    features = _table([columns[name] for name in layout.features], False) if layout.features else None
    if probs is None or (layout.features and features is None):
        return None
    devices = _devices(columns.get("device", nothing), reader.device)
    versions = _texts(columns.get("version", columns.get("params", nothing)))
    ends = {"boot": MAX_NUMBER, "seq": MAX_NUMBER, "label": max(2, probs.shape[1])}
    boots, seqs, labels = (_integers(columns.get(name, nothing), end) for name, end in ends.items())
    if any(column is None for column in (devices, versions, boots, seqs, labels)):
        return None
    made = []
    for version in dict.fromkeys(versions.tolist()):
        rows = np.flatnonzero(versions == version)
        some = slice(None) if len(rows) == len(times) else rows
        when, label = times[some], labels[some]
        events = Events(
            devices[some],
            boots[some],
            seqs[some],
            probs[some],
            None if features is None else features[some],
            None if np.isnan(when).all() else when,
            version,
            labels=label if (label >= 0).any() else None,
        )
        made.append(events)
    return made


def _values(column: Any) -> list[Any]:
    """Return a column as values of JSON; a text that is no UTF-8 is no name either."""
    if isinstance(column, np.ndarray):
        return [None if math.isnan(when) else when for when in column.tolist()]
    values = column.to_pylist()
    return [value.decode(errors="surrogateescape") if type(value) is bytes else value for value in values]


def _plain(column: Any) -> Any:
    """Return a whole column without a dictionary, and texts as bytes: they may be no UTF-8."""
    arrow = _arrow()
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    binary = {arrow.string(): arrow.binary(), arrow.large_string(): arrow.large_binary()}
    column = column.cast(binary.get(column.type, column.type))
    column.validate(full=True)
    return column


def _numpy(column: Any) -> Array:
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _texts(column: Any) -> Any:
    """Return texts, of which equal ones are one object, and None where there is none."""
    types = _arrow().types
    if column.null_count == len(column):
        return np.full(len(column), None, dtype=object)
    if not types.is_binary(column.type) and not types.is_large_binary(column.type):
        return None
    coded = column.dictionary_encode()
    texts = [*(text.decode(errors="surrogateescape") for text in coded.dictionary.to_pylist()), None]
    return np.array(texts, dtype=object)[_numpy(coded.indices.fill_null(len(texts) - 1))]


def _devices(column: Any, device: str | None) -> Any:
    arrow = _arrow()
    if arrow.types.is_integer(column.type):
        column = column.cast(arrow.string())
    if device is not None:
        column = column.cast(arrow.binary()).fill_null(device.encode())
    devices = _texts(_plain(column))
    return devices if devices is not None and all(map(is_name, set(devices.tolist()))) else None


def _integers(column: Any, end: int) -> Any:
    """Return integers below `end`, -1 where there is none."""
    if column.null_count == len(column):
        return np.full(len(column), -1, dtype=np.int64)
    if not _arrow().types.is_integer(column.type):
        return None
    numbers, missing = _numpy(column.fill_null(0)), _numpy(column.is_null())
    if len(numbers) and (numbers.max() >= end or numbers.min() < 0):
        return None
    return np.where(missing, -1, numbers).astype(np.int64)


def _times(column: Any) -> npt.NDArray[np.float64]:
    """Return seconds since 1970, NaN where nothing is said."""
    arrow = _arrow()
    if arrow.types.is_temporal(column.type):
        whole = column.cast(arrow.timestamp("us"), safe=False).cast(arrow.int64())
        return _numpy(whole.cast(arrow.float64(), safe=False)) / 1e6
    if not arrow.types.is_binary(column.type):
        return _numpy(column.cast(arrow.float64(), safe=False))
    texts = column.to_pylist()
    times = [math.nan if text is None else seconds(text.decode(errors="replace")) for text in texts]
    return np.where(_numpy(column.is_null()) | ~np.isnan(times), times, NO_TIME)


def _table(columns: list[Any], posteriors: bool) -> Any:
    """Return posteriors or features as one table: from a column of lists, or from a column a number."""
    first = columns[0]
    lists = hasattr(first, "value_lengths")
    if not len(first) or any(column.null_count for column in columns):
        return None
    if lists:
        lengths, columns = _numpy(first.value_lengths()), [first.flatten()]
        if not lengths[0] or (lengths != lengths[0]).any() or columns[0].null_count:
            return None
    values = np.stack([_numpy(column) for column in columns], axis=1)
    values = values.reshape(len(first), -1)
    if values.dtype in (np.int8, np.uint8, np.float32, np.float64):
        return values
    if values.dtype.kind not in "iuf":
        return None
    # Other integers are int8 or float by row, as in text.
    least, most = values.min(axis=1), values.max(axis=1)
    certain = (least >= 0) & (most <= 1) & ((values.sum(axis=1) == 1) | (values.shape[1] == 1))
    raw = (least >= -128) & (most <= 127) & ~(certain & posteriors) & (values.dtype.kind != "f")
    if raw.all() or not raw.any():
        return values.astype(np.int8 if raw.all() else np.float64)
    return None
