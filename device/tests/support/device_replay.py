"""The monitor alone in a firmware: what tests/c/harness_replay.c reads, and its build."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from places import ROOT
from vector_files import FEEDBACK, FULL_BUILD, HEAD_SCALARS, SIGHT_SCALARS, Event, VectorCase

from tcuq.export.selfcheck import taken
from tcuq.monitor.made import ROWS
from tcuq.monitor.monitor import Monitor
from tcuq.monitor.params import Params
from tcuq_device.boards import Board
from tcuq_device.firmware.build import ALONE, BOARDS, START, Group, fresh, link
from tcuq_device.firmware.decision import CORE, FIRMWARE
from tcuq_device.firmware.image import Image

Int8 = npt.NDArray[np.int8]

HARNESS = ROOT / "tests" / "c" / "harness_replay.c"

SCALARS = [row.name for row in ROWS if row.part == "params" and row.kind == "one"]
"""Fields of the core's parameters, in the order in which the firmware reads them."""


LETTERS = {"step": b"s", "reset": b"r", "save": b"w", "load": b"l", "label": b"f"}


def _words(values: Iterable[int]) -> bytes:
    """Return numbers as words of 32 bits; those above 2^31 keep their bits."""
    return b"".join(struct.pack("<I", value & 0xFFFFFFFF) for value in values)


def replayed(case: VectorCase) -> list[Event]:
    """Return what the firmware can do: it takes no state from outside."""
    return [event for event in case.events if event.kind in LETTERS]


def encode(cases: Sequence[VectorCase]) -> bytes:
    """Return the input of the firmware."""
    parts = []
    for case in cases:
        fields, head, instant = case.fields, case.fields.get("evidence"), case.fields.get("instant")
        lags, centers = list(fields["lags"]), fields.get("centers")
        scalars = {**fields, "lag_count": len(lags)}
        numbers = [*(int(scalars.get(name, 0)) for name in SCALARS), *lags, *fields["lag_weights"]]
        numbers += [*fields["coef"], *fields["clean_mean"], int(head is not None)]
        if head is not None:
            numbers += [*(head[name] for name in HEAD_SCALARS), *head["coef"], *head["offset"]]
        numbers.append(int(instant is not None))
        if instant is not None:
            numbers += [instant["bias"], *instant["coef"]]
        sight = fields.get("sight")
        numbers.append(int(sight is not None))
        if sight is not None:
            numbers += [*(sight[name] for name in SIGHT_SCALARS), *sight["mean"], *sight["scale"]]
            numbers += [*sight["shift"], *sight["class_mean"], *sight["matrix"]]
        labels = fields.get("feedback")
        numbers.append(int(labels is not None))
        if labels is not None:
            numbers += [labels[name] for name in FEEDBACK]
        numbers.append(int(centers is not None))
        parts += [b"c", _words(numbers), centers or b""]
        for event in replayed(case):
            letter = LETTERS[event.kind] if event.gauges is None else b"g"
            parts += [letter, event.probs, event.features or b"", _words(event.gauges or event.label)]
    return b"".join(parts)


def expected(case: VectorCase) -> list[str]:
    """Return the lines that the oracle expects the firmware to print."""
    lines = [" ".join(map(str, ["case 0", *case.sizes, *case.bounds]))]
    for event in replayed(case):
        if event.kind == "step":
            lines.append(" ".join(map(str, ["step", *event.expected])))
        elif event.kind == "label":
            lines.append(f"label {event.expected[0]}")
        elif event.kind != "reset":
            lines.append(f"save {event.saved.hex()}" if event.kind == "save" else "load 0")
    return lines


def build_replay(board: Board, folder: str | Path, level: str = "-Os", kept: Path | None = None) -> Image:
    """Build the firmware that replays cases through the monitor, every signal compiled in."""
    harness = [FIRMWARE / "harness.c", HARNESS, FIRMWARE / "harness_step.c"]
    groups: list[Group] = [
        (sorted(CORE.glob("*.c")), [level]),
        ([BOARDS / "startup.c"], ["-Os", *START]),
        (harness, ALONE),
    ]
    defines = [FULL_BUILD, *(f"-DREPLAY_{name}={room}u" for name, room in replay_rooms(board).items())]
    return link("replay", with_stack(board), fresh(folder), groups, defines, kept)


def with_stack(board: Board) -> Board:
    """Return a board with a stack that holds a step with sight below the frames of the replay."""
    return replace(board, stack_bytes=max(board.stack_bytes, 2048))


def replay_rooms(board: Board) -> dict[str, int]:
    """Return the most bytes of a ring or a saved state, classes, and bytes of centers in a replay."""
    if board.emulated.harness_ram:
        return {"BYTES": 1 << 18, "CLASSES": 1000, "CENTERS": 8192}
    # The rest of a small RAM goes to the buffers of the largest case, see harness_replay.c.
    return {"BYTES": (board.ram_bytes - 9000) // 2 // 4 * 4, "CLASSES": 400, "CENTERS": 1024}


def replay_fits(case: VectorCase, board: Board) -> bool:
    """Return whether a replay on a board has room for a case."""
    rooms, centers = replay_rooms(board), case.fields.get("centers") or b""
    tables = centers, (case.fields.get("sight") or {}).get("class_mean", b"")
    needed = {"BYTES": max(case.sizes), "CLASSES": case.fields["classes"], "CENTERS": max(map(len, tables))}
    return all(needed[name] <= rooms[name] for name in rooms)


def case_of(params: Params, probs: Int8, features: Int8 | None, events: Sequence[str] = ()) -> VectorCase:
    """Return a case that Python expects something of: steps, with other events between them in turn."""
    monitor = Monitor(params)
    core = params.core()
    ring, state, low, high = core.sizes()
    case = VectorCase(params.integers(), [ring, state], [low, high])
    rows = zip(probs, features if features is not None else [None] * len(probs), strict=True)
    for at, (one, more) in enumerate(rows):
        fields, signals = taken(monitor, one[None], np.zeros((1, 0), np.int8) if more is None else more[None])
        expected = [*fields[0].tolist(), *signals[0].tolist()]
        bytes_of = None if more is None else more.tobytes()
        case.events.append(Event("step", str(at), one.tobytes(), bytes_of, expected))
        kind = events[at % len(events)] if events else ""
        if kind == "reset":
            monitor.reset()
            case.events.append(Event(kind, str(at)))
        elif kind == "save":
            saved = monitor.save()
            monitor = Monitor(params).load(saved)
            case.events += [Event(kind, str(at), saved=saved), Event("load", str(at))]
    return case
