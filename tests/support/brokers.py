"""An MQTT broker of its own for a test, on a free port of this machine."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def broker(folder: Path, *more: str, port: int = 0) -> Iterator[int]:
    """Run mosquitto and give its port."""
    program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("mosquitto is missing (Debian package mosquitto)")
    pytest.importorskip("paho.mqtt.client", reason="paho-mqtt is missing (extra mqtt)")
    if not port:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
    config = folder / "mosquitto.conf"
    settings = [
        f"listener {port} 127.0.0.1",
        "allow_anonymous true",
        "max_queued_messages 0",
        "user root",
        *more,
    ]
    config.write_text("\n".join(settings) + "\n")
    with (folder / "mosquitto.log").open("wb") as log:
        process = subprocess.Popen([program, "-c", str(config)], stdout=log, stderr=log)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        else:
            raise AssertionError((folder / "mosquitto.log").read_text())
        yield port
    finally:
        process.terminate()
        process.wait()


@contextmanager
def client(port: int) -> Iterator[Any]:
    """A client that is connected."""
    import paho.mqtt.client as paho

    found = paho.Client(paho.CallbackAPIVersion.VERSION2)
    found.max_inflight_messages_set(1000)
    found.connect("127.0.0.1", port)
    found.loop_start()
    try:
        yield found
    finally:
        found.disconnect()
        found.loop_stop()
