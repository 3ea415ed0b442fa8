"""What a page takes from a feed: steps and remarks after some place, and how they are sent."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.report.data import ABSTAIN, FLAGGED, RISE, WARM

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

NAMES = ("time", *REALS, "prediction", "answer", *BITS, "alarm", "reason", "signals")
"""Columns that a feed takes."""

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

    def told(self, begin: int, end: int, given: set[str]) -> list[dict[str, Any]]:
        """Return the runs between two places with their columns as lists, those that were given."""
        out = []
        for place, count in self.runs():
            first, last = max(place, begin), min(place + count, end)
            if first < last:
                columns = {name: self._values(name, first, last) for name in NAMES if name in given}
                out.append({"first": int(self.numbers[first]), "count": last - first, "columns": columns})
        return out

    def _values(self, name: str, first: int, last: int) -> list[Any]:
        if name == "signals":
            known = dict(self.signals)
            return [known.get(place) for place in range(first, last)]
        if name in BITS:
            return list((self.columns["flags"][first:last] & BITS[name] != 0).tolist())
        if name == "alarm":
            return list((self.columns["flags"][first:last] // RISE & 3).tolist())
        values = self.columns[name][first:last].tolist()
        if name == "reason":
            return ["" if value == NONE else self.reasons[value] for value in values]
        return [None if value != value else value for value in values]

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
