"""A device in Home Assistant, through a real broker."""

import json
import subprocess
import sys

import pytest
from brokers import Mosquitto, Publisher
from live_runs import PARAMS, Feeder, decision
from source_kinds import until

from tcuq_watch.live.home_assistant import HomeAssistant, broker
from tcuq_watch.live.session import Session

pytest.importorskip("paho.mqtt.client", reason="paho-mqtt is not installed")


@pytest.fixture
def mosquitto(tmp_path):
    found = Mosquitto(tmp_path / "broker")
    yield found
    found.stop()


@pytest.fixture
def seen(mosquitto):
    """Topics and messages, the newest last."""
    client = Publisher(mosquitto.port)
    client.client.on_connect = lambda client, *_: client.subscribe("#", qos=1)
    client.client.reconnect_delay_set(1, 1)
    client.client.subscribe("#", qos=1)
    yield client.seen
    client.close()


def ending(seen, end):
    """Return the messages of the topic that ends so."""
    return next((list(map(bytes.decode, texts)) for topic, texts in seen.items() if topic.endswith(end)), [])


def test_what_home_assistant_is_told(tmp_path, mosquitto, seen):
    said = []
    session = Session(PARAMS, tmp_path / "kept", "/dev/ttyUSB0")
    home = HomeAssistant(broker(f"{mosquitto.url}/ha/"), session, said.append)
    feeder = Feeder(session)
    for step, alarm in ((0, 0), (1, 0), (2, 1), (3, 1), (4, 1)):
        feeder.push(decision(step, alarm))
        home.look(session.publisher.status)
    until(lambda: len(ending(seen, "/state")) == 2)  # the first, and when the alarm changed
    first, last = map(json.loads, ending(seen, "/state"))
    assert (first["alarm"], first["step"], first["expected_accuracy"]) == ("OFF", 0, None)
    assert (last["alarm"], last["step"], last["risk"], last["answer"]) == ("ON", 2, 2 / 64, "2")
    home._due = 0
    home.look(session.publisher.status)
    until(lambda: len(ending(seen, "/state")) == 3)
    configs = {topic: json.loads(texts[-1]) for topic, texts in seen.items() if topic.endswith("/config")}
    kinds = {topic.split("/")[1] + " " + topic.split("/")[3] for topic in configs}
    assert kinds == {"binary_sensor alarm", "sensor risk", "sensor answer", "sensor abstention_share"}
    assert len({config["unique_id"] for config in configs.values()}) == 4
    for topic, config in configs.items():
        assert topic.startswith("ha/") and config["device"]["name"] == "tcuq /dev/ttyUSB0"
        assert config["state_topic"] in seen and config["availability_topic"] in seen
        key = config["value_template"].removeprefix("{{ value_json.").removesuffix(" }}")
        assert key in last and topic.split("/")[3] == key
        assert (config.get("device_class") == "problem") == (key == "alarm")
    mosquitto.stop()
    until(lambda: any("lost" in text for text in said))
    feeder.push(decision(5, 0))
    home.look(session.publisher.status)
    seen.clear()
    mosquitto.start()  # it has forgotten what was retained
    until(lambda: ending(seen, "/availability") and ending(seen, "/state"))
    assert json.loads(ending(seen, "/state")[-1])["step"] == 5
    assert sum(topic.endswith("/config") for topic in seen) == 4
    home.close()
    until(lambda: ending(seen, "/availability")[-1] == "offline")
    session.close()


def test_a_killed_watcher_leaves_its_will(tmp_path, mosquitto, seen):
    PARAMS.save(tmp_path / "m.json")
    command = [sys.executable, "-m", "tcuq", "live", "m.json", "-", "--no-page", "--home-assistant"]
    process = subprocess.Popen([*command, mosquitto.url], cwd=tmp_path, stdin=subprocess.PIPE)
    try:
        until(lambda: ending(seen, "/availability") == ["online"], 30)
        process.stdin.write(decision(0, 1))
        process.stdin.flush()
        until(lambda: any('"ON"' in text for text in ending(seen, "/state")))
        assert any(topic.startswith("homeassistant/binary_sensor/tcuq_") for topic in seen)
    finally:
        process.kill()
        process.communicate()
    until(lambda: ending(seen, "/availability") == ["online", "offline"])
