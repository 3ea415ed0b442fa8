"""From a source through a fleet to a sink, commit by commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tcuq.monitor.params import Params

from ..engine.events import Decided
from ..sources import Arrived, Source
from ..sources.arrivals import DeviceState
from ..sources.opening import open_source
from ..sources.streams import IterableSource
from .fleet import Fleet
from .sinks import Sink


@dataclass
class RunStats:
    """What went through since the start."""

    events: int = 0
    decisions: int = 0
    states: int = 0
    commits: int = 0
    seconds: float = 0.0
    refused: dict[str, int] = field(default_factory=dict)  # what the source could not read, by kind
    turned_down: dict[str, int] = field(default_factory=dict)


def run(
    fleet: Any,
    source: Source,
    sink: Sink | None = None,
    *,
    count: int = 20_000,
    every: float = 1.0,
    flush: bool = False,
    told: Callable[[RunStats], None] | None = None,
    idle: Callable[[], Any] | None = None,
) -> RunStats:
    """Take all that a source gives, until it ends or is stopped.

    A batch is committed before the source hears of it and before a sink gets its decisions. So a kill at any
    moment loses nothing: the source gives again what was not committed, the fleet drops what it has, and the
    sink is given what it lacks.

    `flush` releases what is still held when the source has come to its end, not if it was stopped before.
    `idle` is called after each commit, and about as often while nothing arrives.
    """
    done = RunStats()
    began = time.monotonic()
    if sink is not None:
        for number, decided in fleet.commits(sink.begin(fleet.commit_number) + 1):
            sink.write(number, decided)
    for arrived in source.batches(fleet.position, count, every):
        if idle is not None:
            idle()
        if not arrived:
            continue
        decided = _committed(fleet, arrived, done)
        if sink is not None:
            sink.write(fleet.commit_number, decided)
        source.committed(arrived)
        done.seconds = time.monotonic() - began
        if told is not None:
            told(done)
    if flush and source.ended:
        decided = fleet.flush()
        done.decisions += sum(map(len, decided))
        if sink is not None:
            sink.write(fleet.commit_number, decided)
    done.seconds = time.monotonic() - began
    return done


def watch(
    params: Params | Mapping[str, Params], source: Any, folder: str | Path, **options: Any
) -> Iterator[Decided]:
    """Watch devices from any source, and yield what monitors decide, after each commit.

    Parameters
    ----------
    params : Params or mapping of str to Params
        As of `Fleet`.
    source : str or iterable
        What `tcuq fleet run` takes as SOURCE, or any iterable of steps: dicts with `device`, `probs` and what
        else JSON lines may have, or `Events`.
    folder : path
        Where the fleet is kept. A second call goes on there; an iterable must then begin where the first one
        ended, or give each step its `boot` and `seq`.
    **options
        As of `Fleet`.

    Yields
    ------
    Decided
        One item a version and commit; at the end of the source also what was held back.

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
        for arrived in made.batches(fleet.position, 20_000, 1.0):
            if arrived:
                yield from _committed(fleet, arrived, RunStats())
                made.committed(arrived)
        if made.ended:
            yield from fleet.flush()


def _committed(fleet: Any, arrived: Arrived, done: RunStats) -> Sequence[Decided]:
    """Commit what arrived at once, so that a kill repeats nothing that was counted; return the decisions."""
    before = dict(fleet.refused)
    for kind, number in arrived.refused.items():
        fleet.refuse(kind, number)
        done.refused[kind] = done.refused.get(kind, 0) + number
    decided: Sequence[Decided] = fleet.take(arrived.batch, arrived.position)
    down = _more(fleet.refused, before, arrived.refused)
    for kind, number in down.items():
        done.turned_down[kind] = done.turned_down.get(kind, 0) + number
    states = [item for item in arrived.batch if isinstance(item, DeviceState)]
    if states:
        strange = sum(not _knows(fleet, state.version) for state in states)
        done.states += len(states) - strange - down.get("bad state", 0) - down.get("old state", 0)
    done.events += arrived.count
    done.decisions += sum(map(len, decided))
    done.commits += 1
    return decided


def _knows(fleet: Any, version: str | None) -> bool:
    if version is None:
        return len(fleet.models) == 1
    prints = [model.params.fingerprint for model in fleet.models.values()]
    return version in fleet.models or prints.count(version) == 1


def _more(now: Mapping[str, int], before: Mapping[str, int], told: Mapping[str, int]) -> dict[str, int]:
    found = {kind: number - before.get(kind, 0) - told.get(kind, 0) for kind, number in now.items()}
    return {kind: number for kind, number in found.items() if number > 0}
