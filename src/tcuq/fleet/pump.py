"""From a source through a fleet to a sink, commit by commit."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .arrivals import Arrived, DeviceState
from .events import Decided
from .sinks import Sink
from .sources import Source


@dataclass
class Pumped:
    """What went through since the start."""

    events: int = 0
    decisions: int = 0
    states: int = 0
    commits: int = 0
    seconds: float = 0.0
    refused: dict[str, int] = field(default_factory=dict)


def pump(
    fleet: Any,
    source: Source,
    sink: Sink | None = None,
    *,
    count: int = 20_000,
    every: float = 1.0,
    flush: bool = False,
    told: Callable[[Pumped], None] | None = None,
    idle: Callable[[], Any] | None = None,
) -> Pumped:
    """Take all that a source gives, until it ends or is stopped.

    A batch is committed before the source hears of it and before a sink gets its decisions. So a kill at any
    moment loses nothing: the source gives again what was not committed, the fleet drops what it has, and the
    sink is given what it lacks.

    Parameters
    ----------
    fleet : Fleet
    source : Source
    sink : Sink, optional
    count : int
        Events of a commit, about.
    every : float
        Seconds after which fewer are committed.
    flush : bool
        Release what is still held when the source has ended.
    told : callable, optional
        Called after each commit.
    idle : callable, optional
        Called after each commit, and about as often while nothing arrives.

    Returns
    -------
    Pumped
    """
    done = Pumped()
    began = time.monotonic()
    if sink is not None:
        for number, decided in fleet.commits(sink.begin(fleet.commit_number) + 1):
            sink.write(number, decided)
    for arrived in source.batches(fleet.position, count, every):
        if idle is not None:
            idle()
        if arrived is None:
            continue
        for decided in _commits(fleet, arrived):
            done.decisions += sum(map(len, decided))
            done.commits += 1
            if sink is not None:
                sink.write(fleet.commit_number, decided)
        source.committed(arrived)
        done.events += arrived.count
        done.states += sum(len(part.states) for part in arrived.parts)
        done.seconds = time.monotonic() - began
        for kind, number in arrived.refused.items():
            done.refused[kind] = done.refused.get(kind, 0) + number
        if told is not None:
            told(done)
    if flush:
        decided = fleet.flush()
        done.decisions += sum(map(len, decided))
        if sink is not None:
            sink.write(fleet.commit_number, decided)
    done.seconds = time.monotonic() - began
    return done


def _commits(fleet: Any, arrived: Arrived) -> Iterator[Sequence[Decided]]:
    """Commit what arrived, mostly at once; yield the decisions of each commit.

    Only the last one moves the position: a kill in between repeats the whole, which the fleet drops.
    """
    for kind, number in arrived.refused.items():
        fleet.refuse(kind, number)
    *before, last = arrived.parts
    for part in before:
        yield fleet.take(part.events)
        _adopt(fleet, part.states)
    if last.states:
        yield fleet.take(last.events)
        _adopt(fleet, last.states)
        yield fleet.commit(arrived.position)
    else:
        yield fleet.take(last.events, arrived.position)


def _adopt(fleet: Any, states: Sequence[DeviceState]) -> None:
    for each in states:
        # One that does not fit is counted by the fleet and stops nothing.
        with contextlib.suppress(ValueError):
            fleet.adopt(each.device, each.state, each.boot, each.seq, each.version, commit=False)
