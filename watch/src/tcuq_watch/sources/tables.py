"""Events in Parquet files: opened at any row, streamed by row group, turned into columns of `Events`."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, located
from tcuq.base.limits import limits_given
from tcuq.base.optional import needed
from tcuq.monitor.columns import Layout

from ..engine.events import MAX_NUMBER
from .arrivals import NO_TIME, odd_names, seconds
from .step_reader import StepReader

PLAIN = ("device", "boot", "seq", "time", "version", "params", "label", "segment")
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
        own = dict(zip(names, self._layout.names, strict=True))
        wanted = {*PLAIN, *self._layout.probs, *self._layout.features}
        self._names = {name: called for name, called in own.items() if called in wanted}
        ends = np.cumsum(sizes, dtype=np.int64)
        group = int(np.searchsorted(ends, row, side="right"))
        self._skip = row - (int(ends[group - 1]) if group else 0)
        self._batches: Iterator[Any] = (
            self._file.iter_batches(
                min(rows, 1 << 16),
                list(range(group, len(sizes))),
                columns=list(self._names),
                use_threads=False,
            )
            if group < len(sizes)
            else iter(())
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
            if self._skip:
                cut = min(self._skip, batch.num_rows)
                self._skip -= cut
                batch = batch.slice(cut)
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
    size = path.stat().st_size
    with path.open("rb") as file:
        checksum = zlib.crc32(file.read(ENDS))
        file.seek(max(0, size - ENDS))
        return [size, zlib.crc32(file.read(), checksum)]


def _layout(path: Path, names: list[str]) -> Layout:
    with located(str(path)):
        if len(names) > (most := limits_given().fields):
            raise InputError("limit", f"has {len(names):,} columns, expected at most {most:,}")
        try:
            return Layout.of(names, lists=True)
        except InputError as error:
            if error.code == "missing" and "p0" not in names:
                expected = "expected a list a row, or p0, p1, ..."
                raise InputError("missing", f"column 'probs' is missing, {expected}") from None
            raise


def add_batch(reader: StepReader, batch: Any, layout: Layout, where: str) -> None:
    """Take the rows of an Arrow record batch; bad ones are counted."""
    count, good = batch.num_rows, np.ones(batch.num_rows, dtype=bool)

    def refuse(kind: str, wrong: npt.NDArray[np.bool_]) -> None:
        nonlocal good
        wrong = wrong & good
        if wrong.any():
            problem = f"{where} + {int(wrong.argmax())}: {kind} is missing or not valid"
            reader.rows.refuse(kind, problem, int(wrong.sum()))
        good &= ~wrong

    names = _names(batch, reader.device)
    wrong = np.zeros(count, dtype=bool)
    wrong[odd_names(names.tolist())] = True
    refuse("device name", wrong)
    numbers = {}
    for name in ("boot", "seq", "label", "segment"):
        numbers[name], wrong = _whole(batch, name, low=0 if name in ("boot", "seq") else -(2**53))
        refuse(name, wrong)
    rows = _Rows(batch, layout.probs, reader.rows.softmax is None)
    refuse("probs", rows.missing)
    more = _Rows(batch, layout.features, False) if layout.features else None
    if more is not None and more.no_numbers:
        refuse("features", np.ones(count, dtype=bool))
    times = _times(batch)
    begins = _begins(reader, batch, names, numbers["segment"], good)
    version = _texts(batch, "version" if "version" in batch.schema.names else "params")
    # A number for every shape; rows of one version and one shape in a row are one piece.
    shape = rows.shape
    if more is not None:
        shape = shape * (int(more.shape.max(initial=0)) + 1) + more.shape
    for name in dict.fromkeys(version.tolist()):
        which = np.flatnonzero(good & (version == name if name is not None else version == np.array(None)))
        for piece in np.split(which, np.flatnonzero(np.diff(shape[which])) + 1):
            if len(piece):
                reader.rows.add_table(
                    rows.some(piece),
                    devices=names[piece],
                    boots=numbers["boot"][piece],
                    seqs=numbers["seq"][piece],
                    features=None if more is None or more.missing[piece[0]] else more.some(piece),
                    times=None if np.isnan(times[piece]).all() else times[piece],
                    version=name,
                    labels=_told(numbers["label"][piece], -1),
                    begins=_told(begins[piece], False),
                )


def _told(values: npt.NDArray[Any], nothing: Any) -> npt.NDArray[Any] | None:
    return None if (values == nothing).all() else values


def _begins(
    reader: StepReader, batch: Any, names: npt.NDArray[Any], segments: npt.NDArray[np.int64], good: Any
) -> npt.NDArray[np.bool_]:
    """Return where a device is in another segment than before."""
    begins = np.zeros(len(names), dtype=bool)
    if "segment" in batch.schema.names:
        told = ~np.asarray(_column(batch, "segment").is_null().to_numpy(zero_copy_only=False), dtype=bool)
        for row in np.flatnonzero(good & told).tolist():
            begins[row] = reader.segment_begins(names[row], int(segments[row]))
    return begins


def _validated(batch: Any) -> Any:
    """Return a batch whose buffers and texts are whole; a text that is not UTF-8 costs its row alone."""
    arrow = _arrow()
    try:
        batch.validate(full=True)
        return batch
    except arrow.ArrowInvalid:
        columns = []
        for field, values in zip(batch.schema, batch.columns, strict=True):
            if _is_text(field.type):
                values = _decoded(values, field.name)
            columns.append(values)
        batch = arrow.RecordBatch.from_arrays(columns, names=batch.schema.names)
        batch.validate(full=True)
        return batch


def _is_text(kind: Any) -> bool:
    types = _arrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _decoded(values: Any, name: str) -> Any:
    """Return bytes as texts; null where a device's name is none, else with a mark that no text has."""
    arrow = _arrow()
    large = arrow.types.is_large_string(values.type) or arrow.types.is_large_binary(values.type)
    content = values.cast(arrow.large_binary() if large else arrow.binary())
    content.validate(full=True)  # its offsets, before they are followed
    texts: list[str | None] = []
    for each in content.to_pylist():
        try:
            texts.append(None if each is None else each.decode())
        except UnicodeDecodeError:
            texts.append(None if name == "device" else each.decode(errors="replace"))
    return arrow.array(texts, arrow.string())


