"""Where steps come from: standard input, a file that grows, and which kind of source a name means."""

from __future__ import annotations

import os
import re
import select
import stat
import sys
import zlib
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tcuq.base.errors import InputError

from .inbox import PACE, Chunk, Event, Source

BINARY = getattr(os, "O_BINARY", 0)
"""Windows changes line ends without it."""

MOST = 1 << 18
"""Bytes of one read."""

HEAD = 256
"""Bytes at the beginning of a file by which it is known again."""

_SERIAL = re.compile(r"(/dev/(tty|cu|serial|pts/|rfcomm).*|COM\d+)", re.IGNORECASE)


class Pipe(Source):
    """Standard input, or another open file that ends when its writer does."""

    def __init__(self, name: str = "standard input", handle: int | None = None) -> None:
        super().__init__()
        self.name, self._handle = name, handle

    def _open(self) -> None:
        if self._handle is None:
            if sys.stdin is None:
                raise InputError("missing", "standard input is closed")
            self._handle = sys.stdin.fileno()

    def _read(self) -> None:
        handle = self._handle
        assert handle is not None
        self.put(Event("connected", f"reading {self.name}"))
        while not self.closing:
            # Windows cannot wait for a pipe; there the thread is left behind at the end.
            if os.name == "posix" and not select.select([handle], [], [], 0.1)[0]:
                continue
            data = os.read(handle, MOST)
            if not data:
                self.put(Event("ended", f"{self.name} ended"))
                return
            self.put(Chunk(data))
            if len(data) < 1 << 15:
                self.wait(PACE)


