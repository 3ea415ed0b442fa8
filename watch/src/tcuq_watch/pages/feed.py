"""What a page is told: the last steps and remarks, kept for those who look and passed on as they come.

Steps lie in a ring of fixed size, so a feed never grows and a page that comes late, or comes back, gets
everything after its place in one message. What a page takes is copied out under the lock and put into words
outside of it: a slow page never holds up the thread that adds.
"""

from __future__ import annotations

import json
import math
import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.report.data import base, flag_bits, reason_places, words

ROW = np.dtype(
    [("time", "<f8")]
    + [(name, "<f4") for name in ("persistence", "accuracy", "low", "high", "degradation")]
    + [(name, "<u2") for name in ("risk", "threshold")]
    + [("prediction", "<i2"), ("answer", "<i2"), ("flags", "u1"), ("reason", "u1"), ("moved", "u1")]
)
"""A step in the ring. Messages hold one column after the other, the widest first so that each lies aligned;
state.js has the same list. Persistence and accuracy are in 1/255, as charts are drawn."""

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
        self._signals: deque[tuple[int, list[float]]] = deque(maxlen=keep)
        self._remarks: deque[dict[str, Any]] = deque(maxlen=REMARKS)
        self._steps = self._remarked = self._next = 0

    def add_steps(
        self, first: int, steps: npt.NDArray[Any], times: Any, band: Any = None, signals: Any = None
    ) -> None:
        """Tell of steps from number `first` on, after all before.

        `band` has both ends of the band of the expected accuracy, `signals` what ``about["signals"]`` names.
        """
        rows = np.zeros(len(steps), dtype=ROW)
        rows["time"] = times
        rows["low"], rows["high"] = (math.nan, math.nan) if band is None else band.T
        rows["persistence"], rows["accuracy"] = 255 * steps["persistence"], 255 * steps["expected_accuracy"]
        rows["risk"], rows["threshold"] = words(steps["risk"]), words(steps["threshold"])
        for name in ("degradation", "prediction", "answer", "moved"):
            rows[name] = steps[name]
        rows["reason"] = reason_places(steps["reason"])
        rows["flags"] = flag_bits(steps, None)
        flagged = np.flatnonzero(steps["flagged"])
        values = [] if signals is None else np.nan_to_num(signals[flagged]).tolist()
        with self._lock:
            self._signals.extend(zip((self._steps + flagged).tolist(), values, strict=False))
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

    def place(self, name: str) -> tuple[int, int]:
        """Return how many steps and remarks a page has seen, none where it has not seen this feed."""
        known = re.fullmatch(rf"{self._instance}\.([0-9]+)\.([0-9]+)", name[:64])
        return (0, 0) if known is None else (int(known[1]), int(known[2]))

    def take(self, after: tuple[int, int] = (0, 0)) -> tuple[tuple[int, int], str]:
        """Return what came after a place, as far as it is kept, as JSON, and the place after it."""
        with self._lock:
            first = min(max(after[0], self._steps - self.keep, 0), self._steps)
            rows = self._ring.take(np.arange(first, self._steps), mode="wrap")
            signals = [*takewhile(lambda pair: pair[0] >= first, reversed(self._signals))][::-1]
            place, number = (self._steps, self._remarked), self._next - len(rows)
            new = min(max(0, self._remarked - after[1]), len(self._remarks))
            message: dict[str, Any] = {
                "first": number,
                "count": len(rows),
                "remarks": [*self._remarks][len(self._remarks) - new :],
                "counts": self.counts,
            }
        message["data"] = base(
            np.frombuffer(b"".join(rows[name].tobytes() for name in ROW.names or ()), "u1")
        )
        message["signals"] = [
            [number + at - first, *(round(value, 5) for value in row)] for at, row in signals
        ]
        return place, json.dumps(message, separators=(",", ":"), allow_nan=False)
