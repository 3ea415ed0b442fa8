# SPDX-License-Identifier: MIT
"""Parquet and Arrow files whose columns are of other types, widths and names than a reader expects."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Sequence
from typing import Any

from reader_mutations import any_bytes
from reader_values import NUMBERS, TEXTS


def _arrow() -> Any:
    import pyarrow  # type: ignore[import-untyped]

    return pyarrow


def _odd_column(rows: int, draw: random.Random) -> Any:
    pa = _arrow()
    texts = [text for text in (*TEXTS, *NUMBERS) if text.isprintable() or draw.random() < 0.5]
    texts = [text for text in texts if "\ud800" not in text]
    ways: list[Callable[[], Any]] = [
        lambda: pa.nulls(rows),
        lambda: pa.array([draw.choice(texts) for _ in range(rows)]),
        lambda: pa.array([draw.choice((None, 1, -1, 2**62, 0)) for _ in range(rows)], pa.int64()),
        lambda: pa.array([draw.choice((0, 255, 2**64 - 1)) for _ in range(rows)], pa.uint64()),
        lambda: pa.array([draw.choice((0.5, float("nan"), float("inf"), 1e308)) for _ in range(rows)]),
        lambda: pa.array([draw.choice((True, False, None)) for _ in range(rows)]),
        lambda: pa.array([[draw.choice((1, 2, None))] * draw.choice((0, 1, 3)) for _ in range(rows)]),
        lambda: pa.array([[0.5, 0.5] if draw.random() < 0.9 else None for _ in range(rows)]),
        lambda: pa.array([[[1.0]]] * rows),
        lambda: pa.array([{"a": 1}] * rows),
        lambda: pa.array([[0.5] * 2000] * rows),
        lambda: pa.array([[]] * rows, pa.list_(pa.float64())),
        lambda: pa.array([b"\xff\xfe"] * rows, pa.binary()),
        lambda: pa.array(["a"] * rows).dictionary_encode(),
        lambda: pa.array([2**40] * rows, pa.timestamp(draw.choice(("s", "ms", "ns")))),
        lambda: pa.array([-(2**31)] * rows, pa.date32()),
        lambda: pa.array([0] * rows, pa.duration("s")),
        lambda: pa.array([1] * rows, pa.decimal128(30, 2)),
        lambda: pa.FixedSizeListArray.from_arrays(pa.array([0.5] * (rows * 2)), 2),
        lambda: (
            pa.FixedSizeListArray.from_arrays(pa.array([], pa.float64()), 0) if not rows else pa.nulls(rows)
        ),
        lambda: pa.array([[0.5, None]] * rows, pa.large_list(pa.float32())),
        lambda: pa.array([["a", "b"]] * rows),
        lambda: pa.array([draw.choice((-128, 127)) for _ in range(rows)], pa.int8()),
        lambda: pa.array([0.5] * rows, pa.float16()) if hasattr(pa, "float16") else pa.nulls(rows),
    ]
    return draw.choice(ways)()


def table_file(kind: str) -> Callable[[bytes, random.Random, Sequence[bytes]], bytes]:
    """Return what damages a file of a kind: its columns mostly, or its bytes."""

    def changed(content: bytes, draw: random.Random, others: Sequence[bytes]) -> bytes:
        if draw.random() < 0.45:
            return any_bytes(content, draw, others)
        pa = _arrow()
        # Of seeds alone, which a pool begins with: the package ends the process on some damaged files when it
        # is asked for more than a reader asks.
        content = draw.choice(others[:2]) if others else content
        try:
            table = _read(content, kind)
            rows = table.num_rows
            for _ in range(draw.choice((1, 1, 2))):
                place = draw.randrange(table.num_columns)
                name = table.column_names[place]
                way = draw.random()
                if way < 0.6:
                    table = table.set_column(place, name, _odd_column(rows, draw))
                elif way < 0.7 and table.num_columns > 1:
                    table = table.remove_column(place)
                elif way < 0.8:
                    new = draw.choice((name, "probs", "p0", "label", "x\x1b[2J", "", "time", "state"))
                    table = table.append_column(new, _odd_column(rows, draw))
                elif way < 0.9:
                    table = table.replace_schema_metadata(
                        {
                            "tcuq": draw.choice(
                                (b"{", b"[]", b'{"names": 3}', b'{"names": ["a"]}', b"[" * 9999)
                            )
                        }
                    )
                else:
                    table = table.slice(0, draw.choice((0, 1)))
                    rows = table.num_rows
            content = _written(table, kind, draw)
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
        return any_bytes(content, draw, others) if draw.random() < 0.2 else content

    return changed


def _read(content: bytes, kind: str) -> Any:
    pa = _arrow()
    if kind == "parquet":
        import pyarrow.parquet as parquet  # type: ignore[import-untyped]

        return parquet.read_table(pa.BufferReader(content), use_threads=False)
    return pa.ipc.open_file(content).read_all()


def _written(table: Any, kind: str, draw: random.Random) -> bytes:
    pa = _arrow()
    if kind == "parquet":
        import pyarrow.parquet as parquet

        file = io.BytesIO()
        packing = draw.choice(("snappy", "none", "zstd", "gzip"))
        parquet.write_table(table, file, compression=packing, row_group_size=draw.choice((1, 5, 1000)))
        return file.getvalue()
    sink = pa.BufferOutputStream()
    opened = pa.ipc.new_stream if draw.random() < 0.3 else pa.ipc.new_file
    with opened(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(memoryview(sink.getvalue()))
