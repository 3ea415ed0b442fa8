"""MQTT: a topic as a source, which loses nothing when the watcher is killed."""

import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from brokers import Mosquitto, Publisher
from frame_writing import encode_posteriors
from live_runs import PARAMS, decided_alike, json_lines, received, start_watching, steps_of, wait_until
from refusals import refused

from tcuq_watch.live.session import Session
from tcuq_watch.sources.inbox import Chunk
from tcuq_watch.sources.streams import open_source

pytest.importorskip("paho.mqtt.client", reason="paho-mqtt is not installed")


@pytest.fixture
def broker(tmp_path):
    found = Mosquitto(tmp_path / "broker")
    yield found
    found.stop()


@pytest.fixture
def device(broker):
    found = Publisher(broker.port)
    yield found
    found.close()


def watched(session, source, steps):
    source.start()
    session.run(source, lambda: session.step >= steps)
    return session.step


def test_messages_hold_lines_or_frames(tmp_path, broker, device):
    probs = steps_of(40)
    device.client.publish("line/1", json_lines(probs[5:6]), qos=1, retain=True).wait_for_publish(10)
    session = Session(PARAMS, tmp_path / "kept", "mqtt")
    source = open_source(f"{broker.url}/line/1")
    thread = threading.Thread(target=watched, args=(session, source, 40), daemon=True)
    thread.start()
    assert wait_until(lambda: session.publisher.connected)
    assert session.step == 0  # the one that was retained is of an earlier time
    device.send("line/1", json_lines(probs[:1], 1).rstrip())
    device.send("line/1", json_lines(probs[1:10], 1, 1))
    device.send("line/1", encode_posteriors(int(PARAMS.fingerprint, 16), 1, 10, probs[10:20]))
    device.send("line/1", b'{"probs": [1,')  # a message is whole: this one is broken
    device.send("line/1", json_lines(probs[20:], 1, 20), qos=0)
    thread.join(10)
    source.close()
    session.close()
    assert np.array_equal(received(tmp_path / "kept"), probs) and decided_alike(tmp_path / "kept", probs)
    assert session.publisher.counts["broken"] == 1


def cut_off(source):
    """End a source as a kill does: without a goodbye, and with what came not acknowledged."""
    client = source._link.client
    client.loop_stop()
    client.socket().close()
    source._closing.set()


def test_a_broker_marks_what_it_sends_again(broker, device):
    found = []
    for number in range(2):
        source = open_source(f"{broker.url}/line/1")
        source.start()
        if not number:
            assert wait_until(lambda: broker.subscriptions() > 0)
            device.send("line/1", b"1")
            device.send("line/1", b"2")
        chunks = []
        assert wait_until(
            lambda now=chunks, of=source: (
                now.extend(c for c in of.take(0.1) if isinstance(c, Chunk)) or len(now) >= 2
            )
        )
        found.append([(each.data, each.again) for each in chunks])
        cut_off(source)
    assert found == [[(b"1\n", False), (b"2\n", False)], [(b"1\n", True), (b"2\n", True)]]


@pytest.mark.slow
@pytest.mark.parametrize(("count", "told"), [(5, b""), (5, b'"boot": 1, '), (600, b'"boot": 1, ')])
def test_the_first_message_comes_again_after_a_kill(tmp_path, broker, device, count, told):
    probs = steps_of(2 * count + 5)
    parts = [(0, count), (count, 2 * count), (2 * count, 2 * count + 5)]
    for number, stop in enumerate((parts[:2], parts[2:])):
        session = Session(PARAMS, tmp_path / "kept", "mqtt")
        source = open_source(f"{broker.url}/line/1")
        if not number:
            session._acknowledge = lambda: True  # killed before it could
        thread = threading.Thread(target=watched, args=(session, source, stop[-1][1]), daemon=True)
        thread.start()
        assert wait_until(lambda wanted=number: broker.subscriptions() > wanted)
        for first, last in stop:
            device.send("line/1", json_lines(probs[first:last], 1, first).replace(b'"boot": 1, ', told))
        thread.join(20)
        cut_off(source)
        session.close()
    assert np.array_equal(received(tmp_path / "kept"), probs) and decided_alike(tmp_path / "kept", probs)
    assert session.publisher.counts["duplicates"] + session.publisher.counts["late"] == 2 * count
    assert session.publisher.counts["reboots"] == 0


