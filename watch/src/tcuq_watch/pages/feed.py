"""What a page is told: the last steps and remarks, kept for those who look and passed on as they come.

Steps lie in rings of fixed size, a column each, so a feed never grows and a page that comes late, or comes
back, gets everything after its place in one message. What a page takes is copied out under the lock and
put into words outside of it: a slow page costs its own thread, never the one that adds.
"""

from __future__ import annotations

import base64
import json
import math
import re
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, wrong_value
from tcuq.report.data import ABSTAIN, FALL, FLAGGED, RISE, WARM

REALS = ("risk", "threshold", "uncertainty", "persistence", "look", "severity", "expected_accuracy")

COLUMNS: dict[str, str] = {
    "time": "<f8",
    **dict.fromkeys(REALS, "<f4"),  # exact for multiples of 1/65536 from 0 to 1
    "prediction": "<i2",
    "answer": "<i2",
    "flags": "u1",
    "reason": "u1",
}
"""Columns of a message, one after the other in base64, the widest first so that each lies aligned."""

BITS = {"flagged": FLAGGED, "abstain": ABSTAIN, "warming_up": WARM}
"""Columns that share the byte `flags`, with the two bits of `alarm`."""

NONE = 255
"""Number of no reason."""


@dataclass(frozen=True)
class Part:
    """Steps and remarks after some place of a feed."""

    at: tuple[int, int]
    lost: int
    numbers: npt.NDArray[np.int64]
    columns: dict[str, npt.NDArray[Any]]
    reasons: list[str]
    signals: list[tuple[int, Mapping[str, float]]]
    remarks: list[dict[str, Any]]
    totals: dict[str, Any]

    def __bool__(self) -> bool:
        return bool(len(self.numbers) or self.remarks or self.lost)

    def runs(self) -> list[tuple[int, int]]:
        """Return place and length of each run of steps whose numbers follow each other."""
        if not len(self.numbers):
            return []
        cuts = (np.flatnonzero(np.diff(self.numbers) != 1) + 1).tolist()
        return [(a, b - a) for a, b in pairwise([0, *cuts, len(self.numbers)])]

    def message(self) -> str:
        """Return the part as JSON: columns in base64, the rest in words."""
        raw = b"".join(self.columns[name].tobytes() for name in COLUMNS)
        told: dict[str, Any] = {
            "count": len(self.numbers),
            "runs": [(int(self.numbers[place]), count) for place, count in self.runs()],
            "data": base64.b64encode(raw).decode("ascii"),
            "lost": self.lost,
            "remarks": self.remarks,
            "totals": self.totals,
        }
        if (self.columns["reason"] != NONE).any():
            told["reasons"] = self.reasons
        if self.signals:
            names = sorted({name for _, values in self.signals for name in values})
            rows = [[place, *(_short(values.get(name)) for name in names)] for place, values in self.signals]
            told["signals"] = {"names": names, "rows": rows}
        return json.dumps(told, separators=(",", ":"), allow_nan=False)


