"""Sessions for tests: in this process, and in one that can be killed."""

from __future__ import annotations

import json
import multiprocessing
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from streams import int8_stream

from tcuq import Monitor, Params
from tcuq_watch.engine.events import Decided, joined
from tcuq_watch.fleet import Fleet
from tcuq_watch.fleet.run import run
from tcuq_watch.live import session as session_module
from tcuq_watch.live.session import DEVICE, Session
from tcuq_watch.sources.arrivals import Arrived, Bad, Notice
from tcuq_watch.sources.opening import open_source
from tcuq_watch.sources.step_reader import StepReader

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


def decision(step: int, alarm: int) -> bytes:
    """Return a line of a device that decides itself."""
    row = {"risk": step / 64, "threshold": 0.5, "answer": step % 4, "alarm": alarm, "seq": step}
    return (json.dumps(row) + "\n").encode()


class Feeder:
    """A source that a test pushes bytes into."""

    where = key = "-"

    def __init__(self, session: Session) -> None:
        self.session, self.bad, self.ended = session, Bad(), False
        self.reader = StepReader("-", self.bad, device=DEVICE, stream=True)
        self.acknowledged: list[Arrived] = []

    def committed(self, arrived: Arrived) -> None:
        self.acknowledged.append(arrived)

    def push(self, data: bytes, when: float = 1.7e9, tokens: Any = (), notices: Any = ()) -> None:
        """Have the session take bytes, and what happened after them."""
        self.reader.push(data, when)
        arrived = self.reader.rows.flush(None)
        arrived.tokens, arrived.notices = list(tokens), [Notice(*each) for each in notices]
        self.session.take(arrived, self)  # type: ignore[arg-type]

    def tick(self, now: bool = True) -> None:
        """Have the session commit."""
        self.session.tick(self, now)  # type: ignore[arg-type]


def kept(folder: Path) -> Decided | None:
    """Return all that the folder of a session keeps."""
    with Fleet.open_read(folder) as fleet:
        parts = list(fleet.decisions())
    return joined(parts) if parts else None


def kept_steps(folder: Path) -> int:
    """Return how many steps a folder keeps, 0 before there are any."""
    try:
        found = kept(folder)
    except ValueError:
        return 0
    return 0 if found is None else len(found)


def decided_alike(folder: Path, probs: Any, params: Params = PARAMS) -> bool:
    """Tell whether a session kept these posteriors, and decided as a monitor without interruption."""
    found = kept(folder)
    assert found is not None
    steps, names = Monitor(params).run(probs), ("risk", "threshold", "answer", "abstain", "alarm", "reason")
    same = len(found) == len(steps) and np.array_equal(found.probs, probs)
    return same and all(np.array_equal(found.steps[name], steps[name]) for name in names)


def watch(folder: str, name: str, until: int, fleet: bool = False) -> None:
    """Watch a source, live or as a fleet, in a process of its own, up to a number of steps."""
    session_module.COMMIT = 0.03  # many moments for a kill
    with closing(open_source(name, folder=Path(folder), follow=True, device=DEVICE)) as source:
        if fleet:
            with Fleet(PARAMS, folder, keep_events=True) as kept:
                [model] = kept.models.values()

                def look(_: Any) -> None:
                    if model.tallies.devices["steps"].sum() >= until:
                        source.stop()

                run(kept, source, every=0.03, look=look)
        else:
            with closing(Session(PARAMS, folder, name)) as session:
                session.run(source, lambda: session.step >= until)


_CONTEXT: Any = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tcuq_watch.live.session", "tcuq_watch.sources.opening", "pyarrow.parquet"])


def start_watching(folder: Path, name: str, until: int, fleet: bool = False) -> Any:
    """Start `watch` in a process that can be killed; it has begun when this returns."""
    here, there = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=_watch_told, args=(there, str(folder), name, until, fleet))
    process.start()
    there.close()
    assert here.poll(60)
    here.close()
    return process


def _watch_told(begun: Any, *args: Any) -> None:
    begun.send(True)
    begun.close()
    watch(*args)
