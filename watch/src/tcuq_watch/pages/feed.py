"""What a page is told: the last steps and remarks, kept for those who look and passed on as they come.

Steps lie in a ring of fixed size, so a feed never grows and a page that comes late, or comes back, gets
everything after its place in one message. What a page takes is copied out under the lock and put into words
outside of it: a slow page never holds up the thread that adds.
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
from itertools import islice, pairwise, takewhile
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

ROW = np.dtype([("number", "<i8"), *COLUMNS.items()])
"""A step in the ring."""

BITS = {"flagged": FLAGGED, "abstain": ABSTAIN, "warming_up": WARM}
"""Columns that share the byte `flags`, with the two bits of `alarm`."""

NONE = 255
"""Number of no reason."""

REMARKS = 1000
"""Notices that are kept at most."""

TEXT = 500
"""Characters of a remark that are kept at most."""

GATHERED = 64
"""Steps that are gathered at most before they are written into the ring."""


@dataclass(frozen=True)
class Part:
    """Steps and remarks after some place of a feed."""

    at: tuple[int, int]
    lost: int
    rows: npt.NDArray[Any]
    reasons: list[str]
    signals: list[tuple[int, Mapping[str, float]]]
    remarks: list[dict[str, Any]]
    totals: dict[str, Any]

    def runs(self) -> list[tuple[int, int]]:
        """Return first number and length of each run of steps whose numbers follow each other."""
        numbers = self.rows["number"]
        cuts = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
        return [(int(numbers[a]), b - a) for a, b in pairwise(cuts) if b > a]

    def message(self) -> str:
        """Return the part as JSON: columns in base64, the rest in words."""
        raw = b"".join(self.rows[name].tobytes() for name in COLUMNS)
        told: dict[str, Any] = {
            "count": len(self.rows),
            "runs": self.runs(),
            "data": base64.b64encode(raw).decode("ascii"),
            "lost": self.lost,
            "remarks": self.remarks,
            "totals": self.totals,
        }
        if (self.rows["reason"] != NONE).any():
            told["reasons"] = self.reasons
        if self.signals:
            names = sorted({name for _, values in self.signals for name in values})
            rows = [[place, *(_short(values.get(name)) for name in names)] for place, values in self.signals]
            told["signals"] = {"names": names, "rows": rows}
        return json.dumps(told, separators=(",", ":"), allow_nan=False)


def _short(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else round(float(value), 5)


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
        self._ring = np.zeros(keep, dtype=ROW)
        self._reasons: list[str] = []
        self._signals: deque[tuple[int, Mapping[str, float]]] = deque()
        self._remarks: deque[dict[str, Any]] = deque(maxlen=REMARKS)
        self._new: dict[str, list[Any]] = {}
        self._new_first = self._new_count = 0
        self._steps = self._remarked = 0
        self._totals = dict.fromkeys(("flagged", "abstained", "alarms"), 0)
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
            follows = first == self._new_first + self._new_count and self._new.keys() == columns.keys()
            if not follows:
                self._settle()
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
            self._remarks.append(told)
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
        known = re.fullmatch(rf"{self.instance}\.([0-9]+)\.([0-9]+)", name[:64])
        return None if known is None else (int(known[1]), int(known[2]))

    def hello(self, known: bool) -> dict[str, Any]:
        """Return what a page is told first; `known` where it goes on with the steps that it has."""
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
            self._settle()
            oldest = max(0, self._steps - self.keep)
            asked, remarks = (oldest, 0) if at is None else at
            first = min(max(asked, oldest), self._steps)
            wanted = min(len(self._remarks), max(0, self._remarked - remarks))
            return Part(
                at=(self._steps, self._remarked),
                lost=max(0, oldest - asked),
                rows=self._ring.take(np.arange(first, self._steps), mode="wrap"),
                reasons=list(self._reasons),
                signals=[
                    (place - first, values)
                    for place, values in takewhile(lambda each: each[0] >= first, reversed(self._signals))
                ][::-1],
                remarks=list(islice(self._remarks, len(self._remarks) - wanted, None)),
                totals={
                    "steps": self._steps,
                    **self._totals,
                    "remarks": dict(self._kinds),
                    "counts": dict(self.counts),
                },
            )

    def _settle(self) -> None:
        """Move gathered steps into the ring; the lock is held."""
        columns, count = self._new, self._new_count
        self._new, self._new_count = {}, 0
        if not count:
            return
        rows = np.zeros(count, dtype=ROW)
        rows["number"] = np.arange(self._new_first, self._new_first + count)
        for name in ("time", *REALS, "prediction", "answer"):
            unknown = {"time": time.time(), "prediction": -1, "answer": -1}.get(name, math.nan)
            values = columns.get(name, ())
            rows[name] = [unknown if value is None else value for value in values] if values else unknown
        for name, bit in BITS.items():
            rows["flags"] |= np.array(columns.get(name, 0), dtype=bool) * np.uint8(bit)
        rows["flags"] |= (np.array(columns.get("alarm", 0), dtype=np.uint8) & np.uint8(3)) * np.uint8(RISE)
        rows["reason"] = [self._reason(name) for name in columns.get("reason", ())] or NONE
        places = self._steps + np.arange(count)
        # Of more steps than are kept, the first would be written over at once.
        self._ring[places[-self.keep :] % self.keep] = rows[-self.keep :]
        for place, values in zip(places.tolist(), columns.get("signals", ()), strict=False):
            if values:
                self._signals.append((place, dict(values)))
        self._steps += count
        while self._signals and self._signals[0][0] < self._steps - self.keep:
            self._signals.popleft()
        self._count(rows["flags"])

    def _reason(self, name: str | None) -> int:
        """Return the number of a reason by its name; the lock is held."""
        if name and name not in self._reasons and len(self._reasons) < NONE:
            self._reasons.append(name)
        return self._reasons.index(name) if name in self._reasons else NONE

    def _count(self, flags: npt.NDArray[np.uint8]) -> None:
        raised = (flags & (RISE | FALL)) != 0
        begun = raised & ~np.concatenate([[self._raised], raised[:-1]])
        self._raised = bool(raised[-1])
        for name, hits in (("flagged", flags & FLAGGED), ("abstained", flags & ABSTAIN), ("alarms", begun)):
            self._totals[name] += int(np.count_nonzero(hits))
