"""Whether figures of boards have grown since they were stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tcuq_device.cost.stored import figures, key_of

GROWTH = 0.02
"""Share by which a figure may grow."""


def grown(stored: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Say which figures have grown by more than a share, and what no longer fits; one compiler made both."""
    before = {key_of(entry): entry for entry in stored["measured"]}
    said = []
    for entry in found["measured"]:
        key = key_of(entry)
        if key not in before:
            continue
        if "over" in entry and "over" not in before[key]:
            said.append(f"{' '.join(key)}: {entry['said']}")
        was = dict(figures(before[key]))
        for name, value in figures(entry):
            if name in was and value > was[name] * (1 + GROWTH):
                said.append(f"{' '.join(key)}: {name} {was[name]:,.1f} before, {value:,.1f} now")
    return said
