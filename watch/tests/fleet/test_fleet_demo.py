"""Parts of the demo of a fleet: the broker, what is played over it, programs that end, the verdict."""

from __future__ import annotations

import json
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import fleet_demo
import fleet_simulator
import numpy as np
import pytest

from tcuq import Log
from tcuq.io import write_log


def test_what_is_played_over_mqtt_is_what_is_written_to_a_file(tmp_path: Path) -> None:
    mqtt: Any = pytest.importorskip("paho.mqtt.client", reason="paho-mqtt is not installed")
    write_log(tmp_path / "log.npz", Log(np.random.default_rng(0).dirichlet(np.ones(3), 50)))
    command = [str(tmp_path / "log.npz"), "--devices", "7", "--steps", "20", "--chunk", "30"]
    command += ["--lost", "0.1", "--repeated", "0.1", "--start", "1.7e9", "--out"]
    assert fleet_simulator.main([*command, str(tmp_path / "events.jsonl")]) == 0
    sent = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    found: list[dict[str, Any]] = []
    done = threading.Event()

    def take(client: Any, data: Any, message: Any) -> None:
        steps = json.loads(message.payload)
        device = message.topic.split("/")[1]
        found.extend({"device": device, **step} for step in (steps if isinstance(steps, list) else [steps]))
        if len(found) >= len(sent):
            done.set()

    with fleet_demo.broker(tmp_path) as address:
        if address is None:
            pytest.skip("mosquitto is not installed")
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        ready = threading.Event()
        client.on_subscribe = lambda *_: ready.set()
        client.on_message = take
        client.connect("127.0.0.1", int(address.rpartition(":")[2]))
        client.subscribe("tcuq/+/steps", 1)
        client.loop_start()
        assert ready.wait(20)
        assert fleet_simulator.main([*command, f"{address}/tcuq"]) == 0
        assert done.wait(20)
        client.disconnect()
        client.loop_stop()
    for device in {event["device"] for event in sent}:
        # Between devices a message of several steps may change the order, inside a device it does not.
        left, right = ([each for each in events if each["device"] == device] for events in (sent, found))
        assert left == right


def test_a_program_ends_with_its_block_even_if_it_does_not_want_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_demo, "PATIENCE", 0.5)
    code = (
        "import signal, time\n"
        "for each in (signal.SIGINT, signal.SIGTERM):\n"
        "    signal.signal(each, signal.SIG_IGN)\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    with (
        pytest.raises(KeyboardInterrupt),
        fleet_demo.running([sys.executable, "-c", code], tmp_path / "said") as process,
    ):
        while "ready" not in (tmp_path / "said").read_text():
            assert process.poll() is None
        raise KeyboardInterrupt
    assert process.poll() == -signal.SIGKILL


def test_the_verdict_names_what_was_missed_and_what_was_wrong(tmp_path: Path) -> None:
    (tmp_path / "devices.csv").write_text("device,degraded\na,1\nb,0\nc,1\nd,0\n")
    worst = [{"device": name, "alarm": alarm} for name, alarm in (("a", 1), ("b", 2), ("c", 0), ("d", 0))]
    text = fleet_demo.judge({"devices": 4, "worst": worst}, tmp_path)
    assert text.splitlines() == [
        "truth: 2 of 4 devices degrade in the middle of the run",
        "in alarm: 2; 1 of them degrade, 1 do not",
        "of the 2 worst by severity, 1 degrade",
        "alarm, but not degraded: b",
        "degraded, but no alarm: c",
    ]
