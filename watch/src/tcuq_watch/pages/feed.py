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
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from tcuq.report.data import ABSTAIN, FLAGGED, RISE, WARM

REALS = ("risk", "threshold", "persistence", "look", "severity", "expected_accuracy")

COLUMNS: dict[str, str] = {
    "time": "<f8",
    **dict.fromkeys(REALS, "<f4"),  # exact for multiples of 1/65536 from 0 to 1
    "prediction": "<i2",
    "answer": "<i2",
    "flags": "u1",
    "reason": "u1",
}
"""Columns of a message, one after the other in base64, the widest first so that each lies aligned."""

ROW = np.dtype(list(COLUMNS.items()))
"""A step in the ring."""

BITS = {"flagged": FLAGGED, "abstain": ABSTAIN, "warming_up": WARM, "alarm": RISE}
"""Columns that share the byte `flags`; the alarm, 0 to 3, has two bits."""

NO_REASON = 255

REMARKS = 1000
"""Remarks that are kept at most; those who tell them keep each short."""


class Feed:
    """Messages to pages, in one order; any thread may add, any number may follow."""

    def __init__(self, about: Mapping[str, Any], keep: int = 20_000) -> None:
        self.about = dict(about)
        self.counts: dict[str, int] = {}  # is replaced and never changed
        self.keep = keep
        self.closed = False
        self._instance = secrets.token_hex(4)
        self._lock = threading.Lock()
        self._ring = np.zeros(keep, dtype=ROW)
        self._reasons: list[str] = []
        self._signals: deque[tuple[int, Mapping[str, float]]] = deque(maxlen=keep)
        self._remarks: deque[dict[str, Any]] = deque(maxlen=REMARKS)
        self._steps = self._remarked = self._next = 0

    def add_steps(self, first: int, columns: Mapping[str, Sequence[Any]]) -> None:
        """Tell of steps from number `first` on, after all before; a column that is left out is not known."""
        rows = np.zeros(len(next(iter(columns.values()))), dtype=ROW)
        rows["time"] = columns.get("time", time.time())
        for name in REALS:
            rows[name] = columns.get(name, math.nan)
        for name in ("prediction", "answer"):
            rows[name] = columns.get(name, -1)
        for name, bit in BITS.items():
            rows["flags"] |= bit * np.asarray(columns.get(name, 0), dtype=np.uint8)
        with self._lock:
            rows["reason"] = [self._reason(name) for name in columns.get("reason", ())] or NO_REASON
            for place, values in enumerate(columns.get("signals", ()), self._steps):
                if values:
                    self._signals.append((place, values))
            self._steps += len(rows)
            self._next = first + len(rows)
            newest = rows[-self.keep :]  # the others would be written over at once
            self._ring[np.arange(self._steps - len(newest), self._steps) % self.keep] = newest

    def add_remark(self, kind: str, text: str, step: int) -> None:
        """Tell of something that happened before step number `step`."""
        with self._lock:
            self._remarks.append({"kind": kind, "text": text, "step": step, "time": time.time()})
            self._remarked += 1

    def close(self) -> None:
        """Tell that nothing more will come."""
        self.closed = True

    @property
    def arrived(self) -> tuple[int, int, dict[str, int]]:
        """What changes with all that comes."""
        return self._steps, self._remarked, self.counts

    def name(self, place: tuple[int, int]) -> str:
        """Return the name of a place, which a page gives back when it returns."""
        return f"{self._instance}.{place[0]}.{place[1]}"

    def place(self, name: str) -> tuple[int, int] | None:
        """Return how many steps and remarks a page has seen, None where it has not seen this feed."""
        known = re.fullmatch(rf"{self._instance}\.([0-9]+)\.([0-9]+)", name[:64])
        return None if known is None else (int(known[1]), int(known[2]))

    def take(self, after: tuple[int, int] | None) -> tuple[tuple[int, int], str]:
        """Return what came after a place, as far as it is kept, as JSON, and the place after it."""
        steps, remarks = after or (0, 0)
        with self._lock:
            first = min(max(steps, self._steps - self.keep, 0), self._steps)
            rows = self._ring.take(np.arange(first, self._steps), mode="wrap")
            signals = [*takewhile(lambda pair: pair[0] >= first, reversed(self._signals))][::-1]
            place, number = (self._steps, self._remarked), self._next - len(rows)
            new = max(0, self._remarked - remarks)
            told: dict[str, Any] = {
                "first": number,
                "count": len(rows),
                "remarks": [*self._remarks][max(0, len(self._remarks) - new) :],
                "counts": self.counts,
                "reasons": [*self._reasons],
            }
        names = sorted({name for _, values in signals for name in values})
        told["data"] = base64.b64encode(b"".join(rows[name].tobytes() for name in COLUMNS)).decode()
        told["names"] = names
        told["signals"] = [
            [number + at - first, *(_short(values.get(name)) for name in names)] for at, values in signals
        ]
        return place, json.dumps(told, separators=(",", ":"), allow_nan=False)

    def _reason(self, name: str | None) -> int:
        """Return the number of a reason by its name; the lock is held."""
        if name and name not in self._reasons and len(self._reasons) < NO_REASON:
            self._reasons.append(name)
        return self._reasons.index(name) if name in self._reasons else NO_REASON


def _short(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else round(float(value), 5)
