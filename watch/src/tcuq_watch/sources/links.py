"""Serial ports and TCP: connections that are lost and come back."""

from __future__ import annotations

import errno
import os
import select
import socket
from contextlib import suppress
from typing import Any

from tcuq.base.errors import InputError, needed

from .arrivals import Notice
from .streams import MOST, TICK, Stream

BAUD = 115_200

FIRST_WAIT = 0.1
"""Seconds before a lost connection is tried again."""


class Link(Stream):
    """A connection that is opened again when it is lost, with `_connect` and `_receive`."""

    begun, back = "connected to {}", "connected to {} again"
    longest = 2.0  # seconds before a lost connection is tried again; they begin with FIRST_WAIT and double

    def __init__(self, where: str, **options: Any) -> None:
        super().__init__(where, **options)
        self._link: Any = None

    def _connect(self) -> Any:
        """Return what was opened; any problem is an OSError."""
        raise NotImplementedError

    def _receive(self) -> bytes:
        """Return what has come, b"" where nothing came for a while; raise where the connection is lost."""
        raise NotImplementedError

    def _open(self) -> None:
        try:
            self._link = self._connect()
        except socket.gaierror as error:
            raise InputError("unknown", f"{self.where}: {_short(error)}; is the name right?") from None
        except OSError as error:
            raise InputError("failed", f"{self.where}: {_short(error)}") from None

    def _read(self) -> None:
        kind = "note" if self._link is None else "connected"
        self.put(Notice(kind, self.begun.format(self.where)))
        wait = FIRST_WAIT
        while not self._stopping:
            if self._link is None:
                self.pause(wait)
                wait = min(self.longest, 2 * wait)
                with suppress(OSError, ValueError):
                    self._link = self._connect()
                    self.put(Notice("connected", self.back.format(self.where)))
                continue
            try:
                data = self._receive()
            except Exception as error:  # pyserial, termios and the system each have their own
                self._shut()
                self.put(Notice("lost", f"{self.where} was lost ({_short(error)})"))
                continue
            if data:
                wait = FIRST_WAIT
                self.put(data)

    def _shut(self) -> None:
        link, self._link = self._link, None
        with suppress(Exception):  # an unplugged port may fail in many ways, and is gone all the same
            link.close()


class Serial(Link):
    """A serial port, through pyserial; one that was unplugged is opened again when it is back."""

    begun, back = "reading {}", "{} is back"

    def __init__(self, port: str, baud: int = BAUD, **options: Any) -> None:
        super().__init__(f"{port}@{baud}", **options)
        self.port, self.baud = port, baud
        if not 50 <= baud <= 20_000_000:
            raise InputError("value", f"{self.where}: the baud rate is {baud}, expected 50 to 20000000")

    def _connect(self) -> Any:
        serial = needed("serial", "tcuq-watch", "a serial port")
        more = {"exclusive": True} if os.name == "posix" else {}
        try:
            return serial.Serial(self.port, self.baud, timeout=TICK, **more)
        except OSError as error:
            raise OSError(error.errno, _serial_hint(error)) from None
        except Exception as error:  # termios.error, which is no OSError
            raise OSError(errno.EIO, f"is not a serial port ({error})") from None

    def _receive(self) -> bytes:
        return bytes(self._link.read(max(1, self._link.in_waiting)))


def _serial_hint(error: OSError) -> str:
    text = str(error)
    if error.errno == errno.EACCES or "Permission denied" in text:
        return (
            "no permission to open it; on Linux join the group that owns it, then log in again: "
            "sudo usermod -aG dialout $USER"
        )
    if error.errno == errno.ENOENT or "No such file" in text or "FileNotFound" in text:
        return "no such port; is the board plugged in? (ls /dev/tty* shows the ports)"
    if error.errno in (errno.EBUSY, errno.EAGAIN) or "lock" in text:
        return "is taken by another program; close it, such as a serial monitor"
    return _short(error)


def _short(error: BaseException) -> str:
    text = " ".join(str(getattr(error, "strerror", None) or error).split())
    return text[:200] or type(error).__name__


class Tcp(Link):
    """A TCP server that sends steps; connected to again when the connection is lost."""

    def __init__(self, host: str, port: int, **options: Any) -> None:
        super().__init__(f"tcp://{bracketed(host)}:{port}", **options)
        self.host, self.port = host, port

    def _connect(self) -> Any:
        try:
            connection = socket.create_connection((self.host, self.port), timeout=5.0)
        except ConnectionRefusedError as error:
            raise OSError(error.errno, f"{_short(error)}; is the device listening there?") from None
        _keep_alive(connection)
        return connection

    def _receive(self) -> bytes:
        return _received(self._link, "the other side")


class Listener(Link):
    """A TCP port that one device connects to; a newer connection takes the place of an older one."""

    begun, longest = "waiting for a device at {}", FIRST_WAIT

    def __init__(self, host: str, port: int, **options: Any) -> None:
        super().__init__(f"tcp-listen://{bracketed(host)}:{port}", **options)
        self.host, self.port = host, port
        self._listener: Any = None

    def _open(self) -> None:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            self._listener = socket.create_server((self.host, self.port), family=family, backlog=4)
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            hints = {errno.EADDRINUSE: "choose another port", errno.EACCES: "choose a port above 1023"}
            problem = f"{_short(error)}; {hints.get(error.errno or 0, 'is the name right?')}"
            raise InputError("busy" if taken else "failed", f"{self.where}: {problem}") from None
        self._listener.settimeout(TICK)
        self.port = self._listener.getsockname()[1]
        self.where = f"tcp-listen://{bracketed(self.host)}:{self.port}"

    def _connect(self) -> Any:
        connection, address = self._listener.accept()
        self.back = f"{bracketed(address[0])}:{address[1]} connected"
        _keep_alive(connection)
        return connection

    def _receive(self) -> bytes:
        data = _received(self._link, "the device")
        if not data and select.select([self._listener], [], [], 0)[0]:
            raise ConnectionError("a newer connection took its place")
        return data

    def close(self) -> None:
        """Let go of the port too."""
        super().close()
        if self._listener is not None:
            self._listener.close()


def _received(connection: socket.socket, other: str) -> bytes:
    """Return what has come, b"" where nothing came for a while."""
    if not select.select([connection], [], [], TICK)[0]:
        return b""
    data = connection.recv(MOST)
    if not data:
        raise ConnectionError(f"closed by {other}")
    return data


def _keep_alive(connection: socket.socket) -> None:
    """Have the system notice a device that went away without a word, within about a minute."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def bracketed(host: str) -> str:
    """Return a host as it stands in an address."""
    return f"[{host}]" if ":" in host else host
