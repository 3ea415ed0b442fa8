"""A mosquitto of a test's own, on a free port."""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


class Mosquitto:
    """A broker that keeps messages for clients that are away; started, ended and started again."""

    def __init__(self, folder: Path, more: str = "allow_anonymous true") -> None:
        program = shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/local/bin:/usr/bin")
        if program is None:
            pytest.skip("mosquitto is not installed")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        folder.mkdir(exist_ok=True)
        self.url = f"mqtt://127.0.0.1:{self.port}"
        setting = folder / "mosquitto.conf"
        owner = f"user {getpass.getuser()}"  # a broker that root starts reads nothing of root's otherwise
        self._log = folder / "subscriptions.log"
        told = f"log_dest file {self._log}\nlog_type subscribe"
        setting.write_text(
            f"{owner}\nlistener {self.port} 127.0.0.1\n{more}\nmax_queued_messages 0\n{told}\n"
        )
        self._command = [program, "-c", str(setting)]
        self._process: Any = None
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        limit = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if time.monotonic() > limit or self._process.poll() is not None:
                    raise
                time.sleep(0.01)

    def subscriptions(self) -> int:
        """Return how often a client has subscribed: what is sent before it does, it never gets."""
        return len(self._log.read_text().splitlines()) if self._log.exists() else 0

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None


class Publisher:
    """A device that publishes."""

    def __init__(self, port: int) -> None:
        mqtt = pytest.importorskip("paho.mqtt.client", reason="paho-mqtt is not installed")
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        self.client.max_inflight_messages_set(1000)
        self.seen: dict[str, list[bytes]] = {}
        self.client.on_message = self._on_message
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()

    def _on_message(self, client: Any, data: Any, message: Any) -> None:
        self.seen.setdefault(message.topic, []).append(bytes(message.payload))

    def send(self, topic: str, payload: bytes, qos: int = 1) -> None:
        self.client.publish(topic, payload, qos=qos).wait_for_publish(10)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    """Give a broker that keeps what it has when it is stopped."""
    pytest.importorskip("paho.mqtt.client", reason="paho-mqtt is not installed")
    kept = f"allow_anonymous true\npersistence true\npersistence_location {tmp_path / 'broker'}/"
    running = Mosquitto(tmp_path / "broker", kept)
    yield running
    running.stop()


@pytest.fixture
def sender(mosquitto: Mosquitto) -> Iterator[Publisher]:
    """Give a device that publishes to it."""
    device = Publisher(mosquitto.port)
    yield device
    device.close()
