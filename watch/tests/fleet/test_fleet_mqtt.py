"""A fleet at a broker: exactly once through kills and a broker that goes away, and decisions sent there."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from brokers import broker, client
from fleet_stand_in import StandInFleet, places
from places import ROOT

from tcuq_watch.fleet.run import run
from tcuq_watch.fleet.sinks import MqttSink
from tcuq_watch.sources.files import FileSource
from tcuq_watch.sources.mqtt import MqttSource
from tcuq_watch.sources.mqtt_client import Address


def step(seq: int, **more: Any) -> dict[str, Any]:
    return {"seq": seq, "probs": [0.25, 0.75], **more}


def until(what: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "broker").mkdir()
    return tmp_path


def started(fleet: StandInFleet, source: MqttSource, **more: Any) -> threading.Thread:
    thread = threading.Thread(target=lambda: run(fleet, source, every=0.05, **more))
    thread.start()
    assert source.connection.ready.wait(10)
    return thread


@pytest.mark.slow
def test_killed_at_random_each_step_counts_once(folder: Path) -> None:
    count, devices, kills = 600, 7, 6
    chance = random.Random(5)
    with broker(folder / "broker") as port, client(port) as sender:
        address = f"mqtt://127.0.0.1:{port}/d/+/s"
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "watch" / "tests" / "support"), *sys.path]),
        }
        command = [sys.executable, str(ROOT / "watch" / "tests" / "support" / "mqtt_runner.py"), address]
        command += [str(folder / "fleet"), str(folder / "out")]
        sent = 0

        def start() -> Any:
            process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            return process

        process = start()
        time.sleep(1.0)  # the session exists from its first connection on
        for _ in range(kills):
            for _ in range(count // kills):
                sender.publish(f"d/n{sent % devices}/s", json.dumps(step(sent // devices)), qos=1)
                sent += 1
                time.sleep(0.0005)
            time.sleep(chance.uniform(0, 0.2))
            process.kill()
            process.wait()
            process.stdout.close()
            process = start()
        try:
            until(lambda: len(StandInFleet(folder / "fleet").seen) == sent, 30)
            time.sleep(0.5)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
    fleet = StandInFleet(folder / "fleet")
    assert sorted(places(fleet)) == sorted((f"n{i % devices}", -1, i // devices) for i in range(count))
    # The last commit may have been killed before its file; the next start writes it.
    run(fleet, Nothing(), sink_of(folder))  # type: ignore[arg-type]
    written = [
        json.loads(line)
        for path in sorted((folder / "out").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    assert [(row["device"], row["boot"], row["seq"]) for row in written] == places(fleet)


class Nothing:
    def batches(self, *_: Any) -> list[Any]:
        return []


def sink_of(folder: Path) -> Any:
    from tcuq_watch.fleet.sinks import FileSink

    return FileSink(folder / "out", folder / "fleet", "jsonl")


def test_a_broker_that_starts_again_is_found_again(folder: Path) -> None:
    place = folder / "broker"
    kept = ("persistence true", f"persistence_location {place}/")
    fleet = StandInFleet(folder / "fleet")
    with broker(place, *kept) as port:
        source = MqttSource(Address.of(f"mqtt://127.0.0.1:{port}/d/+/s"), folder / "fleet")
        thread = started(fleet, source)
        with client(port) as sender:
            sender.publish("d/a/s", json.dumps(step(0)), qos=1).wait_for_publish(5)
        until(lambda: len(fleet.seen) == 1)
        assert not source.connection.away
    try:
        until(lambda: source.connection.away)
        with broker(place, *kept, port=port), client(port) as sender:
            for seq in range(1, 20):
                sender.publish("d/a/s", json.dumps(step(seq)), qos=1)
            until(lambda: len(fleet.seen) == 20)
            assert not source.connection.away
            source.close()
            assert source.connection.lost == 1  # leaving is no loss
    finally:
        source.stop()
        thread.join()
        source.close()
    assert sorted(places(fleet)) == [("a", -1, seq) for seq in range(20)]


def test_decisions_go_to_a_topic(folder: Path) -> None:
    rows = "".join(json.dumps({"device": f"d/{n}", **step(0)}) + "\n" for n in range(3))
    (folder / "e.jsonl").write_text(rows)
    got: list[tuple[str, dict[str, Any]]] = []
    with broker(folder / "broker") as port, client(port) as reader:
        reader.on_message = lambda c, d, m: got.append((m.topic, json.loads(m.payload)))
        reader.subscribe("out/#", qos=1)
        time.sleep(0.2)
        for _ in range(2):  # the second run has nothing new
            fleet = StandInFleet(folder / "fleet")
            sink = MqttSink(
                Address.of(f"mqtt://127.0.0.1:{port}/out/{{device}}/{{version}}"), folder / "fleet"
            )
            run(fleet, FileSource(folder / "e.jsonl"), sink)
            sink.close()
        until(lambda: len(got) == 3)
        time.sleep(0.2)
    assert sorted(topic for topic, _ in got) == [f"out/d_{n}/one" for n in range(3)]
    assert {row["device"] for _, row in got} == {"d/0", "d/1", "d/2"}
    assert got[0][1]["expected_accuracy"] is None and got[0][1]["reason"] == ""
    with pytest.raises(ValueError, match="wildcard"):
        MqttSink(Address.of("mqtt://h/out/+"), folder)
