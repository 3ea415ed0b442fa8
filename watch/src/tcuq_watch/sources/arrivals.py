"""What a source hands over: events and states put together from rows, and what could not be read."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from tcuq.base.errors import one_line
from tcuq.log.log import Softmax
from tcuq.log.quantize import sigmoid_pairs

from ..engine.events import MAX_NAME, Events
from ..engine.marks import Mark


class Notice(NamedTuple):
    """Something that happened to a source: "connected", "lost" or "ended" (nothing more will come)."""

    kind: str
    text: str


class Refused(ValueError):
    """One row is bad; `kind` is what it is counted as."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Bad:
    """Counts bad input by kind, with the last message of each."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.last: dict[str, str] = {}

    def __call__(self, kind: str, message: str, count: int = 1) -> None:
        """Count input of a kind."""
        self.last[kind] = one_line(message)
        self.counts[kind] += count


class DeviceState(NamedTuple):
    """The saved state of a device that runs its own monitor."""

    device: str
    boot: int
    seq: int
    state: bytes
    version: str | None


@dataclass
class Arrived:
    """What is committed together."""

    batch: list[Events | DeviceState | Mark]  # in the order of arrival, as far as it matters
    count: int  # events in all
    position: Any  # where the source goes on after this
    refused: dict[str, int]  # what could not be read since the last time, by kind
    tokens: list[Any] = field(default_factory=list)  # what the source acknowledges after the commit
    notices: list[Notice] = field(default_factory=list)
    names: tuple[str, ...] | None = None  # of classes, as a device told them

    def __bool__(self) -> bool:
        """Whether there is something to commit, beside notices."""
        return bool(self.batch or self.refused or self.tokens)


def is_name(name: Any) -> bool:
    """Tell whether a device can be shown by this name."""
    return isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable()


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


class BatchBuilder:
    """Puts rows together until they are enough for a commit; `softmax` makes posteriors of logits."""

    def __init__(self, bad: Bad, softmax: Softmax | None = None) -> None:
        self.bad, self.softmax = bad, softmax
        self.names: tuple[str, ...] | None = None
        self._counted = bad.counts.copy()
        self._clear()

    def _clear(self) -> None:
        self.count = 0
        self.tokens: list[Any] = []
        self.notices: list[Notice] = []
        self._batch: list[Events | DeviceState | Mark] = []
        self._runs: dict[str | None, list[tuple[Any, list[Any]]]] = {}
        self._states: list[DeviceState | Mark] = []
        self._adopted: set[str] = set()

    def __bool__(self) -> bool:
        waiting = self.count or self._batch or self._states or self.tokens or self.notices
        return bool(waiting or self.bad.counts != self._counted)

    def add_steps(
        self,
        device: str,
        boot: int,
        seq: int,
        when: float,
        version: str | None,
        kind: str,
        values: Any,
        features_kind: str = "b",
        features: Sequence[float] = (),
        label: int = -1,
        begins: bool = False,
        count: int = 1,
        gauges: Sequence[float] = (),
        gauge_names: tuple[str, ...] | None = None,
    ) -> None:
        """Take steps of a device from number `seq` on, their values one after the other.

        A kind is "b" for int8, "d" for float, and "" for decisions, which are an array.
        """
        if device in self._adopted:
            self._settle()
        seen = len(gauges) // count, gauge_names
        shape = kind, len(values) // count, features_kind, len(features) // count, seen
        runs = self._runs.setdefault(version, [])
        if not runs or runs[-1][0] != shape:
            runs.append((shape, []))
        runs[-1][1].append((device, boot, seq, when, label, begins, count, values, features, gauges))
        self.count += count

    def add_events(self, events: Events) -> None:
        """Take events that are columns already."""
        self._settle()
        self._append(events)

    def add_state(self, state: DeviceState | Mark) -> None:
        """Take a state or a label; it counts after the events of its device that came before it."""
        self._states.append(state)
        self._adopted.add(state.device)

    def _settle(self) -> None:
        """Turn rows into events, then states. Versions never meet, so their order is free."""
        for version, runs in self._runs.items():
            for shape, rows in runs:
                events = _as_events(version, shape, rows)
                self.count -= len(events)
                self._append(events)
        self._batch += self._states
        self._runs, self._states, self._adopted = {}, [], set()

    def _append(self, events: Events) -> None:
        kept = events if events.probs is None else self._posteriors(events)
        if len(kept):
            self._batch.append(kept)
            self.count += len(kept)

    def _posteriors(self, events: Events) -> Events:
        """Return events with posteriors of two classes at least; logits that are none cost their row."""
        if self.softmax is None:
            two = events.probs.shape[1] > 1
            return events if two else replace(events, probs=sigmoid_pairs(events.probs))
        finite, problem = np.isfinite(events.probs.max(axis=1)), "logits are not finite, expected numbers"
        kept = events if finite.all() else events.some(finite)
        try:
            kept = replace(kept, probs=self.softmax(kept.probs))
        except ValueError as error:
            kept, problem = events.some(slice(0)), str(error)
        if len(kept) < len(events):
            self.bad("logits", problem, len(events) - len(kept))
        return kept

    def flush(self, position: Any) -> Arrived:
        """Return all that was put together, and begin again."""
        self._settle()
        counted = self.bad.counts.copy()
        refused = dict(counted - self._counted)
        self._counted = counted
        arrived = Arrived(self._batch, self.count, position, refused, self.tokens, self.notices, self.names)
        self._clear()
        return arrived


def _as_events(version: str | None, shape: tuple[Any, ...], rows: list[Any]) -> Events:
    """Return rows of one shape as columns; a column in which nothing is told is left out."""
    kind, width, features_kind, features, (gauges, names) = shape
    *columns, counts, values, more, seen = zip(*rows, strict=True)
    types: Any = (object, np.int64, np.int64, np.float64, np.int64, np.bool_)
    devices, boots, seqs, times, labels, begins = (
        np.repeat(np.array(column, dtype=dtype), counts) for column, dtype in zip(columns, types, strict=True)
    )
    if len(devices) > len(rows):
        ends = np.cumsum(counts)
        seqs += np.arange(len(seqs)) - np.repeat(ends - counts, counts)
    return Events(
        devices,
        boots,
        seqs,
        _table(kind, values, width) if kind else None,
        _table(features_kind, more, features) if features else None,
        None if np.isnan(times).all() else times,
        version,
        None if kind else np.concatenate(values),
        labels if (labels >= 0).any() else None,
        begins if begins.any() else None,
        _table("d", seen, gauges) if gauges else None,
        names if gauges else None,
    )


def _table(kind: str, rows: Sequence[Sequence[float]], width: int) -> Any:
    # A flat array takes a third of the time that numpy takes for lists of lists.
    return np.array(array(kind, chain.from_iterable(rows))).reshape(-1, width)
