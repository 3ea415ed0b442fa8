# SPDX-License-Identifier: MIT
"""What goes wrong beside a live session: links that break, files that vanish, logs and states with damage."""

from __future__ import annotations

import base64
import errno
import json
import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from frame_writing import encode_posteriors, encode_state
from live_runs import PARAMS, json_lines, steps_of, wait_until

from tcuq import Monitor, Params
from tcuq_watch.fleet.mqtt_client import Broker
from tcuq_watch.live import links, server
from tcuq_watch.live.blocks import as_features, decision_values
from tcuq_watch.live.folder import Journal, last_line_end, read_at
from tcuq_watch.live.handler import own_name
from tcuq_watch.live.inbox import Chunk, Event, Source
from tcuq_watch.live.links import Connection, Listener, Serial, Subscription
from tcuq_watch.live.marks import labeled_log
from tcuq_watch.live.session import Session
from tcuq_watch.live.sources import Growing

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
    monkeypatch.setattr("tcuq_watch.live.inbox.Backoff.next", lambda self: 0.01)


def reset(connection: socket.socket) -> None:
    """Close a connection so that the other side gets an error in place of its end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_a_connection_that_is_reset_is_opened_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as device:
        port = device.getsockname()[1]
        with reading(Connection("127.0.0.1", port)) as found:
            first, _ = device.accept()
            first.sendall(b"a" * 70_000)  # more than one piece
            assert wait_until(lambda: len(data_of(found)) == 70_000)
            device.close()  # nobody is there for a while
            reset(first)
            assert heard(found, "lost")
            with socket.create_server(("127.0.0.1", port)) as again:
                second, _ = again.accept()
                assert heard(found, "connected", 2)
                second.sendall(b"b")
                assert wait_until(lambda: data_of(found).endswith(b"b"))
                second.close()
    lost = next(each.text for each in found if isinstance(each, Event) and each.kind == "lost")
    assert lost == f"tcp://127.0.0.1:{port} was lost (Connection reset by peer)"


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


def test_a_system_without_options_of_tcp(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT"):
        monkeypatch.delattr(socket, name, raising=False)  # as on macOS
    with socket.socket() as one:
        links._keep_alive(one)
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("baud too odd"), "no port: baud too odd"),
        (RuntimeError("(25, 'Inappropriate ioctl')"), r"no port: is not a serial port \(\(25"),
    ],
)
def test_what_pyserial_says_is_one_line(
    error: Exception, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    serial = pytest.importorskip("serial")

    def refuse(*args: Any, **named: Any) -> None:
        raise error

    monkeypatch.setattr(serial, "Serial", refuse)
    with pytest.raises(ValueError, match=message):
        Serial("no port").open()


def test_a_port_that_is_gone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    serial = pytest.importorskip("serial")
    opened: list[int] = []

    class Port:
        in_waiting = 0

        def __init__(self, *args: Any, **named: Any) -> None:
            opened.append(len(opened))
            if len(opened) in (2, 3):
                raise OSError(errno.ENOENT, "No such file or directory")
            self.left = [b"x"]

        def read(self, most: int) -> bytes:
            if self.left:
                return self.left.pop()
            raise OSError(errno.EIO, "Input/output error")

        def close(self) -> None:
            raise OSError(errno.EIO, "Input/output error")  # an unplugged port may fail here too

    monkeypatch.setattr(serial, "Serial", Port)
    with reading(Serial("/dev/ttyUSB0")) as found:
        assert heard(found, "connected", 2) and wait_until(lambda: data_of(found).count(b"x") >= 2)
    texts = [each.text for each in found if isinstance(each, Event)]
    assert "/dev/ttyUSB0@115200 was lost (Input/output error)" in texts
    assert "/dev/ttyUSB0@115200 is back" in texts


def test_a_source_that_closes_while_it_fails_says_nothing() -> None:
    class Failing(Source):
        def __init__(self) -> None:
            super().__init__()
            self.name, self.begun = "failing", threading.Event()

        def _open(self) -> None:
            pass

        def _read(self) -> None:
            self.begun.set()
            while not self.closing:
                self.wait(0.01)
            raise OSError("closed under my hands")

    source = Failing()
    with reading(source) as found:
        assert source.begun.wait(5)
    assert not found


def test_a_file_between_two_of_its_name_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    tried = threading.Event()
    true = os.open

    def shut(name: Any, *args: Any, **named: Any) -> int:
        if named.get("dir_fd") is None and str(name) == str(path) and not tried.is_set():
            tried.set()
            raise PermissionError(errno.EACCES, "Permission denied")
        return true(name, *args, **named)

    source = Growing(path)
    with reading(source) as found:
        assert wait_until(lambda: data_of(found) == b"one\n")
        path.rename(tmp_path / "old")  # nothing has the name now
        with open(tmp_path / "old", "ab") as old:
            old.write(b"two\n")
        assert wait_until(lambda: data_of(found) == b"one\ntwo\n")
        monkeypatch.setattr(os, "open", shut)
        (tmp_path / "new").write_bytes(b"three\n")
        (tmp_path / "new").rename(path)
        assert wait_until(lambda: data_of(found) == b"one\ntwo\nthree\n")
        assert tried.is_set()
        path.write_bytes(b"THREE\nfour\n")  # longer than before, and another content
        assert wait_until(lambda: data_of(found).endswith(b"THREE\nfour\n"))
    assert any("was cut" in each.text for each in found if isinstance(each, Event))


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ValueError, match="log: no permission to read it"):
        Growing(tmp_path / "log").open()


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
        with pytest.raises(ValueError, match=r"is refused: .*; move the folder away or choose another one"):
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


def test_a_log_that_is_shorter_than_it_was_and_another_source(tmp_path: Path) -> None:
    begun(tmp_path, json_lines(steps_of(20))).close()
    log = tmp_path / "received.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:10]))
    told: list[Any] = []
    again = Session(PARAMS, tmp_path, "tcp://host:1", tell=[lambda *each: told.append(each)])
    again.close()
    assert "received.jsonl is shorter than it was" in told[0][1]
    assert told[1][1] == "steps came from - before, now from tcp://host:1"


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


def test_lines_that_are_empty_lack_features_or_have_columns_of_them(tmp_path: Path) -> None:
    params = Params(classes=2, features=2, warmup=0, signals=("doubt", "magnitude"))
    told: list[Any] = []
    session = begun(tmp_path / "columns", told=told, params=params)
    text = "p0,p1,f0,f1\n0.5,0.5,1.0,2.0\n\n0.5,0.5,1_0,2.0\n0.25,0.75,x.y,2.0\n"
    session.take([Chunk(text.encode())])
    assert session.step == 1 and session.publisher.counts["broken"] == 2
    session.close()
    session = begun(tmp_path / "lines", told=told, params=params)
    session.take([Chunk(b'{"probs": [0.5, 0.5]}\n')])
    assert session.step == 0 and session.publisher.counts["broken"] == 1
    session.close()
    assert any("features are missing" in text for _, text, _ in told)


def test_steps_of_other_parameters_and_keys_of_ones_own_are_noted_once(tmp_path: Path) -> None:
    told: list[Any] = []
    session = begun(tmp_path, told=told)
    [probs] = steps_of(1).tolist()
    for _ in range(2):
        other, own = {"probs": probs, "params": "00000000"}, {"probs": probs, "humidity": 3}
        session.take([Chunk(f"{json.dumps(other)}\n{json.dumps(own)}\n".encode())])
    session.close()
    notes = [text for kind, text, _ in told if kind == "note"]
    assert session.publisher.counts["others"] == 2 and session.step == 2
    assert sum("steps are left out" in text for text in notes) == 1
    assert sum("humidity" in text for text in notes) == 1


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


def test_the_reason_of_steps_left_out_is_theirs(tmp_path: Path) -> None:
    """A broken line after them gave its own."""
    told: list[Any] = []
    session = begun(tmp_path, told=told)
    [probs] = steps_of(1).tolist()
    session.take([Chunk(json.dumps({"probs": probs, "params": "00000000"}).encode() + b"\nnoise\n")])
    session.close()
    texts = [text for _, text, _ in told]
    assert any("left out: made with parameters 00000000" in text for text in texts)
    assert any("could not be read: " in text and "noise" in text for text in texts)


def test_late_steps_are_counted(tmp_path: Path) -> None:
    probs = steps_of(20)
    session = begun(tmp_path, json_lines(probs[:5], 1) + json_lines(probs[10:], 1, 10))
    session.take([Chunk(json_lines(probs[6:8], 1, 6))])
    assert session.step == 15 and session.publisher.counts["late"] == 2
    session.close()


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


def test_a_disk_that_cannot_sync_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = begun(tmp_path, json_lines(steps_of(5)))

    def broken(handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            session.folder.save(session.folder.saved, b"")
        with pytest.raises(ValueError, match=f"the mark was not kept: {os.strerror(errno.EIO)}"):
            session.folder.mark({"step": 1})
    session.close()
    session.folder.received.close()  # a second time does nothing


def test_the_end_of_a_last_line_is_found_far_back(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x\n" + b"y" * 200_000)
    handle = os.open(tmp_path / "f", os.O_RDONLY)
    assert last_line_end(handle, 200_002) == 2 and read_at(handle, 5, 0) == b"x\nyyy"
    assert last_line_end(handle, 1) == 0
    os.close(handle)
    journal = Journal(tmp_path / "f")
    assert journal.size == 2
    journal.close()


def test_names_of_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    assert server._is_local("localhost") and not server._is_local("example.org")
    assert not own_name("[::1") and own_name("127.0.0.1:1")

    class NoNetwork:
        def __init__(self, *args: Any) -> None:
            raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(socket, "socket", NoNetwork)
    assert server._named("0.0.0.0") == socket.gethostname() and server._named("::1") == "[::1]"


def test_an_error_of_a_request_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    listener = server._Listener(("127.0.0.1", 0), socket.AF_INET)
    for error in (ZeroDivisionError("of the page"), ConnectionResetError("of the other side")):
        try:
            raise error
        except Exception:
            listener.handle_error(None, None)
    listener.server_close()
    assert capsys.readouterr().err == "live page: ZeroDivisionError: of the page\n"


def test_reasons_are_names_or_numbers() -> None:
    told = {"risk": 0.5, "threshold": 0.5, "answer": 0}
    by_name, by_number = (decision_values({**told, "reason": each}, 2) for each in ("doubt", 3))
    assert by_name == by_number
    with pytest.raises(ValueError, match="reason is 'luck', expected empty or one of"):
        decision_values({**told, "reason": "luck"}, 2)
    rows = np.zeros((1, 2), dtype=np.int8)
    assert as_features(rows, PARAMS) is rows


@pytest.mark.parametrize("name", ["marks.jsonl", "decisions.jsonl"])
def test_names_without_a_step_are_damage_of_these_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"names": ["a", "b"]}\n')
    with pytest.raises(ValueError, match=f"{name}: line 1 is damaged"):
        labeled_log(tmp_path, PARAMS)
