"""MQTT 5: addresses, the one client, and events from a broker, acknowledged after their commit."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import ssl
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tcuq.base.errors import InputError, needed
from tcuq.base.limits import Limits, limits_given

from .arrivals import Arrived, Notice, is_name
from .links import bracketed
from .streams import TICK, Stream

PASSWORD, AUTHORITY = "TCUQ_MQTT_PASSWORD", "TCUQ_MQTT_CA"
CERTIFICATE, PRIVATE_KEY = "TCUQ_MQTT_CERT", "TCUQ_MQTT_KEY"
"""Variables of the environment: password, file of the authorities to trust in place of those of the system,
certificate of this client and its key. Not parts of the address, which is shown on pages and in lists of
processes, and stays the same on every machine."""

LOST_AFTER, SETTLE = 7 * 86400, 2.0
"""Seconds that a broker keeps the session, and the messages in it, while nobody is connected, and that it has
for its last answer."""

IN_FLIGHT, FEW = 65_535, 16
"""Messages that a broker may send before one is acknowledged, and that one has sent at least which waits for
acknowledgements: mosquitto stops at 20 unless it is told otherwise."""

MOST_WAITING, MOST_KEPT = 200_000, 256
"""Messages of quality 0 that wait at most (more are dropped and counted), and messages of the last two
commits that a position names."""


@dataclass(frozen=True)
class Address:
    """A broker and a topic: ``mqtt://user:password@host:port/topic``, ``mqtts://`` for TLS.

    ``+`` and ``#`` may stand in the topic of a source, ``{device}`` and ``{version}`` in that of a sink.
    `device` is the level of the topic, from 0, that names the device; None if messages do.
    """

    host: str
    port: int
    tls: bool
    user: str
    password: str = field(repr=False)
    topic: str
    device: int | None

    @classmethod
    def of(cls, text: str) -> Address:
        """Read an address."""
        scheme, _, rest = text.partition("://")
        try:
            parts = urlsplit(text.replace("#", "%23"))
            port = {"mqtt": 1883, "mqtts": 8883}[scheme] if parts.port is None else parts.port
            topic, user = unquote(parts.path[1:]), unquote(parts.username or "")
            if not (parts.hostname and port and topic):
                raise ValueError
        except (ValueError, KeyError):
            shown, expected = rest.rpartition("@")[2], "mqtt://HOST:PORT/TOPIC, with a port of 1 to 65535"
            raise InputError("value", f"the broker is {scheme}://{shown}, expected {expected}") from None
        password = unquote(parts.password or "") or os.environ.get(PASSWORD, "")
        level = _level(topic, parts.query)
        return cls(parts.hostname, port, scheme == "mqtts", user, password, topic, level)

    def __str__(self) -> str:
        return f"{'mqtts' if self.tls else 'mqtt'}://{bracketed(self.host)}:{self.port}/{self.topic}"


def _level(topic: str, options: str) -> int | None:
    """Return the level of a topic that names the device: the first that is open, or what options say."""
    levels = topic.split("/")
    if not options:
        return levels.index("+") if "+" in levels else None
    match = re.fullmatch(r"device=(?:payload|([1-9]\d{0,3}))", options, re.ASCII)
    if match is None:
        expected = "expected device=payload or device=LEVEL"
        raise InputError("unknown", f"option {options!r} of the topic is unknown, {expected}")
    return int(match[1]) - 1 if match[1] else None


class Connection:
    """A client with a session that the broker keeps; connects again by itself.

    `tell` hears of "connected" and "lost", in the client's thread.
    """

    def __init__(
        self, address: Address, name: str, subscribe: bool, tell: Callable[[str, str], None] | None = None
    ) -> None:
        paho = needed("paho.mqtt.client", "paho-mqtt", f"the address {address}")
        self.address, self.number = address, 0
        self.away = self._leaving = False
        self.error: str | None = None
        self._subscribe, self._tell = subscribe, tell or (lambda kind, text: None)
        self.ready = threading.Event()
        self.client = paho.Client(
            paho.CallbackAPIVersion.VERSION2, client_id=name, protocol=paho.MQTTv5, manual_ack=subscribe
        )
        if address.user:
            self.client.username_pw_set(address.user, address.password)
        if address.tls:
            files = [os.environ.get(name) or None for name in (AUTHORITY, CERTIFICATE, PRIVATE_KEY)]
            try:
                # A key that needs a password is refused: nobody is there to be asked for it.
                self.client.tls_set(*files, keyfile_password="")
            except (OSError, ValueError) as error:
                names = f"{AUTHORITY}, {CERTIFICATE} and {PRIVATE_KEY}"
                raise InputError("damaged", f"{names} are {files}, which cannot be used ({error})") from None
        self.client.on_connect, self.client.on_disconnect = self._connected, self._disconnected
        self.client.on_subscribe = self._subscribed
        self.client.reconnect_delay_set(1, 30)

    def open(self, timeout: float = 10.0) -> None:
        """Connect; an error says why in one line."""
        from paho.mqtt import packettypes
        from paho.mqtt import properties as made

        address, properties = self.address, made.Properties(packettypes.PacketTypes.CONNECT)  # type: ignore
        properties.SessionExpiryInterval, properties.ReceiveMaximum = LOST_AFTER, IN_FLIGHT
        try:
            self.client.connect(
                address.host, address.port, keepalive=60, clean_start=False, properties=properties
            )
        except (OSError, ValueError) as error:
            hint = "is the broker running there?"
            if isinstance(error, ssl.SSLCertVerificationError):
                hint = f"name the file of its authority in {AUTHORITY}"
            raise InputError("failed", f"{address}: {error}; {hint}") from None
        self.client.loop_start()
        if not self.ready.wait(timeout) or self.error:
            self.close()
            raise InputError("failed", f"{address}: {self.error or 'the broker does not answer'}")

    def subscribe(self) -> None:
        """Ask for messages that are sent from now on: a retained one is of an earlier time."""
        from paho.mqtt.subscribeoptions import SubscribeOptions

        self.client.subscribe(self.address.topic, options=SubscribeOptions(qos=1, retainHandling=2))

    def _connected(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            # A broker that was there before may be busy with its own start: the client tries again.
            if not self.number:
                self._failed(f"the broker refuses the connection: {reason}; check user and password")
            return
        self.number += 1
        self.away = False
        self._tell("connected", f"connected to {self.address}")
        if self._subscribe:
            self.subscribe()
        else:
            self.ready.set()

    def _subscribed(self, client: Any, data: Any, mid: Any, reasons: Any, properties: Any) -> None:
        if any(reason.is_failure for reason in reasons):
            self._failed(f"the broker refuses the subscription: {reasons[0]}")
        self.ready.set()

    def _disconnected(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if not self.number and not self._leaving:
            hint = f"; does it ask for a certificate? Name yours in {CERTIFICATE}" if self.address.tls else ""
            self._failed(f"the broker closed the connection ({reason}){hint}")
        elif not self._leaving and not self.away:
            self.away = True
            self._tell("lost", f"{self.address} was lost ({reason})")

    def _failed(self, message: str) -> None:
        self.error = self.error or message
        self.ready.set()

    def close(self) -> None:
        """Leave; the session stays.

        First it waits until the broker has read what was sent, as a socket that closes earlier may take
        acknowledgements along: subscribing again changes nothing, and is answered.
        """
        settle = self._subscribe and self.client.is_connected() and not self._leaving and not self.error
        self._leaving = True
        with contextlib.suppress(OSError, ValueError):
            if settle:
                self.ready.clear()
                self.subscribe()
                self.ready.wait(SETTLE)
            self.client.disconnect()
        self.client.loop_stop()


class MqttSource(Stream):
    """Messages of devices: one step, a list, lines or binary frames.

    The broker keeps a message until the commit that holds it is done, and sends it again after a kill. What
    comes twice is dropped by its boot and seq, so each step counts exactly once. As steps need not tell
    both, the position names the messages of the last two commits, as far as they are few: the broker may not
    have heard yet that they are safe.
    """

    def __init__(self, address: Address, folder: Path, limits: Limits | None = None, **options: Any) -> None:
        super().__init__(str(address), "message", limits=limits, **options)
        self.address = address
        name = hashlib.sha256(f"{folder.resolve()} {address.topic}".encode()).hexdigest()[:16]
        self.connection = Connection(address, f"tcuq-{name}", subscribe=True, tell=self._happened)
        self.connection.client.on_message = self._arrived
        self._limits = limits_given(limits)
        self._last = 0.0
        self._taken_now: list[int] = []
        self._taken_before: list[int] = []
        self._known: Counter[int] = Counter()

    def _resume(self, position: dict[str, Any]) -> None:
        super()._resume(position)
        self._known.update(position.get("messages", ()))

    def _position(self) -> Any:
        messages = self._taken_before + self._taken_now
        self._taken_before, self._taken_now = self._taken_now, []
        kept = {"messages": messages} if len(messages) <= MOST_KEPT else {}
        return {"source": self.key, **self.reader.memory(), **kept}

    def _open(self) -> None:
        self.connection.open()

    def _shut(self) -> None:
        self.connection.close()

    def _happened(self, kind: str, text: str) -> None:
        self._items.put((time.time(), Notice(kind, text)))

    def _arrived(self, client: Any, data: Any, message: Any) -> None:
        # Any work here would hold up the connection.
        if self._stopping:
            return  # it is not acknowledged, and comes again
        size, full = len(message.payload), self._came - self._taken > self._limits.waiting
        if message.qos == 0 and (full or self._items.qsize() >= MOST_WAITING):
            self.bad("too fast", f"{self.where}: more messages of quality 0 than can be taken")
            return
        if size > self._limits.message:
            expected = self._limits.beyond("message", size)
            self.bad("large message", f"{message.topic[:80]}: has {size:,} bytes, {expected}")
            message.payload = b""  # it is acknowledged, else it would come again
        self._came += len(message.payload)
        self._items.put((time.time(), (self.connection.number, message)))

    def _read(self) -> None:
        """Wait for an error; messages come by the client's own thread."""
        while not self._stopping:
            if self.connection.error:
                raise InputError("failed", f"{self.address}: {self.connection.error}")
            time.sleep(TICK)

    def _take(self, when: float, item: tuple[int, Any]) -> None:
        message, level = item[1], self.address.device
        self._last = time.monotonic()
        self._taken += len(message.payload)
        digest = zlib.crc32(message.payload, zlib.crc32(message.topic.encode()))
        if message.qos:
            self.reader.rows.tokens.append(item)
            self._taken_now.append(digest)
        if message.dup and self._known[digest]:
            self._known[digest] -= 1
            return
        device = None if level is None else "".join(message.topic.split("/")[level : level + 1])
        if device is not None and not is_name(device):
            self.bad("device name", f"{message.topic}: names no device")
        elif message.payload:  # else it was too large, or says nothing
            self.reader.message(message.payload, device, when)

    def _stalls(self, now: float) -> bool:
        return len(self.reader.rows.tokens) >= FEW and now - self._last >= TICK

    def _drain(self) -> None:
        """Leave what was not taken: it is not acknowledged, and comes again."""

    def committed(self, arrived: Arrived) -> None:
        """Acknowledge messages, those of this connection: the others are sent again and then dropped."""
        for number, message in arrived.tokens:
            if number == self.connection.number:
                self.connection.client.ack(message.mid, message.qos)
