# SPDX-License-Identifier: MIT
"""Parquet and Arrow files whose columns are of other types, widths and names than a reader expects."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from reader_mutations import NUMBERS, TEXTS, Dice, Mutator, any_bytes


def _odd_column(pa: Any, rows: int, draw: Dice) -> Any:
    texts = [text for text in (*TEXTS, *NUMBERS) if text != "\ud800"]
    columns: list[tuple[list[Any], Any]] = [
        ([None], pa.null()),
        (texts, pa.string()),
        ([None, 1, -1, 2**62, 0], pa.int64()),
        ([0, 255, 2**64 - 1], pa.uint64()),
        ([-128, 127], pa.int8()),
        ([0.5, math.nan, math.inf, 1e308], pa.float64()),
        ([np.float16(0.5)], pa.float16()),
        ([True, False, None], pa.bool_()),
        ([[], [1], [2, 1, None]], pa.list_(pa.int64())),
        ([*[[0.5, 0.5]] * 9, None], pa.list_(pa.float64())),
        ([[]], pa.list_(pa.float64())),
        ([[0.5] * 2000], pa.list_(pa.float64())),
        ([[0.5, 0.5]], pa.list_(pa.float64(), 2)),
        ([[0.5, None]], pa.large_list(pa.float32())),
        ([[[1.0]]], pa.list_(pa.list_(pa.float64()))),
        ([["a", "b"]], pa.list_(pa.string())),
        ([{"a": 1}], pa.struct([("a", pa.int64())])),
        ([b"\xff\xfe"], pa.binary()),
        (["a"], pa.dictionary(pa.int32(), pa.string())),
        ([2**40], pa.timestamp(draw.choice(("s", "ms", "ns")))),
        ([-(2**31)], pa.date32()),
        ([0], pa.duration("s")),
        ([1], pa.decimal128(30, 2)),
    ]
    if not rows:
        columns.append(([], pa.list_(pa.float64(), 0)))
    values, kind = draw.choice(columns)
    return pa.array([draw.choice(values) for _ in range(rows)], kind)


def _changed(pa: Any, table: Any, draw: Dice) -> Any:
    rows, place, way = table.num_rows, draw.randrange(table.num_columns), draw.random()
    name = table.column_names[place]
    if way < 0.6:
        return table.set_column(place, name, _odd_column(pa, rows, draw))
    if way < 0.7:
        return table.remove_column(place)
    if way < 0.8:
        new = draw.choice((name, "probs", "p0", "label", "x\x1b[2J", "", "time", "state"))
        return table.append_column(new, _odd_column(pa, rows, draw))
    if way < 0.9:
        told = (b"{", b"[]", b'{"names": 3}', b'{"names": ["a"]}', b"[" * 9999)
        return table.replace_schema_metadata({"tcuq": draw.choice(told)})
    return table.slice(0, draw.choice((0, 1)))


def table_file(kind: str) -> Mutator:
    """Return what damages a file of a kind: its columns mostly, or its bytes."""

    def changed(content: bytes, draw: Dice, others: Sequence[bytes]) -> bytes:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as parquet  # type: ignore[import-untyped]

        if draw.random() < 0.45:
            return any_bytes(content, draw, others)
        # Of seeds alone, which a pool begins with: the package ends the process on some damaged files when it
        # is asked for more than a reader asks.
        source = pa.BufferReader(draw.choice(others[:2]) if others else content)
        file = io.BytesIO()
        try:
            if kind == "parquet":
                table = parquet.read_table(source, use_threads=False)
            else:
                table = pa.ipc.open_file(source).read_all()
            for _ in range(draw.choice((1, 1, 2))):
                table = _changed(pa, table, draw)
            if kind == "parquet":
                packing = draw.choice(("snappy", "none", "zstd", "gzip"))
                parquet.write_table(
                    table, file, compression=packing, row_group_size=draw.choice((1, 5, 1000))
                )
            else:
                new = pa.ipc.new_stream if draw.random() < 0.3 else pa.ipc.new_file
                with new(file, table.schema) as writer:
                    writer.write_table(table)
        except (
            ValueError,
            TypeError,
            NotImplementedError,
            OverflowError,
            KeyError,
            pa.ArrowException,
            OSError,
        ):
            return any_bytes(content, draw, others)
        content = file.getvalue()
        return any_bytes(content, draw, others) if draw.random() < 0.2 else content

    return changed
