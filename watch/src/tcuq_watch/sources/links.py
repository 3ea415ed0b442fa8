"""Serial ports and TCP: connections that are lost and come back."""

from __future__ import annotations

import errno
import os
import select
import socket
import time
from contextlib import suppress
from typing import Any

from tcuq.base.errors import InputError, needed

from .arrivals import Notice
from .streams import MOST, TICK, Stream

BAUD = 115_200

FIRST_WAIT, LONGEST_WAIT = 0.1, 1.0
"""Seconds before a lost connection is tried again: they double up to the second number."""

_HINTS = {
    errno.EACCES: "no permission; on Linux: sudo usermod -aG dialout $USER, then log in again",
    errno.ENOENT: "no such port; is the board plugged in? (ls /dev/tty* shows the ports)",
    errno.EBUSY: "is taken by another program; close it, such as a serial monitor",
    errno.EAGAIN: "is taken by another program; close it, such as a serial monitor",
    errno.ECONNREFUSED: "connection refused; is the device listening there?",
    errno.EADDRINUSE: "is taken by another program; choose another port",
}


def _short(error: BaseException) -> str:
    text = " ".join(str(getattr(error, "strerror", None) or error).split())
    return text[:200] or type(error).__name__


class Link(Stream):
    """A connection that is opened again when it is lost, with `_connect` and `_receive`."""

    longest = LONGEST_WAIT

    def __init__(self, where: str, **options: Any) -> None:
        super().__init__(where, **options)
        self._link: Any = None

    def _connect(self) -> Any:
        """Return what was opened."""
        raise NotImplementedError

    def _receive(self) -> bytes:
        """Return what has come, b"" where nothing came for a while; raise where the connection is lost."""
        if not select.select([self._link], [], [], TICK)[0]:
            return b""
        data: bytes = self._link.recv(MOST)
        if not data:
            raise ConnectionError("closed by the other side")
        return data

    def _open(self) -> None:
        try:
            self._link = self._connect()
        except InputError:
            raise
        except Exception as error:  # termios has an error of its own
            number = getattr(error, "errno", None) or 0
            code = "busy" if number == errno.EADDRINUSE else "failed"
            problem = _HINTS.get(number, f"{_short(error)}; is the name right?")
            raise InputError(code, f"{self.where}: {problem}") from None

    def _read(self) -> None:
        wait = FIRST_WAIT
        if self._link is not None:
            self.put(Notice("connected", f"connected to {self.where}"))
        while not self._stopping:
            if self._link is None:
                time.sleep(wait)
                wait = min(self.longest, 2 * wait)
                with suppress(Exception):
                    self._link = self._connect()
                    self.put(Notice("connected", f"connected to {self.where}"))
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

    def __init__(self, port: str, baud: int = BAUD, **options: Any) -> None:
        super().__init__(f"{port}@{baud}", **options)
        self.port, self.baud = port, baud
        if not 50 <= baud <= 20_000_000:
            raise InputError("value", f"{self.where}: the baud rate is {baud}, expected 50 to 20000000")

    def _connect(self) -> Any:
        serial = needed("serial", "tcuq-watch", "a serial port")
        more = {"exclusive": True} if os.name == "posix" else {}
        return serial.Serial(self.port, self.baud, timeout=TICK, **more)

    def _receive(self) -> bytes:
        return bytes(self._link.read(max(1, self._link.in_waiting)))


class Tcp(Link):
    """A TCP server that sends steps; connected to again when the connection is lost."""

    scheme = "tcp"

    def __init__(self, host: str, port: int, **options: Any) -> None:
        super().__init__(f"{self.scheme}://{bracketed(host)}:{port}", **options)
        self.host, self.port = host, port

    def _connect(self) -> Any:
        return _kept_alive(socket.create_connection((self.host, self.port), timeout=5.0))


class Listener(Tcp):
    """A TCP port that one device connects to; a newer connection takes the place of an older one."""

    scheme, longest = "tcp-listen", FIRST_WAIT
    _listener: Any = None

    def _connect(self) -> Any:
        if self._listener is None:
            family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
            self._listener = socket.create_server((self.host, self.port), family=family, backlog=4)
            self._listener.settimeout(TICK)
            self.port = self._listener.getsockname()[1]
            self.where = f"{self.scheme}://{bracketed(self.host)}:{self.port}"
            return None  # nobody can have connected yet
        return _kept_alive(self._listener.accept()[0])

    def _receive(self) -> bytes:
        data = super()._receive()
        if not data and select.select([self._listener], [], [], 0)[0]:
            raise ConnectionError("a newer connection took its place")
        return data

    def close(self) -> None:
        """Let go of the port too."""
        super().close()
        if self._listener is not None:
            self._listener.close()


def _kept_alive(connection: socket.socket) -> socket.socket:
    """Have the system notice a device that went away without a word, within about a minute."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return connection


def bracketed(host: str) -> str:
    """Return a host as it stands in an address."""
    return f"[{host}]" if ":" in host else host
