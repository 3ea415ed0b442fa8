"""What stock monitors cost on every board, on a synthetic stream that is the same everywhere."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tcuq_device.boards import Board, board
from tcuq_device.cost.measure import made_stream, measure, overhead
from tcuq_device.cost.stock import CLASSES, WIDE, monitors, small_graph
from tcuq_device.firmware.build import Levels
from tcuq_device.firmware.decision import Watch
from tcuq_device.firmware.firmware import Firmware

from .rivals import PROJECTION, Project
from .stored import result

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


def silent(done: int, total: int, text: str) -> None:
    """Show no progress."""


def bench_monitors(
    boards: Sequence[str] | None = None,
    steps: int = STEPS,
    levels: Sequence[str] = LEVELS,
    progress: Progress = silent,
    only: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Measure every monitor on every board at every level.

    `overhead` is what a monitor adds to a firmware with a network; `alone` is what it adds to one without,
    where it brings the library's functions itself.
    """
    wanted = list(boards or BOARDS)
    rows = only or [*monitors(), PROJECTION]
    jobs = [(name, level, monitor) for name in wanted for level in levels for monitor in rows]
    found = []
    with tempfile.TemporaryDirectory() as kept:
        for number, (name, level, monitor) in enumerate(jobs):
            progress(number, len(jobs), f"{name} {level} {monitor}")
            found.append(_bench_monitor(board(name), level, monitor, steps, Path(kept)))
    return result("monitors", found)


def _bench_projection(on: Board, level: str, steps: int, kept: Path) -> dict[str, Any]:
    """Return what a projection of wide features takes that stands before a monitor."""
    tried, shape = Levels(rule=level), (CLASSES, WIDE)
    rows = made_stream(*shape, steps)
    projected, _ = measure(Firmware(PROJECTION, rule=Project(), shape=shape), on, rows, tried, kept)
    bare, _ = measure(Firmware("prediction", shape=shape), on, rows[:1], tried, kept)
    more = overhead(projected, bare)
    return {
        "name": PROJECTION,
        "board": on.name,
        "level": level,
        "classes": CLASSES,
        "features": WIDE,
        "flash": projected["flash"],
        "ram": projected["ram"],
        "overhead": more,
        "alone": more,
        "step": projected["rule"],
    }


def _bench_monitor(on: Board, level: str, name: str, steps: int, kept: Path) -> dict[str, Any]:
    if name == PROJECTION:
        return _bench_projection(on, level, steps, kept)
    params = monitors()[name]
    tried = Levels(rule=level)
    shape = (params.classes, params.features)
    rows = made_stream(*shape, steps)
    watched, _ = measure(Firmware(name, rule=Watch(params), shape=shape), on, rows, tried, kept)
    bare, _ = measure(Firmware("prediction", shape=shape), on, rows[:1], tried, kept)
    graph = small_graph()
    pictures = made_stream(2, graph.tensors["input"].size - 2, 4)
    beside, _ = measure(Firmware(name, [graph], rule=Watch(params)), on, pictures, tried, kept)
    network, _ = measure(Firmware("prediction", [graph]), on, pictures, tried, kept)
    return {
        "name": name,
        "board": on.name,
        "level": level,
        "classes": params.classes,
        "features": params.features,
        "flash": watched["flash"],
        "ram": watched["ram"],
        "among": watched["among"],
        "step": watched["rule"],
        "alone": overhead(watched, bare),
        "overhead": overhead(beside, network),
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