def _column(batch: Any, name: str) -> Any:
    values = batch.column(batch.schema.get_field_index(name))
    return values.dictionary_decode() if hasattr(values.type, "index_type") else values


def _texts(batch: Any, name: str) -> npt.NDArray[Any]:
    if name not in batch.schema.names:
        return np.full(batch.num_rows, None, dtype=object)
    values = _column(batch, name)
    return np.asarray(values.cast(_arrow().string()).to_numpy(zero_copy_only=False), dtype=object)


def _names(batch: Any, device: str | None) -> npt.NDArray[Any]:
    """Return names; equal ones as one object, which saves memory and time in dicts."""
    if "device" not in batch.schema.names:
        return np.full(batch.num_rows, device, dtype=object)
    values = batch.column(batch.schema.get_field_index("device"))
    if _arrow().types.is_binary(values.type) or _arrow().types.is_large_binary(values.type):
        values = _decoded(values, "device")
    if not hasattr(values.type, "index_type"):
        values = values.cast(_arrow().string()).dictionary_encode()
    table = np.asarray(values.dictionary.cast(_arrow().string()).to_numpy(zero_copy_only=False), dtype=object)
    table = np.append(table, np.array([device], dtype=object))
    places = values.indices.fill_null(len(table) - 1).to_numpy(zero_copy_only=False)
    return np.asarray(table[places])


