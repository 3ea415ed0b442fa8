"""Serial ports and TCP, both ways: connections that are lost and come back."""

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

KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""Have the system notice a device that went away without a word, within about a minute."""

_HINTS = {
    errno.EACCES: "no permission; on Linux: sudo usermod -aG dialout $USER, then log in again",
    errno.ENOENT: "no such port; is the board plugged in? (ls /dev/tty* shows the ports)",
    errno.ECONNREFUSED: "connection refused; is the device listening there?",
    **dict.fromkeys((errno.EBUSY, errno.EAGAIN, errno.EADDRINUSE), "is taken by another program; close it"),
}


def _short(error: BaseException) -> str:
    text = " ".join(str(getattr(error, "strerror", None) or error).split())
    return text[:200] or type(error).__name__


class Link(Stream):
    """A connection that is opened again when it is lost.

    `scheme` is how it is opened: "serial" with a name and a baud rate, "tcp" to a host and a port, or
    "tcp-listen" at one, where a newer connection takes the place of an older one.
    """

    def __init__(self, scheme: str, name: str, number: int, **options: Any) -> None:
        shown = f"{name}@{number}" if scheme == "serial" else f"{scheme}://{bracketed(name)}:{number}"
        super().__init__(shown, **options)
        self.scheme, self.name, self.number = scheme, name, number
        self._link: Any = None
        self._listener: Any = None
        if scheme == "serial" and not 50 <= number <= 20_000_000:
            raise InputError("value", f"{shown}: the baud rate is {number}, expected 50 to 20000000")

    def _connect(self) -> Any:
        """Return what was opened; None where a port has just begun to listen."""
        if self.scheme == "serial":
            serial = needed("serial", "pyserial", "a serial port")
            more = {"exclusive": True} if os.name == "posix" else {}
            return serial.Serial(self.name, self.number, timeout=TICK, **more)
        if self.scheme == "tcp":
            connection = socket.create_connection((self.name, self.number), timeout=5.0)
        elif self._listener is None:
            family = socket.AF_INET6 if ":" in self.name else socket.AF_INET
            self._listener = socket.create_server((self.name, self.number), family=family, backlog=4)
            self._listener.settimeout(TICK)
            self.number = self._listener.getsockname()[1]
            self.where = f"{self.scheme}://{bracketed(self.name)}:{self.number}"
            return None
        else:
            connection = self._listener.accept()[0]
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE.items():
            if hasattr(socket, option):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
        return connection

    def _receive(self) -> bytes:
        """Return what has come, b"" where nothing came for a while; raise where the connection is lost."""
        if self.scheme == "serial":
            return bytes(self._link.read(max(1, self._link.in_waiting)))
        if select.select([self._link], [], [], TICK)[0]:
            data: bytes = self._link.recv(MOST)
            if not data:
                raise ConnectionError("closed by the other side")
            return data
        if self._listener is not None and select.select([self._listener], [], [], 0)[0]:
            raise ConnectionError("a newer connection took its place")
        return b""

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
        wait, longest = FIRST_WAIT, FIRST_WAIT if self._listener else LONGEST_WAIT
        if self._link is not None:
            self.put(Notice("connected", f"connected to {self.where}"))
        while not self._stopping:
            if self._link is None:
                time.sleep(wait)
                wait = min(longest, 2 * wait)
                with suppress(Exception):
                    self._link = self._connect()
                    self.put(Notice("connected", f"connected to {self.where}"))
                continue
            try:
                data = self._receive()
            except Exception as error:  # pyserial, termios and the system each have their own
                self._drop()
                self.put(Notice("lost", f"{self.where} was lost ({_short(error)})"))
                continue
            if data:
                wait = FIRST_WAIT
                self.put(data)

    def _drop(self) -> None:
        link, self._link = self._link, None
        with suppress(Exception):  # an unplugged port may fail in many ways, and is gone all the same
            link.close()

    def _shut(self) -> None:
        self._drop()
        if self._listener is not None:
            self._listener.close()


def bracketed(host: str) -> str:
    """Return a host as it stands in an address."""
    return f"[{host}]" if ":" in host else host
