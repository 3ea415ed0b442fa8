"""Serial ports and sockets: connections that are lost and come back."""

from __future__ import annotations

import errno
import os
import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tcuq.base.errors import InputError
from tcuq.base.limits import limits_given
from tcuq.base.optional import needed

from .inbox import PACE, Backoff, Chunk, Event, Source
from .mqtt_client import Broker

BAUD = 115_200
MOST = 1 << 18


class Serial(Source):
    """A serial port, through pyserial; one that was unplugged is opened again when it is back."""

    def __init__(self, port: str, baud: int = BAUD) -> None:
        super().__init__()
        self.port, self.baud, self.name = port, baud, f"{port}@{baud}"
        if not 50 <= baud <= 20_000_000:
            raise InputError("value", f"{self.name}: the baud rate is {baud}, expected 50 to 20000000")
        self._serial: Any = None

    def _opened(self) -> Any:
        serial = needed("serial", "tcuq-watch", "a serial port")
        more = {"exclusive": True} if os.name == "posix" else {}
        try:
            return serial.Serial(self.port, self.baud, timeout=0.1, **more)
        except OSError as error:
            raise type(error)(error.errno, _serial_hint(error, self.port)) from None
        except ValueError as error:
            raise OSError(errno.EINVAL, f"{self.port}: {error}") from None
        except Exception as error:  # termios.error, which is no OSError
            raise OSError(errno.EIO, f"{self.port}: is not a serial port ({error})") from None

    def _open(self) -> None:
        try:
            self._serial = self._opened()
        except OSError as error:
            raise InputError("failed", error.strerror or str(error)) from None

    def _read(self) -> None:
        self.put(Event("connected", f"reading {self.name}"))
        backoff = Backoff()
        while not self.closing:
            try:
                data = self._serial.read(max(1, self._serial.in_waiting))
            except Exception as error:  # pyserial, termios and the system each have their own
                if self.closing:
                    return
                self.put(Event("lost", f"{self.name} was lost ({_short(error)})"))
                self._again(backoff)
                continue
            if data:
                backoff.reset()
                self.put(Chunk(bytes(data)))
                self.wait(PACE)

    def _again(self, backoff: Backoff) -> None:
        self._shut()
        while not self.wait(backoff.next()):
            try:
                self._serial = self._opened()
            except (OSError, ValueError):
                continue
            self.put(Event("connected", f"{self.name} is back"))
            return

    def _shut(self) -> None:
        if self._serial is not None:
            with suppress(Exception):  # an unplugged port may fail in many ways, and is gone all the same
                self._serial.close()
            self._serial = None


def _serial_hint(error: OSError, port: str) -> str:
    text = str(error)
    if error.errno == errno.EACCES or "Permission denied" in text:
        return (
            f"{port}: no permission to open it; on Linux join the group that owns it, then log in again: "
            "sudo usermod -aG dialout $USER"
        )
    if error.errno == errno.ENOENT or "No such file" in text or "FileNotFound" in text:
        return f"{port}: no such port; is the board plugged in? (ls /dev/tty* shows the ports)"
    if error.errno in (errno.EBUSY, errno.EAGAIN) or "lock" in text:
        return f"{port}: is taken by another program; close it, such as a serial monitor"
    return f"{port}: {_short(error)}"


def _short(error: BaseException) -> str:
    text = " ".join(str(getattr(error, "strerror", None) or error).split())
    return text[:100] or type(error).__name__


class Connection(Source):
    """A TCP server that sends steps; connected to again when the connection is lost."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self.host, self.port, self.name = host, port, f"tcp://{_bracketed(host)}:{port}"
        self._socket: socket.socket | None = None

    def _opened(self) -> socket.socket:
        found = socket.create_connection((self.host, self.port), timeout=5.0)
        _keep_alive(found)
        return found

    def _open(self) -> None:
        try:
            self._socket = self._opened()
        except socket.gaierror:
            raise InputError("unknown", f"{self.name}: the name {self.host!r} is not known") from None
        except OSError as error:
            raise InputError(
                "failed", f"{self.name}: {_short(error)}; is the device listening there?"
            ) from None

    def _read(self) -> None:
        self.put(Event("connected", f"connected to {self.name}"))
        backoff = Backoff()
        while not self.closing:
            assert self._socket is not None
            try:
                data = _received(self._socket)
            except OSError as error:
                why = _short(error)
            else:
                if data is None:
                    continue
                if data:
                    backoff.reset()
                    self.put(Chunk(data))
                    if len(data) < 1 << 15:
                        self.wait(PACE)
                    continue
                why = "closed by the other side"
            self.put(Event("lost", f"{self.name} was lost ({why})"))
            self._shut()
            while not self.wait(backoff.next()):
                try:
                    self._socket = self._opened()
                except OSError:
                    continue
                self.put(Event("connected", f"connected to {self.name} again"))
                break

    def _shut(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class Listener(Source):
    """A TCP port that one device connects to; a newer connection takes the place of an older one."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self.host, self.port = host, port
        self._listener: socket.socket | None = None
        self._socket: socket.socket | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        """The address, with the port that was taken."""
        return f"tcp-listen://{_bracketed(self.host)}:{self.port}"

    def _open(self) -> None:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            self._listener = socket.create_server((self.host, self.port), family=family, backlog=4)
        except socket.gaierror:
            raise InputError("unknown", f"{self.name}: the name {self.host!r} is not known") from None
        except PermissionError:
            raise InputError("failed", f"{self.name}: no permission; choose a port above 1023") from None
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise InputError("busy", f"{self.name}: the port is taken; choose another one") from None
            raise InputError("failed", f"{self.name}: {_short(error)}") from None
        self.port = self._listener.getsockname()[1]

    def _read(self) -> None:
        listener = self._listener
        assert listener is not None
        self.put(Event("note", f"waiting for a device at {self.name}"))
        while not self.closing:
            watched = [listener] if self._socket is None else [listener, self._socket]
            ready = select.select(watched, [], [], 0.1)[0]
            if self._socket in ready:
                self._pass_on()
            elif listener in ready:
                found, address = listener.accept()
                _keep_alive(found)
                self._drop("a newer connection took its place")
                self._socket = found
                self.put(Event("connected", f"{_bracketed(address[0])}:{address[1]} connected"))

    def _pass_on(self) -> None:
        assert self._socket is not None
        try:
            data = self._socket.recv(MOST)
        except OSError as error:
            self._drop(_short(error))
            return
        if not data:
            self._drop("closed by the device")
            return
        self.put(Chunk(data))
        if len(data) < 1 << 15:
            self.wait(PACE)

    def _drop(self, why: str) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            self.put(Event("lost", f"the connection to {self.name} was lost ({why})"))

    def _shut(self) -> None:
        for each in (self._socket, self._listener):
            if each is not None:
                each.close()
        self._socket = self._listener = None


