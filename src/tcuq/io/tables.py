"""NPZ, one named array a column; Parquet and Arrow files, by pyarrow, read piece by piece."""

from __future__ import annotations

import io
import json
import math
import os
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import guess, note_unknown
from ..base.errors import InputError, located, needed, one_line
from ..base.limits import Limits, limits_given
from ..log.columns import DETAIL_KEYS, DETAILS, Columns, Layout, columns_of, details_of
from ..log.gauges import MOST as MAX_GAUGES
from ..log.log import MAX_CLASSES, MAX_FEATURES, PER_STEP, Log, Softmax, log_of
from .sources import STANDARD, read_bytes, shown
from .values import ALIASES, refuse_bad_rows

PIECE = 1 << 24
"""Bytes that are decoded at once, about: as many rows as that are."""

_NAMES = {"parquet": "a Parquet file", "arrow": "an Arrow or Feather file"}


def package(kind: str, module: str = "pyarrow") -> Any:
    """Import what reads and writes a format, or say how to get it."""
    return needed(module, "pyarrow", _NAMES[kind])


@contextmanager
def _whole(kind: str, where: str) -> Iterator[None]:
    """Turn whatever a damaged file leads to into one message."""
    try:
        yield
    except MemoryError as error:
        if type(error) is MemoryError:
            raise
        # The package asks for as much as a file says, also where that is a lie.
        raise InputError("damaged", f"{where}: is damaged, or takes more memory than there is") from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno:
            raise type(error)(error.errno, error.strerror, where) from None
        raise InputError("damaged", f"{where}: is not {_NAMES[kind]}, or is damaged") from None