class Growing(Source):
    """A file that is read from its beginning and then followed, as ``tail -F`` does."""

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.path, self.name = Path(path), str(path)
        self._at, self._handle, self._first = 0, -1, b""
        self.head = b""
        """The beginning of a file that is not read from there: it names columns and classes."""

    def _open(self) -> None:
        try:
            self._handle = os.open(self.path, os.O_RDONLY | BINARY)
            found = os.fstat(self._handle)
        except FileNotFoundError:
            raise InputError(
                "missing",
                f"{self.name}: no such file; create it first, or name a port such as /dev/ttyUSB0@115200",
            ) from None
        except PermissionError:
            raise InputError("failed", f"{self.name}: no permission to read it") from None
        if stat.S_ISDIR(found.st_mode):
            raise InputError(
                "value", f"{self.name}: is a folder, expected a file (--merge writes a log from a folder)"
            )

    @property
    def key(self) -> str:
        """The whole path: a file may be named from another folder."""
        return os.path.realpath(self.path)

    def resume(self, at: int, known: str) -> None:
        """Go on from a place in the file that was read before; another file is read from its beginning."""
        known, _, crc = known.rpartition(":")
        known, _, size = known.rpartition(":")
        if known != _inode(self._handle) or not size.isdigit():
            return
        first = read_at(self._handle, int(size), 0)
        if len(first) != int(size) or str(zlib.crc32(first)) != crc:
            return
        self._first = first
        if os.fstat(self._handle).st_size >= at > 0:
            self._at = at
            self._first = read_at(self._handle, max(len(first), min(HEAD, at)), 0)
            self.head = read_at(self._handle, MOST, 0)

    def _read(self) -> None:
        self._tell("reading")
        while not self.closing:
            data = read_at(self._handle, MOST, self._at)
            if data and read_at(self._handle, len(self._first), 0) != self._first:
                self._begin_again("was cut and written again")
            elif data:
                if self._at == len(self._first) < HEAD:
                    self._first += data[: HEAD - self._at]
                self._at += len(data)
                self.put(Chunk(data, end=self._at, identity=self.identity))
                if len(data) < MOST:
                    self.wait(PACE)
            elif self.wait(0.05):
                return
            else:
                self._look()

    @property
    def identity(self) -> str:
        """What tells one file from another of the same name, and from new content of the same file."""
        return f"{_inode(self._handle)}:{len(self._first)}:{zlib.crc32(self._first)}"

    def _look(self) -> None:
        """Find out whether the file was cut, or another one has taken its name."""
        found = os.fstat(self._handle)
        try:
            named = os.stat(self.path)
        except OSError:
            return  # between two files: the old one may still grow
        if (named.st_dev, named.st_ino) != (found.st_dev, found.st_ino):
            if os.fstat(self._handle).st_size > self._at:
                return  # the rest of the old one first
            try:
                handle = os.open(self.path, os.O_RDONLY | BINARY)
            except OSError:
                return
            self.put(Event("lost", f"{self.name} was replaced by a new file"))
            os.close(self._handle)
            self._handle, self._at, self._first = handle, 0, b""
            self._tell("reading the new")
        elif found.st_size < self._at:
            self._begin_again(f"was cut to {found.st_size:,} bytes")

    def _begin_again(self, why: str) -> None:
        self.put(Event("lost", f"{self.name} {why}"))
        self._at, self._first = 0, b""
        self._tell("reading the new content of")

    def _tell(self, what: str) -> None:
        where = f" from byte {self._at:,} on" if self._at else ""
        kind = "connected" if self._at else "opened"
        self.put(Event(kind, f"{what} {self.name}{where}", self.identity))

    def _shut(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def read_at(handle: int, count: int, at: int) -> bytes:
    """Return bytes from a place of an open file, fewer at its end; one thread at a time."""
    os.lseek(handle, at, os.SEEK_SET)
    found = []
    while count > 0 and (piece := os.read(handle, count)):
        found.append(piece)
        count -= len(piece)
    return b"".join(found)


def _inode(handle: int) -> str:
    found = os.fstat(handle)
    return f"{found.st_dev}:{found.st_ino}"


def open_source(text: str, client: str = "tcuq-live") -> Source:
    """Return the source that a user named; it is not started yet.

    Parameters
    ----------
    text : str
        ``-``, a file, ``/dev/ttyUSB0@115200``, ``mqtt://host:port/topic``, ``tcp://host:port`` or
        ``tcp-listen://host:port``.
    client : str
        Name of this client at a broker, which keeps messages for it while it is away.

    Examples
    --------
    >>> open_source("/dev/ttyUSB0").name
    '/dev/ttyUSB0@115200'
    >>> open_source("tcp://board.local:9000").name
    'tcp://board.local:9000'
    >>> open_source("udp://board.local:9000")
    Traceback (most recent call last):
    ...
    tcuq.InputError: SOURCE is 'udp://...', expected -, a file, a serial port, mqtt://, mqtts://, tcp:// or \
tcp-listen://
    """
    if text == "-":
        return Pipe()
    if "://" in text:
        return _from_address(text, client)
    port, mark, baud = text.rpartition("@")
    if mark and baud.isdigit() and not os.path.exists(text):
        from .links import Serial

        return Serial(port, int(baud))
    if _SERIAL.fullmatch(text) or _is_device(text):
        from .links import Serial

        return Serial(text)
    if _is(text, stat.S_ISFIFO):
        # Open for writing too: the pipe then does not end between two writers.
        return Pipe(text, os.open(text, os.O_RDWR))
    return Growing(text)


def _from_address(text: str, client: str) -> Source:
    parts = urlsplit(text)
    if parts.scheme not in ("mqtt", "mqtts", "tcp", "tcp-listen"):
        raise InputError(
            "value",
            f"SOURCE is '{parts.scheme}://...', expected -, a file, a serial port, mqtt://, mqtts://, tcp:// "
            "or tcp-listen://",
        )
    try:
        port = parts.port
    except ValueError:
        raise InputError(
            "value", f"the port of {parts.scheme}://{parts.hostname} is no number from 0 to 65535"
        ) from None
    if parts.scheme.startswith("mqtt"):
        from .links import Subscription
        from .mqtt_client import Broker

        # A "#" would begin a fragment, and is a wildcard here.
        topic = unquote(parts.path.lstrip("/") + (f"#{parts.fragment}" if "#" in text else ""))
        return Subscription(Broker.of(text), topic, client)
    from .links import Connection, Listener

    if port is None or (parts.scheme == "tcp" and not parts.hostname):
        raise InputError("value", f"{text}: expected {parts.scheme}://HOST:PORT")
    if parts.scheme == "tcp":
        return Connection(parts.hostname or "", port)
    return Listener(parts.hostname or "127.0.0.1", port)


def _is(path: str, kind: object) -> bool:
    try:
        return bool(kind(os.stat(path).st_mode))  # type: ignore[operator]
    except OSError:
        return False


def _is_device(path: str) -> bool:
    return _is(path, stat.S_ISCHR) and path != os.devnull
