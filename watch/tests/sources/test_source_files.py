"""Files and folders: positions, growth, rotation, what is late, damaged or another one; tables."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from source_kinds import Reading, events_of, places, taken
from source_kinds import json_lines as lines

from tcuq_watch.sources.files import FileSource

arrow = pytest.importorskip("pyarrow", reason="pyarrow is missing (extra tables)")
parquet = pytest.importorskip("pyarrow.parquet")


def row(device: str, seq: int, **more: Any) -> dict[str, Any]:
    return {"device": device, "seq": seq, "probs": [0.25, 0.75], **more}


def table(path: Path, count: int, first: int = 0, groups: int = 7, **more: Any) -> None:
    seqs = np.arange(first, first + count)
    columns = {
        "device": [f"d{seq % 3}" for seq in seqs],
        "seq": seqs,
        "p0": np.full(count, 0.25),
        "p1": np.full(count, 0.75),
        **more,
    }
    parquet.write_table(arrow.table(columns), path, row_group_size=groups)


def read(source: Any, count: int = 1000) -> list[Any]:
    return events_of(taken(source, count=count))


def test_formats_give_the_same_events(tmp_path: Path) -> None:
    rows = [
        row("a", 0, boot=2, time=5.5, version="v1", label=1),
        row("b", 3, time=6.0, version="v2", label=-1),
        row("a", 1, boot=2, time=7.0, version="v1"),
    ]
    (tmp_path / "e.jsonl").write_bytes(lines(rows))
    keys = ("device", "seq", "boot", "time", "version", "label")
    cells = [",".join(str(each.get(key, "")) for key in keys) + ",0.25,0.75" for each in rows]
    (tmp_path / "e.csv").write_text("\n".join([",".join(keys) + ",p0,p1", *cells]) + "\n")
    columns = {key: [each.get(key) for each in rows] for key in (*keys, "probs")}
    parquet.write_table(arrow.table(columns), tmp_path / "e.parquet")
    for name in ("e.jsonl", "e.csv", "e.parquet"):
        first, second = sorted(read(FileSource(tmp_path / name)), key=lambda each: str(each.version))
        assert (first.version, second.version) == ("v1", "v2"), name
        assert first.devices.tolist() == ["a", "a"] and first.boots.tolist() == [2, 2], name
        assert first.seqs.tolist() == [0, 1] and first.times.tolist() == [5.5, 7.0], name
        assert first.labels.tolist() == [1, -1] and first.begins is None, name
        assert second.boots.tolist() == [-1] and second.labels is None, name


def test_a_position_keeps_the_names(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    rows = "".join(f"a,{seq},0.25,0.75\n" for seq in range(60))
    path.write_text(f"# names: no,yes\ndevice,seq,p0,p1\n{rows}")
    first, *_ = taken(FileSource(path), count=8)
    again = taken(FileSource(path), position=json.loads(json.dumps(first.position)))
    assert again and all(one.names == ("no", "yes") for one in (first, *again))


def test_bad_rows_of_a_table_are_counted(tmp_path: Path) -> None:
    names = arrow.array([b"a", None, b"b\n", b"d", b"e", b"f", b"\xff\xfe"], arrow.binary())
    half = [0.5, 0.5]
    columns = {
        "device": arrow.Array.from_buffers(arrow.string(), 7, names.buffers()),
        "seq": arrow.array([0, 1, 2, -3, 4, 5, 6]),
        "probs": arrow.array([half, half, half, half, None, [0.2, 0.3, 0.5], half]),
    }
    parquet.write_table(arrow.table(columns), tmp_path / "e.parquet")
    source = FileSource(tmp_path / "e.parquet")
    events = read(source)
    assert [(each.devices.tolist(), each.probs.shape[1]) for each in events] == [(["a"], 2), (["f"], 3)]
    assert source.bad.counts == {"device name": 3, "seq": 1, "probs": 1}


def test_columns_of_a_table_in_every_form(tmp_path: Path) -> None:
    def table_of(**columns: Any) -> tuple[Any, Any]:
        base = {"device": ["a", "b", "c"], "seq": [0, 1, 2], **columns}
        parquet.write_table(arrow.table(base), tmp_path / "e.parquet")
        source = FileSource(tmp_path / "e.parquet")
        return read(source), source.bad.counts

    int8 = arrow.array([[-128, 127], [0, 0], [127, -128]], arrow.list_(arrow.int8(), 2))
    [only], bad = table_of(probs=int8, device=arrow.array(["a", "b", "a"]).dictionary_encode())
    assert only.probs.dtype == np.int8 and only.probs.tolist()[0] == [-128, 127] and not bad
    assert only.devices.tolist() == ["a", "b", "a"]
    ragged = arrow.array([[-128, 127], [0, 1], [-128, -128, 127]], arrow.list_(arrow.int64()))
    events, _ = table_of(probs=ragged)
    assert [part.probs.dtype.kind for part in events] == ["i", "f", "i"]  # a one-hot row is no int8
    wide = arrow.array([[1, 2], [3, 4], [500, 6]], arrow.list_(arrow.int64()))
    events, _ = table_of(probs=int8, features=wide)
    assert [part.features.dtype.kind for part in events] == ["i", "f"]
    for kind, second in ((arrow.timestamp("ms"), 86400.0), (arrow.int64(), 86.4e6)):
        [only], _ = table_of(probs=int8, time=arrow.array([0, 86_400_000, None], arrow.int64()).cast(kind))
        assert only.times.tolist()[:2] == [0.0, second] and np.isnan(only.times[2])
    assert table_of(probs=int8, boot=["x", "y", "z"]) == ([], {"boot": 3})
    for columns in ({"other": [0, 0, 0]}, {"p0": [0.5] * 3, "p2": [0.5] * 3}):
        assert table_of(**columns) == ([], {"unreadable file": 1})
    [only], _ = table_of(p=[0.5, 0.25, 1.0])  # one output of a sigmoid
    assert only.probs.tolist() == [[0.5, 0.5], [0.75, 0.25], [0.0, 1.0]]


def test_damaged_files_are_counted_and_the_others_read(tmp_path: Path) -> None:
    (tmp_path / "0.parquet").write_bytes(b"PAR1 no such thing PAR1")
    table(tmp_path / "2.parquet", 3)
    content = bytearray((tmp_path / "2.parquet").read_bytes())
    content[10:40] = b"\xff" * 30
    (tmp_path / "3.parquet").write_bytes(content)
    (tmp_path / "4.txt").write_text("not read")
    (tmp_path / "_5.parquet").write_bytes(b"being written")
    source = FileSource(tmp_path)
    assert places(taken(source))[:3] == [("d0", 0), ("d1", 1), ("d2", 2)]
    assert set(source.bad.counts) == {"unreadable file"}
    assert "3.parquet" in source.bad.last["unreadable file"]


def test_a_growing_file_that_is_cut_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "device.log"
    path.write_bytes(lines([row("a", 0)])[:-10])
    reading = Reading(FileSource(path, follow=True))
    reading.heard("connected")
    assert not places(reading.arrived)  # half a line is none
    path.write_bytes(lines([row("a", 0), row("a", 1)]))
    reading.has(2)
    os.truncate(path, 0)  # as log rotation does
    reading.heard("lost")
    path.write_bytes(lines([row("a", 2)]))
    reading.has(3)
    with path.open("ab") as old:
        path.rename(tmp_path / "device.log.1")
        old.write(lines([row("a", 3)]))  # a writer that has not noticed yet
    reading.has(4)
    path.write_bytes(lines([row("a", 4)]))
    reading.has(5)
    arrived = reading.close()
    assert places(arrived) == [("a", seq) for seq in range(5)]
    assert reading.notices().count("lost") == 2 and not reading.source.bad.counts
    position = json.loads(json.dumps(arrived[-1].position))
    reading = Reading(FileSource(path, follow=True), position)
    with path.open("ab") as file:
        file.write(lines([row("a", 5)]))
    reading.has(1)
    assert places(reading.close()) == [("a", 5)] and not reading.source.bad.counts


def test_a_growing_folder_is_followed_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_bytes(lines([row("a", 0)]))
    reading = Reading(FileSource(tmp_path, follow=True))
    reading.has(1)
    with (tmp_path / "1.jsonl").open("ab") as file:
        file.write(lines([row("a", 1)]) + b'{"device": "a", "se')
    reading.has(2)
    table(tmp_path / ".3.parquet", 3, first=100)
    (tmp_path / ".3.parquet").rename(tmp_path / "3.parquet")
    reading.has(5)
    (tmp_path / "2.jsonl").write_bytes(lines([row("a", 2)]))  # too late: it is not read
    table(tmp_path / "4.parquet", 1, first=103)
    reading.has(6)
    expected = [("a", 0), ("a", 1), ("d1", 100), ("d2", 101), ("d0", 102), ("d1", 103)]
    assert places(reading.close()) == expected and reading.source.bad.counts == {"not JSON": 1}


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_an_error_of_the_disk_ends_a_source(tmp_path: Path, kind: str, monkeypatch: Any) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / f"e.{kind}"
    if kind == "jsonl":
        path.write_bytes(lines([row(f"d{seq % 3}", seq) for seq in range(9)]))
    else:
        table(path, 9)
    target = "tables.add_batch" if kind == "parquet" else "files.ByteFile.read"
    with monkeypatch.context() as patch:
        patch.setattr(f"tcuq_watch.sources.{target}", broken)
        for where in (path, tmp_path):
            with pytest.raises(OSError, match=rf"Input/output error: .*e\.{kind}"):
                taken(FileSource(where))
    assert len(places(taken(FileSource(path)))) == 9


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_another_file_of_the_same_name_is_read_from_its_beginning(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"e.{kind}"

    def fill(first: int, count: int) -> None:
        if kind == "jsonl":
            path.write_bytes(lines([row("a", seq) for seq in range(first, first + count)]))
        else:
            table(path, count, first)

    fill(100, 9)
    [one] = taken(FileSource(path))
    position = json.loads(json.dumps(one.position))
    source = FileSource(path)
    assert not taken(source, position=position) and not source.bad.counts
    fill(200, 20)
    source = FileSource(path)
    arrived = taken(source, position=position)
    assert [seq for _, seq in places(arrived)] == list(range(200, 220))
    assert [each.kind for one in arrived for each in one.notices] == ["lost"] and not source.bad.counts
    again = FileSource(path)
    assert not taken(again, position=arrived[-1].position) and not again.bad.counts
    other = FileSource(tmp_path)
    assert len(places(taken(other, position=position))) == 20 and other.restarted
