"""Feeds the demo's stream to `tcuq live`, for a picture of its page."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from tcuq import Monitor, Params
from tcuq.demo.clothes import NAMES

BEFORE, AFTER, PAUSE = 400, 300, 4.0
"""Steps of the demo's day that the page has seen before and after the rain begins; seconds between two."""
RAIN = 4


def lines(folder: Path, count: int = BEFORE + AFTER, ago: float = 0.0) -> list[bytes]:
    """Return the first steps that the page shows, as a device sends them; the last one is so long ago."""
    with np.load(folder / "test.npz") as log:
        begin = int((log["shifted"] == RAIN).argmax())
        shown = slice(begin - BEFORE, begin - BEFORE + count)
        rows = zip(*(log[name][shown].tolist() for name in ("probs", "features", "gauges")), strict=True)
    start = time.time() - ago - PAUSE * (count - 1)
    names = list(NAMES)
    sent = [
        json.dumps(
            {"probs": p, "features": f, "gauges": g, "boot": 1, "seq": seq, "time": start + PAUSE * seq}
        ).encode()
        + b"\n"
        for seq, (p, f, g) in enumerate(rows)
    ]
    sent[:1] = [] if not sent else [(json.dumps({"names": names}) + "\n").encode() + sent[0]]
    return sent


def states(folder: Path) -> dict[str, tuple[int, float]]:
    """Return how many steps the page has seen in each state, and how long ago the last one was."""
    params = Params.load(folder / "params.json")
    with np.load(folder / "test.npz") as log:
        begin = int((log["shifted"] == RAIN).argmax()) - BEFORE
        rows = slice(begin, begin + BEFORE)
        steps = Monitor(params).run(
            *(log[name][rows] for name in ("probs", "features")), gauges=log["gauges"][rows]
        )
    act, ask = (int(np.flatnonzero(steps["action"] == code)[-1]) + 1 for code in (0, 1))
    return {
        "act": (act, 0.0),
        "ask": (ask, 0.0),
        "hold": (BEFORE + AFTER, 0.0),
        "no data": (act, 30.0),
        "no step yet": (0, 0.0),
        "server gone": (act, 0.0),
    }


@contextlib.contextmanager
def served(demo: Path, folder: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Run `tcuq live` with the demo's monitor; yield its address, and where steps are written to."""
    command = [sys.executable, "-m", "tcuq", "live", str(demo / "params.json"), "-", "--port", "0"]
    command += ["--folder", str(folder / "kept"), "--device-name", "gate-north", "--place", "hall 3"]
    told = folder / "told.txt"
    with told.open("wb") as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=errors, stderr=errors)
    assert process.stdin is not None
    try:
        yield address(told, process), process.stdin
    finally:
        process.terminate()
        process.wait(timeout=20)


def send(device: IO[bytes], steps: list[bytes]) -> None:
    """Let the device send steps."""
    device.write(b"".join(steps))
    device.flush()


def address(told: Path, process: subprocess.Popen[bytes]) -> str:
    """Return the address of the page, as soon as the command says it."""
    limit = time.monotonic() + 30
    while time.monotonic() < limit and process.poll() is None:
        found = [word for word in told.read_text().split() if word.startswith("http://")]
        if found:
            return found[0].rstrip(".,")
        time.sleep(0.05)
    raise SystemExit(f"tcuq live gave no address: {told.read_text()}")
