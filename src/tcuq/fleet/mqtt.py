"""Events from an MQTT broker, each message acknowledged after its commit; addresses and clients of MQTT."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from ..base.optional import needed
from .arrivals import Arrived, Bad, DeviceState, Gathering, Refused, check_name
from .events import Events

LOST_AFTER = 7 * 86400
"""Seconds that a broker keeps the session, and the messages in it, while nobody is connected."""

STALL = 0.1
"""Seconds without a message after which a broker may be waiting for acknowledgements."""

FEW = 16
"""Messages at least that such a broker sent; mosquitto stops at 20 unless it is told otherwise."""

IN_FLIGHT = 65_535
"""Messages that a broker may send before one is acknowledged; a commit holds no more messages than that."""

MOST_WAITING = 200_000
"""Messages of quality 0 that wait at most; more are dropped and counted."""


@dataclass(frozen=True)
class Address:
    """A broker and a topic: ``mqtt://user:password@host:port/topic``, ``mqtts://`` for TLS.

    Parameters
    ----------
    host : str
    port : int
    topic : str
        In a source, ``+`` and ``#`` may stand in it. In a sink, ``{device}`` and ``{version}``.
    device : int or None
        Level of the topic, from 0, that names the device; None if messages do.
    user, password : str or None
        The password may also stand in the variable TCUQ_MQTT_PASSWORD.
    tls : bool

    Examples
    --------
    >>> address = Address.of("mqtt://broker/plant/+/steps")
    >>> address.host, address.port, address.topic, address.device
    ('broker', 1883, 'plant/+/steps', 1)
    >>> Address.of("mqtt://broker/plant/#?device=payload").device is None
    True
    """

    host: str
    port: int
    topic: str
    device: int | None = None
    user: str | None = None
    password: str | None = None
    tls: bool = False

    @classmethod
    def of(cls, text: str) -> Address:
        """Read an address."""
        scheme, _, rest = text.partition("://")
        place, _, topic = rest.partition("/")
        login, _, place = place.rpartition("@")
        host, colon, port = place.rpartition(":")
        if not colon or place.endswith("]"):
            host, port = place, ""
        topic, _, options = topic.partition("?")
        if (
            not host
            or not topic
            or (port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536))
        ):
            raise ValueError(f"{text.rpartition('@')[2]}: expected mqtt://host:port/topic")
        user, _, password = login.partition(":")
        return cls(
            host.strip("[]"),
            int(port or (8883 if scheme == "mqtts" else 1883)),
            topic,
            _level(topic, options),
            unquote(user) or None,
            unquote(password) or os.environ.get("TCUQ_MQTT_PASSWORD"),
            scheme == "mqtts",
        )

    def __str__(self) -> str:
        return f"mqtt{'s' if self.tls else ''}://{self.host}:{self.port}/{self.topic}"


def _level(topic: str, options: str) -> int | None:
    """Return the level of a topic that names the device: the first that is open, or what options say."""
    levels = topic.split("/")
    key, _, value = options.partition("=")
    if not options:
        return levels.index("+") if "+" in levels else None
    if key == "device" and value == "payload":
        return None
    if key == "device" and value.isascii() and value.isdigit() and int(value) > 0:
        return int(value) - 1
    raise ValueError(f"option {options!r} of the topic is unknown, expected device=payload or device=LEVEL")


class Connection:
    """A client with a session that the broker keeps; connects again by itself.

    Parameters
    ----------
    address : Address
    name : str
        Of the client: the session belongs to it.
    subscribe : bool
        To the topic, again with each connection.

    Attributes
    ----------
    number : int
        How many connections there were; acknowledgements belong to one of them.
    """

    def __init__(self, address: Address, name: str, subscribe: bool) -> None:
        self._paho = needed("paho.mqtt.client", "tcuq[mqtt]", f"the address {address}")
        self.address, self.number, self.lost = address, 0, 0
        self.error: str | None = None
        self._subscribe = subscribe
        self.ready = threading.Event()
        self.client = self._paho.Client(
            self._paho.CallbackAPIVersion.VERSION2,
            client_id=name,
            protocol=self._paho.MQTTv5,
            manual_ack=subscribe,
        )
        if address.user is not None:
            self.client.username_pw_set(address.user, address.password)
        if address.tls:
            self.client.tls_set()
        self.client.on_connect, self.client.on_disconnect = self._connected, self._disconnected
        self.client.on_subscribe = self._subscribed
        self.client.reconnect_delay_set(1, 30)

    def open(self, timeout: float = 10.0) -> None:
        """Connect; an error says why in one line."""
        properties = needed("paho.mqtt.properties", "tcuq[mqtt]", "MQTT").Properties(
            needed("paho.mqtt.packettypes", "tcuq[mqtt]", "MQTT").PacketTypes.CONNECT
        )
        properties.SessionExpiryInterval = LOST_AFTER
        properties.ReceiveMaximum = IN_FLIGHT
        try:
            self.client.connect(
                self.address.host, self.address.port, keepalive=60, clean_start=False, properties=properties
            )
        except OSError as error:
            raise ValueError(f"{self.address}: {error.strerror or error}") from None
        self.client.loop_start()
        if not self.ready.wait(timeout) or self.error:
            self.close()
            raise ValueError(f"{self.address}: {self.error or 'the broker does not answer'}")

    def _connected(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            # A broker that was there before may be busy with its own start: the client tries again.
            if not self.number:
                self._failed(f"the broker refuses the connection: {reason}")
            return
        self.number += 1
        if self._subscribe:
            client.subscribe(self.address.topic, qos=1)
        else:
            self.ready.set()

    def _subscribed(self, client: Any, data: Any, mid: Any, reasons: Any, properties: Any) -> None:
        if any(reason.is_failure for reason in reasons):
            self._failed(f"the broker refuses the subscription: {reasons[0]}")
        self.ready.set()

    def _disconnected(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self.lost += 1

    def _failed(self, message: str) -> None:
        self.error = message
        self.ready.set()

    def close(self) -> None:
        """Leave; the session stays."""
        with contextlib.suppress(OSError, ValueError):
            self.client.disconnect()
        self.client.loop_stop()


class _Message(NamedTuple):
    connection: int
    mid: int
    qos: int
    topic: str
    payload: bytes
    received: float


class MqttSource:
    """Messages of devices: JSON, one step or a list of steps, or binary frames.

    The broker keeps a message until the commit that holds it is done, and sends it again after a kill. What
    comes twice is dropped by its boot and seq, so each step counts exactly once.

    Parameters
    ----------
    address : Address
    folder : path
        Of the fleet; the session is named after it.
    """

    def __init__(self, address: Address, folder: Path) -> None:
        self.address, self.where = address, str(address)
        self.bad = Bad()
        name = hashlib.sha256(f"{folder.resolve()} {address.topic}".encode()).hexdigest()[:16]
        self.connection = Connection(address, f"tcuq-{name}", subscribe=True)
        self.connection.client.on_message = self._arrived
        self._stop = threading.Event()
        self._messages: queue.SimpleQueue[_Message] = queue.SimpleQueue()
        self._decoder: Any = None

    def _arrived(self, client: Any, data: Any, message: Any) -> None:
        # Any work here would hold up the connection.
        if message.qos == 0 and self._messages.qsize() >= MOST_WAITING:
            self.bad("too fast", f"{self.where}: more messages of quality 0 than can be taken")
            return
        number = self.connection.number
        self._messages.put(
            _Message(number, message.mid, message.qos, message.topic, message.payload, time.time())
        )

    def batches(self, position: Any, count: int, every: float) -> Iterator[Arrived | None]:
        """Yield what arrives; see `Source`. The broker knows the position, which stays as it is."""
        self.connection.open()
        rows = Gathering(self.bad, self.where)
        since = last = time.monotonic()
        while not self._stop.is_set():
            if self.connection.error:
                raise ValueError(f"{self.address}: {self.connection.error}")
            now = time.monotonic()
            try:
                message = self._messages.get(timeout=max(0.001, min(STALL, since + every - now)))
                if not rows:
                    since = time.monotonic()
                last = time.monotonic()
                self._decode(rows, message)
                if message.qos:
                    rows.tokens.append(message)
            except queue.Empty:
                pass
            now = time.monotonic()
            stalled = len(rows.tokens) >= FEW and now - last >= STALL
            if rows.count >= count or stalled or now - since >= every:
                since = now
                yield rows.handed_over(position) if rows else None
        if rows:
            yield rows.handed_over(position)

    def committed(self, arrived: Arrived) -> None:
        """Acknowledge messages, those of this connection: the others are sent again and then dropped."""
        number = self.connection.number
        for message in arrived.tokens:
            if message.connection == number:
                self.connection.client.ack(message.mid, message.qos)

    def stop(self) -> None:
        """End `batches` soon."""
        self._stop.set()

    def close(self) -> None:
        """Disconnect; the session stays at the broker."""
        self.connection.close()

    def _decode(self, rows: Gathering, message: _Message) -> None:
        try:
            device = self._device(message.topic)
        except Refused as error:
            rows.refuse(error.kind, f"{message.topic}: {error}")
            return
        payload = message.payload
        if payload[:1] not in (b"{", b"[") and payload.lstrip()[:1] not in (b"{", b"["):
            self._frames(rows, message, device)
            return
        try:
            content = json.loads(payload)
        except (ValueError, RecursionError) as error:
            rows.refuse("not JSON", f"{message.topic[:80]}: not JSON: {str(error)[:80]}")
            return
        rows.add_content(content, f"topic {message.topic[:80]}", device, message.received)

    def _device(self, topic: str) -> str | None:
        if self.address.device is None:
            return None
        levels = topic.split("/")
        return check_name(levels[self.address.device] if self.address.device < len(levels) else "")

    def _frames(self, rows: Gathering, message: _Message, device: str | None) -> None:
        """Take binary frames; they do not name their device, so the topic has to."""
        if device is None:
            rows.refuse(
                "device name", f"{message.topic[:80]}: a binary frame names no device, its topic must"
            )
            return
        from ..io.binary_frames import Decoder

        decoder = Decoder()
        # A message holds whole frames: what is left over at its end is broken.
        for item in [*decoder.push(message.payload), *decoder.finish()]:
            add_frame(rows, item, device, message.received)
        if decoder.broken or decoder.skipped:
            rows.refuse(
                "broken frame", f"{message.topic[:80]}: {len(message.payload)} bytes are no whole frames"
            )


def add_frame(rows: Gathering, item: Any, device: str, received: float) -> None:
    """Take one item of `tcuq.io.binary_frames.Decoder`.

    Parameters
    ----------
    rows : Gathering
    item : PosteriorsFrame, StateFrame or other
    device : str
    received : float
        Seconds since 1970.
    """
    version = f"{item.fingerprint:08x}" if hasattr(item, "fingerprint") else None
    if hasattr(item, "probs"):
        count = len(item.probs)
        seqs = np.arange(item.first, item.first + count, dtype=np.int64)
        boots = np.full(count, item.boot, dtype=np.int64)
        times = np.full(count, received)
        rows.add_events(Events([device] * count, boots, seqs, item.probs, item.features, times, version))
    elif hasattr(item, "state"):
        rows.add_state(DeviceState(device, int(item.boot), int(item.seq), bytes(item.state), version))
    elif hasattr(item, "steps"):
        rows.refuse("decisions", f"{device}: sends decisions, expected posteriors or states", len(item.steps))
    else:
        rows.refuse("text", f"{device}: text stands between frames")
