"""Events in Parquet files: opened at any row, streamed by row group, turned into columns of `Events`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, located, needed
from tcuq.base.limits import limits_given
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
    nothing = _arrow().nulls(batch.num_rows)
    good = np.ones(batch.num_rows, dtype=bool)

    def kept(kind: str, values: Any, fine: Array) -> Any:
        nonlocal good
        if lost := int((good & ~fine).sum()):
            reader.bad(kind, f"{where} and after: {kind} is missing or out of range", lost)
        good &= fine
        return values

    devices = kept("device name", *_devices(columns.get("device", nothing), reader.device))
    numbers = {
        name: kept(name, *_integers(columns.get(name, nothing), least))
        for name, least in (("boot", 0), ("seq", 0), ("label", -MAX_NUMBER), ("segment", -MAX_NUMBER))
    }
    probs = _Rows([columns[name] for name in layout.probs], reader.rows.softmax is None)
    kept("probs", None, probs.fine)
    features = _Rows([columns[name] for name in layout.features], False) if layout.features else None
    shapes = probs.shapes if features is None else probs.shapes * (1 << 20) + features.shapes
    if features is not None:
        kept("features", None, features.fine)
    versions = kept("version", *_texts(columns.get("version", columns.get("params", nothing)), _is_version))
    times = _times(columns.get("time", nothing))

    begins, segments = np.zeros(batch.num_rows, dtype=bool), numbers["segment"]
    for row in np.flatnonzero(good & (segments != -1)).tolist():
        begins[row] = reader.segment_begins(devices[row], int(segments[row]))
    for version in dict.fromkeys(versions[good].tolist()):
        rows = np.flatnonzero(good & (versions == version))
        for some in np.split(rows, np.flatnonzero(np.diff(shapes[rows])) + 1):
            when, labels, starts = times[some], numbers["label"][some], begins[some]
            events = Events(
                devices[some],
                numbers["boot"][some],
                numbers["seq"][some],
                probs.table(some),
                None if features is None else features.table(some),
                None if np.isnan(when).all() else when,
                version,
                labels=labels if (labels >= 0).any() else None,
                begins=starts if starts.any() else None,
            )
            reader.rows.add_events(events)


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


def _texts(column: Any, check: Callable[[Any], bool]) -> tuple[Array, Array]:
    """Return texts, None where there is none, and which can be taken; equal ones are one object."""
    types = _arrow().types
    if not types.is_binary(column.type) and not types.is_large_binary(column.type):
        fine = check(None) & _numpy(column.is_null())
        return np.full(len(column), None, dtype=object), fine
    coded = column.dictionary_encode()
    texts = [*(text.decode(errors="surrogateescape") for text in coded.dictionary.to_pylist()), None]
    places = _numpy(coded.indices.fill_null(len(texts) - 1))
    return np.array(texts, dtype=object)[places], np.array([*map(check, texts)])[places]


def _is_version(text: str | None) -> bool:
    return text is None or text.isprintable()


def _devices(column: Any, device: str | None) -> tuple[Array, Array]:
    arrow = _arrow()
    if arrow.types.is_integer(column.type):
        column = column.cast(arrow.string())
    if device is not None:
        column = column.cast(arrow.binary()).fill_null(device.encode())
    return _texts(_plain(column), is_name)


def _integers(column: Any, least: int) -> tuple[npt.NDArray[np.int64], Array]:
    """Return integers, -1 where there is none, and which could be read."""
    missing = _numpy(column.is_null())
    if not _arrow().types.is_integer(column.type):
        return np.full(len(column), -1, dtype=np.int64), missing
    numbers = _numpy(column.fill_null(0))
    fine = (numbers < MAX_NUMBER) & (numbers >= least)
    return np.where(missing | ~fine, -1, numbers).astype(np.int64), fine


def _times(column: Any) -> npt.NDArray[np.float64]:
    """Return seconds since 1970, NaN where nothing is said."""
    arrow = _arrow()
    if arrow.types.is_temporal(column.type):
        whole = column.cast(arrow.timestamp("us"), safe=False).cast(arrow.int64())
        return _numpy(whole.cast(arrow.float64(), safe=False)) / 1e6
    if not arrow.types.is_binary(column.type):
        return _numpy(column.cast(arrow.float64(), safe=False))
    told = [None if text is None else seconds(text.decode(errors="replace")) for text in column.to_pylist()]
    return np.array([math.nan if when is None else NO_TIME if math.isnan(when) else when for when in told])


class _Rows:
    """Posteriors or features: a column of lists, or a column a number. `fine` tells which rows are whole.

    Integers of other types than int8 are int8 or float by row, as in text; `shapes` differ where rows differ
    in that, or in their width.
    """

    def __init__(self, columns: list[Any], posteriors: bool) -> None:
        first = columns[0]
        if hasattr(first, "value_lengths"):
            lengths, flat = _numpy(first.value_lengths().fill_null(0)), first.flatten()
            holes, flat = _numpy(flat.is_null()), _numpy(flat)
        else:
            lengths = np.full(len(first), len(columns))
            flat = np.stack([_numpy(column) for column in columns], axis=1).reshape(-1)
            holes = np.stack([_numpy(column.is_null()) for column in columns], axis=1).reshape(-1)
        self._flat, self._lengths = flat, lengths.astype(np.int64)
        self._starts = np.cumsum(lengths) - lengths
        self.fine = (lengths > 0) & (flat.dtype.kind in "iuf") & (self._over(np.add, holes) == 0)
        self._raw = np.zeros(len(lengths), dtype=bool)
        if flat.dtype.kind in "iu" and flat.dtype.itemsize > 1:
            least, most, total = (self._over(how, flat) for how in (np.minimum, np.maximum, np.add))
            certain = (least >= 0) & (most <= 1) & ((total == 1) | (lengths == 1))
            self._raw = (least >= -128) & (most <= 127) & ~(certain & posteriors)
        self.shapes = 2 * self._lengths + self._raw

    def _over(self, how: Any, flat: Array) -> Array:
        """Return a reduction of each row; 0 for an empty one."""
        made, some = np.zeros(len(self._lengths)), self._lengths > 0
        if some.any():
            made[some] = how.reduceat(flat.astype(np.float64), self._starts[some])
        return made

    def table(self, rows: Array) -> Array:
        """Return rows that have one shape."""
        width = int(self._lengths[rows[0]])
        if len(rows) == len(self._lengths):
            values = self._flat.reshape(-1, width)
        else:
            values = self._flat[self._starts[rows][:, None] + np.arange(width)]
        if values.dtype in (np.int8, np.uint8, np.float32, np.float64):
            return np.asarray(values)
        return np.asarray(values, dtype=np.int8 if self._raw[rows[0]] else np.float64)
