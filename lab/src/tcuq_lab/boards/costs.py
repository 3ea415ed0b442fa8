"""What methods and stock monitors cost on boards, and the result files that say so."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tcuq._version import VERSION
from tcuq.base.errors import InputError, located
from tcuq.base.json_text import from_json
from tcuq.base.limits import read_limited
from tcuq_device.boards import board
from tcuq_device.cost.measure import made_stream, measure, overhead
from tcuq_device.cost.stock import CLASSES, WIDE, monitors, small_graph
from tcuq_device.firmware.build import Levels
from tcuq_device.firmware.decision import Watch
from tcuq_device.firmware.firmware import Firmware
from tcuq_device.graph.steps import Int8
from tcuq_device.tools import version

from .rivals import PROJECTION, Project

FORMAT = "tcuq-device"
STEPS = 1000
BOARDS = ("microbit", "stm32l432kc", "stm32f767zi", "rp2350", "corstone300", "esp32c3")
"""One of each core: others with the same core give the same counts."""
LEVELS = ("-Os", "-O2", "-O3")
GOALS = {"flash": 4300, "ram": 512, "instructions": 2500}
"""What the paper's profile may add to a firmware on the Cortex-M4 with 10 classes and 32 features.

Flash: 4,096 bytes, and 5 % for a state that survives memory errors (SPEC.md section 12)."""

STANDARD_GOALS = {"flash": 7168, "ram": 640, "instructions": 6000}
"""The same of the standard profile."""

Progress = Callable[[int, int, str], None]


def bench_monitors(
    boards: Sequence[str] | None = None,
    steps: int = STEPS,
    levels: Sequence[str] = LEVELS,
    progress: Progress = lambda done, total, text: None,
    only: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Measure every monitor on every board at every level, on a synthetic stream.

    `overhead` is what a monitor adds to a firmware with a network; `alone` is what it adds to one without,
    where it brings the library's functions itself.
    """
    rows = only or [*monitors(), PROJECTION]
    jobs = [(name, level, monitor) for name in boards or BOARDS for level in levels for monitor in rows]
    found = []
    with tempfile.TemporaryDirectory() as kept:
        for number, (name, level, monitor) in enumerate(jobs):
            progress(number, len(jobs), f"{name} {level} {monitor}")
            found.append(_bench_monitor(name, level, monitor, steps, Path(kept)))
    return result("monitors", found)


def _bench_monitor(on: str, level: str, name: str, steps: int, kept: Path) -> dict[str, Any]:
    """Return what a monitor takes, or a projection of wide features that stands before one."""

    def taken(firmware: Firmware, rows: Int8) -> dict[str, Any]:
        return measure(firmware, board(on), rows, Levels(rule=level), kept)[0]

    projects = name == PROJECTION
    params = None if projects else monitors()[name]
    shape = (CLASSES, WIDE) if params is None else (params.classes, params.features)
    rule = Project() if params is None else Watch(params)
    rows = made_stream(*shape, steps)
    watched = taken(Firmware(name, rule=rule, shape=shape), rows)
    alone = overhead(watched, taken(Firmware("prediction", shape=shape), rows[:1]))
    more = alone
    if not projects:
        graph = small_graph()
        pictures = made_stream(2, graph.tensors["input"].size - 2, 4)
        beside = taken(Firmware(name, [graph], rule=rule), pictures)
        more = overhead(beside, taken(Firmware("prediction", [graph]), pictures))
    return {
        "name": name,
        "board": on,
        "level": level,
        "classes": shape[0],
        "features": shape[1],
        "flash": watched["flash"],
        "ram": watched["ram"],
        **({} if projects else {"among": watched["among"]}),
        "step": watched["rule"],
        "alone": alone,
        "overhead": more,
    }


def goals(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Hold the standard and the paper's profile on the Cortex-M4 against their goals, at every level."""
    wanted, held = {"standard": STANDARD_GOALS, "paper": GOALS}, []
    for entry in found["measured"]:
        if entry["name"] in wanted and entry["board"] == "stm32l432kc":
            values = {**entry["overhead"], "instructions": entry["step"]["instructions"]["mean"]}
            limits = {name: [values[name], most] for name, most in wanted[entry["name"]].items()}
            held.append({"name": entry["name"], "level": entry["level"], **limits})
    return held


def method_cost(task: str, firmware: Firmware, base: Firmware, on: str, inputs: Int8) -> dict[str, Any]:
    """Measure a method of a task on a board, and what it adds to the firmware `base` of the plain network."""
    with tempfile.TemporaryDirectory() as kept:

        def taken(each: Firmware, rows: Int8) -> tuple[dict[str, Any], Any]:
            return measure(each, board(on), rows, None, Path(kept))

        entry, ran = taken(firmware, inputs)
        entry = {"task": task, **entry, "passes": firmware.passes, "members": firmware.members}
        if ran is not None:
            shape = (firmware.classes, firmware.features)
            alone = Firmware(firmware.name, rule=firmware.rule, shape=shape)
            entry["rule"] = taken(alone, made_stream(*shape, STEPS))[0]["rule"]
            if firmware.graphs == base.graphs:
                plain = entry if firmware.name == base.name else taken(base, inputs)[0]
                if "over" not in plain:
                    entry["overhead"] = overhead(entry, plain)
    return entry


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
            good = all(math.isfinite(value) for value in _figures(entry)) and "board" in entry
            good = good and isinstance(entry.get("said", ""), str)
        except (TypeError, KeyError, AttributeError, ValueError, OverflowError):
            good = False
        if not good:
            said = f"entry {number} of measured is damaged; run tcuq-lab boards bench --write"
            raise InputError("damaged", said, where=str(path))
    return content


def _figures(entry: Mapping[str, Any]) -> Iterator[float]:
    """Give the figures of an entry: code, and instructions per step."""
    if "over" not in entry:
        yield entry["flash"]["code"]
        for part in ("network", "rule", "step"):
            if part in entry and entry[part]["instructions"]["steps"]:
                yield entry[part]["instructions"]["mean"]
