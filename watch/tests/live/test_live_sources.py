"""Where steps come from: garbage, half lines, unplugging and coming back, files that are cut or replaced."""

import os
import socket
import threading
import time

import numpy as np
import pytest
from live_runs import PARAMS, decided_alike, json_lines, received, steps_of, wait_until
from refusals import refused

from tcuq_watch.live.session import Session
from tcuq_watch.sources.inbox import Chunk, Event, Source
from tcuq_watch.sources.links import Listener, Serial
from tcuq_watch.sources.streams import Growing, Pipe, open_source

serial = pytest.importorskip("serial", reason="pyserial is not installed")
posix = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are of POSIX systems")


class Watching:
    """A session that runs in a thread."""

    def __init__(self, folder, source, **options):
        self.told = []
        self.session = Session(
            PARAMS, folder, source.name, tell=[lambda *told: self.told.append(told)], **options
        )
        self.source, self._stop = source, False
        source.start()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        self.session.run(self.source, lambda: self._stop)

    def has(self, steps, seconds=10.0):
        return wait_until(lambda: self.session.step >= steps, seconds)

    def heard(self, kind, count=1, seconds=10.0):
        return wait_until(lambda: [each[0] for each in self.told].count(kind) >= count, seconds)

    def close(self):
        begun = time.monotonic()
        self._stop = True
        self._thread.join(5)
        self.source.close()
        took = time.monotonic() - begun
        self.session.close()
        assert took < 2, "closing takes too long"
        return self.session.publisher.counts


@pytest.fixture
def port(tmp_path):
    """Give a serial port: a link to a pseudo-terminal, as a board that is plugged in makes one."""
    port = Plugged(tmp_path / "ttyUSB0")
    yield port
    port.unplug()


class Plugged:
    def __init__(self, path):
        self.path, self.master = path, -1
        self.plug()

    def plug(self):
        import tty

        self.master, slave = os.openpty()
        tty.setraw(slave)
        self._slave = slave
        self.path.symlink_to(os.ttyname(slave))

    def send(self, data):
        while data:
            data = data[os.write(self.master, data) :]

    def unplug(self):
        if self.master >= 0:
            self.path.unlink()
            os.close(self._slave)
            os.close(self.master)
            self.master = -1


@posix
def test_a_serial_port_with_garbage_half_lines_and_unplugging(tmp_path, port):
    probs = steps_of(90)
    watching = Watching(tmp_path / "kept", Serial(str(port.path)))
    assert watching.heard("connected")
    port.send(b"\xff\xfe garbage \x80\n" + b"ESP-ROM:esp32s3\r\n" + json_lines(probs[:30], 1))
    port.send(b'{"probs": [1, 2, 3]}\n{"probs": "x"}\n[1]\n{"probs": [-128,')
    assert watching.has(30)
    assert wait_until(lambda: watching.session.publisher.counts["broken"] >= 5)
    port.unplug()
    assert watching.heard("lost")
    port.plug()
    assert watching.heard("connected", 2)
    port.send(json_lines(probs[30:60], 1, 30))
    assert watching.has(60)
    port.unplug()
    assert watching.heard("lost", 2)
    port.plug()
    assert watching.heard("connected", 3)
    port.send(json_lines(probs[60:], 2))  # a device that lost its power counts a boot
    assert watching.has(90)
    counts = watching.close()
    assert np.array_equal(received(tmp_path / "kept"), probs)
    assert counts["lost"] == 2 and counts["reboots"] == 1 and counts["missing"] == 0
    assert counts["broken"] == 6  # noise, the ROM's line, three bad lines, half a line
    assert "half a line" in "".join(text for kind, text, _ in watching.told if kind == "broken")


@posix
def test_a_port_that_is_missing_taken_or_no_port(tmp_path, port):
    with refused("failed"):
        Serial(str(tmp_path / "none")).open()
    first = Serial(str(port.path))
    first.open()
    with refused("failed"):
        Serial(str(port.path)).open()
    first.close()
    plain = tmp_path / "plain"
    plain.touch()
    with refused("failed"):
        Serial(str(plain)).open()
    with refused("value"):
        Serial(str(port.path), 3)


def test_a_growing_file_that_is_cut_and_replaced(tmp_path):
    probs = steps_of(80)
    log = tmp_path / "device.log"
    log.write_bytes(json_lines(probs[:10]))
    watching = Watching(tmp_path / "kept", Growing(log))
    assert watching.has(10)
    with open(log, "ab") as file:
        text = json_lines(probs[10:20])
        file.write(text[:-20])
        file.flush()
        assert watching.has(19)
        file.write(text[-20:])
    assert watching.has(20)
    with open(log, "r+b") as file:
        file.truncate(0)
        assert watching.heard("lost")
        file.write(json_lines(probs[20:40]))
    assert watching.has(40)
    with open(log, "ab") as old:
        os.rename(log, tmp_path / "device.log.1")
        old.write(json_lines(probs[40:60]))  # a writer that has not noticed yet
    log.write_bytes(json_lines(probs[60:]))
    assert watching.has(80)
    counts = watching.close()
    assert np.array_equal(received(tmp_path / "kept"), probs)
    assert counts["lost"] == 2 and counts["broken"] == 0
    assert decided_alike(tmp_path / "kept", probs)


