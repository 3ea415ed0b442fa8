"""A device in Home Assistant: discovery, state and availability by MQTT."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from tcuq._version import VERSION
from tcuq.base.errors import InputError

from ..sources.mqtt import SETTLE, Address, Connection

EVERY, PREFIX = 1.0, "homeassistant"
"""Seconds between two states at least, unless the alarm changes, and the usual prefix of discovery."""


def broker(text: str) -> Address:
    """Read ``mqtt://HOST``, or ``mqtt://HOST/PREFIX`` with another prefix of discovery."""
    given = re.fullmatch(r"(mqtts?://[^/]+)/?([^+#?]*)", text)
    if given is None:
        expected = "expected mqtt://HOST or mqtts://HOST/PREFIX"
        raise InputError("value", f"--home-assistant names no broker, {expected}")
    return Address.of(f"{given[1]}/{given[2].rstrip('/') or PREFIX}")


class HomeAssistant:
    """Shows the device of a session in Home Assistant; nobody waits for the broker once it is connected."""

    def __init__(self, address: Address, session: Any, say: Callable[[str], None]) -> None:
        folder, about = str(session.fleet.folder.resolve()), session.publisher.feed.about
        self._id = f"tcuq_{hashlib.sha256(folder.encode()).hexdigest()[:12]}"
        self._state, self._available = f"tcuq/{self._id}/state", f"tcuq/{self._id}/availability"
        self._configs = self._discovery(address.topic, about, session.params.horizon > 0)
        self._say, self._due = say, 0.0
        self._sent: dict[str, Any] = {}
        self._connection = Connection(address, f"{self._id}-ha", subscribe=False, tell=self._happened)
        self._connection.client.will_set(self._available, "offline", qos=1, retain=True)
        self._connection.open()

    def _discovery(self, prefix: str, about: Mapping[str, Any], accuracy: bool) -> dict[str, Any]:
        """Return what Home Assistant is told to make, by topic."""
        percent = {"state_class": "measurement", "unit_of_measurement": "%"}
        entities: dict[tuple[str, str], dict[str, Any]] = {
            ("binary_sensor", "alarm"): {"name": "Alarm", "device_class": "problem"},
            ("sensor", "risk"): {"name": "Risk", "state_class": "measurement"},
            ("sensor", "answer"): {"name": "Answer"},
            ("sensor", "abstention_share"): {"name": "Abstention share", **percent},
        }
        if accuracy:
            entities["sensor", "expected_accuracy"] = {"name": "Expected accuracy", **percent}
        name, model = f"tcuq {about['title']}", f"monitor {about['params']}"
        shared = {
            "state_topic": self._state,
            "availability_topic": self._available,
            "device": {"identifiers": [self._id], "name": name, "manufacturer": "tcuq", "model": model},
            "origin": {"name": "tcuq", "sw_version": VERSION},
        }
        return {
            f"{prefix}/{kind}/{self._id}/{key}/config": {
                **shared,
                **own,
                "unique_id": f"{self._id}_{key}",
                "value_template": f"{{{{ value_json.{key} }}}}",
            }
            for (kind, key), own in entities.items()
        }

    def look(self, status: Mapping[str, Any]) -> None:
        """Send the state where it has changed: at most once a second, and when the alarm changes."""
        now, alarm = time.monotonic(), "ON" if status["alarm"] else "OFF"
        same = status.get("step") == self._sent.get("step")
        if alarm == self._sent.get("alarm") and (same or now < self._due):
            return
        accuracy = status.get("expected_accuracy")
        self._due = now + EVERY
        self._sent = {
            "alarm": alarm,
            "risk": status.get("risk"),
            "answer": status.get("answer_name"),
            "expected_accuracy": None if accuracy is None else round(100 * accuracy, 1),
            "abstention_share": round(100 * status["abstention_share"], 1),
            "step": status.get("step"),
        }
        if not self._connection.away:  # else it is sent when the broker is back
            self._publish(self._state, json.dumps(self._sent))

    def _happened(self, kind: str, text: str) -> None:
        self._say(f"Home Assistant: {text}")
        if kind == "connected":
            for topic, config in self._configs.items():
                self._publish(topic, json.dumps(config))
            self._publish(self._available, "online")
            if self._sent:
                self._publish(self._state, json.dumps(self._sent))

    def _publish(self, topic: str, text: str) -> Any:
        return self._connection.client.publish(topic, text, qos=1, retain=True)

    def close(self) -> None:
        """Say that nobody watches the device any more, and leave."""
        if not self._connection.away:
            self._publish(self._available, "offline").wait_for_publish(SETTLE)
        self._connection.close()
