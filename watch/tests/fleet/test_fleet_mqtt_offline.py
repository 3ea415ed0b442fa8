# SPDX-License-Identifier: MIT
"""Decisions that a broker does not take."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from refusals import refused

from tcuq.monitor.steps import STEP_DTYPE, Steps
from tcuq_watch.engine.events import Decided
from tcuq_watch.fleet import sinks
from tcuq_watch.fleet.sinks import MqttSink, open_sink

pytest.importorskip("paho.mqtt.client")


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
