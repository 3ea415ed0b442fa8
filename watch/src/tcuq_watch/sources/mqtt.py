"""Events from an MQTT broker, each message acknowledged after its commit."""

from __future__ import annotations

import hashlib
import queue
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tcuq.base.errors import InputError
from tcuq.base.json_text import from_json
from tcuq.base.limits import Limits, limits_given

from ..engine.events import Events
from .arrivals import Arrived, Bad, BatchBuilder, DeviceState, Refused, check_name
from .mqtt_client import Address, Connection

STALL = 0.1
"""Seconds without a message after which a broker may be waiting for acknowledgements."""

FEW = 16
"""Messages at least that such a broker sent; mosquitto stops at 20 unless it is told otherwise."""

MOST_WAITING = 200_000
"""Messages of quality 0 that wait at most; more are dropped and counted."""


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
    """

    def __init__(self, address: Address, folder: Path, limits: Limits | None = None) -> None:
        self.address, self.where = address, str(address)
        self.bad = Bad()
        self.ended = False  # a broker may always have more
        name = hashlib.sha256(f"{folder.resolve()} {address.topic}".encode()).hexdigest()[:16]
        self.connection = Connection(address, f"tcuq-{name}", subscribe=True)
        self.connection.client.on_message = self._arrived
        self._stop = threading.Event()
        self._messages: queue.SimpleQueue[_Message] = queue.SimpleQueue()
        self._limits = limits_given(limits)
        # Bytes of messages: each number is written by one thread alone.
        self._came = self._taken = 0

    def _arrived(self, client: Any, data: Any, message: Any) -> None:
        # Any work here would hold up the connection.
        size, full = len(message.payload), self._came - self._taken > self._limits.waiting
        if message.qos == 0 and (full or self._messages.qsize() >= MOST_WAITING):
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
        self._messages.put(_Message(number, message.mid, message.qos, message.topic, payload, time.time()))

    def batches(self, position: Any, count: int, every: float) -> Iterator[Arrived | None]:
        """Yield what arrives; see `Source`. The broker knows the position, which stays as it is."""
        self.connection.open()
        rows = BatchBuilder(self.bad, self.where)
        since = last = time.monotonic()
        while not self._stop.is_set():
            if self.connection.error:
                raise InputError("failed", f"{self.address}: {self.connection.error}")
            now = time.monotonic()
            try:
                message = self._messages.get(timeout=max(0.001, min(STALL, since + every - now)))
                self._taken += len(message.payload)
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
                yield rows.flush(position) if rows else None
        if rows:
            yield rows.flush(position)

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

    def _decode(self, rows: BatchBuilder, message: _Message) -> None:
        try:
            device = self._device(message.topic)
        except Refused as error:
            rows.refuse(error.kind, f"{message.topic}: {error}")
            return
        payload = message.payload
        if not payload:  # it was too large, or says nothing
            return
        if payload[:1] not in (b"{", b"[") and payload.lstrip()[:1] not in (b"{", b"["):
            self._frames(rows, message, device)
            return
        try:
            content = from_json(payload)
        except ValueError as error:
            rows.refuse("not JSON", f"{message.topic[:80]}: {str(error)[:200]}")
            return
        rows.add_content(content, f"topic {message.topic[:80]}", device, message.received)

    def _device(self, topic: str) -> str | None:
        if self.address.device is None:
            return None
        levels = topic.split("/")
        return check_name(levels[self.address.device] if self.address.device < len(levels) else "")

    def _frames(self, rows: BatchBuilder, message: _Message, device: str | None) -> None:
        """Take binary frames; they do not name their device, so the topic has to."""
        if device is None:
            rows.refuse(
                "device name", f"{message.topic[:80]}: a binary frame names no device, its topic must"
            )
            return
        from tcuq.io.binary_frames import Decoder

        decoder = Decoder()
        # A message holds whole frames: what is left over at its end is broken.
        for item in [*decoder.push(message.payload), *decoder.finish()]:
            add_frame(rows, item, device, message.received)
        if decoder.broken or decoder.skipped:
            rows.refuse(
                "broken frame", f"{message.topic[:80]}: {len(message.payload)} bytes are no whole frames"
            )


def add_frame(rows: BatchBuilder, item: Any, device: str, received: float) -> None:
    """Take one item of `tcuq.io.binary_frames.Decoder`."""
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
