"""Streams: garbage, unplugging and coming back, connections both ways, pipes, programs, names of sources."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from refusals import refused
from source_kinds import EXPECTED, NAME, ROWS, Plugged, Reading, columns_of, json_lines, places, taken

from tcuq_watch.engine.events import Events
from tcuq_watch.sources import IterableSource, open_source, streams
from tcuq_watch.sources.links import BAUD, Link
from tcuq_watch.sources.streams import Pipe

pytest.importorskip("serial", reason="pyserial is not installed")
posix = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are of POSIX systems")


@pytest.fixture
def port(tmp_path: Path) -> Iterator[Plugged]:
    port = Plugged(tmp_path / "ttyUSB0")
    yield port
    port.unplug()


@posix
def test_a_serial_port_with_garbage_half_lines_and_unplugging(port: Plugged) -> None:
    reading = Reading(Link("serial", str(port.path), BAUD, device=NAME))
    reading.heard("connected")
    port.send(b"\xff\xfe garbage \x80\n" + b"ESP-ROM:esp32s3\r\n" + json_lines(ROWS[:30]))
    port.send(b'{"probs": [1, "x"]}\n[1]\n{"probs": [-128,')
    reading.has(30)
    for place in (30, 60):
        port.unplug()
        reading.heard("lost", place // 30)
        port.plug()
        reading.heard("connected", place // 30 + 1)
        port.send(json_lines(ROWS[place : place + 30]))
        reading.has(place + 30)
    arrived = reading.close()
    assert columns_of(arrived) == EXPECTED[:90]
    assert reading.source.bad.counts == {"broken": 2, "not a step": 2, "probs": 1}


@posix
def test_a_port_that_is_missing_taken_or_no_port(tmp_path: Path, port: Plugged) -> None:
    (tmp_path / "plain").touch()
    for name in ("none", "plain"):
        with refused("failed"):
            Link("serial", str(tmp_path / name), BAUD).open()
    first = Link("serial", str(port.path), BAUD)
    first.open()
    with refused("failed"):
        Link("serial", str(port.path), BAUD).open()
    first.close()
    with refused("value"):
        Link("serial", str(port.path), 3)


def test_tcp_both_ways_lost_and_back(tmp_path: Path) -> None:
    listener = Link("tcp-listen", "127.0.0.1", 0, device=NAME)
    reading = Reading(listener)
    assert listener.where == f"tcp-listen://127.0.0.1:{listener.number}"
    with refused("busy"):
        Link("tcp-listen", "127.0.0.1", listener.number).open()
    for place in (0, 30):
        with socket.create_connection(("127.0.0.1", listener.number)) as device:
            device.sendall(json_lines(ROWS[place : place + 30]) + b'{"pro')
            reading.has(place + 30)
        reading.heard("lost", place // 30 + 1)
    with socket.create_connection(("127.0.0.1", listener.number)):
        reading.heard("connected", 3)
        with socket.create_connection(("127.0.0.1", listener.number)):
            reading.heard("lost", 3)  # a newer connection took its place
    assert columns_of(reading.close()) == EXPECTED[:60] and listener.bad.counts == {"broken": 2}

    with socket.create_server(("127.0.0.1", 0)) as server:
        name = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        reading = Reading(open_source(name, folder=tmp_path, device=NAME))
        server.settimeout(10)
        for place in (0, 30):
            with server.accept()[0] as device:
                device.sendall(json_lines(ROWS[place : place + 30]))
                reading.has(place + 30)
        reading.heard("lost", 2)
    assert columns_of(reading.close()) == EXPECTED[:60]
    with refused("failed"):
        open_source(name, folder=tmp_path).open()


def test_standard_input_that_is_closed_or_breaks(monkeypatch: Any) -> None:
    read, write = os.pipe()
    os.write(write, b"x")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(fileno=lambda: read))
    source, answers = open_source("-", folder=Path("unused"), device=NAME), [json_lines(ROWS[:3])]
    with monkeypatch.context() as patch:  # an empty list raises as a broken handle does
        patch.setattr(streams.os, "read", lambda *_: answers.pop() if answers else os.lseek(-1, 0, 0))
        assert columns_of(taken(source)) == EXPECTED[:3] and source.ended and source.key == "-"
    os.close(write)
    os.close(read)
    monkeypatch.setattr("sys.stdin", None)
    with refused("missing"):
        open_source("-", folder=Path("unused"))


def test_a_program_gives_dicts_lists_events_and_errors() -> None:
    def given() -> Iterator[Any]:
        yield ROWS[0]
        yield None
        yield [ROWS[1], 17]
        yield Events([NAME], [3], [2], [ROWS[2]["probs"]])
        raise KeyError("out of luck")

    source = IterableSource(given(), device=NAME)
    arrived = []
    with pytest.raises(KeyError, match="out of luck"):
        for one in source.batches(None, 1000, 1.0):
            arrived += [one]
    assert places(arrived) == [(NAME, seq) for seq in range(3)] and source.bad.counts == {"not a step": 1}
    assert arrived[0].position is None and arrived[0].batch[0].times is None
    endless = IterableSource(iter(lambda: ROWS[0], None), device=NAME)
    assert sum(one.count for one in taken(endless, 5000)) >= 5000 and not endless.ended


def test_a_source_that_is_not_taken_from_waits(monkeypatch: Any) -> None:
    monkeypatch.setattr(streams, "WAITING", 10)
    source = Pipe(0)
    source.put(b"x" * 20)
    thread = threading.Thread(target=source.put, args=(b"x",), daemon=True)
    thread.start()
    thread.join(0.1)
    assert thread.is_alive() and source._take_some(1, 0)
    thread.join(5)
    assert not thread.is_alive() and source._take_some(1, 0)


NAMES = ["udp://host:1", "tcp://:80", "tcp-listen://host:99999", "mqtt://me:secret@host"]


def test_names_of_sources_that_are_refused(tmp_path: Path) -> None:
    for name in NAMES:
        with refused("value") as caught:
            open_source(name, folder=tmp_path)
        assert "expected" in str(caught.value) and "secret" not in str(caught.value)
    with refused("missing"):
        open_source(str(tmp_path / "none.jsonl"), folder=tmp_path)
    (tmp_path / "log.npz").touch()
    with refused("unknown"):
        open_source(str(tmp_path / "log.npz"), folder=tmp_path)
