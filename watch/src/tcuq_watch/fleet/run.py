"""From a source through a fleet to a sink, commit by commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcuq.monitor.params import Params

from ..engine.events import Decided
from ..sources import Arrived, Source
from ..sources.arrivals import DeviceState
from ..sources.opening import open_source
from ..sources.streams import IterableSource
from .fleet import Fleet

COUNT, MOST, EVERY = 50_000, 100_000, 1.0
"""Events of a commit: a tenth of the devices, within these; and seconds after which fewer are committed."""


@dataclass
class RunStats:
    """What went through since the start."""

    events: int = 0
    decisions: int = 0
    states: int = 0
    commits: int = 0
    seconds: float = 0.0


def run(
    fleet: Any,
    source: Source,
    sink: Any = None,
    *,
    count: int | None = None,
    every: float = EVERY,
    flush: bool = False,
    look: Callable[[RunStats], None] | None = None,
) -> RunStats:
    """Take all that a source gives, until it ends or is stopped.

    A batch is committed before the source hears of it and before a sink gets its decisions: so a kill at any
    moment loses nothing. `flush` releases what is still held when the source has come to its end. `look` is
    called after each commit, and about as often while nothing arrives.
    """
    stats, began = RunStats(), time.monotonic()
    if count is None:
        devices = sum(len(model.devices) for model in fleet.models.values())
        count = min(MOST, max(COUNT, devices // 10))
    if sink is not None:
        for number, decided in fleet.commits(sink.begin(fleet.commit_number) + 1):
            sink.write(number, decided)
    for arrived, decided in _commits(fleet, source, count, every, flush):
        if sink is not None and decided:
            sink.write(fleet.commit_number, decided)
        if arrived:
            stats.events += arrived.count
            stats.states += sum(isinstance(item, DeviceState) for item in arrived.batch)
            stats.commits += 1
        stats.decisions += sum(map(len, decided))
        stats.seconds = time.monotonic() - began
        if look is not None:
            look(stats)
    return stats


def _commits(
    fleet: Any, source: Source, count: int, every: float, flush: bool
) -> Iterator[tuple[Arrived | None, list[Decided]]]:
    """Yield what arrived, and what was decided with its commit; the source hears of that afterwards."""
    for arrived in source.batches(fleet.position, count, every):
        if not arrived:
            yield None, []
            continue
        for kind, number in arrived.refused.items():
            fleet.refuse(kind, number)
        yield arrived, fleet.take(arrived.batch, arrived.position)
        source.committed(arrived)
    if flush and source.ended:
        yield None, fleet.flush()


def watch(
    params: Params | Mapping[str, Params], source: Any, folder: str | Path, **options: Any
) -> Iterator[Decided]:
    """Watch devices from any source, and yield what monitors decide, one item a version and commit.

    Parameters
    ----------
    params, folder, **options
        As of `Fleet`. A second call goes on in the folder.
    source : str or iterable
        What `tcuq fleet run` takes as SOURCE, or any iterable of steps: dicts with `device`, `probs` and what
        else JSON lines may have, or `Events`. An iterable must begin where the call before ended, or give
        each step its `boot` and `seq`.

    Examples
    --------
    >>> import tempfile
    >>> params = Params(classes=2)
    >>> steps = [{"device": "door-1", "seq": n, "probs": [0.9, 0.1]} for n in range(3)]
    >>> for decided in watch(params, steps, tempfile.mkdtemp() + "/fleet"):
    ...     print(decided.devices.tolist(), decided.steps["prediction"].tolist())
    ['door-1', 'door-1', 'door-1'] [0, 0, 0]
    """
    made = open_source(source, folder=Path(folder)) if isinstance(source, str) else IterableSource(source)
    with Fleet(params, folder, **options) as fleet, closing(made):
        for _, decided in _commits(fleet, made, COUNT, EVERY, flush=True):
            yield from decided