def test_a_file_that_is_missing_or_a_folder(tmp_path):
    with refused("missing"):
        open_source(str(tmp_path / "none.log")).open()
    with refused("value"):
        open_source(str(tmp_path)).open()


def test_tcp_both_ways_lost_and_back(tmp_path):
    probs = steps_of(60)
    listener = Listener("127.0.0.1", 0)
    watching = Watching(tmp_path / "in", listener)
    assert listener.name == f"tcp-listen://127.0.0.1:{listener.port}"
    for rows in (slice(0, 30), slice(30, 60)):
        with socket.create_connection(("127.0.0.1", listener.port)) as device:
            device.sendall(json_lines(probs[rows]) + b'{"pro')
            assert watching.has(rows.stop)
        assert watching.heard("lost", 1 if rows.start == 0 else 2)
    assert watching.close()["broken"] == 2
    assert decided_alike(tmp_path / "in", probs)

    server = socket.create_server(("127.0.0.1", 0))
    name = f"tcp://127.0.0.1:{server.getsockname()[1]}"
    watching = Watching(tmp_path / "out", open_source(name))
    for rows in (slice(0, 30), slice(30, 60)):
        server.settimeout(10)
        device, _ = server.accept()
        device.sendall(json_lines(probs[rows]))
        assert watching.has(rows.stop)
        device.close()
    assert watching.heard("lost", 2)
    server.close()
    assert watching.close()["lost"] == 2
    assert decided_alike(tmp_path / "out", probs)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("udp://host:1", "SOURCE is 'udp://...'"),
        ("tcp://host", "expected tcp://HOST:PORT"),
        ("tcp://:80", "expected tcp://HOST:PORT"),
        ("tcp://host:99999", "no number from 0 to 65535"),
        ("tcp-listen://host", "expected tcp-listen://HOST:PORT"),
        ("mqtt://host", "the topic is missing"),
        ("mqtt://host/devices/+/steps", "has a wildcard"),
        ("mqtt://host/devices/#", "has a wildcard"),
        ("mqtt:///topic", "expected mqtt://HOST:PORT"),
    ],
)
def test_names_of_sources_that_are_refused(name, message):
    with pytest.raises(ValueError, match=message):
        open_source(name)


def test_names_never_show_a_password():
    source = open_source("mqtts://me:secret@broker.example:1884/line/1")
    assert source.name == "mqtts://broker.example:1884/line/1"
    assert isinstance(open_source("/dev/ttyACM0@9600"), Serial)
    assert isinstance(open_source("COM3"), Serial)
    assert open_source("tcp-listen://:9000").name == "tcp-listen://127.0.0.1:9000"


def test_a_pipe_ends_and_its_last_line_needs_no_end(tmp_path):
    probs = steps_of(30)
    read, write = os.pipe()
    watching = Watching(tmp_path, Pipe(handle=read))
    os.write(write, json_lines(probs)[:-1])
    os.close(write)
    assert watching.heard("lost")
    watching.close()
    os.close(read)
    assert np.array_equal(received(tmp_path), probs)


@posix
def test_a_named_pipe_goes_on_with_its_next_writer(tmp_path):
    probs = steps_of(20)
    fifo = tmp_path / "steps"
    os.mkfifo(fifo)
    watching = Watching(tmp_path / "kept", open_source(str(fifo)))
    for rows in (slice(0, 10), slice(10, 20)):
        with open(fifo, "wb") as file:
            file.write(json_lines(probs[rows]))
        assert watching.has(rows.stop)
    watching.close()


class Failing(Source):
    name = "failing"

    def _open(self):
        pass

    def _read(self):
        self.put(Chunk(b"x"))
        raise RuntimeError("out of luck")


def test_a_thread_that_fails_is_told():
    source = Failing()
    source.start()
    found = []
    assert wait_until(lambda: found.extend(source.take(0.1)) or len(found) == 2, 5)
    assert found[1] == Event("ended", "failing: reading ended: RuntimeError: out of luck")
    source.close()


def test_a_source_that_is_not_taken_from_waits(monkeypatch):
    monkeypatch.setattr("tcuq_watch.sources.inbox.LIMIT", 10)
    source = Failing()
    source.put(Chunk(b"12345678"))
    thread = threading.Thread(target=lambda: source.put(Chunk(b"12345678")), daemon=True)
    thread.start()
    thread.join(0.05)
    assert thread.is_alive()
    assert len(source.take(0)) == 1
    thread.join(5)
    assert not thread.is_alive() and len(source.take(0)) == 1
