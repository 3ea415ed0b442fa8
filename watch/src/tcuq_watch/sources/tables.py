"""Events in Parquet files: opened at any row, streamed by row group, turned into columns of `Events`."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, located, needed
from tcuq.base.limits import limits_given
from tcuq.monitor.columns import Layout

from ..engine.events import MAX_NUMBER
from .arrivals import odd_names
from .step_reader import StepReader

PLAIN = ("device", "boot", "seq", "time", "version", "params", "label", "segment")
FEW = 16
"""Rows of which some are odd that are not looked at as columns any more."""

ENDS = 4096
"""Bytes of both ends of a file by which it is known again."""


def _arrow(module: str = "pyarrow") -> Any:
    return needed(module, "tcuq-watch[tables]", "a Parquet file")


class EventTable:
    """A Parquet file of events that is being read."""

    def __init__(self, path: Path, row: int, rows: int, reader: StepReader) -> None:
        self.path, self.at, self._reader = path, row, reader
        parquet = self.check_package()
        try:
            self._file = parquet.ParquetFile(
                path, pre_buffer=False, thrift_string_size_limit=1 << 24, thrift_container_size_limit=1 << 20
            )
            metadata = self._file.metadata
            self.rows: int = metadata.num_rows
            sizes = [metadata.row_group(each).num_rows for each in range(metadata.num_row_groups)]
            names = list(self._file.schema_arrow.names)
        except Exception as error:
            if isinstance(error, OSError) and error.errno:
                raise
            raise InputError("damaged", f"{path}: is not a Parquet file, or is damaged") from None
        self._mark = _ends(path)
        self._layout = _layout(path, names)
        wanted = {*PLAIN, *self._layout.probs, *self._layout.features}
        called = zip(names, self._layout.names, strict=True)
        self._names = {name: ours for name, ours in called if ours in wanted}
        ends = np.cumsum(sizes, dtype=np.int64)
        group = int(np.searchsorted(ends, row, side="right"))
        self._skip = row - (int(ends[group - 1]) if group else 0)
        self._batches: Iterator[Any] = iter(())
        if group < len(sizes):
            groups = list(range(group, len(sizes)))
            self._batches = self._file.iter_batches(
                min(rows, 1 << 16), groups, columns=list(self._names), use_threads=False
            )

    @staticmethod
    def check_package() -> Any:
        """Return the package that reads Parquet files, or say in one line how to get it."""
        return _arrow("pyarrow.parquet")

    def read(self, count: int) -> bool:
        """Take some rows; tell whether there may be more.

        A file that breaks off in the middle is counted, and counts as read.
        """
        try:
            batch = next(self._batches, None)
            if batch is None:
                return False
            batch = _validated(batch)
            batch = batch.rename_columns([self._names[name] for name in batch.schema.names])
            skipped = min(self._skip, batch.num_rows)
            self._skip -= skipped
            batch = batch.slice(skipped)
            if batch.num_rows:
                add_batch(self._reader, batch, self._layout, f"{self.path.name}, row {self.at}")
        except MemoryError:
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno:
                raise  # of the disk, not of the file
            self._reader.rows.refuse(
                "unreadable file",
                f"{self.path}, from row {self.at} on: {' '.join(str(error).split())[:120]}",
                max(1, self.rows - self.at),
            )
            self.at = self.rows
            return False
        self.at += batch.num_rows
        return True

    def mark(self) -> list[int]:
        """Return what tells this file from another one."""
        return self._mark

    def has_mark(self, mark: Any) -> bool:
        """Tell whether this is the file that had a mark; what is no mark says nothing."""
        return not isinstance(mark, list) or mark == self._mark

    def shrunk(self) -> str | None:
        """Return what happened to the file where it has fewer rows than were read of it."""
        return f"has {self.rows:,} rows, {self.at:,} were read" if self.rows < self.at else None

    def close(self) -> None:
        """Let go of the file."""
        self._file.close(force=True)


def _ends(path: Path) -> list[int]:
    """Return the mark of a file that does not grow: its bytes, and a checksum of its two ends."""
    with path.open("rb") as file:
        first = file.read(ENDS)
        file.seek(max(0, path.stat().st_size - ENDS))
        return [path.stat().st_size, zlib.crc32(file.read(), zlib.crc32(first))]


def _layout(path: Path, names: list[str]) -> Layout:
    with located(str(path)):
        if len(names) > (most := limits_given().fields):
            raise InputError("limit", f"has {len(names):,} columns, expected at most {most:,}")
        if not {"probs", "p", "p0"} & set(names):
            raise InputError("missing", "column 'probs' is missing, expected a list a row, or p0, p1, ...")
        return Layout.of(names, lists=True)


class _Irregular(Exception):
    """Rows that are not all of one form."""


def add_batch(reader: StepReader, batch: Any, layout: Layout, where: str) -> None:
    """Take the rows of an Arrow record batch; bad ones are counted.

    Rows of one form are taken as columns, which is quick, and what is left over as lines are.
    """
    for kind, name in (("device name", "device"), ("probs", layout.probs[0])):
        column = batch.schema.get_field_index(name)
        nulls = batch.column(column).null_count if column >= 0 else 0
        if nulls and (name != "device" or reader.device is None):
            reader.rows.refuse(kind, f"{where}: {kind} is missing", nulls)
            batch = batch.filter(batch.column(column).is_valid())
    try:
        _add_columns(reader, batch, layout)
    except _Irregular:
        half = batch.num_rows // 2
        if half >= FEW:
            add_batch(reader, batch.slice(0, half), layout, where)
            add_batch(reader, batch.slice(half), layout, where)
            return
        for row in _as_lines(batch, layout):
            reader.take(row, shown=where)


def _add_columns(reader: StepReader, batch: Any, layout: Layout) -> None:
    names, times = _names(batch, reader.device), _times(batch)
    boots, seqs, labels, segments = (
        _integers(batch, name, low)
        for name, low in (("boot", 0), ("seq", 0), ("label", -MAX_NUMBER), ("segment", -MAX_NUMBER))
    )
    probs = _rows(batch, layout.probs, reader.rows.softmax is None)
    features = _rows(batch, layout.features, False) if layout.features else None
    versions = _texts(batch, "version" if "version" in batch.schema.names else "params")
    different = dict.fromkeys(versions.tolist())
    if len(different) > FEW:
        raise _Irregular
    begins = np.zeros(len(names), dtype=bool)
    for row in np.flatnonzero(segments != -1).tolist():
        begins[row] = reader.segment_begins(names[row], int(segments[row]))
    for version in different:
        which = np.array([each == version for each in versions.tolist()])
        reader.rows.add_table(
            probs[which],
            devices=names[which],
            boots=boots[which],
            seqs=seqs[which],
            features=None if features is None else features[which],
            times=None if np.isnan(times[which]).all() else times[which],
            version=version,
            labels=labels[which] if (labels[which] >= 0).any() else None,
            begins=begins[which] if begins[which].any() else None,
        )


def _as_lines(batch: Any, layout: Layout) -> Iterator[dict[str, Any]]:
    """Give rows as JSON would have them."""
    arrow = _arrow()
    columns, zeros = {}, {arrow.int8(): 0, arrow.uint8(): 128}
    for name, values in zip(batch.schema.names, map(_decoded, batch.columns), strict=True):
        if _is_text(values.type):
            values = values.cast(arrow.binary())  # a text that is not UTF-8 costs its row alone
        elif arrow.types.is_temporal(values.type):
            values = arrow.array(_times(batch), mask=_missing(values))
        columns[name] = values
    for row in zip(*(values.to_pylist() for values in columns.values()), strict=True):
        content = dict(zip(columns, row, strict=True))
        for name, value in content.items():
            if isinstance(value, bytes):
                content[name] = value.decode(errors="replace" if name != "device" else "surrogateescape")
            elif isinstance(value, list) and columns[name].type.value_type in zeros and None not in value:
                zero = zeros[columns[name].type.value_type]
                content[name] = array("b", [each - zero for each in value])
        for name, numbered in (("probs", layout.probs), ("features", layout.features)):
            if numbered and name not in columns:
                content[name] = [content.pop(each) for each in numbered]
        yield {name: value for name, value in content.items() if value is not None}


def _validated(batch: Any) -> Any:
    """Return a batch whose buffers are whole; texts that are not UTF-8 become bytes."""
    arrow = _arrow()
    try:
        batch.validate(full=True)
        return batch
    except arrow.ArrowInvalid:
        binary = {arrow.string(): arrow.binary(), arrow.large_string(): arrow.large_binary()}
        columns = [values.cast(binary.get(values.type, values.type)) for values in batch.columns]
        batch = arrow.RecordBatch.from_arrays(columns, names=batch.schema.names)
        batch.validate(full=True)
        return batch


def _is_text(kind: Any) -> bool:
    types = _arrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _decoded(values: Any) -> Any:
    return values.dictionary_decode() if hasattr(values.type, "index_type") else values


def _column(batch: Any, name: str) -> Any:
    return _decoded(batch.column(batch.schema.get_field_index(name)))


def _texts(batch: Any, name: str) -> npt.NDArray[Any]:
    if name not in batch.schema.names:
        return np.full(batch.num_rows, None, dtype=object)
    values = _column(batch, name)
    if not _is_text(values.type) and values.null_count < len(values):
        raise _Irregular
    return np.asarray(values.cast(_arrow().string()).to_numpy(zero_copy_only=False), dtype=object)


def _names(batch: Any, device: str | None) -> npt.NDArray[Any]:
    """Return names; equal ones as one object, which saves memory and time in dicts."""
    if "device" not in batch.schema.names:
        if device is None:
            raise _Irregular
        return np.full(batch.num_rows, device, dtype=object)
    values = batch.column(batch.schema.get_field_index("device"))
    coded = values if hasattr(values.type, "index_type") else values.dictionary_encode()
    table = np.asarray(coded.dictionary.to_numpy(zero_copy_only=False), dtype=object)
    if values.null_count or not _is_text(coded.dictionary.type) or odd_names(table.tolist()):
        raise _Irregular
    return np.asarray(table[coded.indices.to_numpy(zero_copy_only=False)])


def _integers(batch: Any, name: str, low: int) -> npt.NDArray[np.int64]:
    """Return integers, -1 where there is none."""
    if name not in batch.schema.names:
        return np.full(batch.num_rows, -1, dtype=np.int64)
    values = _column(batch, name)
    if not _arrow().types.is_integer(values.type):
        raise _Irregular
    numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
    if not ((numbers < MAX_NUMBER) & (numbers >= low)).all():
        raise _Irregular
    return np.where(_missing(values), -1, numbers).astype(np.int64)


def _missing(values: Any) -> npt.NDArray[Any]:
    return np.asarray(values.is_null().to_numpy(zero_copy_only=False))


def _times(batch: Any) -> npt.NDArray[np.float64]:
    """Return seconds since 1970, NaN where nothing is said."""
    if "time" not in batch.schema.names:
        return np.full(batch.num_rows, np.nan)
    values = _column(batch, "time")
    times = values.to_numpy(zero_copy_only=False)
    if times.dtype.kind == "M":
        missing = np.isnat(times)
        return np.where(missing, np.nan, times.astype("datetime64[us]").astype(np.int64) / 1e6)
    if times.dtype.kind not in "iuf" or np.isnan(times).sum() > values.null_count:
        raise _Irregular
    return np.asarray(times, dtype=np.float64)


def _rows(batch: Any, names: list[str], posteriors: bool) -> npt.NDArray[Any]:
    """Return posteriors or features: lists, or one column a number."""
    values, types = _column(batch, names[0]), _arrow().types
    if (
        types.is_fixed_size_list(values.type)
        or types.is_list(values.type)
        or types.is_large_list(values.type)
    ):
        flat = values.flatten()
        table = np.asarray(flat.to_numpy(zero_copy_only=False))
        width = len(flat) // len(values)
        lengths = values.value_lengths().to_numpy(zero_copy_only=False)
        if values.null_count or flat.null_count or not width or (lengths != width).any():
            raise _Irregular
        table = table.reshape(-1, width)
    else:
        columns = [_column(batch, name) for name in names]
        if any(column.null_count for column in columns):
            raise _Irregular
        table = np.stack([column.to_numpy(zero_copy_only=False) for column in columns], axis=1)
    if table.dtype in (np.int8, np.uint8, np.float32, np.float64):
        return table
    if table.dtype.kind not in "iu" or table.min() < -128 or table.max() > 127:
        raise _Irregular
    if posteriors and ((table.min(axis=1) >= 0) & (table.max(axis=1) <= 1) & (table.sum(axis=1) == 1)).any():
        raise _Irregular  # a one-hot row is float, the others are int8
    return table.astype(np.int8)
