"""Addresses of MQTT, and the one client: MQTT 5, with a session that the broker keeps."""

from __future__ import annotations

import contextlib
import os
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tcuq.base.errors import InputError, needed

PASSWORD, AUTHORITY = "TCUQ_MQTT_PASSWORD", "TCUQ_MQTT_CA"
CERTIFICATE, PRIVATE_KEY = "TCUQ_MQTT_CERT", "TCUQ_MQTT_KEY"
"""Variables of the environment: password, file of the authorities to trust in place of those of the system,
certificate of this client and its key. Not parts of the address, which is shown on pages and in lists of
processes, and stays the same on every machine."""

LOST_AFTER = 7 * 86400
"""Seconds that a broker keeps the session, and the messages in it, while nobody is connected."""

IN_FLIGHT = 65_535
"""Messages that a broker may send before one is acknowledged; a commit holds no more messages than that."""

SETTLE = 2.0
"""Seconds that a broker has for its last answer."""


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
    password: str
    topic: str
    device: int | None

    @classmethod
    def of(cls, text: str) -> Address:
        """Read an address."""
        scheme, _, rest = text.partition("://")
        place, _, rest = rest.partition("/")
        topic, _, options = rest.partition("?")
        parts = urlsplit(f"{scheme}://{place}")
        if scheme not in ("mqtt", "mqtts") or not parts.hostname:
            raise InputError("value", f"the broker is {scheme}://..., expected {scheme}://HOST:PORT/TOPIC")
        try:
            port = parts.port
        except ValueError:
            port = 0
        if port == 0:
            raise InputError("value", f"the port of {parts.hostname} is not a number, expected 1 to 65535")
        if not topic:
            name = f"{scheme}://{parts.hostname}"
            raise InputError("missing", f"{name}: the topic is missing, expected {name}/TOPIC")
        topic, tls = unquote(topic), scheme == "mqtts"
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        password, port = password or os.environ.get(PASSWORD, ""), port or (8883 if tls else 1883)
        return cls(parts.hostname, port, tls, user, password, topic, _level(topic, options))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.tls else 'mqtt'}://{host}:{self.port}/{self.topic}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    def identify(self, client: Any) -> None:
        """Tell a paho client who asks, and whom to trust."""
        if self.user:
            client.username_pw_set(self.user, self.password)
        if not self.tls:
            return
        files = {name: os.environ.get(name) or None for name in (AUTHORITY, CERTIFICATE, PRIVATE_KEY)}
        for name, path in files.items():
            if path is not None and not Path(path).is_file():
                raise InputError("missing", f"{name} is {path!r}, which is no file")
        try:
            # A key that needs a password is refused: nobody is there to be asked for it.
            client.tls_set(files[AUTHORITY], files[CERTIFICATE], files[PRIVATE_KEY], keyfile_password="")
        except (OSError, ValueError) as error:
            given = ", ".join(f"{name} {path}" for name, path in files.items() if path)
            raise InputError("damaged", f"{given}: cannot be used ({_reason(error)})") from None


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


def _reason(error: BaseException) -> str:
    return str(getattr(error, "strerror", None) or error)


class Connection:
    """A client with a session that the broker keeps; connects again by itself.

    `tell` hears of "connected" and "lost", in the client's thread.
    """

    def __init__(
        self, address: Address, name: str, subscribe: bool, tell: Callable[[str, str], None] | None = None
    ) -> None:
        paho = needed("paho.mqtt.client", "tcuq-watch", f"the address {address}")
        self.address, self.number, self.lost = address, 0, 0
        self.away = self._leaving = False
        self.error: str | None = None
        self._subscribe, self._tell = subscribe, tell or (lambda kind, text: None)
        self.ready = threading.Event()
        self.client = paho.Client(
            paho.CallbackAPIVersion.VERSION2, client_id=name, protocol=paho.MQTTv5, manual_ack=subscribe
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
        address = self.address
        try:
            self.client.connect(
                address.host, address.port, keepalive=60, clean_start=False, properties=properties
            )
        except ssl.SSLCertVerificationError as error:
            raise InputError(
                "failed", f"{address}: {error.verify_message}; name the file of its authority in {AUTHORITY}"
            ) from None
        except (OSError, ValueError) as error:
            raise InputError("failed", f"{address}: {_reason(error)}; is the broker running there?") from None
        self.client.loop_start()
        if not self.ready.wait(timeout) or self.error:
            self.close()
            raise InputError("failed", f"{address}: {self.error or 'the broker does not answer'}")

    def subscribe(self) -> None:
        """Ask for messages that are sent from now on: a retained one is of an earlier time."""
        options = needed("paho.mqtt.subscribeoptions", "tcuq-watch", "MQTT").SubscribeOptions(
            qos=1, retainHandling=2
        )
        self.client.subscribe(self.address.topic, options=options)

    def _connected(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            # A broker that was there before may be busy with its own start: the client tries again.
            if not self.number:
                self._failed(f"the broker refuses the connection: {reason}; check user and password")
            return
        self.number += 1
        self.away = False
        self._tell("connected", f"connected to {self.address}{' again' if self.number > 1 else ''}")
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
            self.lost += 1
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
        if self._subscribe and self.client.is_connected() and not self._leaving and not self.error:
            self.ready.clear()
            self._leaving = True
            with contextlib.suppress(OSError, ValueError):
                self.subscribe()
                self.ready.wait(SETTLE)
        self._leaving = True
        with contextlib.suppress(OSError, ValueError):
            self.client.disconnect()
        self.client.loop_stop()
