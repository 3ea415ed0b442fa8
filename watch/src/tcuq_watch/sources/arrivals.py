"""What a source hands over: events and states put together from rows, and what could not be read."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import one_line
from tcuq.io.values import Softmax
from tcuq.monitor.quantize import sigmoid_pairs

from ..engine.events import MAX_NAME, Events
from .decisions import odd_steps

MOST_KINDS = 64
"""Kinds of bad input that are told apart."""

NO_TIME = math.inf
"""Stands for a time that is none: the fleet counts it as a bad time and takes the event without one."""


class Notice(NamedTuple):
    """Something that happened to a source.

    `kind` is "connected", "lost", "ended" (nothing more will come), "note" or "broken" (could not be read).
    """

    kind: str
    text: str


class Bad:
    """Counts bad input by kind and keeps the first message of each: a stream that never ends stays small."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.first: dict[str, str] = {}

    def __call__(self, kind: str, message: str, count: int = 1) -> None:
        """Count input of a kind."""
        if kind not in self.counts and len(self.counts) >= MOST_KINDS:
            kind = "other"
        self.first.setdefault(kind, one_line(message))
        self.counts[kind] = self.counts.get(kind, 0) + count


class Refused(ValueError):
    """One row is bad; `kind` is what it is counted as."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class DeviceState(NamedTuple):
    """The saved state of a device that runs its own monitor."""

    device: str
    boot: int
    seq: int
    state: bytes
    version: str | None


@dataclass
class Part:
    """Events, and then states that came after them."""

    events: list[Events] = field(default_factory=list)
    states: list[DeviceState] = field(default_factory=list)


@dataclass
class Arrived:
    """What is committed together."""

    parts: list[Part]  # in this order. No device has an event behind a state of its own in one part
    count: int  # events in all
    position: Any  # where the source goes on after this
    refused: dict[str, int]  # what could not be read since the last time, by kind
    tokens: list[Any] = field(default_factory=list)  # what the source acknowledges after the commit
    notices: list[Notice] = field(default_factory=list)
    names: tuple[str, ...] | None = None  # of classes, as a device told them

    def __bool__(self) -> bool:
        """Whether there is something to commit, beside notices."""
        return bool(self.count or self.refused or self.tokens or any(part.states for part in self.parts))


class Source(Protocol):
    """Gives events in batches, each with a position: a JSON value that is committed with the batch.

    A source that is opened again goes on from the last committed position, so that nothing is taken twice
    or left out.
    """

    where: str  # as it stands in messages and on a page, without a password
    bad: Bad
    ended: bool  # all of the input was given, and nothing more will come: it was not stopped before

    @property
    def key(self) -> str:
        """What stays the same after a restart."""

    def open(self) -> None:
        """Open files and connections, so that an error comes early; `batches` does it else."""

    def batches(self, position: Any, count: int, every: float) -> Iterator[Arrived | None]:
        """Yield what arrives after a position, about `count` events at a time.

        A batch is given at latest `every` seconds after it began. While nothing arrives, None is given every
        now and then.
        """

    def committed(self, arrived: Arrived) -> None:
        """Hear that a batch is safe."""

    def stop(self) -> None:
        """End `batches` soon; may be called by a signal handler."""

    def close(self) -> None:
        """Let go of files and connections."""


def check_name(name: Any) -> str:
    """Return the name of a device as text; refuse one that could not be shown."""
    name = str(name) if type(name) is int else name
    if not is_name(name):
        shown = repr(name)[:60]
        raise Refused("device name", f"device is {shown}, expected 1 to {MAX_NAME} printable characters")
    return str(name)


def is_name(name: Any) -> bool:
    """Tell whether a device can be shown by this name."""
    return isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable()


def odd_names(names: Sequence[Any]) -> list[int]:
    """Return the places of names that are none, quickly where all are good."""
    try:
        if all(map(str.isprintable, names)) and all(map(len, names)) and max(map(len, names)) <= MAX_NAME:
            return []
    except (TypeError, ValueError):
        pass
    return [place for place, name in enumerate(names) if not is_name(name)]


def seconds(value: Any) -> float:
    """Return a time, a number or an ISO 8601 text, as seconds since 1970; NaN for what is none.

    Examples
    --------
    >>> seconds("1970-01-02T00:00Z"), seconds(5), seconds("soon")
    (86400.0, 5.0, nan)
    """
    if isinstance(value, str):
        try:
            when = datetime.fromisoformat(value.replace("Z", "+00:00"))
            return (when if when.tzinfo else when.replace(tzinfo=timezone.utc)).timestamp()
        except (ValueError, OverflowError):
            return math.nan
    return float(value) if type(value) in (int, float) and abs(value) < 1e300 else math.nan


class _Run:
    """Steps of one version and one shape, in order."""

    def __init__(self, shape: tuple[str, int, str, int]) -> None:
        self.shape = shape
        self.devices: list[str] = []
        self.boots: list[int] = []
        self.seqs: list[int] = []
        self.times = array("d")  # NaN where there is none
        # Flat arrays take a third of the time that numpy takes for lists of lists.
        self.probs: Any = array(shape[0] or "b")
        self.features: Any = array(shape[2])
        self.steps: list[npt.NDArray[Any]] = []
        self.labels: dict[int, int] = {}
        self.begins: list[int] = []

    def events(self, version: str | None) -> Events:
        kind, width, _, features = self.shape
        count = len(self.devices)
        times = np.array(self.times)
        labels = np.full(count, -1, dtype=np.int64) if self.labels else None
        if labels is not None:
            labels[list(self.labels)] = list(self.labels.values())
        begins = np.zeros(count, dtype=bool) if self.begins else None
        if begins is not None:
            begins[self.begins] = True
        return Events(
            self.devices,
            np.array(self.boots, dtype=np.int64),
            np.array(self.seqs, dtype=np.int64),
            np.array(self.probs).reshape(-1, width) if kind else None,
            np.array(self.features).reshape(-1, features) if features else None,
            None if np.isnan(times).all() else times,
            version,
            None if kind else np.concatenate(self.steps),
            labels,
            begins,
        )


class BatchBuilder:
    """Puts rows together until they are enough for a commit; `softmax` makes posteriors of logits."""

    def __init__(self, bad: Bad, softmax: Softmax | None = None) -> None:
        self.bad, self.softmax = bad, softmax
        self.names: tuple[str, ...] | None = None
        self._counted: dict[str, int] = dict(bad.counts)
        self._clear()

    def _clear(self) -> None:
        self.count, self.states = 0, 0
        self.tokens: list[Any] = []
        self.notices: list[Notice] = []
        self._broken: dict[str, str] = {}
        self._parts = [Part()]
        self._runs: dict[str | None, list[_Run]] = {}
        self._adopted: set[str] = set()

    def __bool__(self) -> bool:
        return bool(
            self.count or self.states or self.tokens or self.notices or self.bad.counts != self._counted
        )

    def refuse(self, kind: str, message: str, count: int = 1) -> None:
        """Count something that could not be read."""
        self.bad(kind, message, count)
        if len(self._broken) < MOST_KINDS:
            self._broken[kind] = message

    def note(self, kind: str, text: str) -> None:
        """Tell of something that happened."""
        self.notices.append(Notice(kind, text))

    def _run(self, device: str, version: str | None, shape: tuple[str, int, str, int]) -> _Run:
        """Return where a step of a device belongs."""
        if device in self._adopted:
            self._part()
        runs = self._runs.get(version)
        if runs is None:
            runs = self._runs[version] = [_Run(shape)]
        elif runs[-1].shape != shape:
            runs.append(_Run(shape))
        return runs[-1]

    def add_step(
        self,
        device: str,
        boot: int,
        seq: int,
        when: float,
        version: str | None,
        kind: str,
        probs: Sequence[float],
        features_kind: str = "b",
        features: Sequence[float] = (),
        label: int = -1,
        begins: bool = False,
    ) -> None:
        """Take one step; a kind is "b" for int8 and "d" for float."""
        shape = (kind, len(probs), features_kind, len(features))
        runs = self._runs.get(version)
        run = runs[-1] if runs else None
        if run is None or run.shape != shape or self._adopted:
            run = self._run(device, version, shape)
        if begins:
            run.begins.append(len(run.devices))
        if label >= 0:
            run.labels[len(run.devices)] = label
        run.devices.append(device)
        run.boots.append(boot)
        run.seqs.append(seq)
        run.times.append(when)
        run.probs.extend(probs)
        if features:
            run.features.extend(features)
        self.count += 1

    def add_rows(
        self,
        device: str,
        boot: int,
        seqs: Sequence[int],
        when: float,
        version: str | None,
        rows: npt.NDArray[Any],
        features: npt.NDArray[np.int8] | None = None,
        begins: bool = False,
    ) -> None:
        """Take steps of one device: int8 posteriors, or decisions that it made."""
        count = len(rows)
        decided = rows.dtype.names is not None
        width = 0 if features is None else features.shape[1]
        run = self._run(device, version, ("", 0, "b", 0) if decided else ("b", rows.shape[1], "b", width))
        if begins:
            run.begins.append(len(run.devices))
        run.devices += [device] * count
        run.boots += [boot] * count
        run.seqs += seqs
        run.times.extend([when] * count)
        if decided:
            run.steps.append(rows)
        else:
            run.probs.frombytes(rows.tobytes())
        if features is not None:
            run.features.frombytes(features.tobytes())
        self.count += count

    def add_events(self, events: Events) -> None:
        """Take events that are columns already."""
        if not len(events):
            return
        if self._adopted and not self._adopted.isdisjoint(events.devices.tolist()):
            self._part()
        self._settle()
        self._parts[-1].events.append(events)
        self.count += len(events)

    def add_table(self, probs: npt.NDArray[Any], **columns: Any) -> None:
        """Take columns of events whose rows may be logits or outputs of a sigmoid."""
        self.add_events(self._posteriors(Events(probs=probs, **columns)))

    def add_state(self, state: DeviceState) -> None:
        """Take a state; it counts after all events that came before it."""
        self._parts[-1].states.append(state)
        self._adopted.add(state.device)
        self.states += 1

    def _part(self) -> None:
        """Begin a new part, for an event that is to come after a state of its device."""
        self._settle()
        self._parts.append(Part())
        self._adopted.clear()

    def _settle(self) -> None:
        """Turn the rows so far into events. Versions never meet, so their order among each other is free."""
        for version, runs in self._runs.items():
            for run in runs:
                events = run.events(version)
                kept = self._posteriors(events) if events.steps is None else self._decisions(events)
                self.count -= len(events) - len(kept)
                if len(kept):
                    self._parts[-1].events.append(kept)
        self._runs = {}

    def _posteriors(self, events: Events) -> Events:
        """Return events with posteriors of two classes at least; logits that are none cost their row."""
        if self.softmax is None:
            if events.probs.shape[1] > 1:
                return events
            return _with_probs(events, sigmoid_pairs(events.probs))
        try:
            return _with_probs(events, self.softmax(events.probs))
        except ValueError as error:
            if len(events) == 1:
                self.refuse("logits", str(error))
                return events.some(slice(0))
        rows = [self._posteriors(events.some(slice(row, row + 1))) for row in range(len(events))]
        kept = [row for row, found in enumerate(rows) if len(found)]
        some = events.some(kept)
        return _with_probs(some, np.concatenate([rows[row].probs for row in kept])) if kept else some

    def _decisions(self, events: Events) -> Events:
        """Return events without those whose decisions are out of range."""
        problems = odd_steps(events.steps)
        for problem in problems.values():
            self.refuse("decision", problem)
        return events.some(np.delete(np.arange(len(events)), list(problems))) if problems else events

    def flush(self, position: Any) -> Arrived:
        """Return all that was put together, and begin again."""
        self._settle()
        before, self._counted = self._counted, dict(self.bad.counts)
        new = {kind: n - before.get(kind, 0) for kind, n in self._counted.items() if n > before.get(kind, 0)}
        for message in self._broken.values():
            self.note("broken", one_line(message))
        arrived = Arrived(self._parts, self.count, position, new, self.tokens, self.notices, self.names)
        self._clear()
        return arrived


def _with_probs(events: Events, probs: npt.NDArray[Any]) -> Events:
    columns = {name: value for name, value in vars(events).items() if name != "probs"}
    return Events(probs=probs, **columns)
