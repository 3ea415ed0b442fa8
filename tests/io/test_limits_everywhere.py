# SPDX-License-Identifier: MIT
"""Every limit of docs/LIMITS.md: what is just allowed is read, what is beyond is refused in one line."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from places import ROOT

from tcuq import Monitor, Params
from tcuq.base.limits import limits_given
from tcuq.cli import main
from tcuq.export.projection import load_projection
from tcuq.io import Limits, read_decisions, read_log
from tcuq.recording.data import open_data
from tcuq.recording.folders import Asked
from tcuq.recording.run import read_names
from tcuq_device.cost.stored import load as load_figures
from tcuq_device.graph.storage import load_graph
from tcuq_device.tflite.importing import import_model
from tcuq_watch.fleet import Fleet
from tcuq_watch.fleet.arrivals import Bad, Gathering
from tcuq_watch.fleet.event_lines import StandardInput
from tcuq_watch.fleet.events import Events
from tcuq_watch.fleet.sources import FileSource
from tcuq_watch.live.folder import Folder
from tcuq_watch.live.marks import labeled_log
from tcuq_watch.live.reading import Reading

PARAMS = Params(classes=2, warmup=0)
MODEL = ROOT / "device" / "tests" / "data" / "dense.tflite"
SAID = re.compile(r"expected at most [0-9,]+ \w+; to allow more, set TCUQ_LIMITS=(\w+)=[0-9]+[KMGT]?\b")


def refusal(read: Callable[[], Any]) -> str:
    with pytest.raises(ValueError) as caught:
        read()
    assert type(caught.value).__module__ in ("builtins", "tcuq.recording.pictures")
    return str(caught.value)


def says(text: str, name: str, figure: str = "") -> None:
    """Check the form of a refusal: the figure, the limit, how to raise it, in one line."""
    found = SAID.search(text)
    assert found is not None and found[1] == name and text.isprintable() and figure in text, text


def test_limits_from_a_text() -> None:
    assert Limits.of("") == Limits() and Limits.of("line=2K,file=3").line == 2048
    for text in (
        "line",
        "line=",
        "line=1.5G",
        "lines=3",
        "line=-1",
        "line=1P",
        "line=9" + "9" * 30,
        "\x1b=1",
    ):
        assert "TCUQ_LIMITS has" in refusal(lambda text=text: Limits.of(text))  # type: ignore[misc]
    for wrong in (0, -1, True, 1.5, 2**63):
        assert "limit line is" in refusal(lambda wrong=wrong: Limits(line=wrong))  # type: ignore[misc]
    assert "limit nesting is 7" in refusal(lambda: Limits(nesting=7))


def test_what_is_passed_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCUQ_LIMITS", "line=77")
    assert limits_given().line == 77 and limits_given(Limits()).line == 1 << 20
    monkeypatch.setenv("TCUQ_LIMITS", "all=77")
    assert "TCUQ_LIMITS has 'all=77'" in refusal(limits_given)


def test_every_limit_is_in_the_table() -> None:
    text = (ROOT / "docs" / "LIMITS.md").read_text(encoding="utf-8")
    for each in dataclasses.fields(Limits):
        assert re.search(rf"\| `{each.name}` \|", text), each.name


def test_the_command_refuses_in_one_line_and_status_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    PARAMS.save("m.json")
    Path("a.jsonl").write_text('{"probs": [0.5, 0.5]}\n' * 5)
    monkeypatch.setenv("TCUQ_LIMITS", "file=50")
    assert main(["run", "m.json", "a.jsonl"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.startswith(
        "tcuq: a.jsonl: has 110 bytes, expected at most 50 bytes; "
    )
    monkeypatch.setenv("TCUQ_LIMITS", "fil=50")
    assert main(["run", "m.json", "a.jsonl"]) == 2
    assert capsys.readouterr().err.startswith("tcuq: TCUQ_LIMITS has 'fil=50', expected NAME=NUMBER")


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
    rows = Gathering(Bad(), "stdin")
    rows.add_line(b'{"device": "a", "seq": 0, "probs": ' + b"[" * 100 + b"]" * 100 + b"}", "line 1")
    says(rows.bad.first["not JSON"], "nesting")


def test_brackets_in_texts_do_not_nest() -> None:
    assert Params.from_json(PARAMS.to_json()) == PARAMS
    noted = dataclasses.replace(PARAMS, notes={"a": '[[{\\"' * 100, "b": "[" * 500})
    assert Params.from_json(noted.to_json()) == noted


def test_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters, states, sessions, heads of fleets, figures, names: refused before they are read."""
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
    readers: tuple[Callable[[], Any], ...] = (
        lambda: Params.load(huge),
        lambda: Monitor(PARAMS).load(huge),
        lambda: load_figures(huge),
        lambda: read_names(str(huge)),
    )
    for read in readers:
        says(refusal(read), "document", "has 1,099,511,627,776 bytes")
    for name in ("session.json", "HEAD"):
        place = tmp_path / name.lower()
        place.mkdir()
        os.link(huge, place / name)
        open_it = (lambda p: Folder(p, PARAMS)) if name != "HEAD" else Fleet.open_read
        says(refusal(lambda place=place, open_it=open_it: open_it(place)), "document")  # type: ignore[misc]


