"""What labels change, once more: SPEC.md section 19 in plain integers, without the core."""

from __future__ import annotations

import struct
from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InputError
from ..monitor.log import Log, watch
from ..monitor.monitor import Monitor
from ..monitor.params import Params

END = 24576
"""3 nats: labels have decided against an alarm, or for one."""

KNOWN, VOUCHED, ALARM = 1 << 15, 1 << 14, 1 << 13


def label_rows(labels: npt.ArrayLike | None, first: int, count: int, classes: int) -> dict[int, list[Any]]:
    """Return labels by the place of the step after which they came, in their order.

    A label has the number of the last step when it came, the number of its step, and the true class, -1 for
    right or -2 for wrong.
    """
    by_place: dict[int, list[Any]] = defaultdict(list)
    rows = np.zeros((0, 3), dtype=np.int64) if labels is None else np.asarray(labels)
    if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind not in "iu":
        raise InputError("value", f"labels are {rows.dtype} {rows.shape}, expected rows of three integers")
    for after, step, label in rows.tolist():
        if not (step <= after and first <= after < first + count and -2 <= label < classes):
            raise InputError(
                "value",
                f"label {label} for step {step} after step {after}, expected a class, -1 or -2, for that "
                f"step or one before, and after a step of {first} to {first + count - 1}",
            )
        by_place[after - first].append((after - step, label))
    return by_place


class Told:
    """What a device with feedback holds of its labels."""

    def __init__(self, params: Params, state: bytes | None = None) -> None:
        self.p: dict[str, int] = params.integers()["feedback"]
        self.bits = 6 if params.classes <= 64 else 10
        self.quarter: int = params.integers()["rise_limit"] >> 2
        memory = self.p["memory"]
        self.entries = [0] * memory
        self.debt = self.correction = self.case = self.next = self.quarters = self.taken = 0
        if state is not None:
            form = struct.Struct(f"<ihhHH{memory}H")
            end = len(state) - 4 - (2 * (5 * params.classes + 6) if params.instant is not None else 0)
            values = form.unpack_from(state, end - form.size - 2 * (memory & 1))
            self.debt, self.correction, self.case, self.next, moved, *self.entries = values
            self.quarters = moved - 16 if moved > 13 else moved
            self.taken = int.from_bytes(state[20:24], "little")

    @property
    def bound(self) -> int:
        """Most that the error debt can be."""
        p = self.p
        return p["error_shut"] - 1 + p["memory"] * (p["error_den"] - p["error_num"])

    def doubtful(self, risk: int) -> bool:
        """Tell whether a step of this risk is doubtful."""
        left = self.p["error_shut"] - self.debt
        high = left <= 0 or risk * self.p["error_shut"] >= self.p["error_reference"] * left
        return self.p["error_num"] > 0 and high

    @property
    def move(self) -> int:
        """What is added to the limit of the alarm."""
        return self.quarter * self.quarters

    def remember(self, answer: int, uncertainty: int, vouched: bool, raised: bool, changed: bool) -> None:
        """Take a step in, after its alarm."""
        certainty = (65535 - uncertainty) >> (3 + self.bits)
        self.entries[self.next] = answer + (certainty << self.bits) + ALARM * raised + VOUCHED * vouched
        self.next = (self.next + 1) % self.p["memory"]
        self.taken += 1
        self.case = 0 if changed else self.case

    def label(self, ago: int, label: int, raised: bool) -> bool:
        """Take a label; return whether it withdraws the alarm."""
        memory = self.p["memory"]
        if ago >= min(memory, self.taken):
            return False
        at = (self.next - 1 - ago) % memory
        entry = self.entries[at]
        if entry & KNOWN:
            return False
        self.entries[at] |= KNOWN
        right = label == -1 or label == entry % (1 << self.bits)
        sure = (entry % ALARM | (1 << self.bits) - 1) >= ALARM - (self.p["error_reference"] >> 5)
        back = right and sure and 4 * self.debt >= 3 * self.p["error_shut"]
        if (entry & VOUCHED or back) and self.p["error_num"]:
            change = (0 if right else self.p["error_den"]) - self.p["error_num"]
            self.debt = max(-self.p["error_shut"], self.debt + change)
        certainty = (entry % ALARM >> self.bits << self.bits) + (1 << (self.bits - 1))
        self.correction += (32768 * right - 4 * certainty - self.correction + 16) >> 5
        if bool(entry & ALARM) != raised:
            return False
        self.case += -self.p["right_score"] if right else self.p["wrong_score"]
        self.case = 0 if raised == (self.case > 0) else self.case
        if abs(self.case) < END:
            return False
        self.case = 0
        self.quarters = min(13, self.quarters + 2) if raised else max(-2, self.quarters - 1)
        return raised


def watch_told(monitor: Monitor, log: Log, told: dict[int, list[Any]]) -> tuple[npt.NDArray[Any], ...]:
    """Run a monitor over a log as `watch` does, with signals, and labels when they came."""
    parts, values = [], []
    for piece in log.pieces():
        if piece.start:
            monitor.reset()
        ends = sorted(at + 1 for at in told if piece.start <= at < piece.stop)
        for start, stop in zip([piece.start, *ends], [*ends, piece.stop], strict=True):
            if start < stop:
                steps, signals = watch(monitor, log.take(slice(start, stop)), signals=True)
                parts.append(steps)
                values.append(signals)
            for ago, label in told.get(stop - 1, []) if stop in ends else []:
                monitor.feedback(monitor.steps - 1 - ago, bool(label + 2) if label < 0 else label)
    return np.concatenate(parts), np.concatenate(values)
