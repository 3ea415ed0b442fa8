# SPDX-License-Identifier: MIT
"""Every limit of docs/reference/formats.md: what is just allowed is read, what is beyond is refused."""

from __future__ import annotations

import json
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from limit_checks import refusal, says

from tcuq import Monitor, Params
from tcuq.base.limits import limits_given
from tcuq.export.projection import load_projection
from tcuq.io import Limits, read_decisions, read_log
from tcuq.recording.data import open_data
from tcuq.recording.run import read_names

PARAMS = Params(classes=2, warmup=0)


def test_limits_from_a_text() -> None:
    assert Limits.of("") == Limits() and Limits.of("line=2K,file=3").line == 2048
    for text in ("line", "line=", "line=1.5G", "lines=3", "line=-1", "line=1P", "line=9" + "9" * 30):
        assert "TCUQ_LIMITS has" in refusal(lambda text=text: Limits.of(text))  # type: ignore[misc]
    for wrong in (0, -1, True, 1.5, 2**63):
        assert "limit line is" in refusal(lambda wrong=wrong: Limits(line=wrong))  # type: ignore[misc]
    assert "limit nesting is 7" in refusal(lambda: Limits(nesting=7))


def test_what_is_passed_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCUQ_LIMITS", "line=77")
    assert limits_given().line == 77 and limits_given(Limits()).line == 1 << 20
    monkeypatch.setenv("TCUQ_LIMITS", "all=77")
    assert "TCUQ_LIMITS has 'all=77'" in refusal(limits_given)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_text_logs_and_decisions(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    head = "p0,p1\n" if kind == "csv" else ""
    row = "0.5,0.5\n" if kind == "csv" else '{"probs": [0.5, 0.5]}\n'
    path.write_text(head + row * 10)
    size = path.stat().st_size
    assert len(read_log(path, limits=Limits(line=len(row), file=size))) == 10
    says(refusal(lambda: read_log(path, limits=Limits(file=size - 1))), "file", f"has {size} bytes")
    says(refusal(lambda: read_decisions(path, limits=Limits(file=size - 1))), "file", f"has {size} bytes")
    path.write_text(head + row * 2 + row.strip() + " " * 300 + "\n")
    says(refusal(lambda: read_log(path, limits=Limits(line=100))), "line", f"line {3 + bool(head)}: ")


def test_a_pipe_that_never_ends_is_refused_at_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless:
        def readline(self, most: int) -> bytes:
            return b'{"probs": [0.5, 0.5]}\n'

        def read(self, most: int) -> bytes:
            return bytes(most)

    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Endless()))
    says(refusal(lambda: read_log("-", "jsonl", limits=Limits(file=10_000))), "file")
    says(refusal(lambda: read_log("-", "npz", limits=Limits(file=10_000))), "file")
    zero = Path("/dev/zero")
    if zero.exists():
        for kind in ("csv", "jsonl", "npz"):
            says(refusal(lambda kind=kind: read_log(zero, kind, limits=Limits(file=5 << 20))), "file")  # type: ignore[misc]
        says(refusal(lambda: Params.load(zero)), "document", "has more bytes")


def test_columns_and_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",".join(["p0", "p1", *(f"x{at}" for at in range(100))]) + "\n")
    says(refusal(lambda: read_log(path, limits=Limits(fields=101))), "fields", "has 102 columns")
    file = tmp_path / "a.npz"
    np.savez(file, probs=np.full((2, 2), 0.5), labels=np.zeros(2, int))
    assert len(read_log(file, limits=Limits(fields=2))) == 2
    says(refusal(lambda: read_log(file, limits=Limits(fields=1))), "fields", "an archive of 2 files")
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"p0": [0.5], "p1": [0.5], "more": [1]}), table)
    says(refusal(lambda: read_log(table, limits=Limits(fields=2))), "fields", "has 3 columns")


def test_a_directory_of_many_empty_files_is_not_taken_in(tmp_path: Path) -> None:
    """Each entry has some fifty bytes in the file, and would have ten times that in memory."""
    entry = (
        struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)
        + b"a"
    )
    count = 40_000
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, len(entry) * count, 0, 0)
    path = tmp_path / "a.npz"
    path.write_bytes(entry * count + end)
    tracemalloc.start()
    says(refusal(lambda: read_log(path)), "fields", "an archive of 40,000 files")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 4 * path.stat().st_size


def test_nesting(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"probs": [0.5, 0.5], "x": ' + "[" * 62 + "]" * 62 + "}\n")
    with pytest.warns(UserWarning, match="'x' is not used"):
        assert len(read_log(path)) == 1
    says(refusal(lambda: read_log(path, limits=Limits(nesting=62))), "nesting", "63 levels")
    params = tmp_path / "m.json"
    content = {**PARAMS.to_dict(), "notes": json.loads("[" * 80 + "]" * 80)}
    params.write_text(json.dumps(content))
    says(refusal(lambda: Params.load(params)), "nesting", "81 levels")
    assert "notes" in refusal(lambda: Params.load(params, limits=Limits(nesting=100)))


def test_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters, states, names, projections, inputs: refused before they are read."""
    path = tmp_path / "m.json"
    PARAMS.save(path)
    size = path.stat().st_size
    assert Params.load(path, limits=Limits(document=size)) == PARAMS
    says(
        refusal(lambda: Params.load(path, limits=Limits(document=size - 1))),
        "document",
        f"has {size:,} bytes",
    )
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(1 << 40)  # no disk has it: nothing of it may be read
    readers: tuple[Callable[[Any], Any], ...] = (Params.load, Monitor(PARAMS).load, read_names)
    for read in readers:
        says(refusal(lambda read=read: read(str(huge))), "document", "has 1,099,511,627,776 bytes")  # type: ignore[misc]
    says(refusal(lambda: load_projection(huge, PARAMS)), "model")
    huge = huge.rename(tmp_path / "huge.npz")
    says(refusal(lambda: open_data(huge, None)), "inputs")


def test_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    from tcuq.recording.data import picture_reader

    path = tmp_path / "a.png"
    image.new("L", (30, 20)).save(path)
    read = picture_reader((8, 8, 1), "folder")
    assert read(path).shape == (8, 8, 1)
    monkeypatch.setenv("TCUQ_LIMITS", "pixels=599")
    says(refusal(lambda: read(path)), "pixels", "has 600 pixels")


def test_a_page_of_zeros_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    from tcuq.io.tables import TableFile

    path = tmp_path / "a.parquet"
    columns = {"p0": np.ones(100_000), "p1": np.zeros(100_000)}
    parquet.write_table(pyarrow.table(columns), path, compression="zstd", use_dictionary=False)
    assert len(read_log(path, limits=Limits(file=2_000_000))) == 100_000
    monkeypatch.setattr(TableFile, "_parquet", lambda *_: pytest.fail("rows are asked for"))
    says(refusal(lambda: read_log(path, limits=Limits(file=1_599_999))), "file")
