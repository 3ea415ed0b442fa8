"""A device in Home Assistant: discovery, state and availability by MQTT."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tcuq._version import VERSION
from tcuq.base.errors import InputError

from ..sources.mqtt_client import SETTLE, Address, Connection

EVERY = 1.0
"""Seconds between two states at least, unless the alarm changes."""

PREFIX = "homeassistant"
"""Where Home Assistant looks for devices unless it is told otherwise."""


def broker(text: str) -> Address:
    """Read ``mqtt://HOST``, or ``mqtt://HOST/PREFIX`` with another prefix of discovery."""
    scheme, _, rest = text.partition("://")
    if scheme not in ("mqtt", "mqtts"):
        raise InputError("value", "--home-assistant names no broker, expected mqtt://HOST or mqtts://HOST")
    topic = rest.partition("/")[2].rstrip("/")
    if set("+#?") & set(topic):
        raise InputError(
            "value", f"--home-assistant has the prefix {topic!r}, expected one without +, # and ?"
        )
    return Address.of(text if topic else f"{scheme}://{rest.partition('/')[0]}/{PREFIX}")


class HomeAssistant:
    """Tell Home Assistant of one device; nobody waits for the broker once it is connected."""

    def __init__(
        self,
        address: Address,
        folder: Path,
        about: Mapping[str, Any],
        accuracy: bool,
        tell: Callable[[str], None],
    ) -> None:
        self._id = f"tcuq_{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]}"
        self._about, self._accuracy, self._tell = about, accuracy, tell
        self._prefix = address.topic.rstrip("/")
        self._state, self._available = f"tcuq/{self._id}/state", f"tcuq/{self._id}/availability"
        self._sent: dict[str, Any] = {}
        self._due = 0.0
        self._connection = Connection(address, f"{self._id}-ha", subscribe=False, tell=self._happened)
        self._connection.client.will_set(self._available, "offline", qos=1, retain=True)
        self._connection.open()

    def configs(self) -> dict[str, dict[str, Any]]:
        """Return what Home Assistant is told to make, by topic."""
        about = self._about
        device = {"identifiers": [self._id], "name": f"tcuq {about['title']}", "manufacturer": "tcuq"}
        device |= {"model": f"monitor {about['params']}", "sw_version": VERSION}
        number = {"state_class": "measurement"}
        percent = {**number, "unit_of_measurement": "%"}
        entities: dict[str, tuple[str, str, dict[str, Any]]] = {
            "alarm": (
                "binary_sensor",
                "Alarm",
                {"device_class": "problem", "json_attributes_topic": self._state},
            ),
            "risk": ("sensor", "Risk", {**number, "suggested_display_precision": 3}),
            "answer": ("sensor", "Answer", {}),
            "abstention_share": ("sensor", "Abstention share", percent),
        }
        if self._accuracy:
            entities["expected_accuracy"] = ("sensor", "Expected accuracy", percent)
        return {
            f"{self._prefix}/{kind}/{self._id}/{key}/config": {
                "name": name,
                "unique_id": f"{self._id}_{key}",
                "state_topic": self._state,
                "value_template": f"{{{{ value_json.{key} }}}}",
                "availability_topic": self._available,
                "device": device,
                "origin": {"name": "tcuq", "sw_version": VERSION},
                **more,
            }
            for key, (kind, name, more) in entities.items()
        }

    def look(self, status: Mapping[str, Any]) -> None:
        """Send the state where it has changed: at most once a second, and when the alarm changes."""
        now = time.monotonic()
        changed = ("ON" if status["alarm"] else "OFF") != self._sent.get("alarm")
        if not changed and (now < self._due or status.get("step") == self._sent.get("step")):
            return
        self._due = now + EVERY
        self._sent = {
            "alarm": "ON" if status["alarm"] else "OFF",
            "risk": _rounded(status.get("risk"), 1, 4),
            "answer": status.get("answer_name"),
            "abstain": status.get("abstain"),
            "expected_accuracy": _rounded(status.get("expected_accuracy"), 100, 1),
            "abstention_share": _rounded(status["abstention_share"], 100, 1),
            "step": status.get("step"),
        }
        if not self._connection.away:  # else it is sent when the broker is back
            self._publish(self._state, self._sent)

    def _happened(self, kind: str, text: str) -> None:
        self._tell(f"Home Assistant: {text}")
        if kind == "connected":
            for topic, config in self.configs().items():
                self._publish(topic, config)
            self._publish(self._available, "online")
            if self._sent:
                self._publish(self._state, self._sent)

    def _publish(self, topic: str, message: Any) -> Any:
        text = message if isinstance(message, str) else json.dumps(message)
        return self._connection.client.publish(topic, text, qos=1, retain=True)

    def close(self) -> None:
        """Say that nobody watches the device any more, and leave."""
        if not self._connection.away:
            self._publish(self._available, "offline").wait_for_publish(SETTLE)
        self._connection.close()


def _rounded(value: float | None, times: int, digits: int) -> float | None:
    return None if value is None else round(times * value, digits)
