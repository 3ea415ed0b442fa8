"""Events from files and standard input: positions, restarts, growing folders, bad rows."""

from __future__ import annotations

import errno
import io
import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet_stand_in import StandInFleet, places

from tcuq_watch.fleet.run import run
from tcuq_watch.sources.event_lines import StandardInput
from tcuq_watch.sources.files import FileSource

arrow = pytest.importorskip("pyarrow", reason="pyarrow is missing (extra tables)")
parquet = pytest.importorskip("pyarrow.parquet")


def row(device: str, seq: int, **more: Any) -> dict[str, Any]:
    return {"device": device, "seq": seq, "probs": [0.25, 0.75], **more}


def lines(rows: list[Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in rows)


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


def all_of(source: Any, position: Any = None, count: int = 5) -> list[Any]:
    return [each for each in source.batches(position, count, 0.05) if each is not None]


def names(arrived: list[Any]) -> list[tuple[str, int]]:
    return [
        (device, seq)
        for each in arrived
        for part in each.parts
        for events in part.events
        for device, seq in zip(events.devices.tolist(), events.seqs.tolist(), strict=True)
    ]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_every_position_resumes_without_loss_or_repeat(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        if kind == "jsonl":
            rows = [row(f"d{seq % 3}", seq) for seq in range(number * 20, number * 20 + 20)]
            (folder / f"{number}.jsonl").write_text(lines(rows))
        else:
            table(folder / f"{number}.parquet", 20, number * 20)
    whole = all_of(FileSource(folder))
    expected = [(f"d{seq % 3}", seq) for seq in range(60)]
    assert names(whole) == expected
    assert len(whole) >= 3
    for place, arrived in enumerate(whole):
        # As JSON, since that is how a commit keeps it.
        position = json.loads(json.dumps(arrived.position))
        assert names(whole[: place + 1]) + names(all_of(FileSource(folder), position)) == expected


def test_formats_give_the_same_events(tmp_path: Path) -> None:
    rows = [row("a", 0, boot=2, time=5.5, version="v1"), row("b", 3, boot=0, time=6.0, version="v2")]
    (tmp_path / "e.jsonl").write_text(lines(rows))
    columns = {
        key: [each[key] for each in rows] for key in ("device", "seq", "boot", "time", "version", "probs")
    }
    columns["time"] = arrow.array(columns["time"])
    parquet.write_table(arrow.table(columns), tmp_path / "e.parquet")
    found = [
        [
            (
                e.version,
                e.devices.tolist(),
                e.boots.tolist(),
                e.seqs.tolist(),
                e.times.tolist(),
                e.probs.tolist(),
            )
            for e in all_of(FileSource(tmp_path / name))[0].parts[0].events
        ]
        for name in ("e.jsonl", "e.parquet")
    ]
    assert found[0] == found[1]
    assert found[0][0] == ("v1", ["a"], [2], [0], [5.5], [[0.25, 0.75]])


def test_integers_are_int8_and_one_hot_rows_float_whatever_the_batch(tmp_path: Path) -> None:
    probs = [[0, 1], [-128, 127], [1, 0], [90, -90]]
    rows = [{"device": "a", "seq": seq, "probs": each} for seq, each in enumerate(probs)]
    (tmp_path / "i.jsonl").write_text(lines(rows))
    columns = {"device": ["a"] * 4, "seq": range(4), "probs": arrow.array(probs, arrow.list_(arrow.int64()))}
    parquet.write_table(arrow.table(columns), tmp_path / "i.parquet")
    for name in ("i.jsonl", "i.parquet"):
        for count in (1, 2, 100):
            events = [e for a in all_of(FileSource(tmp_path / name), None, count) for e in a.parts[0].events]
            kinds = [str(e.probs.dtype) for e in events for _ in range(len(e))]
            assert kinds == ["float64", "int8", "float64", "int8"], (name, count)
            assert [p for e in events for p in e.probs.tolist()] == probs


BAD = [
    ("not JSON", "{"),
    ("not JSON", b"\xff\xfe"),
    ("not a step", "17"),
    ("device name", '{"seq": 0, "probs": [1.0, 0.0]}'),
    ("device name", '{"device": "", "seq": 0, "probs": [1.0, 0.0]}'),
    ("device name", json.dumps({"device": "x" * 129, "seq": 0, "probs": [1.0, 0.0]})),
    ("device name", '{"device": "\\ud800", "seq": 0, "probs": [1.0, 0.0]}'),
    ("device name", '{"device": "a\\u001b[2J", "seq": 0, "probs": [1.0, 0.0]}'),
    ("seq", '{"device": "a", "probs": [1.0, 0.0]}'),
    ("seq", '{"device": "a", "seq": 1.5, "probs": [1.0, 0.0]}'),
    ("seq", '{"device": "a", "seq": true, "probs": [1.0, 0.0]}'),
    ("seq", '{"device": "a", "seq": 9223372036854775808, "probs": [1.0, 0.0]}'),
    ("boot", '{"device": "a", "seq": 0, "boot": "1", "probs": [1.0, 0.0]}'),
    ("probs", '{"device": "a", "seq": 0}'),
    ("probs", '{"device": "a", "seq": 0, "probs": []}'),
    ("probs", '{"device": "a", "seq": 0, "probs": [[1.0]]}'),
    ("probs", '{"device": "a", "seq": 0, "probs": [1' + "0" * 400 + ", 0.5]}"),
    ("features", '{"device": "a", "seq": 0, "probs": [1.0, 0.0], "features": "f"}'),
    ("version", '{"device": "a", "seq": 0, "probs": [1.0, 0.0], "version": 1}'),
    ("state", '{"device": "a", "seq": 0, "state": "%"}'),
]


@pytest.mark.parametrize(("kind", "line"), BAD)
def test_a_bad_line_is_counted_and_the_rest_is_kept(tmp_path: Path, kind: str, line: str | bytes) -> None:
    content = line if isinstance(line, bytes) else line.encode()
    (tmp_path / "e.jsonl").write_bytes(
        lines([row("a", 0)]).encode() + content + b"\n\n" + lines([row("a", 1)]).encode()
    )
    source = FileSource(tmp_path / "e.jsonl")
    arrived = all_of(source)
    assert names(arrived) == [("a", 0), ("a", 1)]
    assert source.bad.counts == {kind: 1}
    assert "e.jsonl, byte" in source.bad.first[kind]
    assert {k: n for each in arrived for k, n in each.refused.items()} == {kind: 1}


def test_deep_and_endless_lines_are_counted(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text("[" * 100_000 + "\n" + " " * 3_000_000 + "\n" + lines([row("a", 1)]))
    source = FileSource(tmp_path / "e.jsonl")
    assert names(all_of(source)) == [("a", 1)]
    assert source.bad.counts == {"not JSON": 1, "long line": 1}


def test_bad_rows_of_a_table_are_counted(tmp_path: Path) -> None:
    columns = {
        "device": arrow.array(["a", None, "b\n", "d", "e", "f"]),
        "seq": arrow.array([0, 1, 2, None, 4, 5]),
        "probs": arrow.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5], None, [0.2, 0.3, 0.5]]),
    }
    parquet.write_table(arrow.table(columns), tmp_path / "e.parquet")
    source = FileSource(tmp_path / "e.parquet")
    arrived = all_of(source)
    assert names(arrived) == [("a", 0), ("f", 5)]
    assert [len(e.probs[0]) for e in arrived[0].parts[0].events] == [2, 3]
    assert source.bad.counts == {"device name": 2, "seq": 1, "probs": 1}


