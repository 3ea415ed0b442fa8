"""One firmware on one board: bytes, instructions, estimates."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError
from tcuq.monitor.heads import Sight

from ..boards import Board
from ..emulate.emulator import Ran, emulate
from ..firmware.build import Levels, build
from ..firmware.firmware import Firmware
from ..firmware.image import Image, MemorySizes, TooLarge
from ..firmware.stack import bound_of
from .cycles import cycles

Int8 = npt.NDArray[np.int8]


def measure(
    firmware: Firmware,
    board: Board,
    inputs: Int8,
    levels: Levels | None = None,
    kept: Path | None = None,
) -> tuple[dict[str, Any], Ran | None]:
    """Build a firmware, run it over inputs (one row per step), and return what it costs and what it said.

    A firmware that does not fit has sizes and `over`, the bytes that each memory lacks, and no run. `kept` is
    a folder for what other measurements can use again.
    """
    rows = np.ascontiguousarray(inputs, dtype=np.int8).reshape(len(inputs), -1)
    if rows.shape[1] != firmware.input_bytes:
        raise InputError(
            "value",
            f"inputs have {rows.shape[1]} bytes; {firmware.input_bytes} are needed by {firmware.name}",
        )
    levels = levels or Levels()
    found: dict[str, Any] = {"firmware": firmware.name, "board": board.name, "levels": vars(levels).copy()}
    with tempfile.TemporaryDirectory() as folder:
        try:
            image = build(firmware, board, Path(folder) / "build", levels, kept)
        except TooLarge as error:
            return {**found, "over": error.over, **_memories(error.sizes, None), "said": str(error)}, None
        ran = emulate(image, rows.tobytes(), counted=True, kept=kept)
        # A line says how deep the stack was, behind its first word.
        depth = max((int(line.split()[1]) for line in ran.lines), default=0)
        if depth >= board.stack_bytes:
            # Nothing guards what lies below: the variables may be overwritten.
            raise InputError(
                "limit",
                f"the stack of {firmware.name} on {board.title} is {depth} bytes deep or more, "
                f"expected less than {board.stack_bytes}",
            )
        most = bound_of(image).bytes
        if depth > most:
            raise InputError(
                "limit", f"the stack of {firmware.name} was {depth} bytes deep, expected at most {most}"
            )
        found |= _memories(image.sizes, depth)
        found["ram"]["stack_bound"] = most
        found |= {region: _region(image, ran, region) for region in ran.counts}
        return found, ran


def _memories(sizes: MemorySizes, stack: int | None) -> dict[str, Any]:
    flash = {"code": sizes.code, "constants": sizes.constants, "data": sizes.data, "total": sizes.flash}
    ram = {"data": sizes.data, "zeroed": sizes.zeroed, "stack": stack, "total": sizes.ram + (stack or 0)}
    among = {"library": sizes.library, "arena": sizes.arena, "input": sizes.input}
    return {"flash": flash, "ram": ram, "among": among}


def _region(image: Image, ran: Ran, region: str) -> dict[str, Any]:
    counts = ran.counts[region]
    return {"instructions": summary(counts.instructions), "cycles": cycles(image, counts)}


def summary(values: Sequence[int]) -> dict[str, float]:
    """Return how many values there are, the least, median and most, their mean and deviation."""
    if not values:
        return {"steps": 0}
    return {
        "steps": len(values),
        "least": min(values),
        "median": statistics.median(values),
        "most": max(values),
        "mean": statistics.mean(values),
        "sd": statistics.stdev(values) if len(values) > 1 else 0.0,
    }


def overhead(found: dict[str, Any], without: dict[str, Any]) -> dict[str, int]:
    """Return what one image has more than another, in bytes; the larger one must not come out smaller."""
    more = {memory: found[memory]["total"] - without[memory]["total"] for memory in ("flash", "ram")}
    for memory, least in more.items():
        if least < 0:
            names = f"{found['firmware']} and {without['firmware']}"
            raise InputError("failed", f"{memory} of {names} differs by {least} bytes, expected 0 or more")
    return more


DWELL = 8
"""Steps of one label."""


def made_stream(
    classes: int, features: int, steps: int, seed: int = 0, sight: Sight | None = None
) -> npt.NDArray[np.int8]:
    """Return rows of a posterior and its features, as a network leaves them, and usual gauges in 16 bits."""
    bits = np.random.PCG64(seed)

    def draw(below: int, *shape: int) -> npt.NDArray[np.int64]:
        # Raw integers: distributions may change from one version to the next.
        raw = bits.random_raw(int(np.prod(shape)))
        return np.asarray(raw >> np.uint64(33), np.int64).reshape(shape) % below

    labels = np.repeat(draw(classes, steps // DWELL + 1), DWELL)[:steps]
    top = 90 + draw(150, steps)
    share = 1 + draw(1000, steps, classes)
    share[np.arange(steps), labels] = 0
    u = (256 - top)[:, None] * share // share.sum(axis=1, keepdims=True)
    # What rounding loses goes to the label.
    u[np.arange(steps), labels] = np.minimum(255, 256 - u.sum(axis=1))
    centers = draw(120, classes, features) if features else np.zeros((classes, 0), np.int64)
    noise = draw(60, steps, features) if features else np.zeros((steps, 0), np.int64)
    rows = np.concatenate([u - 128, centers[labels] + noise - 128], axis=1).astype(np.int8)
    if sight is None or not sight.gauges:
        return rows
    count = len(sight.gauges)
    spread = np.array(sight.deviations[:count]) * (draw(256, steps, count) / 64 - 2)
    gauges = sight.gauge_rows(np.array(sight.means[:count]) + spread)
    return np.concatenate([rows, gauges.astype("<i2").view(np.int8)], axis=1)
