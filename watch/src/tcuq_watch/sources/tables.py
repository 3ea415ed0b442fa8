"""Events in Parquet files: opened at any row, streamed by row group, turned into columns of `Events`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tcuq.base.errors import InputError, located, needed
from tcuq.base.limits import limits_given
from tcuq.log.columns import Layout, columns_of

from ..engine.events import MAX_NUMBER, Events
from .arrivals import is_name
from .step_reader import StepReader, joined_columns

PLAIN = ("device", "boot", "seq", "time", "version", "params", "label")

NARROW = (np.int8, np.uint8, np.float32, np.float64)
"""Types that say whether numbers are int8 or float."""


def _arrow(module: str = "pyarrow") -> Any:
    return needed(module, "pyarrow", "a Parquet file")


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
        wanted = {*PLAIN, *self._layout.probs, *self._layout.features, *self._layout.gauges}
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
            raise InputError("missing", "column 'probs' is missing, expected lists in it, or p0, p1, ...")
        return Layout.of(names, lists=True)


def add_batch(reader: StepReader, batch: Any, layout: Layout, where: str) -> None:
    """Take the rows of an Arrow record batch: as columns where all are in order, else one by one as lines."""
    columns = dict(zip(batch.schema.names, map(_plain, batch.columns), strict=True))
    try:
        made = _as_events(reader, columns, layout)
    except (ValueError, NotImplementedError):
        values = [column.to_pylist() for column in columns.values()]
        for row in zip(*values, strict=True):
            cells = zip(columns, row, strict=True)
            step = {name: _told(value) for name, value in cells if value is not None and value == value}
            reader.take(joined_columns(layout, step), shown=f"{where}: {str(step)[:60]}")
    else:
        for events in made:
            reader.rows.add_events(events)


def _as_events(reader: StepReader, columns: dict[str, Any], layout: Layout) -> list[Events]:
    """Return the rows of a batch as events, by version; raise ValueError where one needs a closer look."""
    arrow = _arrow()
    names = [*layout.probs, *layout.features, *layout.gauges]
    rows = arrow.record_batch([columns[name] for name in names], names)
    numbers = columns_of(rows, Layout(names, layout.probs, layout.features, layout.gauges))
    probs, features, gauges = numbers.probs, numbers.features, numbers.gauges
    if gauges is not None and not np.isfinite(gauges).all():
        raise ValueError
    for table in (probs, features):
        # Wider integers are int8 or float by row, as in text, and what is missing costs its row.
        if table is not None and (table.dtype not in NARROW or np.isnan(table).any() or not table.shape[1]):
            raise ValueError
    nothing = arrow.nulls(len(probs))
    device, label = columns.get("device", nothing), max(2, probs.shape[1])
    if arrow.types.is_integer(device.type):
        device = device.cast(arrow.string()).cast(arrow.binary())
    if reader.device is not None:
        device = device.cast(arrow.binary()).fill_null(reader.device.encode())
    devices, versions = _texts(device), _texts(columns.get("version", columns.get("params", nothing)))
    if not all(map(is_name, set(devices.tolist()))):
        raise ValueError
    ends = {"boot": MAX_NUMBER, "seq": MAX_NUMBER, "label": label}
    boots, seqs, labels = (_integers(columns.get(name, nothing), end) for name, end in ends.items())
    when = columns.get("time", nothing)
    if arrow.types.is_binary(when.type):
        raise ValueError
    times = _numpy(when.cast(arrow.float64(), safe=False))
    made = []
    for version in dict.fromkeys(versions.tolist()):
        some = versions == version
        when, known = times[some], labels[some]
        events = Events(
            devices[some],
            boots[some],
            seqs[some],
            probs[some],
            None if features is None else features[some],
            None if np.isnan(when).all() else when,
            version,
            labels=known if (known >= 0).any() else None,
            gauges=None if gauges is None else gauges[some],
            gauge_names=layout.details.get("gauge_names"),
        )
        made.append(events)
    return made


def _told(value: Any) -> Any:
    """Return a value as JSON has it; a text that is no UTF-8 is no name either."""
    return value.decode(errors="surrogateescape") if type(value) is bytes else value


def _plain(column: Any) -> Any:
    """Return a whole column without a dictionary, texts as bytes (they may be no UTF-8), times as seconds."""
    arrow = _arrow()
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    binary = {arrow.string(): arrow.binary(), arrow.large_string(): arrow.large_binary()}
    column = column.cast(binary.get(column.type, column.type))
    column.validate(full=True)
    if arrow.types.is_temporal(column.type):
        whole = column.cast(arrow.timestamp("us"), safe=False).cast(arrow.int64())
        return arrow.array(_numpy(whole.cast(arrow.float64(), safe=False)) / 1e6, from_pandas=True)
    return column


def _numpy(column: Any) -> Any:
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _texts(column: Any) -> Any:
    """Return texts, of which equal ones are one object, and None where there is none."""
    coded = column.cast(_arrow().binary()).dictionary_encode()
    texts = [*map(_told, coded.dictionary.to_pylist()), None]
    return np.array(texts, dtype=object)[_numpy(coded.indices.fill_null(len(texts) - 1))]


def _integers(column: Any, end: int) -> Any:
    """Return integers below `end`, -1 where there is none."""
    types = _arrow().types
    if not (types.is_integer(column.type) or types.is_null(column.type)):
        raise ValueError
    numbers = _numpy(column.cast(_arrow().int64()).fill_null(0))
    if ((numbers < 0) | (numbers >= end)).any():
        raise ValueError
    return np.where(_numpy(column.is_null()), -1, numbers)