def test_damaged_files_are_counted_and_the_others_read(tmp_path: Path) -> None:
    (tmp_path / "0.parquet").write_bytes(b"PAR1 no such thing PAR1")
    parquet.write_table(arrow.table({"device": ["a"], "p0": [1.0]}), tmp_path / "1.parquet")
    table(tmp_path / "2.parquet", 3)
    content = bytearray((tmp_path / "2.parquet").read_bytes())
    content[10:40] = b"\xff" * 30
    (tmp_path / "3.parquet").write_bytes(content)
    (tmp_path / "4.txt").write_text("not read")
    (tmp_path / "_5.parquet").write_bytes(b"being written")
    source = FileSource(tmp_path)
    assert names(all_of(source))[:3] == [("d0", 0), ("d1", 1), ("d2", 2)]
    assert set(source.bad.counts) == {"unreadable file"}
    assert "0.parquet: is not a Parquet file" in source.bad.first["unreadable file"]


def following(source: FileSource, position: Any = None) -> tuple[list[Any], threading.Thread]:
    got: list[Any] = []

    def read() -> None:
        for each in source.batches(position, 1000, 0.05):
            if each is not None:
                got.append(each)

    thread = threading.Thread(target=read)
    thread.start()
    return got, thread


def until(what: Any, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_growing_file_is_followed_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text(lines([row("a", 0)])[:-10])
    source = FileSource(path, follow=True)
    got, thread = following(source)
    try:
        time.sleep(0.3)
        assert not names(got)  # half a line is none
        path.write_text(lines([row("a", 0), row("a", 1)]))
        until(lambda: len(names(got)) == 2)
        path.write_text("")  # cut off, as log rotation does
        time.sleep(0.5)
        path.write_text(lines([row("a", 2)]))
        until(lambda: len(names(got)) == 3)
    finally:
        source.stop()
        thread.join()
    assert names(got) == [("a", 0), ("a", 1), ("a", 2)]
    assert source.bad.counts == {"file cut short": 1}


def test_a_growing_folder_is_followed_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text(lines([row("a", 0)]))
    source = FileSource(tmp_path, follow=True)
    got, thread = following(source)
    try:
        until(lambda: len(names(got)) == 1)
        with (tmp_path / "1.jsonl").open("a") as file:
            file.write(lines([row("a", 1)]) + '{"device": "a", "se')
        until(lambda: len(names(got)) == 2)
        table(tmp_path / ".3.parquet", 3, first=100)
        (tmp_path / ".3.parquet").rename(tmp_path / "3.parquet")
        until(lambda: len(names(got)) == 5)
        (tmp_path / "2.jsonl").write_text(lines([row("a", 2)]))
        until(lambda: "late file" in source.bad.counts)
    finally:
        source.stop()
        thread.join()
    assert names(got) == [("a", 0), ("a", 1), ("d1", 100), ("d2", 101), ("d0", 102)]
    assert source.bad.counts == {"not JSON": 1, "late file": 1}


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_standard_input(size: int) -> None:
    content = lines([row("a", seq) for seq in range(20)]).encode() + b'{"device"'

    class Slow(io.BytesIO):
        def read1(self, most: int | None = -1) -> bytes:
            return super().read1(size)

    source = StandardInput(Slow(content))
    assert names(all_of(source)) == [("a", seq) for seq in range(20)]
    assert source.bad.counts == {"not JSON": 1}


def test_pump_hands_states_over_and_survives_bad_ones(tmp_path: Path) -> None:
    content = [
        row("a", 0),
        {"device": "a", "seq": 0, "state": "YmFk"},
        {"device": "b", "seq": 9, "state": "b2s="},
    ]
    (tmp_path / "e.jsonl").write_text(lines([*content, row("a", 1)]) + "{\n")
    fleet = StandInFleet(tmp_path / "fleet")
    done = run(fleet, FileSource(tmp_path / "e.jsonl"))
    assert (done.events, done.states, done.commits, done.refused) == (2, 1, 1, {"not JSON": 1})
    assert done.turned_down == {"bad state": 1}
    assert places(fleet) == [("a", 0, 0), ("a", 0, 1)]
    assert fleet.states["b"][:3] == (0, 9, b"ok") and fleet.states["b"][3] == 1
    assert fleet.refused == {"bad state": 1, "not JSON": 1}
    assert fleet.position["at"] == (tmp_path / "e.jsonl").stat().st_size


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_an_error_of_the_disk_stops_a_run_and_moves_nothing(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / f"e.{kind}"
    if kind == "jsonl":
        path.write_text(lines([row(f"d{seq % 3}", seq) for seq in range(9)]))
    else:
        table(path, 9)
    fleet = StandInFleet(tmp_path / "fleet")
    target = "add_batch" if kind == "parquet" else "EventLines.read"
    module = "event_tables" if kind == "parquet" else "event_lines"
    with monkeypatch.context() as patch:
        patch.setattr(f"tcuq_watch.sources.{module}.{target}", broken)
        for where in (path, tmp_path):
            with pytest.raises(OSError, match=rf"Input/output error: .*e\.{kind}"):
                run(fleet, FileSource(where))
    assert fleet.position is None and not fleet.refused
    assert run(fleet, FileSource(path)).events == 9


@pytest.mark.parametrize("binary", [False, True])
def test_a_name_that_is_not_utf8_costs_its_row(tmp_path: Path, binary: bool) -> None:
    content = arrow.array([b"a", b"\xff\xfe", b"c"], arrow.binary())
    if not binary:
        content = arrow.Array.from_buffers(arrow.string(), 3, content.buffers())
    table(tmp_path / "e.parquet", 3, device=content)
    source = FileSource(tmp_path / "e.parquet")
    assert names(all_of(source)) == [("a", 0), ("c", 2)]
    assert source.bad.counts == {"device name": 1}


def test_a_file_that_came_too_late_between_two_runs_is_told_once(tmp_path: Path) -> None:
    for name in ("1", "3"):
        (tmp_path / f"{name}.jsonl").write_text(lines([row(name, 0)]))
    position = json.loads(json.dumps(all_of(FileSource(tmp_path))[-1].position))
    (tmp_path / "1.jsonl").unlink()  # as many files as before
    (tmp_path / "2.jsonl").write_text(lines([row("2", 0)]))
    source = FileSource(tmp_path)
    arrived = all_of(source, position)
    assert not names(arrived) and source.bad.counts == {"late file": 1}
    assert "2.jsonl: sorts before 3.jsonl" in source.bad.first["late file"]
    again = FileSource(tmp_path)
    assert not all_of(again, arrived[-1].position) and not again.bad.counts


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_another_file_of_the_same_name_is_read_from_its_beginning(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"e.{kind}"

    def fill(first: int, count: int) -> None:
        if kind == "jsonl":
            path.write_text(lines([row("a", seq) for seq in range(first, first + count)]))
        else:
            table(path, count, first)

    fill(100, 9)
    [arrived] = all_of(FileSource(path), count=100)
    position = json.loads(json.dumps(arrived.position))
    source = FileSource(path)
    assert not all_of(source, position) and not source.bad.counts
    fill(200, 20)
    source = FileSource(path)
    arrived = all_of(source, position, count=100)
    assert [seq for _, seq in names(arrived)] == list(range(200, 220))
    assert source.bad.counts == {"file replaced": 1}
    again = FileSource(path)
    assert not all_of(again, arrived[-1].position) and not again.bad.counts
