"""Decisions as Arrow tables: to and from the bytes of a Parquet file, or of a row that waits for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, needed, one_line, placed
from tcuq.base.limits import limits_given
from tcuq.io.decisions import SEEN
from tcuq.monitor.params import Params
from tcuq.monitor.steps import NOT_MOVED, STEP_DTYPE, Steps, actions_of

from .. import _native
from ..engine.events import Decided

arrow, ipc, parquet = (
    needed(name, "pyarrow", "a fleet") for name in ("pyarrow", "pyarrow.ipc", "pyarrow.parquet")
)

FRACTIONS = [name for name in STEP_DTYPE.names or () if STEP_DTYPE[name].kind == "f"]
# What a fleet may keep of events, and the columns of that.
OPTIONAL = {
    "probs": "probs",
    "features": "features",
    "gauges": "gauges",
    "resets": "reset",
    "labels": "label",
}


def as_table(number: int, decided: Sequence[Decided]) -> Any:
    """Return the decisions of a commit, of all versions, as one table."""
    return arrow.concat_tables([_table(number, part) for part in decided], promote_options="default")


def _table(number: int, decided: Decided) -> Any:
    count, steps = len(decided), np.asarray(decided.steps)
    columns: dict[str, Any] = {
        "commit": np.full(count, number),
        "version": arrow.DictionaryArray.from_arrays(np.zeros(count, np.int32), [decided.version]),
        "device": _devices(decided),
        "boot": decided.boots,
        "seq": decided.seqs,
        "time": arrow.array(decided.times, mask=np.isnan(decided.times)),
    }
    columns |= _step_columns(steps)
    for field, name in OPTIONAL.items():
        values = getattr(decided, field)
        if values is not None and values.ndim == 2:
            ends = np.arange(0, values.size + 1, values.shape[1], dtype=np.int32)
            columns[name] = arrow.ListArray.from_arrays(ends, values.reshape(-1))
        elif values is not None:
            columns[name] = arrow.array(values, mask=values < 0 if field == "labels" else None)
    table, nulls = arrow.table(columns), {"time", *OPTIONAL.values()}
    schema = arrow.schema([field.with_nullable(field.name in nulls) for field in table.schema])
    return arrow.Table.from_arrays(table.columns, schema=schema)


def _step_columns(steps: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """Return the fields of steps; single precision holds fractions, which are multiples of 1/65536."""
    count, single = len(steps), [name for name in FRACTIONS if name != "degradation"]
    fractions, degradation = np.empty((len(single), count), np.float32), np.empty(count)
    classes, rest = np.empty((2, count), np.int32), np.empty((9, count), np.uint8)
    _native.columns(fractions, degradation, classes, rest, np.ascontiguousarray(steps).view(np.uint8))
    others = [name for name in STEP_DTYPE.names or () if name not in FRACTIONS]
    found: dict[str, npt.NDArray[Any]] = {
        **dict(zip(single, fractions, strict=True)),
        "degradation": degradation,
    }
    for name, values in zip(others, (*classes, *rest), strict=True):
        found[name] = values.view(STEP_DTYPE[name])
    return {name: found[name] for name in STEP_DTYPE.names or ()}


def _devices(decided: Decided) -> Any:
    if decided.slots is None:
        return arrow.array(decided.devices, arrow.string()).dictionary_encode()
    slots = decided.slots
    row_of = np.full(int(slots.max()) + 1, -1)
    row_of[slots] = np.arange(len(slots))
    there = np.flatnonzero(row_of >= 0)
    names = arrow.array(decided.devices[row_of[there]], arrow.string())
    row_of[there] = np.arange(len(there))
    return arrow.DictionaryArray.from_arrays(row_of[slots].astype(np.int32), names)


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
        use_byte_stream_split=FRACTIONS,
        write_batch_size=1 << 16,
        write_statistics=["commit"],
        write_page_checksum=True,
        store_schema=False,  # so that names are read as plain texts
    )
    until = float(np.nanmax(times)) if np.isfinite(times).any() else None
    return bytes(memoryview(sink.getvalue())), until


def decided_of(
    content: bytes, params: Mapping[str, Params], first: int, where: str
) -> Iterator[tuple[int, list[Decided]]]:
    """Yield the commits in bytes of either kind, from one on, each with its decisions by version."""
    commits: dict[int, list[Decided]] = {}
    with named_damage(where):
        if content[:4] == b"PAR1":
            _refuse_large(parquet.read_metadata(arrow.py_buffer(content)))
            table = parquet.read_table(arrow.py_buffer(content), page_checksum_verification=True)
        else:
            table = from_bytes(content)
        table.validate(full=True)
        numbers, versions = (_values(table[name]) for name in ("commit", "version"))
        changes = (numbers[1:] != numbers[:-1]) | (versions[1:] != versions[:-1])
        for begin, end in pairwise([0, *(np.flatnonzero(changes) + 1).tolist(), len(numbers)]):
            if numbers[begin] >= first:
                rows, version = table.slice(begin, end - begin), versions[begin]
                part = _decided(rows, version, params.get(version))
                commits.setdefault(int(numbers[begin]), []).append(part)
    yield from commits.items()


def _refuse_large(metadata: Any) -> None:
    """Refuse what has more values than a file may unpack to: equal ones take next to nothing."""
    groups = (metadata.row_group(group) for group in range(metadata.num_row_groups))
    values = sum(group.column(place).num_values for group in groups for place in range(group.num_columns))
    limits = limits_given()
    if 8 * values > limits.file:
        raise InputError("limit", f"has {values:,} values, {limits.beyond('file', 8 * values)}")


@contextmanager
def named_damage(what: str) -> Iterator[None]:
    """Say in one line that something is damaged, whatever its decoder runs into."""
    try:
        yield
    except (MemoryError, OSError):
        raise
    except InputError as error:
        raise placed(error, what) from None
    except Exception as error:
        raise InputError("damaged", f"{what} is damaged: {one_line(repr(error), 100)}") from None


def _values(column: Any) -> npt.NDArray[Any]:
    if arrow.types.is_dictionary(column.type):
        column = column.cast(arrow.string())
    if not arrow.types.is_list(column.type):
        return np.asarray(column.to_numpy())
    return np.asarray(column.combine_chunks().flatten()).reshape(len(column), -1)


def _decided(table: Any, version: str, params: Params | None) -> Decided:
    steps = np.zeros(table.num_rows, dtype=STEP_DTYPE)
    for name in STEP_DTYPE.names or ():
        if name not in SEEN or name in table.column_names:
            steps[name] = _values(table[name])
    if "action" not in table.column_names:  # of version 0.3, whose monitors saw no input
        steps["action"], steps["moved"] = actions_of(steps), NOT_MOVED
    devices, boots, seqs, times = (_values(table[name]) for name in ("device", "boot", "seq", "time"))
    kept: dict[str, Any] = {}
    for field, name in OPTIONAL.items():
        if name in table.column_names and (name == "label" or not table[name].null_count):
            kept[field] = _values(table[name].fill_null(-1) if name == "label" else table[name])
    class_steps = Steps.of(steps, *(() if params is None else (params.names, params.sight)))
    return Decided(version, devices, boots, seqs, times.astype(np.float64), class_steps, **kept)
