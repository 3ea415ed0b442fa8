"""What a page is told: the last steps and remarks, kept for those who look and passed on as they come.

Steps lie in a ring of fixed size, and their day in parts of half a minute, so a feed never grows and a page
that comes late, or comes back, gets everything after its place in one message. What a page takes is copied
out under the lock and put into words outside of it: a slow page never holds up the thread that adds.
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

from tcuq.report.data import ASK, FALL, RISE, base, flag_bits, reason_places, words

ROW = np.dtype(
    [("time", "<f8")]
    + [(name, "<f4") for name in ("persistence", "accuracy", "low", "high", "degradation")]
    + [(name, "<u2") for name in ("risk", "threshold")]
    + [("prediction", "<i2"), ("answer", "<i2"), ("flags", "u1"), ("reason", "u1"), ("moved", "u1")]
)
"""A step in the ring. Messages hold one column after the other, the widest first so that each lies aligned;
state.js has the same list. Persistence and accuracy are in 1/255, as charts are drawn."""

HOLD = RISE | FALL

REMARKS = 1000
"""Remarks that are kept at most; those who tell them keep each short."""

PART, PARTS = 30.0, 2880
"""Seconds of a part of the past, and parts that are kept: those of a day."""

NEAR = 8
"""What a deviation is in the numbers of steps, which a page draws: bytes, up to 16 deviations."""

_MEANS = ("accuracy", "low", "high", "degradation")


class Past:
    """Means over parts of the time: of what a page draws, and how often a device asked and was on hold."""

    def __init__(self, numbers: int) -> None:
        self._done: deque[list[float | None]] = deque(maxlen=PARTS)
        self.count = 0
        self._now, self._sums = -math.inf, np.zeros(3 + len(_MEANS) + numbers)

    def add(self, rows: npt.NDArray[Any], numbers: npt.NDArray[np.int8]) -> None:
        """Take in steps; a part is over with the first step of another one."""
        counts = [np.ones(len(rows)), *((rows["flags"] & bits) > 0 for bits in (ASK, HOLD))]
        values = np.column_stack([*counts, *(rows[name] for name in _MEANS), numbers]).astype(np.float64)
        parts = np.floor(rows["time"] / PART)
        starts = np.flatnonzero(np.diff(parts, prepend=np.nan))  # a time may go back
        for part, sums in zip(parts[starts].tolist(), np.add.reduceat(values, starts), strict=True):
            if part != self._now:
                self._end()
                self._now, self._sums = part, np.zeros(len(sums))
            self._sums += sums

    def _end(self) -> None:
        steps, *held = self._sums[:3].tolist()
        if steps:
            means = [round(mean, 3) if math.isfinite(mean) else None for mean in self._sums[3:] / steps]
            self._done.append([self._now * PART, steps, *held, *means])
            self.count += 1

    def after(self, count: int) -> list[list[float | None]]:
        """Return the parts that were over after so many had been."""
        new = min(max(0, self.count - count), len(self._done))
        return [*self._done][len(self._done) - new :]


class Feed:
    """Messages to pages, in one order; any thread may add, any number may follow."""

    def __init__(self, about: Mapping[str, Any], keep: int = 20_000) -> None:
        self.about = dict(about)
        self.counts: dict[str, int] = {}  # is replaced and never changed
        self.labels: dict[str, Any] = {}  # what they say, and steps to label; is replaced as well
        self.now: dict[str, Any] = {}  # since when an alarm is on or off, and what was before it; the same
        self.keep = keep
        self.closed = False
        self._instance = secrets.token_hex(4)
        self._lock = threading.Lock()
        self._ring = np.zeros(keep, dtype=ROW)
        self._signals: deque[tuple[int, list[float]]] = deque(maxlen=keep)
        numbers = len(self.about.get("numbers", ()))
        self._numbers = np.zeros((keep, numbers), dtype=np.int8)
        self._past = Past(numbers)
        self._remarks: deque[dict[str, Any]] = deque(maxlen=REMARKS)
        self._steps = self._remarked = self._next = 0

    def add_steps(
        self,
        first: int,
        steps: npt.NDArray[Any],
        times: Any,
        band: Any = None,
        signals: Any = None,
        numbers: npt.NDArray[Any] | None = None,
    ) -> None:
        """Tell of steps from number `first` on, after all before.

        `band` has both ends of the band of the expected accuracy, `signals` what ``about["signals"]`` names,
        `numbers` how many deviations what ``about["numbers"]`` names is off clean data.
        """
        if not len(steps):
            return
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
        near = np.zeros((len(rows), self._numbers.shape[1]), dtype=np.int8)
        if numbers is not None:
            near[:] = np.clip(np.rint(NEAR * np.nan_to_num(numbers)), -127, 127)
        with self._lock:
            self._past.add(rows, near)
            self._signals.extend(zip((self._steps + flagged).tolist(), values, strict=False))
            self._steps += len(rows)
            self._next = first + len(rows)
            newest = rows[-self.keep :]  # the others would be written over at once
            places = np.arange(self._steps - len(newest), self._steps) % self.keep
            self._ring[places], self._numbers[places] = newest, near[-self.keep :]

    def add_remark(self, kind: str, text: str, step: int) -> None:
        """Tell of something that happened before step number `step`."""
        with self._lock:
            self._remarks.append({"kind": kind, "text": text, "step": step, "time": time.time()})
            self._remarked += 1

    def close(self) -> None:
        """Tell that nothing more will come."""
        self.closed = True

    @property
    def arrived(self) -> tuple[Any, ...]:
        """What changes with all that comes."""
        return self._steps, self._remarked, self.counts, self.now, self.labels

    def name(self, place: tuple[int, ...]) -> str:
        """Return the name of a place, which a page gives back when it returns."""
        return ".".join([self._instance, *map(str, place)])

    def place(self, name: str) -> tuple[int, ...]:
        """Return how many steps, remarks and parts a page has seen, none where it has not seen this feed."""
        known = re.fullmatch(rf"{self._instance}\.([0-9]+)\.([0-9]+)\.([0-9]+)", name[:64])
        return (0, 0, 0) if known is None else tuple(map(int, known.groups()))

    def take(self, after: tuple[int, ...] = (0, 0, 0)) -> tuple[tuple[int, ...], str]:
        """Return what came after a place, as far as it is kept, as JSON, and the place after it."""
        with self._lock:
            first = min(max(after[0], self._steps - self.keep, 0), self._steps)
            places = np.arange(first, self._steps) % self.keep
            rows, numbers = self._ring[places], self._numbers[places]
            signals = [*takewhile(lambda pair: pair[0] >= first, reversed(self._signals))][::-1]
            place, number = (self._steps, self._remarked, self._past.count), self._next - len(rows)
            new = min(max(0, self._remarked - after[1]), len(self._remarks))
            message: dict[str, Any] = {
                "first": number,
                "count": len(rows),
                "remarks": [*self._remarks][len(self._remarks) - new :],
                "counts": self.counts,
                "now": self.now,
                "labels": self.labels,
                "past": self._past.after(after[2]),
            }
        message["data"] = base(
            np.frombuffer(b"".join(rows[name].tobytes() for name in ROW.names or ()), "u1")
        )
        message["numbers"] = base(numbers)
        message["signals"] = [
            [number + at - first, *(round(value, 5) for value in row)] for at, row in signals
        ]
        return place, json.dumps(message, separators=(",", ":"), allow_nan=False)