def _whole(batch: Any, name: str, low: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return integers, -1 where there is none, and where something else stands."""
    count = batch.num_rows
    if name not in batch.schema.names:
        return np.full(count, -1, dtype=np.int64), np.zeros(count, dtype=bool)
    values = _column(batch, name)
    missing = np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    numbers = np.asarray(values.to_numpy(zero_copy_only=False))
    if numbers.dtype.kind not in "iuf":
        return np.full(count, -1, dtype=np.int64), ~missing
    if numbers.dtype.kind == "f":  # a bound does not fit half a float
        numbers = np.where(missing, low, numbers.astype(np.float64))
    with np.errstate(invalid="ignore"):
        wrong = ~((numbers < MAX_NUMBER) & (numbers >= low))
        if numbers.dtype.kind == "f":  # integers with nulls among them come as floats
            wrong |= numbers != np.floor(numbers)
    return np.where(wrong | missing, -1, numbers).astype(np.int64), wrong


def _times(batch: Any) -> npt.NDArray[np.float64]:
    """Return seconds since 1970, NaN where nothing is said and `NO_TIME` for what is no time."""
    count = batch.num_rows
    if "time" not in batch.schema.names:
        return np.full(count, np.nan)
    types = _arrow().types
    values = _column(batch, "time")
    kind = values.type
    missing = np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    times = np.full(count, np.nan)
    if types.is_timestamp(kind):
        times = _int64(values) / {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
    elif types.is_date32(kind):
        times = _int64(values.cast(_arrow().int32())) * 86400.0
    elif types.is_date64(kind):
        times = _int64(values) / 1e3
    elif _is_text(kind):
        times = np.array([seconds(each) for each in values.to_pylist()], dtype=np.float64)
    elif types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        numbers = values.cast(_arrow().float64(), safe=False)
        times = np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
    return np.where(missing, np.nan, np.where(np.isnan(times), NO_TIME, times))


def _int64(values: Any) -> npt.NDArray[np.int64]:
    ticks = values.cast(_arrow().int64()).fill_null(0)
    return np.asarray(ticks.to_numpy(zero_copy_only=False), dtype=np.int64)


class _Rows:
    """Posteriors or features of a batch: lists, or one column a number.

    `shape` is a number for the width of a row and for int8 or float, 0 where there is none, as `missing`
    says. `no_numbers` is for columns of another type, where all are missing.
    """

    def __init__(self, batch: Any, names: list[str], posteriors: bool) -> None:
        arrow, count = _arrow(), batch.num_rows
        self.missing = np.zeros(count, dtype=bool)
        values = _column(batch, names[0])
        types = arrow.types
        fixed = types.is_fixed_size_list(values.type)
        self._table: npt.NDArray[Any] | None = None
        if not (fixed or types.is_list(values.type) or types.is_large_list(values.type)):
            parts = [_column(batch, name).to_numpy(zero_copy_only=False) for name in names]
            self._table = np.stack(parts, axis=1)
            widths = np.full(count, len(names))
        else:
            if values.null_count:
                self.missing = np.asarray(values.is_null().to_numpy(zero_copy_only=False), dtype=bool)
            if fixed:
                widths = np.full(count, values.type.list_size)
            else:
                widths = values.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
            self._flat = np.asarray(values.flatten().to_numpy(zero_copy_only=False))
            starts = np.cumsum(np.where(self.missing, 0, widths))
            self._starts = np.concatenate([[0], starts[:-1]]) if count else starts
            if count and not self.missing.any() and (widths == widths[0]).all():
                self._table = self._flat.reshape(count, int(widths[0]))
        self.missing |= widths == 0
        flat = self._flat if self._table is None else self._table
        self._raw = np.zeros(count, dtype=bool)
        self.no_numbers = flat.dtype.kind not in "iufb"
        if self.no_numbers:
            self.missing[:] = True
        elif flat.dtype in (np.int8, np.uint8):
            self._raw[:] = True
        elif flat.dtype.kind in "iub":
            self._raw = self._written_int8(widths, posteriors)
        self.shape = np.where(self.missing, 0, widths * 2 + self._raw)

    def _written_int8(self, widths: npt.NDArray[Any], posteriors: bool) -> npt.NDArray[np.bool_]:
        """Judge wide integers row by row, as in text formats: a one-hot row of posteriors is float."""
        found = np.zeros(len(widths), dtype=bool)
        for row in range(len(widths)) if self._table is None else ():
            cells = self._flat[self._starts[row] :][: widths[row]]
            certain = posteriors and cells.size and set(cells.tolist()) <= {0, 1} and cells.sum() == 1
            found[row] = bool(cells.size) and cells.min() >= -128 and cells.max() <= 127 and not certain
        if self._table is not None:
            table = self._table
            found = (table.min(axis=1) >= -128) & (table.max(axis=1) <= 127)
            if posteriors:
                found &= ~((table.min(axis=1) >= 0) & (table.max(axis=1) <= 1) & (table.sum(axis=1) == 1))
        return found

    def some(self, which: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return rows of one shape."""
        width, raw = int(self.shape[which[0]]) // 2, bool(self._raw[which[0]])
        if self._table is not None:
            rows = self._table if len(which) == len(self._table) else self._table[which]
        else:
            rows = self._flat[self._starts[which][:, None] + np.arange(width)]
        if rows.dtype in (np.int8, np.uint8, np.float32, np.float64):
            return rows
        return rows.astype(np.int8 if raw else np.float64)