def test_what_comes_while_the_watcher_is_killed_comes_later(tmp_path, broker, device):
    rng = random.Random(1)
    probs = steps_of(2000)
    name, folder = f"{broker.url}/line/1", tmp_path / "kept"
    process = start_watching(folder, name, len(probs))
    assert wait_until(lambda: broker.subscriptions() > 0)
    sent = 0
    for _ in range(5):
        for _ in range(rng.randrange(10, 40)):
            count = rng.randrange(1, 12)
            device.send("line/1", json_lines(probs[sent : sent + count], 1, sent))
            sent = min(len(probs), sent + count)
        process.kill()
        process.join(10)
        device.send("line/1", json_lines(probs[sent : sent + 5], 1, sent))
        sent = min(len(probs), sent + 5)
        process = start_watching(folder, name, len(probs))
    device.send("line/1", json_lines(probs[sent:], 1, sent))
    process.join(60)
    assert process.exitcode == 0
    assert np.array_equal(received(folder), probs) and decided_alike(folder, probs)


def watching(folder, url):
    command = [sys.executable, "-m", "tcuq", "live", "m.json", url, "--no-page", "--folder", "kept"]
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, env=environment)


def test_an_interrupt_takes_no_message_twice(tmp_path, broker, device):
    PARAMS.save(tmp_path / "m.json")
    probs, log = steps_of(3000), tmp_path / "kept" / "received.jsonl"
    process = watching(tmp_path, f"{broker.url}/line/1")
    sent, said = 0, b""
    for _ in range(3):
        assert wait_until(log.exists)
        before = log.stat().st_size
        while sent < len(probs) and log.stat().st_size == before:  # unnumbered: nothing tells a repeated one
            device.send("line/1", json_lines(probs[sent : sent + 1]))
            sent += 1
            time.sleep(0.01)
        for _ in range(100):
            device.client.publish("line/1", json_lines(probs[sent : sent + 1]), qos=1)
            sent += 1
        process.send_signal(signal.SIGINT)
        said += process.communicate(timeout=60)[1]
        assert process.returncode == 0
        process = watching(tmp_path, f"{broker.url}/line/1")
    device.send("line/1", json_lines(probs[sent : sent + 1]))
    assert wait_until(lambda: len(received(tmp_path / "kept")) > sent)
    process.send_signal(signal.SIGINT)
    said += process.communicate(timeout=60)[1]
    assert np.array_equal(received(tmp_path / "kept"), probs[: sent + 1])
    assert b"rc=" not in said and b"Traceback" not in said, said


def test_a_broker_that_goes_and_comes_back(tmp_path, broker):
    told = []
    session = Session(PARAMS, tmp_path / "kept", "mqtt", tell=[lambda kind, *_: told.append(kind)])
    source = open_source(f"{broker.url}/line/1")
    thread = threading.Thread(target=watched, args=(session, source, 10), daemon=True)
    thread.start()
    assert wait_until(lambda: "connected" in told)
    broker.stop()
    assert wait_until(lambda: "lost" in told)
    broker.start()
    assert wait_until(lambda: told.count("connected") == 2)
    device = Publisher(broker.port)
    device.send("line/1", json_lines(steps_of(10)))
    thread.join(10)
    device.close()
    source.close()
    session.close()
    assert session.step == 10


def test_brokers_that_refuse(tmp_path):
    (tmp_path / "words").write_text("")
    with refused("failed"):
        open_source("mqtt://127.0.0.1:1/topic").open()
    broker = Mosquitto(tmp_path / "closed", f"allow_anonymous false\npassword_file {tmp_path / 'words'}")
    try:
        with refused("failed"):
            open_source(f"mqtt://me:wrong@127.0.0.1:{broker.port}/topic").open()
    finally:
        broker.stop()
