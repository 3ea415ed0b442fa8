"""Decisions to a topic of MQTT, at least once: a sink knows by number of commit which it has."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tcuq.base.atomic_files import write_whole
from tcuq.base.errors import InputError
from tcuq.monitor.steps import step_columns

from ..engine.events import Decided
from ..sources.mqtt import Address, Connection

PATIENCE = 60.0  # seconds for a decision; after that the run ends, and the next one sends it again


class MqttSink:
    """A message a decision, as JSON: after a kill some may come again.

    ``{device}`` and ``{version}`` in the topic are filled in; ``/``, ``+`` and ``#`` become ``_``.
    """

    def __init__(self, address: Address, folder: Path) -> None:
        if {"+", "#"} & set(address.topic):
            expected = "expected {device} or {version}"
            raise InputError("value", f"topic {address.topic!r} has a wildcard, {expected}")
        name = hashlib.sha256(f"out {folder.resolve()} {address.topic}".encode()).hexdigest()[:16]
        self.address = address
        self._mark = folder / f"sent-{name}.json"
        self.connection = Connection(address, f"tcuq-{name}", subscribe=False)
        self.connection.client.max_inflight_messages_set(1000)

    def begin(self, last: int) -> int:
        """Connect; return the last commit that was sent: the last one there is, where nothing was."""
        self.connection.open()
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            return min(last, int(json.loads(self._mark.read_text(encoding="utf-8"))["commit"]))
        self._note(last)
        return last

    def write(self, number: int, decided: Sequence[Decided]) -> None:
        """Send the decisions of one commit and wait until the broker has them."""
        sent = []
        for part in decided:
            topic = self.address.topic.replace("{version}", _word(part.version))
            for device, line in zip(part.devices.tolist(), decision_lines(part), strict=True):
                filled = topic.replace("{device}", _word(device))
                sent.append(self.connection.client.publish(filled, line, qos=1))
        until = time.monotonic() + PATIENCE
        for message in sent:
            while not message.is_published():
                if self.connection.error or time.monotonic() > until:
                    why = self.connection.error or f"the broker took no decisions for {PATIENCE:g} s"
                    raise InputError("failed", f"{self.address}: {why}")
                message.wait_for_publish(1.0)
            until = time.monotonic() + PATIENCE
        self._note(number)

    def _note(self, number: int) -> None:
        write_whole(self._mark, json.dumps({"commit": number, "to": str(self.address)}))

    def close(self) -> None:
        """Disconnect."""
        self.connection.close()


def _word(name: str) -> str:
    return re.sub(r"[/+#\0]", "_", name) or "_"


def decision_lines(decided: Decided) -> list[str]:
    """Return one line of JSON a decision; fractions have six decimals, which name their 1/65536 exactly."""
    columns: dict[str, Any] = {
        "device": decided.devices,
        "boot": decided.boots,
        "seq": decided.seqs,
        "time": decided.times,
        "version": np.full(len(decided), decided.version, dtype=object),
        **step_columns(np.asarray(decided.steps), decided.steps.class_names, decided.steps.sight),
    }
    for name, values in columns.items():
        if values.dtype.kind == "f":
            rounded = np.round(values, 6).astype(object)
            columns[name] = np.where(np.isnan(values), np.array(None), rounded)
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return [json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in rows]
