"""Result files of measurements on boards."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tcuq._version import VERSION
from tcuq.base.errors import InputError, located
from tcuq.base.json_text import from_json
from tcuq.base.limits import read_limited
from tcuq_device.tools import version

FORMAT = "tcuq-device"


def result(name: str, measured: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the content of a result file, with the versions of the tools."""
    return {
        "format": FORMAT,
        "name": name,
        "tcuq": VERSION,
        "compiler": version("arm-none-eabi-gcc"),
        "emulator": version("qemu-system-arm"),
        "notes": {
            "instructions": "counted in the emulator, exact",
            "cycles": "estimates without wait states from the board's file, see its sources; time and "
            "energy follow from them",
        },
        "measured": measured,
    }


def load(path: str | Path) -> dict[str, Any]:
    """Read a result file."""
    found = read_limited(path)
    with located(str(path)):
        content = from_json(found)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InputError("damaged", f"format is not {FORMAT!r}; one of tcuq-lab boards is needed")
        for part in ("compiler", "emulator", "tcuq", "measured"):
            if part not in content:
                raise InputError("damaged", f"lacks {part!r}; one of tcuq-lab boards is needed")
        if not isinstance(content["measured"], list):
            raise InputError("damaged", "measured is no list; one of tcuq-lab boards is needed")
    for number, entry in enumerate(content["measured"]):
        try:
            good = all(math.isfinite(value) for _, value in figures(entry)) and bool(key_of(entry))
            good = good and isinstance(entry.get("said", ""), str)
        except (TypeError, KeyError, AttributeError, ValueError, OverflowError):
            good = False
        if not good:
            said = f"entry {number} of measured is damaged; run tcuq-lab boards bench --write"
            raise InputError("damaged", said, where=str(path))
    return content


def figures(entry: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Give the figures of an entry that may not grow: code, and instructions per step."""
    if "over" not in entry:
        yield "code bytes", entry["flash"]["code"]
        for part in ("network", "rule", "step"):
            if part in entry and entry[part]["instructions"]["steps"]:
                yield f"{part} instructions", entry[part]["instructions"]["mean"]


def key_of(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what tells an entry from the others: task, names, board and level."""
    names = ("task", "name", "firmware", "board", "level")
    return tuple(str(entry[name]) for name in names if name in entry)
