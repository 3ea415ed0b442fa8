"""Addresses of MQTT, and a client whose session the broker keeps."""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from tcuq.base.errors import InputError
from tcuq.base.optional import needed


@dataclass(frozen=True)
class Broker:
    """Where a broker is, and who asks: ``mqtt://user:password@host:port``, ``mqtts://`` for TLS.

    The password may also stand in the variable TCUQ_MQTT_PASSWORD.
    """

    host: str
    port: int
    tls: bool = False
    user: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"Broker(host={self.host!r}, port={self.port}, tls={self.tls}, user={self.user!r})"

    @classmethod
    def of(cls, text: str) -> Broker:
        """Read an address; what follows the port is not looked at."""
        parts = urlsplit(text)
        if parts.scheme not in ("mqtt", "mqtts") or not parts.hostname:
            shown = f"{parts.scheme}://..." if parts.scheme else repr(text)
            raise InputError(
                "value", f"the broker is {shown}, expected mqtt://HOST:PORT or mqtts://HOST:PORT"
            )
        try:
            port = parts.port
        except ValueError:
            port = 0
        if port == 0:
            raise InputError("value", f"the port of {parts.hostname} is not a number, expected 1 to 65535")
        tls = parts.scheme == "mqtts"
        secret = [None if each is None else unquote(each) for each in (parts.username, parts.password)]
        user, password = secret[0] or None, secret[1] or os.environ.get("TCUQ_MQTT_PASSWORD")
        return cls(parts.hostname, port or (8883 if tls else 1883), tls, user, password)

    @property
    def name(self) -> str:
        """The address without user and password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.tls else 'mqtt'}://{host}:{self.port}"

    def identify(self, client: Any) -> None:
        """Tell a paho client who asks, and whether to use TLS."""
        if self.user is not None:
            client.username_pw_set(self.user, self.password)
        if self.tls:
            client.tls_set()

    def client(self, identity: str) -> Any:
        """Return a client that is not connected yet.

        The broker keeps messages while it is away, and until each is acknowledged.
        """
        mqtt = needed("paho.mqtt.client", "tcuq-watch", "MQTT")
        found = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2, client_id=identity, clean_session=False, manual_ack=True
        )
        self.identify(found)
        found.reconnect_delay_set(1, 5)
        return found


LOST_AFTER = 7 * 86400
"""Seconds that a broker keeps the session, and the messages in it, while nobody is connected."""

IN_FLIGHT = 65_535
"""Messages that a broker may send before one is acknowledged; a commit holds no more messages than that."""


@dataclass(frozen=True, repr=False)
class Address(Broker):
    """A broker and a topic: ``mqtt://user:password@host:port/topic``, ``mqtts://`` for TLS.

    ``+`` and ``#`` may stand in the topic of a source, ``{device}`` and ``{version}`` in that of a sink.
    `device` is the level of the topic, from 0, that names the device; None if messages do.
    """

    topic: str = ""  # in a source, + and # may stand in it. In a sink, {device} and {version}
    device: int | None = None  # level of the topic, from 0, that names the device; None if messages do

    @classmethod
    def of(cls, text: str) -> Address:
        """Read an address."""
        place, _, rest = text.partition("://")[2].partition("/")
        topic, _, options = rest.partition("?")
        if not place or not topic:
            raise InputError("value", f"{text.rpartition('@')[2]}: expected mqtt://host:port/topic")
        there = Broker.of(text[: -len(rest) - 1])
        return cls(**vars(there), topic=topic, device=_level(topic, options))

    def __str__(self) -> str:
        return f"{self.name}/{self.topic}"


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
    raise InputError(
        "unknown", f"option {options!r} of the topic is unknown, expected device=payload or device=LEVEL"
    )


class Connection:
    """A client with a session that the broker keeps; connects again by itself."""

    def __init__(self, address: Address, name: str, subscribe: bool) -> None:
        self._paho = needed("paho.mqtt.client", "tcuq-watch", f"the address {address}")
        self.address, self.number, self.lost = address, 0, 0
        self.away = self._leaving = False
        self.error: str | None = None
        self._subscribe = subscribe
        self.ready = threading.Event()
        self.client = self._paho.Client(
            self._paho.CallbackAPIVersion.VERSION2,
            client_id=name,
            protocol=self._paho.MQTTv5,
            manual_ack=subscribe,
        )
        address.identify(self.client)
        self.client.on_connect, self.client.on_disconnect = self._connected, self._disconnected
        self.client.on_subscribe = self._subscribed
        self.client.reconnect_delay_set(1, 30)

    def open(self, timeout: float = 10.0) -> None:
        """Connect; an error says why in one line."""
        properties = needed("paho.mqtt.properties", "tcuq-watch", "MQTT").Properties(
            needed("paho.mqtt.packettypes", "tcuq-watch", "MQTT").PacketTypes.CONNECT
        )
        properties.SessionExpiryInterval = LOST_AFTER
        properties.ReceiveMaximum = IN_FLIGHT
        try:
            self.client.connect(
                self.address.host, self.address.port, keepalive=60, clean_start=False, properties=properties
            )
        except OSError as error:
            raise InputError("failed", f"{self.address}: {error.strerror or error}") from None
        self.client.loop_start()
        if not self.ready.wait(timeout) or self.error:
            self.close()
            raise InputError("failed", f"{self.address}: {self.error or 'the broker does not answer'}")

    def _connected(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            # A broker that was there before may be busy with its own start: the client tries again.
            if not self.number:
                self._failed(f"the broker refuses the connection: {reason}")
            return
        self.number += 1
        self.away = False
        if self._subscribe:
            client.subscribe(self.address.topic, qos=1)
        else:
            self.ready.set()

    def _subscribed(self, client: Any, data: Any, mid: Any, reasons: Any, properties: Any) -> None:
        if any(reason.is_failure for reason in reasons):
            self._failed(f"the broker refuses the subscription: {reasons[0]}")
        self.ready.set()

    def _disconnected(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if self.number and not self._leaving and not self.away:
            self.lost += 1
            self.away = True

    def _failed(self, message: str) -> None:
        self.error = message
        self.ready.set()

    def close(self) -> None:
        """Leave; the session stays."""
        self._leaving = True
        with contextlib.suppress(OSError, ValueError):
            self.client.disconnect()
        self.client.loop_stop()
