# SPDX-License-Identifier: MIT
"""A fleet at a broker, as far as it can be seen without one: payloads, acknowledgements and refusals."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from frame_writing import encode_posteriors
from refusals import refused

from tcuq.monitor.steps import STEP_DTYPE, Steps
from tcuq_watch.engine.events import Decided
from tcuq_watch.fleet import sinks
from tcuq_watch.fleet.sinks import MqttSink, open_sink
from tcuq_watch.sources import mqtt
from tcuq_watch.sources.mqtt import MqttSource
from tcuq_watch.sources.mqtt_client import Address, Broker

pytest.importorskip("paho.mqtt.client")

PROBS = np.zeros((2, 3), dtype=np.int8)


def message(payload: bytes, topic: str = "plant/a/steps", qos: int = 1) -> Any:
    return SimpleNamespace(payload=payload, topic=topic, qos=qos, mid=7)


def source_of(folder: Path, topic: str = "plant/+/steps") -> MqttSource:
    source = MqttSource(Address.of(f"mqtt://127.0.0.1:1/{topic}"), folder)
    source.connection.open = lambda timeout=0.0: None  # type: ignore[method-assign]
    return source


def one_batch(source: MqttSource, *messages: Any) -> Any:
    for each in messages:
        source._arrived(None, None, each)
    batches = source.batches(None, 1000, 0.05)
    found = next(each for each in batches if each is not None)
    batches.close()  # type: ignore[attr-defined]
    return found


def test_binary_frames_are_of_the_device_of_their_topic(tmp_path: Path) -> None:
    source = source_of(tmp_path)
    frames = encode_posteriors(0xABC, 1, 4, PROBS)
    found = one_batch(source, message(frames), message(frames + b"\xff\x00rest"), message(b""))
    events = [each for part in found.parts for each in part.events]
    assert [each.devices.tolist() for each in events] == [["a", "a"]] * 2
    assert events[0].seqs.tolist() == [4, 5] and events[0].version == "00000abc"
    assert source.bad.counts["broken frame"] == 1
    plain = source_of(tmp_path, "steps")
    plain._arrived(None, None, message(frames, "steps"))
    batch = next(plain.batches(None, 1, 0.01))
    assert batch is None or not batch.count
    assert "a binary frame names no device, its topic must" in plain.bad.first["device name"]


def test_what_comes_too_fast_is_counted_and_only_messages_of_this_connection_are_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = source_of(tmp_path)
    monkeypatch.setattr(mqtt, "MOST_WAITING", 1)
    line = b'{"seq": 0, "probs": [0.5, 0.25, 0.25]}'
    source.connection.number = 1
    source._arrived(None, None, message(line))
    source._arrived(None, None, message(line, qos=0))  # one waits already
    source.connection.number = 2
    source._arrived(None, None, message(line))
    assert source.bad.counts == {"too fast": 1}
    found = one_batch(source)
    acknowledged: list[Any] = []
    source.connection.client.ack = lambda *told: acknowledged.append(told)
    source.committed(found)
    assert found.count == 2 and acknowledged == [(7, 1)]


def test_a_source_that_is_stopped_hands_over_what_it_has_and_an_error_ends_it(tmp_path: Path) -> None:
    source = source_of(tmp_path)
    source._arrived(None, None, message(b'{"seq": 0, "probs": [0.5, 0.25, 0.25]}'))
    threading.Timer(0.05, source.stop).start()
    assert [each.count for each in source.batches(None, 1000, 60.0) if each is not None] == [1]
    broken = source_of(tmp_path)
    broken.connection.error = "not allowed"
    with refused("failed"):
        next(broken.batches(None, 1, 0.01))


def test_an_encrypted_address_asks_the_client_for_tls() -> None:
    asked: list[str] = []
    client = SimpleNamespace(
        tls_set=lambda: asked.append("tls"), username_pw_set=lambda *each: asked.append("user")
    )
    Broker.of("mqtts://me:secret@host").identify(client)
    Broker.of("mqtt://host").identify(client)
    assert asked == ["user", "tls"]


def decided() -> Decided:
    steps = np.zeros(1, dtype=STEP_DTYPE).view(Steps)
    one = np.zeros(1, dtype=np.int64)
    return Decided("v", np.array(["a/b"], dtype=object), one, one, np.array([math.nan]), steps)


def test_decisions_that_a_broker_does_not_take_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = open_sink("mqtt://127.0.0.1:1/out/{device}", tmp_path)
    assert isinstance(sink, MqttSink)
    sent: list[str] = []

    def publish(topic: str, line: str, qos: int) -> Any:
        sent.append(topic)
        return SimpleNamespace(is_published=lambda: False, wait_for_publish=lambda seconds: None)

    sink.connection.client.publish = publish
    monkeypatch.setattr(sinks, "PATIENCE", 0.01)
    with refused("failed"):
        sink.write(1, [decided()])
    sink.connection.error = "gone"
    with refused("failed"):
        sink.write(1, [decided()])
    assert sent == ["out/a_b", "out/a_b"] and not list(tmp_path.glob("sent-*"))  # nothing counts as sent
