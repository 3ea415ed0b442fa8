"""A topic of an MQTT broker as a source of steps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tcuq.base.errors import InputError
from tcuq.base.limits import limits_given

from ..fleet.broker import Broker
from .inbox import Chunk, Event, Source

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
            raise InputError("value", f"{self.broker.name}: {text}; is the broker running there?") from None
        self.client.loop_start()
        answered = self._answered.wait(WAIT)
        if not answered or self._refused:
            self.close()
            why = f"the broker refused: {self._refused}" if answered else "the broker does not answer"
            raise InputError("value", f"{self.broker.name}: {why}")

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
