# SPDX-License-Identifier: MIT
"""What devices may send, and what folders of live runs and fleets may hold, at its limits."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import pytest
from limit_checks import says
from refusals import refused

from tcuq import Monitor, Params
from tcuq.io import Limits
from tcuq_watch.engine.events import Events
from tcuq_watch.fleet import Fleet
from tcuq_watch.sources.event_lines import StandardInput
from tcuq_watch.sources.files import FileSource
from tcuq_watch.sources.reading import Reading

PARAMS = Params(classes=2, warmup=0)


def test_a_live_stream_without_line_ends_stays_small() -> None:
    reading = Reading(PARAMS, limits=Limits(live_line=1000))
    tracemalloc.start()
    for _ in range(300):
        assert not reading.push(b"x" * 4096, 0.0)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert reading.held <= 1000 and most < 200_000 and reading.broken == 1
    says(reading.why, "live_line")
    assert len(reading.push(b'\n{"probs": [0.5, 0.5]}\n', 0.0)) == 1


def test_events_of_a_fleet(tmp_path: Path) -> None:
    good = b'{"device": "a", "seq": 0, "probs": [0.5, 0.5]}\n'
    path = tmp_path / "e.jsonl"
    path.write_bytes(b"[" * 3_000_000 + b"\n" + good)
    source = FileSource(path)
    [arrived] = [each for each in source.batches(None, 10, 1.0) if each is not None]
    assert arrived.count == 1 and arrived.refused == {"long line": 1}
    says(source.bad.first["long line"], "line", "has 3,000,001 bytes")
    pipe = StandardInput(io.BytesIO(b"[" * 2000 + b"\n" + good), Limits(line=1000))
    [arrived] = [each for each in pipe.batches(None, 10, 1.0) if each is not None]
    assert arrived.count == 1
    says(pipe.bad.first["long line"], "line")


def test_messages_of_a_broker(tmp_path: Path) -> None:
    pytest.importorskip("paho.mqtt", reason="paho-mqtt is not installed")
    from tcuq_watch.sources.mqtt import MqttSource
    from tcuq_watch.sources.mqtt_client import Address

    limits = Limits(message=100, waiting=250)
    source = MqttSource(Address.of("mqtt://localhost/a/+"), tmp_path, limits)

    def arrives(size: int, qos: int) -> None:
        source._arrived(None, None, SimpleNamespace(payload=b"{" * size, qos=qos, mid=1, topic="a/d"))

    arrives(101, 0)
    assert source._messages.qsize() == 0
    says(source.bad.first["large message"], "message", "has 101 bytes")
    arrives(101, 1)  # is acknowledged with its commit, so that it does not come again
    assert source._messages.qsize() == 1 and source._messages.get().payload == b""
    for _ in range(5):
        arrives(100, 0)
    assert source.bad.counts == {"large message": 2, "too fast": 2} and source._messages.qsize() == 3


def test_devices_of_a_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCUQ_LIMITS", "devices=2")
    state = Monitor(PARAMS).save()
    with Fleet(PARAMS, tmp_path / "fleet") as fleet:
        fleet.take(Events(["a", "b", "c", "c", "a"], [0] * 5, [0, 0, 0, 1, 1], [[0.5, 0.5]] * 5))
        assert fleet.refused == {"too many devices": 2}
        with refused("limit"):
            fleet.adopt("d", state, 0, 3)
        fleet.adopt("a", state, 0, 3)
    with Fleet.open_read(tmp_path / "fleet") as fleet:
        assert fleet.refused["too many devices"] == 2