class TableFile:
    """A Parquet or Arrow file that is open. `file` limits the memory that the columns take which are read."""

    def __init__(self, path: str | Path, kind: str, limits: Limits | None = None) -> None:
        arrow = package(kind)
        self._limits = limits_given(limits)
        self._kind, self._where, self._left = kind, shown(path), self._limits.file
        content: Any
        if str(path) == STANDARD:
            content = arrow.BufferReader(read_bytes(path, self._limits))
        else:
            os.stat(path)  # names the file where it is missing
            with _whole(kind, self._where):
                content = arrow.OSFile(os.fspath(path))
        with _whole(kind, self._where):
            if kind == "parquet":
                # Threads would only hide which of them ran into damage.
                most = {"thrift_string_size_limit": 1 << 24, "thrift_container_size_limit": 1 << 20}
                parquet = package(kind, "pyarrow.parquet")
                self._file = parquet.ParquetFile(content, pre_buffer=False, buffer_size=1 << 16, **most)
                self._schema = self._file.schema_arrow
            else:
                self._file = self._open_arrow(content)
                self._schema = self._file.schema
            self.names: list[str] = list(self._schema.names)
            self.metadata = self._schema.metadata
        if len(self.names) > self._limits.fields:
            expected = self._limits.beyond("fields", len(self.names), "columns")
            raise InputError("limit", f"{self._where}: has {len(self.names):,} columns, {expected}")

    def _open_arrow(self, content: Any) -> Any:
        ipc = package(self._kind, "pyarrow.ipc")
        try:
            return ipc.open_file(content)
        except ValueError:  # a stream has no table of its batches at the end
            content.seek(0)
            return ipc.open_stream(content)

    def pieces(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield record batches that hold these columns, which are checked and judged by their size."""
        # The package ends the process on damage in what it tells of single columns: only rows are asked for.
        if self._kind == "parquet" and self._file.metadata.num_rows * self._width(names) > self._left:
            self._too_large()
        source = self._parquet(list(names)) if self._kind == "parquet" else self._arrow(list(names))
        while True:
            with _whole(self._kind, self._where):
                piece = next(source, None)
                if piece is not None:
                    piece.validate(full=True)
            if piece is None:
                return
            self._left -= piece.nbytes
            if self._left < 0:
                self._too_large()
            yield piece

    def _width(self, names: Sequence[str]) -> int:
        """Return the bytes of a row at least: one page of zeros unpacks to any number of them."""
        total = 0
        for name in names:
            try:
                total += max(1, self._schema.field(name).type.bit_width // 8)
            except (ValueError, KeyError):  # lists and texts, of which each has its own length
                total += 1
        return total

    def _too_large(self) -> None:
        raise InputError("limit", f"{self._where}: takes more memory, {self._limits.beyond('file', None)}")

    def _parquet(self, names: list[str]) -> Iterator[Any]:
        # One row tells how many may come at once: it may hold a picture.
        first = next(self._file.iter_batches(1, columns=names, use_threads=False), None)
        if first is None:
            return
        rows = min(max(1, PIECE // max(1, first.nbytes)), 1 << 14)
        for batch in self._file.iter_batches(rows, columns=names, use_threads=False):
            yield batch.select(names)

    def _arrow(self, names: list[str]) -> Iterator[Any]:
        if hasattr(self._file, "num_record_batches"):
            batches = (self._file.get_batch(number) for number in range(self._file.num_record_batches))
        else:
            batches = iter(self._file)
        for batch in batches:
            yield batch.select(names)


def table_parts(
    path: str | Path, kind: str, where: str, limits: Limits, softmax: Softmax | None, whole: bool
) -> Iterator[Log]:
    """Read a log from a Parquet or Arrow file, piece by piece where its numbers are no wide integers."""
    file = TableFile(path, kind, limits)
    with located(where):
        layout = Layout.of(file.names, lists=True)
        details = layout.details | details_of(file.metadata)
    places = [place for place, name in enumerate(layout.names) if name in layout.known and name != "step"]
    kept = layout._replace(names=[layout.names[place] for place in places])
    parts: list[Columns] = []
    start = 0
    for piece in file.pieces([file.names[place] for place in places]):
        with located(f"{where}, rows from {start} on"):
            parts.append(columns_of(piece, kept))
            _refuse_wide(parts[-1])
        if not start:
            note_unknown("column", layout.noted, layout.known, where)
        start += piece.num_rows
        if not whole and parts[-1].narrow:
            yield _log_of(parts, where, softmax, details, start - piece.num_rows)
            parts = []
    if not start:
        raise InputError("missing", f"{where}: holds no steps, expected at least one row")
    if parts:
        yield _log_of(parts, where, softmax, details, 0)


def _log_of(
    parts: list[Columns], where: str, softmax: Softmax | None, details: dict[str, Any], start: int
) -> Log:
    with located(where):
        log = log_of(**Columns.joined(parts).narrowed()._asdict(), softmax=softmax, **details)
    refuse_bad_rows(log, where, start)
    return log


def _refuse_wide(part: Columns) -> None:
    """Refuse at the first piece what a log does not take; the rest of such a file may fill the memory."""
    for name, most in (("probs", MAX_CLASSES), ("features", MAX_FEATURES), ("gauges", MAX_GAUGES)):
        rows = getattr(part, name)
        if rows is not None and rows.shape[1] > most:
            raise InputError("limit", f"{name} has {rows.shape[1]:,} values per row, expected at most {most}")


def log_table(log: Log) -> Any:
    """Return a log as an Arrow table: lists of posteriors, features, gauges; one column for each other."""
    arrow = package("parquet")
    columns: dict[str, Any] = {}
    for name in ("probs", "features", "gauges"):
        rows = getattr(log, name)
        if rows is not None:
            columns[name] = arrow.FixedSizeListArray.from_arrays(arrow.array(rows.reshape(-1)), rows.shape[1])
    for name, values in (("label", log.labels), ("segment", log.segments), ("shifted", log.kinds)):
        if values is not None:
            columns[name] = arrow.array(values)
    details = {key: getattr(log, key) for key in DETAIL_KEYS}
    known = {key: value for key, value in details.items() if value is not None}
    return arrow.table(columns).replace_schema_metadata({DETAILS: json.dumps(known)} if known else None)


class _Sink(io.BytesIO):
    """A file to write to, whose bytes are taken a piece at a time."""

    _before = 0

    def tell(self) -> int:
        return self._before + super().tell()

    def taken(self) -> bytes:
        """Return what was written, and forget it."""
        content = self.getvalue()
        self._before += len(content)
        self.seek(0)
        self.truncate()
        return content


def table_pieces(tables: Iterable[Any], kind: str) -> Iterator[bytes]:
    """Yield Arrow tables of one schema as the bytes of one file, which has them one after the other."""
    module = package(kind, "pyarrow.parquet" if kind == "parquet" else "pyarrow.ipc")
    new, sink, writer = module.ParquetWriter if kind == "parquet" else module.new_file, _Sink(), None
    for table in tables:
        writer = writer or new(sink, table.schema)
        writer.write_table(table)
        yield sink.taken()
    if writer is not None:
        writer.close()
        yield sink.taken()


def decision_table(columns: dict[str, Any]) -> Any:
    """Return columns of decisions as an Arrow table; an unknown accuracy is null."""
    arrow, accuracy = package("parquet"), columns["expected_accuracy"]
    return arrow.table({**columns, "expected_accuracy": arrow.array(accuracy, mask=np.isnan(accuracy))})


def cells_of(piece: Any, name: str) -> npt.NDArray[Any]:
    """Return a column of a record batch as numbers or texts; what is null among numbers is NaN."""
    values = piece.column(piece.schema.get_field_index(name))
    if hasattr(values.type, "index_type"):
        values = values.dictionary_decode()
    return np.asarray(values.to_numpy(zero_copy_only=False))


KEYS = (*PER_STEP, "shifted", *DETAIL_KEYS)

_RATIOS = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}
"""Bytes that one byte can unpack to, by the way of packing; others can make far more of it."""

LONGEST_KEY = 200
"""Characters of an array's name."""


def arrays_of(
    content: bytes,
    where: str,
    accepted: Sequence[str] | None = None,
    needed: Sequence[str | tuple[str, ...]] = (),
    limits: Limits | None = None,
    name: str = "file",
) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of an NPZ file that are accepted; refuse objects, and sizes above a limit."""
    given = limits_given(limits)
    # Each entry of an archive's directory becomes an object, however small it is.
    entries = content.count(b"PK\x01\x02")
    if entries > given.fields:
        expected = given.beyond("fields", entries, "arrays")
        raise InputError("limit", f"{where}: is an archive of {entries:,} files, {expected}")
    # Damage comes as whatever the decoder of the day runs into: too many kinds to name them.
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except MemoryError:
        raise
    except Exception:
        raise InputError("damaged", f"{where}: is damaged, or not NPZ; write it with numpy.savez") from None
    with archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if odd := [key for key in members if not key.isprintable() or len(key) > LONGEST_KEY]:
            expected = f"expected at most {LONGEST_KEY} printable characters"
            raise InputError("value", f"{where}: has an array named {one_line(repr(odd[0]), 60)}, {expected}")
        for each in needed:
            key, *others = (each,) if isinstance(each, str) else each
            if not any(name in members for name in (key, *others)):
                names = ", ".join(accepted[:6]) if accepted is not None else key
                hint = guess(list(members), key)
                has = f"; it has {', '.join(list(members)[:6])}" if members and not hint else ""
                if key == "probs" and "x" in members:
                    has += ": are these inputs? `tcuq record` runs a model over them"
                raise InputError("missing", f"{where}: array {key!r} is missing, expected {names}{hint}{has}")
        wanted = [key for key in members if accepted is None or key in accepted]
        most: int = getattr(given, name)
        total = 0
        for key in wanted:
            size = _unpacked_size(archive, members[key], key, where, len(content))
            total += size
            if total > most:
                taken = f"its arrays take {total:,} bytes up to {key!r} when unpacked"
                raise InputError("limit", f"{where}: {taken}, {given.beyond(name, total)}")
        arrays = {}
        for key in wanted:
            with _entry(key, where), archive.open(members[key]) as member:
                arrays[key] = np.asarray(np.lib.format.read_array(member, allow_pickle=False))
    if accepted is not None:
        note_unknown("array", list(members), accepted, where)
    return arrays


@contextmanager
def _entry(key: str, where: str) -> Iterator[None]:
    """Turn whatever a damaged array leads to into one message."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's own, about what a damaged header looks like
            yield
    except MemoryError:
        raise
    except Exception:
        problem = f"array {key!r} is damaged or holds objects, expected numbers, as numpy.savez writes"
        raise InputError("damaged", f"{where}: {problem}") from None


def _unpacked_size(archive: zipfile.ZipFile, info: zipfile.ZipInfo, key: str, where: str, stored: int) -> int:
    """Return the bytes that an array will take, from its header, as far as the `stored` ones allow."""
    if info.compress_type not in _RATIOS:
        problem = f"array {key!r} is packed by method {info.compress_type} of ZIP"
        raise InputError("unsupported", f"{where}: {problem}, expected 0 or 8 as numpy.savez writes it")
    with _entry(key, where), archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = read[version](member)
        if dtype.hasobject:
            raise InputError("value", "objects")
        size = math.prod(shape) * int(dtype.itemsize)
        # A header that promises more than the archive holds is damage, whatever the limit.
        most = min(info.file_size, stored * _RATIOS[info.compress_type])
        # An array without values may have a long side all the same, and be as many empty lists.
        if size > most or max(shape, default=0) > max(most, 1 << 16):
            raise InputError("damaged", "truncated")
    return size


def read_npz(content: bytes, where: str, limits: Limits | None = None, softmax: Softmax | None = None) -> Log:
    """Read a log from the bytes of an NPZ file."""
    arrays: dict[str, Any] = {}
    found = arrays_of(content, where, (*KEYS, *ALIASES.values()), ("probs",), limits)
    for key, values in found.items():
        if ALIASES.get(key, key) in arrays:
            raise InputError("conflict", f"{where}: array {key!r} is there under two names; remove one")
        arrays[ALIASES.get(key, key)] = values
    with located(where):
        log = log_of(**arrays, softmax=softmax)
    refuse_bad_rows(log, where)
    return log


def encode_log(log: Log) -> bytes:
    """Return a log as the bytes of an NPZ file."""
    columns = {key: getattr(log, "kinds" if key == "shifted" else key) for key in KEYS}
    file = io.BytesIO()
    np.savez_compressed(file, **{k: v for k, v in columns.items() if v is not None})
    return file.getvalue()
