"""From a source through a fleet to a sink, commit by commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
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

    Returns
    -------
    Pumped
    """
    done = Pumped()
    began = time.monotonic()
    if sink is not None:
        _caught_up(fleet, sink, sink.begin(last_commit(fleet)))
    before = last_commit(fleet)
    for arrived in source.batches(fleet.position, count, every):
        done.decisions += _commit(fleet, arrived)
        source.committed(arrived)
        before = _passed_on(fleet, sink, before)
        done.events += arrived.count
        done.states += sum(len(part.states) for part in arrived.parts)
        done.commits += 1
        done.seconds = time.monotonic() - began
        for kind, number in arrived.refused.items():
            done.refused[kind] = done.refused.get(kind, 0) + number
        if told is not None:
            told(done)
    if flush:
        done.decisions += sum(map(len, fleet.flush(fleet.position)))
        _passed_on(fleet, sink, before)
    done.seconds = time.monotonic() - began
    return done


def _commit(fleet: Any, arrived: Arrived) -> int:
    """Commit what arrived; the position moves with the last part, so that a kill in between repeats the whole."""
    decisions, last = 0, len(arrived.parts) - 1
    for kind, number in arrived.refused.items():
        fleet.refuse(kind, number)
    for place, part in enumerate(arrived.parts):
        final = place == last and not part.states
        decided = fleet.take(part.events, arrived.position if final else fleet.position)
        decisions += sum(map(len, decided))
        for state in part.states:
            _adopt(fleet, state)
        if place == last and part.states:
            fleet.take([], arrived.position)
    return decisions


def _adopt(fleet: Any, state: DeviceState) -> None:
    # A state of other parameters, or a damaged one, is counted by the fleet and stops nothing.
    fleet.adopt(state.device, state.state, state.boot, state.seq, state.version)


def last_commit(fleet: Any) -> int:
    """Return the number of the last commit that has decisions, -1 for none."""
    return max((number for number, _ in _files(fleet)), default=-1)


def _files(fleet: Any) -> Iterator[tuple[int, Path]]:
    folder = Path(fleet.folder) / "decisions"
    for path in folder.glob("*.npz") if folder.is_dir() else ():
        if path.stem.isdigit():
            yield int(path.stem), path


def committed_after(fleet: Any, number: int) -> Iterator[tuple[int, Sequence[Decided]]]:
    """Yield the decisions of each commit after a number, with its own."""
    raise NotImplementedError


def _caught_up(fleet: Any, sink: Sink, number: int) -> None:
    for each, decided in committed_after(fleet, number):
        sink.write(each, decided)


def _passed_on(fleet: Any, sink: Sink | None, before: int) -> int:
    if sink is None:
        return before
    for number, decided in committed_after(fleet, before):
        sink.write(number, decided)
        before = number
    return before
