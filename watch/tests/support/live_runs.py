"""Sessions for tests: in this process, and in one that can be killed."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from streams import int8_stream

from tcuq import Monitor, Params
from tcuq.io import read_decisions
from tcuq_watch.live.session import Session
from tcuq_watch.sources.streams import Growing, open_source

PARAMS = Params(classes=4, warmup=4, level=0.2, budget=0.2)


def steps_of(count: int, seed: int = 0) -> Any:
    """Return int8 posteriors of four classes."""
    return int8_stream(count, 4, 0, seed)[0]


def json_lines(probs: Any, boot: int | None = None, first: int = 0) -> bytes:
    """Return posteriors as JSON lines, numbered where a boot is given."""
    rows = []
    for seq, row in enumerate(probs.tolist(), first):
        place = {} if boot is None else {"boot": boot, "seq": seq}
        rows.append(json.dumps({"probs": row, **place}))
    return "".join(f"{row}\n" for row in rows).encode()


def received(folder: Path) -> Any:
    """Return the posteriors of a session's log, as far as whole lines tell them."""
    lines = (folder / "received.jsonl").read_bytes().split(b"\n")[:-1]
    rows = [json.loads(line) for line in lines]
    return np.array([row["probs"] for row in rows if "probs" in row], dtype=np.int8)


def decided_alike(folder: Path, probs: Any, params: Params = PARAMS) -> bool:
    """Tell whether the decisions of a session are those of a monitor that was never interrupted."""
    found = read_decisions(folder / "decisions.jsonl")
    steps = Monitor(params).run(probs)
    names = (
        "risk",
        "threshold",
        "uncertainty",
        "answer",
        "abstain",
        "alarm",
        "warming_up",
        "reason",
        "prediction",
    )
    same = len(found.steps) == len(steps) and all(
        np.array_equal(found.steps[name], steps[name]) for name in names
    )
    return same and found.step_numbers().tolist() == list(range(len(steps)))


def wait_until(asked: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Wait until something holds; tell whether it does."""
    limit = time.monotonic() + seconds
    while not asked():
        if time.monotonic() > limit:
            return False
        time.sleep(0.005)
    return True


def watch(folder: str, name: str, until: int, save_every: int) -> None:
    """Watch a source in a process of its own, up to a number of steps."""
    source = open_source(name, client=f"test-{Path(folder).name}")
    source.open()
    session = Session(PARAMS, folder, name, save_every=save_every, key=source.key)
    if isinstance(source, Growing):
        source.resume(*session.place)
    source.start()
    session.run(source, lambda: session.step >= until)
    source.close()
    session.close()


_CONTEXT: Any = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["tcuq_watch.live.session", "tcuq_watch.sources.streams", "tcuq.io", "tcuq_watch.sources.links"]
)


def start_watching(folder: Path, name: str, until: int, save_every: int = 50) -> Any:
    """Start `watch` in a process that can be killed; it has begun when this returns."""
    here, there = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=_watch_told, args=(there, str(folder), name, until, save_every))
    process.start()
    there.close()
    assert here.poll(60)
    here.close()
    return process


def _watch_told(begun: Any, *args: Any) -> None:
    begun.send(True)
    begun.close()
    watch(*args)
