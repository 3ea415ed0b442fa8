# SPDX-License-Identifier: MIT
"""What goes wrong beside a live session: links that break, files that vanish, logs and states with damage."""

from __future__ import annotations

import base64
import errno
import json
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from frame_writing import encode_posteriors, encode_state
from live_runs import PARAMS, json_lines, steps_of, wait_until
from refusals import refused

from tcuq import Monitor, Params
from tcuq_watch.live.marks import labeled_log
from tcuq_watch.live.session import Session
from tcuq_watch.sources.inbox import Chunk, Event, Source
from tcuq_watch.sources.links import Listener, Subscription
from tcuq_watch.sources.mqtt_client import Broker

PRINT = int(PARAMS.fingerprint, 16)


@contextmanager
def reading(source: Source) -> Iterator[list[Any]]:
    """Collect what a source puts, in place of an inbox."""
    found: list[Any] = []
    source.put = found.append  # type: ignore[method-assign,assignment]
    source.open()
    source.start()
    try:
        yield found
    finally:
        source.close()


def heard(found: list[Any], kind: str, count: int = 1) -> bool:
    return wait_until(lambda: sum(isinstance(e, Event) and e.kind == kind for e in found) >= count)


def data_of(found: list[Any]) -> bytes:
    return b"".join(each.data for each in found if isinstance(each, Chunk))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once."""
    monkeypatch.setattr("tcuq_watch.sources.inbox.Backoff.next", lambda self: 0.01)


def reset(connection: socket.socket) -> None:
    """Close a connection so that the other side gets an error in place of its end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_a_device_that_resets_its_connection_may_come_back() -> None:
    listener = Listener("127.0.0.1", 0)
    with reading(listener) as found:
        first = socket.create_connection(("127.0.0.1", listener.port))
        first.sendall(b"a")
        assert wait_until(lambda: data_of(found) == b"a")
        reset(first)
        assert heard(found, "lost")
        with socket.create_connection(("127.0.0.1", listener.port)) as second:
            second.sendall(b"b" * 70_000)
            assert wait_until(lambda: len(data_of(found)) == 70_001)


def begun(folder: Path, data: bytes = b"", told: list[Any] | None = None, params: Params = PARAMS) -> Session:
    tell = [] if told is None else [lambda *each: told.append(each)]
    session = Session(params, folder, "-", tell=tell)
    if data:
        session.take([Chunk(data)])
    return session


def test_a_session_whose_state_is_damaged_says_what_to_do(tmp_path: Path) -> None:
    begun(tmp_path, json_lines(steps_of(20))).close()
    path = tmp_path / "session.json"
    saved = json.loads(path.read_text())
    path.write_text(json.dumps(saved | {"state": base64.b64encode(b"TCUQ and more").decode()}))
    for _ in range(2):  # the folder is free again after a refusal
        with refused("damaged"):
            begun(tmp_path)


def test_logs_with_lines_that_are_no_steps(tmp_path: Path) -> None:
    session = begun(tmp_path, json_lines(steps_of(20)))
    session.folder.close()  # killed
    more = ["[1]", "{", '{"step": -3, "probs": [1]}', '{"step": 5, "risk": 1}']
    with open(tmp_path / "received.jsonl", "a") as file:
        file.write("".join(f"{line}\n" for line in more))
    with open(tmp_path / "decisions.jsonl", "a") as file:
        file.write('{"step": "x"}\n[]\n')
    told: list[Any] = []
    again = begun(tmp_path, told=told)
    assert again.step == 20 and "received.jsonl: 2 lines cannot be read" in told[0][1]
    again.close()


def test_states_of_the_device_that_do_not_fit_are_left_alone(tmp_path: Path) -> None:
    probs = steps_of(30)
    device = Monitor(PARAMS)
    device.run(probs[:10])
    state = bytearray(device.save())
    session = begun(tmp_path, encode_posteriors(PRINT, 1, 0, probs[:10]))
    before = session.stream.judge.monitor.save()
    session.take([Chunk(encode_state(PRINT, 1, 5, bytes(state)))])  # of another step
    state[-1] ^= 1
    session.take([Chunk(encode_state(PRINT, 1, 9, bytes(state)))])  # damaged
    assert session.publisher.counts["broken"] == 1
    assert session.stream.judge.monitor.save() == before
    session.take([Chunk(encode_state(PRINT, 1, 9, device.save()) * 2)])  # the second one comes too soon
    assert session.publisher.counts["broken"] == 1
    session.close()


def test_messages_that_are_too_large_are_counted(tmp_path: Path) -> None:
    told: list[Any] = []
    session = begun(tmp_path, told=told)
    source = Subscription(Broker("localhost", 1883, False), "a", "b")
    acks: list[int] = []
    client = SimpleNamespace(ack=lambda mid, qos: acks.append(mid))
    for mid in range(50):
        payload = b"x" * ((1 << 20) + 1)
        message = SimpleNamespace(payload=payload, retain=False, mid=mid, qos=1, dup=False)
        source._on_message(client, None, message)
    session.take(source.take(0))
    session.close()
    assert session.publisher.counts["broken"] == 50 and acks == list(range(50))
    large = [text for _, text, _ in told if "expected at most 1,048,576 bytes" in text]
    assert 1 <= len(large) <= 3


def test_a_disk_that_cannot_sync_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = begun(tmp_path, json_lines(steps_of(5)))

    def broken(handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            session.folder.save(session.folder.saved, b"")
        with refused("failed"):
            session.folder.mark({"step": 1})
    session.close()
    session.folder.received.close()  # a second time does nothing


@pytest.mark.parametrize("name", ["marks.jsonl", "decisions.jsonl"])
def test_names_without_a_step_are_damage_of_these_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"names": ["a", "b"]}\n')
    with refused("damaged"):
        labeled_log(tmp_path, PARAMS)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (socket.gaierror(-2, "Name or service not known"), "the name 'host' is not known"),
        (PermissionError(errno.EACCES, "Permission denied"), "no permission; choose a port above 1023"),
        (OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address"), "Cannot assign requested address"),
    ],
)
def test_addresses_where_nothing_can_listen(
    error: OSError, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **named: Any) -> None:
        raise error

    monkeypatch.setattr(socket, "create_server", refuse)
    with pytest.raises(ValueError, match=f"tcp-listen://host:80: {message}$"):
        Listener("host", 80).open()


def test_marks_of_a_folder_that_was_cut(tmp_path: Path) -> None:
    begun(tmp_path, json_lines(steps_of(6))).close()
    decided = tmp_path / "decisions.jsonl"
    decided.write_bytes(b"".join(decided.read_bytes().splitlines(keepends=True)[:4]) + b'{"step": 4, "answ')
    log = labeled_log(tmp_path, PARAMS, 0, None)
    assert len(log) == 4  # steps without an answer are left out
    decided.unlink()
    with pytest.raises(ValueError, match="holds no received posteriors in steps 0 to the end"):
        labeled_log(tmp_path, PARAMS, 0, None)
    (tmp_path / "marks.jsonl").write_text("[1]\n")
    with pytest.raises(
        ValueError, match=r"marks.jsonl: line 1 is damaged \(expected an object with a step\)"
    ):
        labeled_log(tmp_path, PARAMS, 0, None)
