"""MQTT: topics and payloads, acknowledgements, a broker that goes and comes back, TLS and passwords."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from brokers import Mosquitto, Publisher
from frame_writing import encode_posteriors
from limit_checks import says
from refusals import refused
from source_kinds import NAME, PRINT, PROBS, ROWS, events_of, json_lines, places, taken, until

from tcuq.io import Limits
from tcuq_watch.sources import mqtt, open_source
from tcuq_watch.sources.arrivals import DeviceState
from tcuq_watch.sources.mqtt import Address, MqttSource

pytest.importorskip("paho.mqtt.client", reason="paho-mqtt is not installed")


def step(seq: int, **more: Any) -> dict[str, Any]:
    return {"seq": seq, "probs": [0.25, 0.75], **more}


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Address.of("mqtts://u%40x:p%3Aw@[::1]:9999/plant/+/x/+")
    assert (found.host, found.port, found.topic, found.device) == ("::1", 9999, "plant/+/x/+", 1)
    assert (found.user, found.password, found.tls) == ("u@x", "p:w", True)
    assert "p:w" not in f"{found}{found!r}" and Address.of("mqtts://h/t").port == 8883
    assert Address.of("mqtt://h/a/b/+?device=1").device == 0
    assert Address.of("mqtt://h/a/+?device=payload").device is None
    assert Address.of("mqtt://h/a/#") == Address("h", 1883, False, "", "", "a/#", None)
    monkeypatch.setenv("TCUQ_MQTT_PASSWORD", "secret")
    assert Address.of("mqtt://u@h/t").password == "secret"


def test_payloads_and_devices_of_topics(tmp_path: Path, mosquitto: Mosquitto, sender: Publisher) -> None:
    sender.client.publish("plant/a/steps", json.dumps(step(99)), qos=1, retain=True).wait_for_publish(10)
    source = open_source(f"{mosquitto.url}/plant/+/steps", folder=tmp_path)
    source.open()
    for payload in (
        json.dumps(step(0)),
        json.dumps([step(1), step(2, boot=0, time=7.5), {"seq": "bad", "probs": [1.0]}], indent=1),
        json_lines([step(3, device="a"), step(4)]),
        json.dumps(step(5, device="somebody else")),
        json.dumps({"seq": 9, "state": "c3RhdGU="}),
        encode_posteriors(PRINT, 1, 6, PROBS[:2]),
        "{broken",
        "seq,p0,p1\n7,0.5,0.5",
        "",
    ):
        sender.send("plant/a/steps", payload if isinstance(payload, bytes) else payload.encode())
    sender.send("plant/b/steps", b"8,0.5,0.5")  # the columns of another device are not known of this one
    sender.send("plant//steps", json.dumps(step(0)).encode())
    sender.send("other/a/steps", json.dumps(step(77)).encode())
    sender.send("plant/b/steps", json.dumps(step(0)).encode(), qos=0)
    arrived = taken(source, 9)
    # The one that was retained is of an earlier time.
    assert places(arrived) == [*(("a", seq) for seq in (0, 1, 2, 3, 4, 6, 7, 7)), ("b", 0)]
    states = [item for one in arrived for item in one.batch if isinstance(item, DeviceState)]
    assert states == [("a", -1, 9, b"state", None)]
    assert source.bad.counts == {"seq": 1, "device name": 2, "not JSON": 1, "not a step": 1}


def test_a_broker_that_goes_and_comes_back(tmp_path: Path, mosquitto: Mosquitto) -> None:
    source = open_source(f"{mosquitto.url}/line/1", folder=tmp_path, device=NAME)
    assert isinstance(source, MqttSource)
    arrived: list[Any] = []
    thread = threading.Thread(target=lambda: arrived.extend(taken(source, 10)))
    thread.start()
    assert source.connection.ready.wait(10)
    mosquitto.stop()
    until(lambda: source.connection.away)
    mosquitto.start()
    until(lambda: source.connection.number == 2 and not source.connection.away)
    device = Publisher(mosquitto.port)
    device.send("line/1", json_lines(ROWS[:10]))
    thread.join(20)
    device.close()
    assert places(arrived) == [(NAME, seq) for seq in range(10)]
    assert [each.kind for one in arrived for each in one.notices] == ["connected", "lost", "connected"]


def test_a_kill_between_commit_and_acknowledgement_repeats_nothing(
    tmp_path: Path, mosquitto: Mosquitto, sender: Publisher
) -> None:
    """Steps without a boot: neither their numbers nor their content tell that they came before."""
    got, position = [], None
    for part in range(3):
        source = open_source(f"{mosquitto.url}/line/1", folder=tmp_path, device=NAME)
        assert isinstance(source, MqttSource)
        source.open()
        for number in range(4):
            place = 4 * part + number
            sender.send("line/1", json.dumps({"probs": [0.5, 0.5], "time": place}).encode())
        for one in source.batches(position, 1000, 0.05):
            if one is not None and one.count:
                got, position = [*got, one], json.loads(json.dumps(one.position))
            if len(places(got)) >= 4 * part + 4:
                break
        if part < 2:
            source.connection.client.loop_stop()  # as a kill ends it
            source.connection.client.socket().close()
    source.close()
    times = [when for events in events_of(got) for when in events.times.tolist()]
    assert times == list(range(12))


def test_a_broker_that_allows_few_messages_at_once_does_not_stall(
    tmp_path: Path, mosquitto: Mosquitto, sender: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tcuq_watch.sources.mqtt.IN_FLIGHT", 20)
    source = open_source(f"{mosquitto.url}/d/+/s", folder=tmp_path)
    source.open()
    for seq in range(100):
        sender.client.publish("d/a/s", json.dumps(step(seq)), qos=1)
    began, arrived = time.monotonic(), 0
    for one in source.batches(None, 10_000, 30.0):
        if one is not None:
            arrived += one.count
            source.committed(one)
        if arrived == 100:
            source.stop()
    source.close()
    # Without acknowledgements the broker waits, and the next commit is due after 30 s.
    assert time.monotonic() - began < 15


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with an authority of our own, and certificates of a broker and of a client."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*command: str) -> None:
        subprocess.run(["openssl", *command], cwd=folder, check=True, capture_output=True)

    new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    try:
        openssl(*new, "-x509", "-days", "2", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=our CA")
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("broker", "client"):
        openssl(*new, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        given = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
        openssl("x509", "-req", "-in", f"{name}.csr", *given, "-out", f"{name}.pem")
    return folder


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # paho leaves a socket open
def test_tls_with_an_authority_of_our_own(
    tmp_path: Path, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = [
        f"cafile {certificates}/ca.pem",
        f"certfile {certificates}/broker.pem",
        "allow_anonymous true",
    ]
    settings += [f"keyfile {certificates}/broker.key", "require_certificate true"]
    running = Mosquitto(tmp_path / "broker", "\n".join(settings))
    address = f"mqtts://127.0.0.1:{running.port}/line/1"

    def attempt() -> Any:
        source = open_source(address, folder=tmp_path, device=NAME)
        try:
            source.open()
        finally:
            source.close()
        return source

    try:
        with pytest.raises(ValueError, match="TCUQ_MQTT_CA"):
            attempt()
        monkeypatch.setenv("TCUQ_MQTT_CA", str(certificates / "ca.pem"))
        with pytest.raises(ValueError, match="TCUQ_MQTT_CERT"):
            attempt()  # the broker asks who we are
        monkeypatch.setenv("TCUQ_MQTT_CERT", str(certificates / "client.pem"))
        monkeypatch.setenv("TCUQ_MQTT_KEY", str(certificates / "client.key"))
        source = open_source(address, folder=tmp_path, device=NAME)
        source.open()
        address = address.replace("line/1", "other")
        assert attempt().connection.number == 1
        other = open_source(address.replace("other", "line/1"), folder=tmp_path / "other")
        assert isinstance(other, MqttSource)
        other.connection.open()
        other.connection.client.publish("line/1", json_lines(ROWS[:3]), qos=1).wait_for_publish(10)
        assert len(places(taken(source, 3))) == 3
        other.connection.close()
        monkeypatch.setenv("TCUQ_MQTT_KEY", str(certificates / "ca.key"))
        with refused("damaged"):
            attempt()
    finally:
        running.stop()


def test_brokers_that_are_away_or_refuse(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"mqtt://127.0.0.1:9/x/\+: .*is the broker running there"):
        open_source("mqtt://127.0.0.1:9/x/+", folder=tmp_path).open()
    words = tmp_path / "words"
    words.write_text("me:right\n")
    try:
        subprocess.run(["mosquitto_passwd", "-U", str(words)], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("mosquitto_passwd is not installed")
    running = Mosquitto(tmp_path / "closed", f"allow_anonymous false\npassword_file {words}")
    try:
        for who in ("", "me:wrong@"):
            with pytest.raises(ValueError, match="refuses the connection: Not authorized") as caught:
                open_source(f"mqtt://{who}127.0.0.1:{running.port}/topic", folder=tmp_path).open()
            assert "wrong" not in str(caught.value)
        source = open_source(f"mqtt://me:right@127.0.0.1:{running.port}/topic", folder=tmp_path)
        source.open()
        source.close()
    finally:
        running.stop()


def offline(folder: Path, topic: str = "plant/+/steps", **options: Any) -> MqttSource:
    source = MqttSource(Address.of(f"mqtt://127.0.0.1:1/{topic}"), folder, **options)
    source.connection.open = lambda timeout=0.0: None  # type: ignore[method-assign]
    return source


def message(payload: bytes, topic: str = "plant/a/steps", qos: int = 1) -> Any:
    return SimpleNamespace(payload=payload, topic=topic, qos=qos, mid=7, dup=False)


def test_messages_that_are_large_or_too_fast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = offline(tmp_path, limits=Limits(message=100, waiting=250))
    source._arrived(None, None, message(b"{" * 101))
    says(source.bad.last["large message"], "message", "has 101 bytes")
    # It is acknowledged with its commit, else it would come again.
    assert source._items.qsize() == 1 and source._items.get()[1][1].payload == b""
    for _ in range(5):
        source._arrived(None, None, message(b"{" * 100, qos=0))
    assert source.bad.counts == {"large message": 1, "too fast": 2} and source._items.qsize() == 3
    monkeypatch.setattr(mqtt, "MOST_WAITING", 3)
    source._arrived(None, None, message(b"{", qos=0))
    assert source.bad.counts["too fast"] == 3


def test_only_messages_of_this_connection_are_acknowledged_and_an_error_ends_a_source(tmp_path: Path) -> None:
    source, acknowledged = offline(tmp_path), []
    source.connection.client.ack = lambda *told: acknowledged.append(told)
    for number in (1, 2):
        source.connection.number = number
        source._arrived(None, None, message(json.dumps(step(number)).encode()))
    assert len(places(taken(source, 2))) == 2 and acknowledged == [(7, 1)]
    before = source._items.qsize()
    source._arrived(None, None, message(b"{}"))
    assert source._items.qsize() == before  # after a stop, nothing is taken
    broken = offline(tmp_path)
    broken.connection.error = "not allowed"
    with refused("failed"):
        taken(broken)
