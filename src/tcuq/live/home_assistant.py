"""A device of Home Assistant, found through MQTT discovery."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

from .._version import VERSION
from ..fleet.broker import Broker
from .mqtt import Link

EVERY = 1.0
"""Seconds between two messages at most."""

PREFIX = "homeassistant"

_SENSORS: dict[str, dict[str, Any]] = {
    "risk": {"name": "Risk", "icon": "mdi:gauge", "precision": 3},
    "expected_accuracy": {"name": "Expected accuracy", "icon": "mdi:target", "percent": True},
    "abstention_share": {"name": "Abstentions", "icon": "mdi:help-circle", "percent": True},
    "answer": {"name": "Last answer", "icon": "mdi:tag"},
    "alarm": {"name": "Alarm", "binary": True},
}


def discovery(node: str, title: str) -> dict[str, dict[str, Any]]:
    """Return the messages by which Home Assistant learns of a device, by topic.

    Parameters
    ----------
    node : str
        Name of this device in topics.
    title : str
        Name for people.

    Examples
    --------
    >>> messages = discovery("tcuq_1a2b", "Front door")
    >>> list(messages)[0], messages[list(messages)[-1]]["device_class"]
    ('homeassistant/sensor/tcuq_1a2b/risk/config', 'problem')
    """
    found = {}
    for key, sensor in _SENSORS.items():
        kind = "binary_sensor" if sensor.get("binary") else "sensor"
        message: dict[str, Any] = {
            "name": sensor["name"],
            "unique_id": f"{node}_{key}",
            # Of the entity: releases before 2025.10 read the second, those since 2026.4 the first alone.
            "default_entity_id": f"{kind}.{node}_{key}",
            "object_id": f"{node}_{key}",
            "state_topic": f"tcuq/{node}/state",
            "value_template": f"{{{{ value_json.{key} }}}}",
            "availability_topic": f"tcuq/{node}/availability",
            "device": {
                "identifiers": [node],
                "name": title,
                "manufacturer": "tcuq",
                "model": "classifier monitor",
                "sw_version": VERSION,
            },
        }
        if "icon" in sensor:
            message["icon"] = sensor["icon"]
        if "precision" in sensor:
            message |= {"state_class": "measurement", "suggested_display_precision": sensor["precision"]}
        if sensor.get("percent"):
            message |= {"unit_of_measurement": "%", "state_class": "measurement"}
            message["suggested_display_precision"] = 1
        if sensor.get("binary"):
            message |= {"device_class": "problem", "payload_on": "on", "payload_off": "off"}
        found[f"{PREFIX}/{kind}/{node}/{key}/config"] = message
    return found


def state_of(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message with the values of all sensors; None where a value is not known yet."""
    accuracy = status.get("expected_accuracy")
    risk = status.get("risk")
    return {
        "risk": None if risk is None else round(risk, 4),
        "expected_accuracy": None if accuracy is None else round(100 * accuracy, 2),
        "abstention_share": round(100 * status.get("abstention_share", 0.0), 2),
        "answer": status.get("answer_name"),
        "alarm": "on" if status.get("alarm") else "off",
    }


class HomeAssistant:
    """Publish a session to Home Assistant, once a second at most, from a thread of its own.

    The device is available while this program runs and its source is connected; the broker says that it is
    not when this program is gone.

    Parameters
    ----------
    broker : Broker
    node : str
        Letters, digits, ``_`` and ``-``.
    title : str
    status : callable
        Returns the status of a session.
    """

    def __init__(
        self, broker: Broker, node: str, title: str, status: Callable[[], Mapping[str, Any]]
    ) -> None:
        if not re.fullmatch("[a-zA-Z0-9_-]+", node):
            raise ValueError(f"node is {node!r}, expected letters, digits, _ and -")
        self._node, self._status = node, status
        self._messages = discovery(node, title)
        self._client = broker.client(f"{node}-ha", keep=False)
        self._availability = f"tcuq/{node}/availability"
        self._client.will_set(self._availability, "offline", qos=1, retain=True)
        self._again = threading.Event()
        self._link = Link(broker, self._client, self._connected, lambda why: None)
        self._closing = threading.Event()
        self._link.open()
        self._thread = threading.Thread(target=self._run, name="tcuq home assistant", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Say that the device is not available any more, and leave."""
        self._closing.set()
        self._thread.join(2.0)
        self._client.publish(self._availability, "offline", qos=1, retain=True).wait_for_publish(2.0)
        self._link.close()

    def _connected(self, again: bool) -> None:
        for topic, message in self._messages.items():
            self._client.publish(topic, json.dumps(message), qos=1, retain=True)
        # Home Assistant says "online" when it has started, and asks for all messages by that.
        self._client.on_message = lambda *_: self._again.set()
        self._client.subscribe(f"{PREFIX}/status", qos=0)
        self._again.set()

    def _run(self) -> None:
        told: tuple[Any, ...] = ()
        while not self._closing.is_set():
            status = self._status()
            state = json.dumps(state_of(status))
            available = "online" if status.get("connected") else "offline"
            if self._again.is_set():
                self._again.clear()
                told = ()
            if told[:1] != (available,):
                self._client.publish(self._availability, available, qos=1, retain=True)
            if told[1:] != (state,):
                self._client.publish(f"tcuq/{self._node}/state", state, qos=0, retain=True)
            told = available, state
            self._closing.wait(EVERY)
