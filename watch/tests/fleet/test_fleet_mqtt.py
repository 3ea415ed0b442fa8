"""A fleet at a broker: exactly once through kills and a broker that goes away, and decisions sent there."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from brokers import Mosquitto, Publisher
from refusals import refused
from source_kinds import until

from tcuq import Params
from tcuq.monitor.steps import STEP_DTYPE, Steps
from tcuq_watch.engine.events import Decided
from tcuq_watch.fleet import Fleet, sinks
from tcuq_watch.fleet.run import run
from tcuq_watch.fleet.sinks import MqttSink
from tcuq_watch.sources.files import FileSource
from tcuq_watch.sources.mqtt import Address

PARAMS = Params(classes=2)


def step(seq: int, **more: Any) -> dict[str, Any]:
    return {"seq": seq, "probs": [0.25, 0.75], **more}


@pytest.mark.slow
def test_killed_at_random_each_step_counts_once(
    tmp_path: Path, mosquitto: Mosquitto, sender: Publisher
) -> None:
    count, devices, kills = 600, 7, 6
    chance = random.Random(5)
    folder = tmp_path
    address = f"{mosquitto.url}/d/+/s"
    PARAMS.save(tmp_path / "m.json")
    command = [sys.executable, "-m", "tcuq", "fleet", "run", "m.json", address, "--folder", "fleet"]
    sent = 0

    def start() -> Any:
        process = subprocess.Popen([*command, "--batch", "40"], cwd=tmp_path, stderr=subprocess.PIPE)
        assert process.stderr is not None and b"waiting for events" in process.stderr.readline()
        return process

    process = start()
    for _ in range(kills):
        for _ in range(count // kills):
            sender.client.publish(f"d/n{sent % devices}/s", json.dumps(step(sent // devices)), qos=1)
            sent += 1
            time.sleep(0.0005)
        time.sleep(chance.uniform(0, 0.2))
        process.kill()
        process.wait()
        process.stderr.close()
        process = start()
    try:
        until(lambda: len(places(folder / "fleet")) == sent, 30)
        time.sleep(0.5)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    expected = sorted((f"n{i % devices}", 0, i // devices) for i in range(count))
    assert sorted(places(folder / "fleet")) == expected


def places(folder: Path) -> list[tuple[str, int, int]]:
    """Who was decided on."""
    with Fleet.open_read(folder) as fleet:
        parts = [(part.devices, part.boots.tolist(), part.seqs.tolist()) for part in fleet.decisions()]
    return [place for part in parts for place in zip(*part, strict=True)]


def test_decisions_go_to_a_topic(tmp_path: Path, mosquitto: Mosquitto, sender: Publisher) -> None:
    rows = "".join(json.dumps({"device": f"d/{n}", **step(0)}) + "\n" for n in range(3))
    (tmp_path / "e.jsonl").write_text(rows)
    got: list[tuple[str, dict[str, Any]]] = []
    sender.client.on_message = lambda c, d, m: got.append((m.topic, json.loads(m.payload)))
    sender.client.subscribe("out/#", qos=1)
    until(mosquitto.subscriptions)
    for _ in range(2):  # the second run has nothing new
        with Fleet({"one": PARAMS}, tmp_path / "fleet") as fleet:
            sink = MqttSink(Address.of(f"{mosquitto.url}/out/{{device}}/{{version}}"), fleet.folder)
            run(fleet, FileSource(tmp_path / "e.jsonl"), sink)
            sink.close()
    until(lambda: len(got) == 3)
    time.sleep(0.2)
    assert sorted(topic for topic, _ in got) == [f"out/d_{n}/one" for n in range(3)]
    assert {row["device"] for _, row in got} == {"d/0", "d/1", "d/2"}
    assert got[0][1]["expected_accuracy"] is None and got[0][1]["reason"] == ""
    with refused("value"):
        MqttSink(Address.of("mqtt://h/out/+"), tmp_path)


def decided() -> Decided:
    steps = np.zeros(1, dtype=STEP_DTYPE).view(Steps)
    one = np.zeros(1, dtype=np.int64)
    return Decided("v", np.array(["a/b"], dtype=object), one, one, np.array([math.nan]), steps)


def test_decisions_that_a_broker_does_not_take_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = MqttSink(Address.of("mqtt://127.0.0.1:1/out/{device}"), tmp_path)
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