def _received(connection: socket.socket) -> bytes | None:
    """Return what has come, b"" at the end and None where nothing came for a while."""
    if not select.select([connection], [], [], 0.1)[0]:
        return None
    return connection.recv(MOST)


def _keep_alive(connection: socket.socket) -> None:
    """Have the system notice a device that went away without a word, within about a minute."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


WAIT = 8.0
"""Seconds that a broker has for its first answer."""

SETTLE = 2.0
"""Seconds that it has for its last one."""


class Link:
    """A client that is connected, and connects again by itself."""

    def __init__(
        self,
        broker: Broker,
        client: Any,
        connected: Callable[[bool], None],
        lost: Callable[[str], None],
    ) -> None:
        self.broker, self.client = broker, client
        self._connected, self._lost = connected, lost
        self._answered = threading.Event()
        self._refused = ""
        self._up = False
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect

    def open(self) -> None:
        """Connect; raise in one line where the broker cannot be reached or refuses."""
        try:
            self.client.connect(self.broker.host, self.broker.port, keepalive=30)
        except (OSError, ValueError) as error:
            text = getattr(error, "strerror", None) or str(error)
            raise InputError("failed", f"{self.broker.name}: {text}; is the broker running there?") from None
        self.client.loop_start()
        answered = self._answered.wait(WAIT)
        if not answered or self._refused:
            self.close()
            why = f"the broker refused: {self._refused}" if answered else "the broker does not answer"
            raise InputError("failed", f"{self.broker.name}: {why}")

    def settle(self, topic: str) -> None:
        """Wait until the broker has read what was sent; a socket that closes earlier may take it along.

        Subscribing to `topic` again changes nothing, and is answered.
        """
        answered = threading.Event()
        self.client.on_subscribe = lambda *_: answered.set()
        if self._up:
            self.client.subscribe(topic, qos=1)
            answered.wait(SETTLE)

    def close(self) -> None:
        """Say goodbye and end the client's thread."""
        self.client.disconnect()
        self.client.loop_stop()

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self._refused = str(reason)
        else:
            again, self._up = self._answered.is_set(), True
            self._connected(again)
        self._answered.set()

    def _on_disconnect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if self._up and reason.is_failure:
            self._lost(str(reason))
        self._up = False


class Subscription(Source):
    """A topic to which one device publishes; each message holds lines or frames, whole ones.

    Messages are acknowledged when what they hold is kept, so one that came just before this program was
    killed comes again, marked as a duplicate.
    """

    def __init__(self, broker: Broker, topic: str, identity: str) -> None:
        super().__init__()
        if not topic:
            raise InputError("missing", f"{broker.name}: the topic is missing, expected {broker.name}/TOPIC")
        if "+" in topic or "#" in topic:
            raise InputError(
                "value",
                f"topic {topic!r} has a wildcard, expected the topic of one device "
                "(tcuq fleet run takes many devices)",
            )
        self.topic, self.name = topic, f"{broker.name}/{topic}"
        self._broker, self._identity = broker, identity
        self._link: Link | None = None

    def _open(self) -> None:
        client = self._broker.client(self._identity)
        client.on_message = self._on_message

        def connected(again: bool) -> None:
            client.subscribe(self.topic, qos=1)
            self.put(Event("connected", f"connected to {self.name}{' again' if again else ''}"))

        def lost(why: str) -> None:
            self.put(Event("lost", f"{self.name} was lost ({why})"))

        self._link = Link(self._broker, client, connected, lost)
        self._link.open()

    def _on_message(self, client: Any, data: Any, message: Any) -> None:
        if self.closing:
            return  # not acknowledged: it comes again at the next start
        if message.retain:  # of an earlier time: it would come again with each connection
            client.ack(message.mid, message.qos)
            return
        limits, size = limits_given(), len(message.payload)
        if size > limits.message:
            self.put(Event("refused", f"a message has {size:,} bytes, {limits.beyond('message', size)}"))
            client.ack(message.mid, message.qos)
            return
        payload = bytes(message.payload)
        if not payload.endswith(b"\n"):
            payload += b"\n"  # a message is whole; lines in it need no end of their own
        self.put(Chunk(payload, ack=lambda: client.ack(message.mid, message.qos), again=message.dup))

    def _read(self) -> None:
        self._closing.wait()

    def _shut(self) -> None:
        if self._link is not None:
            self._link.settle(self.topic)
            self._link.close()
            self._link = None
