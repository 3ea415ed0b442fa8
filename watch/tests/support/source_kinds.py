"""The same steps through every kind of source."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from brokers import Mosquitto, Publisher
from frame_writing import encode_posteriors
from streams import int8_stream

from tcuq_watch.engine.events import Events
from tcuq_watch.sources import IterableSource, open_source
from tcuq_watch.sources.links import Link
from tcuq_watch.sources.streams import Pipe

STEPS = 300
PROBS, FEATURES = int8_stream(STEPS, 4, 2)
PRINT = 0x1234ABCD
ROWS = [
    {"boot": 3, "seq": seq, "probs": row, "features": more, "version": f"{PRINT:08x}"}
    for seq, (row, more) in enumerate(zip(PROBS.tolist(), FEATURES.tolist(), strict=True))
]
NAME = "door-1"


def json_lines(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def csv_lines(rows: list[Any]) -> bytes:
    lines = ["boot,seq,version,p0,p1,p2,p3,f0,f1"]
    for row in rows:
        lines.append(
            ",".join(map(str, (row["boot"], row["seq"], row["version"], *row["probs"], *row["features"])))
        )
    return ("\n".join(lines) + "\n").encode()


def frames(rows: list[Any]) -> bytes:
    """Return frames of seven steps each."""
    parts = [slice(at, at + 7) for at in range(rows[0]["seq"], rows[-1]["seq"] + 1, 7)]
    return b"".join(
        encode_posteriors(PRINT, 3, part.start, PROBS[part], FEATURES[part])
        for part in (slice(part.start, min(part.stop, rows[-1]["seq"] + 1)) for part in parts)
    )


def write_parquet(path: Path, rows: list[Any]) -> None:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    columns = {key: [row[key] for row in rows] for key in ("boot", "seq", "version", "probs", "features")}
    parquet.write_table(arrow.table(columns), path, row_group_size=40)


def until(what: Callable[[], Any], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


def events_of(arrived: list[Any]) -> list[Events]:
    return [item for one in arrived if one for item in one.batch if isinstance(item, Events)]


def columns_of(arrived: list[Any]) -> list[tuple[Any, ...]]:
    """Return all that events say, one tuple a step."""
    rows: list[tuple[Any, ...]] = []
    for events in events_of(arrived):
        given = (events.steps if events.probs is None else events.probs).tolist()
        features = [None] * len(events) if events.features is None else events.features.tolist()
        columns = events.devices.tolist(), events.boots.tolist(), events.seqs.tolist(), given, features
        rows += [(*row, events.version) for row in zip(*columns, strict=True)]
    return rows


EXPECTED = [(NAME, *(row[key] for key in ("boot", "seq", "probs", "features", "version"))) for row in ROWS]


def places(arrived: list[Any]) -> list[tuple[str, int]]:
    return [(row[0], row[2]) for row in columns_of(arrived)]


def taken(source: Any, steps: int | None = None, position: Any = None, count: int = 1000) -> list[Any]:
    """Return the batches of a source, up to a number of steps or to its end."""
    arrived: list[Any] = []
    limit = time.monotonic() + 30
    with closing(source):
        for one in source.batches(position, count, 0.05):
            if one is not None:
                arrived.append(one)
                source.committed(one)
            if steps is not None and sum(each.count for each in arrived) >= steps:
                source.stop()
            assert time.monotonic() < limit, source.bad.last
    return arrived


class Reading:
    """A source that is read in a thread."""

    def __init__(self, source: Any, position: Any = None) -> None:
        self.source, self.arrived, self._position = source, [], position
        source.open()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for one in self.source.batches(self._position, 1000, 0.05):
            self.arrived += [] if one is None else [one]

    def has(self, steps: int) -> None:
        until(lambda: len(places(self.arrived)) >= steps)

    def heard(self, kind: str, count: int = 1) -> None:
        until(lambda: self.notices().count(kind) >= count)

    def notices(self) -> list[str]:
        return [notice.kind for one in self.arrived for notice in one.notices]

    def close(self) -> list[Any]:
        begun = time.monotonic()
        self.source.stop()
        self._thread.join(5)
        self.source.close()
        assert time.monotonic() - begun < 2, "closing takes too long"
        return self.arrived


class Plugged:
    """A serial port: a link to a pseudo-terminal, as a board that is plugged in makes one."""

    def __init__(self, path: Path) -> None:
        self.path, self.master = path, -1
        self.plug()

    def plug(self) -> None:
        import tty

        self.master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.path.symlink_to(os.ttyname(self._slave))

    def send(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.master, data) :]

    def unplug(self) -> None:
        if self.master >= 0:
            self.path.unlink()
            os.close(self._slave)
            os.close(self.master)
            self.master = -1


def _sent(connection: socket.socket, data: bytes) -> None:
    with connection:
        connection.sendall(data)


@contextmanager
def opened(kind: str, tmp_path: Path) -> Iterator[Any]:
    """Give a source of a kind that has, or is sent, the steps."""
    options: dict[str, Any] = {"folder": tmp_path / "kept", "device": NAME}
    data = {"csv": csv_lines, "frames": frames}.get(kind.partition(" ")[2], json_lines)(ROWS)
    kind = kind.partition(" ")[0]
    senders: list[threading.Thread] = []

    def send(act: Callable[[], Any]) -> None:
        senders.append(threading.Thread(target=act, daemon=True))
        senders[-1].start()

    if kind in ("file", "parquet", "folder"):
        place = tmp_path / f"in.{kind}"
        if kind == "file":
            place.write_bytes(data)
        elif kind == "parquet":
            write_parquet(place, ROWS)
        else:
            place.mkdir(exist_ok=True)
            (place / "1.jsonl").write_bytes(json_lines(ROWS[:50]))
            (place / "2.csv").write_bytes(csv_lines(ROWS[50:100]))
            write_parquet(place / "3.parquet", ROWS[100:200])
            (place / "4.bin").write_bytes(frames(ROWS[200:]))
        yield open_source(str(place), **options)
    elif kind == "growing":
        path = tmp_path / "growing.log"
        path.write_bytes(data[:1000])

        def grow() -> None:
            for at in range(1000, len(data), 999):
                with path.open("ab") as file:
                    file.write(data[at : at + 999])

        source = open_source(str(path), follow=True, **options)
        send(grow)
        yield source
    elif kind == "pipe":
        read, write = os.pipe()
        send(lambda: (os.write(write, data.rstrip(b"\n")), os.close(write)))
        yield Pipe(read, device=NAME)
        os.close(read)
    elif kind == "serial":
        port = Plugged(tmp_path / "ttyUSB0")
        source = open_source(f"{port.path}@9600", **options)
        source.open()
        send(lambda: port.send(data))
        yield source
        port.unplug()
    elif kind == "tcp":
        with socket.create_server(("127.0.0.1", 0)) as server:
            source = open_source(f"tcp://127.0.0.1:{server.getsockname()[1]}", **options)
            send(lambda: _sent(server.accept()[0], data))
            yield source
    elif kind == "tcp-listen":
        source = open_source("tcp-listen://:0", **options)
        source.open()
        assert isinstance(source, Link)
        send(lambda: _sent(socket.create_connection(("127.0.0.1", source.number)), data))
        yield source
    elif kind == "iterable":
        yield IterableSource(iter(ROWS), device=NAME)
    else:
        broker = Mosquitto(tmp_path / "broker")
        source = open_source(f"{broker.url}/line/1", **options)
        source.open()
        sender = Publisher(broker.port)
        messages = [frames(ROWS[at : at + 7]) for at in range(0, STEPS, 7)]
        if data[:1] == b"{":
            lists = [json_lines(ROWS[:100]), json.dumps(ROWS[100:200]).encode()]
            messages = lists + [json.dumps(row).encode() for row in ROWS[200:]]
        for message in messages:
            sender.send("line/1", message)
        yield source
        sender.close()
        broker.stop()
    for thread in senders:
        thread.join(5)


KINDS = [
    *("parquet", "folder", "iterable", "tcp", "tcp-listen frames", "mqtt", "mqtt frames", "growing"),
    *("file", "file csv", "file frames", "pipe", "pipe csv", "serial", "serial frames"),
]
