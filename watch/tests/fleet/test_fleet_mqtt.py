"""Events from a broker: topics, payloads, and exactly once through kills and a broker that goes away."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from brokers import broker, client
from fleet_stand_in import StandInFleet, places
from places import ROOT

from tcuq_watch.fleet.run import run
from tcuq_watch.fleet.sinks import MqttSink
from tcuq_watch.sources.arrivals import Bad, BatchBuilder
from tcuq_watch.sources.mqtt import MqttSource, add_frame
from tcuq_watch.sources.mqtt_client import Address


def step(seq: int, **more: Any) -> dict[str, Any]:
    return {"seq": seq, "probs": [0.25, 0.75], **more}


def until(what: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Address.of("mqtts://u%40x:p%3Aw@[::1]:9999/plant/+/x/+")
    assert (found.host, found.port, found.topic, found.device) == ("::1", 9999, "plant/+/x/+", 1)
    assert (found.user, found.password, found.tls) == ("u@x", "p:w", True)
    assert "p:w" not in str(found) and Address.of("mqtts://h/t").port == 8883
    assert Address.of("mqtt://h/a/b/+?device=1").device == 0
    assert Address.of("mqtt://h/a/#").device is None
    monkeypatch.setenv("TCUQ_MQTT_PASSWORD", "secret")
    assert Address.of("mqtt://u@h/t").password == "secret"
    for text in (
        "mqtt://h",
        "mqtt:///t",
        "mqtt://h:x/t",
        "mqtt://h:0/t",
        "mqtt://u:topsecret@h",
        "mqtt://h/t?x=1",
    ):
        with pytest.raises(ValueError, match="expected") as caught:
            Address.of(text)
        assert "topsecret" not in str(caught.value)


class Frame(NamedTuple):
    fingerprint: int
    boot: int
    first: int
    probs: Any
    features: Any


class State(NamedTuple):
    fingerprint: int
    boot: int
    seq: int
    state: bytes


def test_frames_become_events_and_states() -> None:
    rows = BatchBuilder(Bad(), "test")
    add_frame(rows, Frame(0xABC, 3, 7, np.zeros((2, 4), dtype=np.int8), None), "door", 5.0)
    add_frame(rows, State(0xABC, 3, 8, b"kept"), "door", 6.0)
    add_frame(rows, b"text", "door", 7.0)
    [part] = rows.flush(None).parts
    [events] = part.events
    assert (events.version, events.devices.tolist(), events.seqs.tolist()) == (
        "00000abc",
        ["door"] * 2,
        [7, 8],
    )
    assert events.boots.tolist() == [3, 3] and events.times.tolist() == [5.0, 5.0]
    assert part.states[0] == ("door", 3, 8, b"kept", "00000abc")
    assert rows.bad.counts == {"text": 1}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "broker").mkdir()
    return tmp_path


def started(fleet: StandInFleet, source: MqttSource, **more: Any) -> threading.Thread:
    thread = threading.Thread(target=lambda: run(fleet, source, every=0.05, **more))
    thread.start()
    assert source.connection.ready.wait(10)
    return thread


def test_payloads_and_devices_of_topics(folder: Path) -> None:
    with broker(folder / "broker") as port, client(port) as sender:
        fleet = StandInFleet(folder / "fleet")
        source = MqttSource(Address.of(f"mqtt://127.0.0.1:{port}/plant/+/steps"), folder / "fleet")
        thread = started(fleet, source)
        try:
            payloads: list[Any] = [
                step(0),
                [step(1), step(2, boot=0, time=7.5), {"seq": "bad", "probs": [1.0]}],
                step(3, device="a"),
                step(4, device="somebody else"),
                {"seq": 9, "state": "c3RhdGU="},
            ]
            for each in payloads:
                sender.publish("plant/a/steps", json.dumps(each), qos=1)
            sender.publish("plant/a/steps", "{broken", qos=1)
            sender.publish("plant//steps", json.dumps(step(0)), qos=1)
            sender.publish("other/a/steps", json.dumps(step(77)), qos=1)
            sender.publish("plant/b/steps", json.dumps(step(0)), qos=0)
            until(lambda: ("b", 0, 0) in places(fleet))
            until(lambda: "a" in fleet.states)
        finally:
            source.stop()
            thread.join()
            source.close()
        assert sorted(places(fleet)) == [("a", 0, seq) for seq in range(4)] + [("b", 0, 0)]
        assert fleet.states["a"][:3] == (0, 9, b"state")
        assert fleet.refused == {"seq": 1, "device name": 2, "not JSON": 1}


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
    assert sorted(places(fleet)) == sorted((f"n{i % devices}", 0, i // devices) for i in range(count))
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


def test_a_broker_that_allows_few_messages_at_once_does_not_stall(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tcuq_watch.sources.mqtt_client.IN_FLIGHT", 20)
    with broker(folder / "broker") as port, client(port) as sender:
        fleet = StandInFleet(folder / "fleet")
        source = MqttSource(Address.of(f"mqtt://127.0.0.1:{port}/d/+/s"), folder / "fleet")
        thread = threading.Thread(target=lambda: run(fleet, source, count=10_000, every=30.0))
        thread.start()
        assert source.connection.ready.wait(10)
        began = time.monotonic()
        try:
            for seq in range(200):
                sender.publish("d/a/s", json.dumps(step(seq)), qos=1)
            until(lambda: len(fleet.seen) == 200, 15)
        finally:
            source.stop()
            thread.join()
            source.close()
        # Without acknowledgements the broker waits, and the next commit is due after 30 s.
        assert time.monotonic() - began < 15


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
    assert sorted(places(fleet)) == [("a", 0, seq) for seq in range(20)]


def test_no_broker_and_refused_logins_are_one_line(folder: Path) -> None:
    source = MqttSource(Address.of("mqtt://127.0.0.1:9/x/+"), folder)
    with pytest.raises(ValueError, match=r"mqtt://127.0.0.1:9/x/\+: "):
        next(source.batches(None, 1, 1.0))
    (folder / "broker" / "pw").write_text("")
    closed = f"password_file {folder / 'broker' / 'pw'}"
    with broker(folder / "broker", "allow_anonymous false", closed) as port:
        source = MqttSource(Address.of(f"mqtt://127.0.0.1:{port}/x/+"), folder)
        with pytest.raises(ValueError, match="the broker refuses the connection"):
            next(source.batches(None, 1, 1.0))


def test_decisions_go_to_a_topic(folder: Path) -> None:
    rows = "".join(json.dumps({"device": f"d/{n}", **step(0)}) + "\n" for n in range(3))
    (folder / "e.jsonl").write_text(rows)
    from tcuq_watch.sources.files import FileSource

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