def test_models_graphs_and_projections(tmp_path: Path) -> None:
    size = MODEL.stat().st_size
    assert import_model(MODEL, limits=Limits(model=size)).graph is not None
    says(refusal(lambda: import_model(MODEL, limits=Limits(model=size - 1))), "model", f"has {size:,} bytes")
    path = tmp_path / "g.npz"
    np.savez_compressed(path, header=np.zeros(1 << 20, np.uint8))
    says(refusal(lambda: load_graph(path, Limits(model=1 << 19))), "model", "take 1,048,576 bytes")
    huge = tmp_path / "huge.npz"
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    says(refusal(lambda: load_graph(huge)), "model", "has 1,099,511,627,776 bytes")
    says(refusal(lambda: load_projection(huge, PARAMS)), "model")
    says(refusal(lambda: open_data(huge, None, Asked())), "inputs")


def test_a_live_stream_without_line_ends_stays_small() -> None:
    reading = Reading(PARAMS, limits=Limits(live_line=1000))
    tracemalloc.start()
    for _ in range(300):
        assert not reading.push(b"x" * 4096, 0.0)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert reading.held <= 1000 and most < 200_000 and reading.broken == 1
    says(reading.why, "live_line")
    assert len(reading.push(b'\n{"probs": [0.5, 0.5]}\n', 0.0)) == 1


def test_events_of_a_fleet(tmp_path: Path) -> None:
    good = b'{"device": "a", "seq": 0, "probs": [0.5, 0.5]}\n'
    path = tmp_path / "e.jsonl"
    path.write_bytes(b"[" * 3_000_000 + b"\n" + good)
    source = FileSource(path)
    [arrived] = [each for each in source.batches(None, 10, 1.0) if each is not None]
    assert arrived.count == 1 and arrived.refused == {"long line": 1}
    says(source.bad.first["long line"], "line", "has 3,000,001 bytes")
    pipe = StandardInput(io.BytesIO(b"[" * 2000 + b"\n" + good), Limits(line=1000))
    [arrived] = [each for each in pipe.batches(None, 10, 1.0) if each is not None]
    assert arrived.count == 1
    says(pipe.bad.first["long line"], "line")


def test_messages_of_a_broker(tmp_path: Path) -> None:
    pytest.importorskip("paho.mqtt", reason="paho-mqtt is not installed")
    from tcuq_watch.fleet.mqtt import MqttSource
    from tcuq_watch.fleet.mqtt_client import Address

    limits = Limits(message=100, waiting=250)
    source = MqttSource(Address.of("mqtt://localhost/a/+"), tmp_path, limits)

    def arrives(size: int, qos: int) -> None:
        source._arrived(None, None, SimpleNamespace(payload=b"{" * size, qos=qos, mid=1, topic="a/d"))

    arrives(101, 0)
    assert source._messages.qsize() == 0
    says(source.bad.first["large message"], "message", "has 101 bytes")
    arrives(101, 1)  # is acknowledged with its commit, so that it does not come again
    assert source._messages.qsize() == 1 and source._messages.get().payload == b""
    for _ in range(5):
        arrives(100, 0)
    assert source.bad.counts == {"large message": 2, "too fast": 2} and source._messages.qsize() == 3


def test_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    from tcuq.recording.pictures import picture_reader

    path = tmp_path / "a.png"
    image.new("L", (30, 20)).save(path)
    read = picture_reader((8, 8, 1), "folder")
    assert read(path).shape == (8, 8, 1)
    monkeypatch.setenv("TCUQ_LIMITS", "pixels=599")
    says(refusal(lambda: read(path)), "pixels", "has 600 pixels")


def test_devices_of_a_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCUQ_LIMITS", "devices=2")
    state = Monitor(PARAMS).save()
    with Fleet(PARAMS, tmp_path / "fleet") as fleet:
        fleet.take(Events(["a", "b", "c", "c", "a"], [0] * 5, [0, 0, 0, 1, 1], [[0.5, 0.5]] * 5))
        assert fleet.refused == {"too many devices": 2}
        says(refusal(lambda: fleet.adopt("d", state, 0, 3)), "devices", "number 3")
        fleet.adopt("a", state, 0, 3)
    with Fleet.open_read(tmp_path / "fleet") as fleet:
        assert fleet.refused["too many devices"] == 2


def test_a_line_of_a_live_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "received.jsonl").write_text('{"step": 0}' + " " * 500 + "\n")
    monkeypatch.setenv("TCUQ_LIMITS", "line=100")
    says(refusal(lambda: labeled_log(tmp_path, PARAMS)), "line", "line 1 is longer")


def test_a_fleet_unpacks_nothing(tmp_path: Path) -> None:
    from tcuq_watch.fleet.store import read_arrays

    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.zeros(10_000_000, np.uint8))
    assert "is packed" in refusal(lambda: read_arrays(path))
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (2**40,)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", header.getvalue())
    assert "takes more than the file has" in refusal(lambda: read_arrays(path))


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
