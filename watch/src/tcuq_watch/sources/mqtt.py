"""Events from an MQTT broker, each message acknowledged after its commit."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any, NamedTuple

from tcuq.base.errors import InputError
from tcuq.base.limits import Limits, limits_given

from .arrivals import Arrived, Notice, Refused, check_name
from .mqtt_client import Address, Connection
from .streams import TICK, Stream

FEW = 16
"""Messages that a broker sent at least which waits for acknowledgements; mosquitto stops at 20 unless it is
told otherwise."""

MOST_WAITING = 200_000
"""Messages of quality 0 that wait at most; more are dropped and counted."""


class _Message(NamedTuple):
    connection: int
    mid: int
    qos: int
    topic: str
    payload: bytes


class MqttSource(Stream):
    """Messages of devices: one step, a list, lines or binary frames.

    The broker keeps a message until the commit that holds it is done, and sends it again after a kill. What
    comes twice is dropped by its boot and seq, so each step counts exactly once.
    """

    def __init__(self, address: Address, folder: Path, limits: Limits | None = None, **options: Any) -> None:
        super().__init__(str(address), "message", limits=limits, **options)
        self.address = address
        name = hashlib.sha256(f"{folder.resolve()} {address.topic}".encode()).hexdigest()[:16]
        self.connection = Connection(address, f"tcuq-{name}", subscribe=True, tell=self._tell)
        self.connection.client.on_message = self._arrived
        self._limits = limits_given(limits)
        self._last = 0.0

    def _open(self) -> None:
        self.connection.open()

    def _tell(self, kind: str, text: str) -> None:
        self._items.put((time.time(), Notice(kind, text)))

    def _arrived(self, client: Any, data: Any, message: Any) -> None:
        # Any work here would hold up the connection.
        if self._stopping:
            return  # it is not acknowledged, and comes again
        size, full = len(message.payload), self._came - self._taken > self._limits.waiting
        if message.qos == 0 and (full or self._items.qsize() >= MOST_WAITING):
            self.bad("too fast", f"{self.where}: more messages of quality 0 than can be taken")
            return
        number, payload = self.connection.number, message.payload
        if size > self._limits.message:  # one of quality 1 is acknowledged, else it would come again
            expected = self._limits.beyond("message", size)
            self.bad("large message", f"{message.topic[:80]}: has {size:,} bytes, {expected}")
            if message.qos == 0:
                return
            payload = b""
        self._came += len(payload)
        self._items.put((time.time(), _Message(number, message.mid, message.qos, message.topic, payload)))

    def _read(self) -> None:
        """Wait for an error; messages come by the client's own thread."""
        while not self._stopping:
            if self.connection.error:
                raise InputError("failed", f"{self.address}: {self.connection.error}")
            self.pause(TICK)

    def _take(self, when: float, item: _Message) -> None:
        self._last = time.monotonic()
        self._taken += len(item.payload)
        if item.qos:
            self.reader.rows.tokens.append(item)
        if not item.payload:  # it was too large, or says nothing
            return
        levels, device = item.topic.split("/"), None
        if self.address.device is not None:
            try:
                device = check_name(levels[self.address.device] if self.address.device < len(levels) else "")
            except Refused as error:
                self.reader.rows.refuse(error.kind, f"{item.topic}: {error}")
                return
        self.reader.message(item.payload, device, when)

    def _stalls(self, now: float) -> bool:
        return len(self.reader.rows.tokens) >= FEW and now - self._last >= TICK

    def _drain(self) -> None:
        """Leave what was not taken: it is not acknowledged, and comes again."""

    def committed(self, arrived: Arrived) -> None:
        """Acknowledge messages, those of this connection: the others are sent again and then dropped."""
        for message in arrived.tokens:
            if message.connection == self.connection.number:
                self.connection.client.ack(message.mid, message.qos)

    def _shut(self) -> None:
        self.connection.close()