def _short(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else round(float(value), 5)


REMARKS = 1000
"""Notices that are kept at most."""

TEXT = 500
"""Characters of a remark that are kept at most."""

GATHERED = 64
"""Steps that are gathered at most before they are written into the rings."""


class Feed:
    """Messages to pages, in one order; any thread may add, any number may follow."""

    def __init__(self, about: Mapping[str, Any], keep: int = 20_000) -> None:
        if keep < 1:
            raise wrong_value("keep", keep, "at least 1 step")
        self.about = dict(about)
        self.counts: dict[str, int] = {}
        self.keep = keep
        self.instance = secrets.token_hex(4)
        self.closed = False
        self._lock = threading.Lock()
        self._numbers = np.zeros(keep, dtype=np.int64)
        self._rings = {name: np.zeros(keep, dtype=kind) for name, kind in COLUMNS.items()}
        self._reasons: list[str] = []
        self._signals: deque[tuple[int, Mapping[str, float]]] = deque()
        self._remarks: deque[tuple[int, dict[str, Any]]] = deque(maxlen=REMARKS)
        self._new: dict[str, list[Any]] = {}
        self._new_first = self._new_count = 0
        self._steps = self._remarked = 0
        self._flagged = self._abstained = self._alarms = 0
        self._raised = False
        self._kinds: Counter[str] = Counter()
        self._device: dict[str, Any] | None = None

    def add_steps(self, first: int, columns: Mapping[str, Sequence[Any]]) -> None:
        """Tell of steps from number `first` on, a column each; a column that is left out is not known."""
        lengths = {name: len(values) for name, values in columns.items()}
        count = next(iter(lengths.values()), 0)
        if set(lengths.values()) - {count}:
            raise InputError("value", f"columns have lengths {lengths}, expected one length for all")
        if not count:
            return
        with self._lock:
            # Steps that come one by one are gathered: a row of small arrays would cost more than its steps.
            if self._new and (
                first != self._new_first + self._new_count or self._new.keys() != columns.keys()
            ):
                self._settle()
            if not self._new:
                self._new_first, self._new = first, {name: [] for name in columns}
            for name, values in columns.items():
                self._new[name].extend(values)
            self._new_count += count
            if self._new_count >= GATHERED:
                self._settle()

    def add_remark(self, kind: str, text: str, step: int) -> None:
        """Tell of something that happened before step number `step`."""
        shown = text if len(text) <= TEXT else text[:TEXT] + "..."
        told = {"kind": kind, "text": shown, "step": step, "time": time.time()}
        with self._lock:
            self._settle()
            self._remarks.append((self._steps, told))
            self._remarked += 1
            self._kinds[kind] += 1
            if kind in ("lost", "connected"):
                self._device = told

    def close(self) -> None:
        """Tell that nothing more will come."""
        self.closed = True

    @property
    def arrived(self) -> int:
        """How many steps and remarks came so far."""
        return self._steps + self._new_count + self._remarked

    def name(self, at: tuple[int, int]) -> str:
        """Return the name of a place, which a page gives back when it returns."""
        return f"{self.instance}.{at[0]}.{at[1]}"

    def place(self, name: str) -> tuple[int, int] | None:
        """Return how many steps and remarks a page has seen, None where it has not seen this feed.

        Examples
        --------
        >>> feed = Feed({})
        >>> feed.place(feed.name((3, 1))), feed.place("nonsense")
        ((3, 1), None)
        """
        instance, *counts = name[:64].split(".")
        if (
            instance != self.instance
            or len(counts) != 2
            or not all(re.fullmatch("[0-9]+", c) for c in counts)
        ):
            return None
        return int(counts[0]), int(counts[1])

    def hello(self, known: bool) -> dict[str, Any]:
        """Return what a page is told first; `known` where it goes on with the steps that it has."""
        with self._lock:
            return {
                "about": self.about,
                "instance": self.instance,
                "known": known,
                "device": self._device,
                "columns": list(COLUMNS.items()),
            }

    def take(self, at: tuple[int, int] | None) -> Part:
        """Return what came after a place, as far as it is kept; all that is kept for None."""
        with self._lock:
            return self._part(at)

    def _settle(self) -> None:
        """Move gathered steps into the rings; the lock is held."""
        first, columns, count = self._new_first, self._new, self._new_count
        self._new, self._new_count = {}, 0
        if not count:
            return
        ready = {name: _column(name, columns, count) for name in COLUMNS if name not in ("flags", "reason")}
        ready["flags"] = _flags(columns, count)
        ready["reason"] = self._numbered(columns.get("reason"), count)
        self._write(self._numbers, np.arange(first, first + count))
        for name, values in ready.items():
            self._write(self._rings[name], values)
        self._add_signals(columns.get("signals", ()))
        self._steps += count
        self._count(ready["flags"])

    def _part(self, at: tuple[int, int] | None) -> Part:
        self._settle()
        oldest = max(0, self._steps - self.keep)
        asked, remarks = (oldest, 0) if at is None else at
        first = min(max(asked, oldest), self._steps)
        signals = []
        for place, values in reversed(self._signals):
            if place < first:
                break
            signals.append((place - first, values))
        wanted = min(len(self._remarks), max(0, self._remarked - remarks))
        return Part(
            at=(self._steps, self._remarked),
            lost=max(0, oldest - asked),
            numbers=self._read(self._numbers, first),
            columns={name: self._read(ring, first) for name, ring in self._rings.items()},
            reasons=list(self._reasons),
            signals=signals[::-1],
            remarks=[told for _, told in islice(self._remarks, len(self._remarks) - wanted, None)],
            totals={
                "steps": self._steps,
                "flagged": self._flagged,
                "abstained": self._abstained,
                "alarms": self._alarms,
                "remarks": dict(self._kinds),
                "counts": dict(self.counts),
            },
        )

    def _write(self, ring: npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
        # Of more steps than are kept, the first would be written over at once.
        skipped = max(0, len(values) - self.keep)
        values, start = values[skipped:], (self._steps + skipped) % self.keep
        room = self.keep - start
        ring[start : start + len(values)] = values[:room]
        if len(values) > room:
            ring[: len(values) - room] = values[room:]

    def _read(self, ring: npt.NDArray[Any], first: int) -> npt.NDArray[Any]:
        start, count = first % self.keep, self._steps - first
        if start + count <= self.keep:
            return ring[start : start + count].copy()
        return np.concatenate([ring[start:], ring[: start + count - self.keep]])

    def _numbered(self, reasons: Sequence[str | None] | None, count: int) -> npt.NDArray[np.uint8]:
        """Return the numbers of reasons by their names; the lock is held."""
        out = np.full(count, NONE, dtype=np.uint8)
        for i, name in enumerate(reasons or ()):
            if not name:
                continue
            if name not in self._reasons and len(self._reasons) < NONE:
                self._reasons.append(name)
            out[i] = self._reasons.index(name) if name in self._reasons else NONE
        return out

    def _add_signals(self, signals: Sequence[Mapping[str, float] | None]) -> None:
        for i, values in enumerate(signals):
            if values:
                self._signals.append((self._steps + i, dict(values)))
        oldest = self._steps + len(signals) - self.keep
        while self._signals and self._signals[0][0] < oldest:
            self._signals.popleft()

    def _count(self, flags: npt.NDArray[np.uint8]) -> None:
        raised = (flags & (RISE | FALL)) != 0
        self._flagged += int(np.count_nonzero(flags & FLAGGED))
        self._abstained += int(np.count_nonzero(flags & ABSTAIN))
        before = np.concatenate([[self._raised], raised[:-1]])
        self._alarms += int(np.count_nonzero(raised & ~before))
        self._raised = bool(raised[-1])


def _column(name: str, columns: Mapping[str, Sequence[Any]], count: int) -> npt.NDArray[Any]:
    values, kind = columns.get(name), COLUMNS[name]
    if values is None:
        unknown = {"time": time.time(), "prediction": -1, "answer": -1}.get(name, math.nan)
        return np.full(count, unknown, dtype=kind)
    if name in REALS:
        return np.array([math.nan if value is None else value for value in values], dtype=kind)
    return np.array(values, dtype=kind)


def _flags(columns: Mapping[str, Sequence[Any]], count: int) -> npt.NDArray[np.uint8]:
    flags = np.zeros(count, dtype=np.uint8)
    for name, bit in BITS.items():
        if name in columns:
            flags |= np.array(columns[name], dtype=bool).astype(np.uint8) * np.uint8(bit)
    if "alarm" in columns:
        flags |= (np.array(columns["alarm"], dtype=np.uint8) & np.uint8(3)) * np.uint8(RISE)
    return flags
