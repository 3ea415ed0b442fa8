"""Decisions as Arrow tables: to and from the bytes of a Parquet file, or of a row that waits for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, needed, one_line
from tcuq.monitor.steps import STEP_DTYPE, Steps

from ..engine.events import Decided

arrow, ipc, parquet = (
    needed(name, "tcuq-watch", "a fleet") for name in ("pyarrow", "pyarrow.ipc", "pyarrow.parquet")
)

EXACT = ("severity",)
"""Fields that single precision does not hold; the others are multiples of 1/65536 from 0 to 1."""


def as_table(number: int, decided: Sequence[Decided]) -> Any:
    """Return the decisions of a commit, of all versions, as one table."""
    return arrow.concat_tables([_table(number, part) for part in decided], promote_options="default")


def _table(number: int, decided: Decided) -> Any:
    count, steps = len(decided), np.asarray(decided.steps)
    columns: dict[str, Any] = {
        "commit": np.full(count, number),
        "version": arrow.array(np.full(count, decided.version, dtype=object), arrow.string()),
        "device": _devices(decided),
        "boot": decided.boots,
        "seq": decided.seqs,
        "time": arrow.array(decided.times, mask=np.isnan(decided.times)),
    }
    for name in STEP_DTYPE.names or ():
        values = np.ascontiguousarray(steps[name])
        if values.dtype == np.float64 and name not in EXACT:
            values = values.astype(np.float32)
        columns[name] = values
    for name, rows in (("probs", decided.probs), ("features", decided.features)):
        if rows is not None:
            ends = np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32)
            columns[name] = arrow.ListArray.from_arrays(ends, rows.reshape(-1))
    if decided.resets is not None:
        columns["reset"] = decided.resets
    if decided.labels is not None:
        columns["label"] = arrow.array(decided.labels, mask=decided.labels < 0)
    return arrow.table(columns)


def _devices(decided: Decided) -> Any:
    if decided.slots is None:
        return arrow.array(decided.devices, arrow.string())
    coded = arrow.array(decided.slots).dictionary_encode()
    first = np.zeros(len(coded.dictionary), dtype=np.int64)
    first[coded.indices.to_numpy()[::-1]] = np.arange(len(decided))[::-1]
    names = arrow.array(decided.devices[first], arrow.string())
    return arrow.DictionaryArray.from_arrays(coded.indices, names).cast(arrow.string())


def to_bytes(table: Any) -> bytes:
    """Return a table as bytes, quickly."""
    sink = arrow.BufferOutputStream()
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(memoryview(sink.getvalue()))


def from_bytes(content: bytes) -> Any:
    """Return the table that `to_bytes` was given."""
    return ipc.open_stream(arrow.py_buffer(content)).read_all()


def to_parquet(tables: Sequence[Any]) -> tuple[bytes, float | None]:
    """Return tables as one Parquet file, and the latest time in it."""
    table = arrow.concat_tables(tables, promote_options="default")
    times = table["time"].to_numpy()
    sink = arrow.BufferOutputStream()
    parquet.write_table(
        table,
        sink,
        compression="lz4",
        use_dictionary=["version", "device"],
        write_statistics=["commit"],
        write_page_checksum=True,
    )
    until = float(np.nanmax(times)) if np.isfinite(times).any() else None
    return bytes(memoryview(sink.getvalue())), until


def decided_of(
    content: bytes, class_names: Mapping[str, Sequence[str] | None], first: int, where: str
) -> Iterator[tuple[int, list[Decided]]]:
    """Yield the commits in bytes of either kind, from one on, each with its decisions by version."""
    try:
        table = _read(content)
        numbers, versions = (_values(table, name) for name in ("commit", "version"))
        found = [
            (number, _by_version(table, versions, numbers == number))
            for number in np.unique(numbers).tolist()
            if number >= first
        ]
    except MemoryError:
        raise
    except Exception as error:  # damage comes as whatever the decoder of the day runs into
        raise InputError("damaged", f"{where} is damaged: {one_line(str(error), 100)}") from None
    for number, parts in found:
        yield number, [_named(part, class_names) for part in parts]


def _read(content: bytes) -> Any:
    if content[:4] != b"PAR1":
        table = from_bytes(content)
    else:
        table = parquet.read_table(arrow.py_buffer(content), page_checksum_verification=True)
    table.validate(full=True)
    return table


def _by_version(table: Any, versions: npt.NDArray[Any], mine: npt.NDArray[np.bool_]) -> list[Decided]:
    return [
        _decided(table.take(arrow.array(np.flatnonzero(mine & (versions == version)))), version)
        for version in dict.fromkeys(versions[mine].tolist())
    ]


def _values(table: Any, name: str) -> npt.NDArray[Any]:
    column = table[name].combine_chunks()
    if arrow.types.is_list(column.type):
        return np.asarray(column.flatten().to_numpy(zero_copy_only=False)).reshape(len(column), -1)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _decided(table: Any, version: str) -> Decided:
    steps = np.zeros(table.num_rows, dtype=STEP_DTYPE)
    for name in STEP_DTYPE.names or ():
        steps[name] = _values(table, name)
    devices, boots, seqs, times = (_values(table, name) for name in ("device", "boot", "seq", "time"))
    kept: dict[str, Any] = {
        name: _values(table, name)
        for name in ("probs", "features")
        if name in table.column_names and not table[name].null_count
    }
    if "reset" in table.column_names and not table["reset"].null_count:
        kept["resets"] = _values(table, "reset").astype(bool)
    if "label" in table.column_names:
        labels = _values(table, "label").astype(np.float64)
        kept["labels"] = np.where(np.isnan(labels), -1, labels).astype(np.int64)
    return Decided(version, devices, boots, seqs, times.astype(np.float64), Steps.of(steps), **kept)


def _named(part: Decided, class_names: Mapping[str, Sequence[str] | None]) -> Decided:
    part.steps.class_names = None if (names := class_names.get(part.version)) is None else tuple(names)
    return part
