"""Where an MQTT broker is, and who asks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from tcuq.base.errors import InputError
from tcuq.base.optional import needed


@dataclass(frozen=True)
class Broker:
    """Where a broker is, and who asks: ``mqtt://user:password@host:port``, ``mqtts://`` for TLS.

    The password may also stand in the variable TCUQ_MQTT_PASSWORD.

    Examples
    --------
    >>> Broker.of("mqtts://me:secret@broker.example/line/1")
    Broker(host='broker.example', port=8883, tls=True, user='me')
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
            raise InputError("unknown", f"the port of {parts.hostname} is not a number, expected 1 to 65535")
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
