"""Which steps of a day to have labeled: those of the highest risk, and a random sample of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.step_hashes import U64, mixed

from .tallies import RISK_ONE

ROW_DTYPE = np.dtype(
    [
        ("hash", "u8"),
        ("tie", "u8"),
        ("risk", "u4"),
        ("answer", "i4"),
        ("boot", "i8"),
        ("seq", "i8"),
        ("time", "f8"),
        ("version", "O"),
        ("device", "O"),
    ]
)
"""A step that may be asked for; `risk` in 1/65536. `hash` chooses the random part. `tie` decides between
steps of equal risk: it must not be `hash`, or those that lose would come into the random part less often."""


@dataclass
class Pool:
    """Steps of a day so far: how many, those of the highest risk, and a random sample of the others.

    What is kept is a function of the set of steps: it does not depend on their order or on batches, and pools
    of two sets of steps can be joined.

    Parameters
    ----------
    risky, drawn : int
        Steps to keep for their risk, and at random.
    steps : int
        All that were offered.
    top, sample : array of `ROW_DTYPE`
    """

    risky: int
    drawn: int
    steps: int = 0
    top: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=ROW_DTYPE))
    sample: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=ROW_DTYPE))

    def chances(self, risks: npt.NDArray[Any], hashes: U64) -> npt.NDArray[np.bool_]:
        """Say which steps could be kept: a quick look that spares the others."""
        risky, drawn, count = self.risky, self.drawn, len(risks)
        top, sample = np.full(count, risky > 0), np.full(count, drawn > 0)
        if count > risky + drawn:  # of these alone, no more than so many can be kept
            if risky:
                top &= risks >= np.partition(risks, count - risky)[count - risky]
            # Of those of the smallest hashes, some may be kept for their risk.
            sample &= hashes <= np.partition(hashes, risky + drawn - 1)[max(0, risky + drawn - 1)]
        if risky and len(self.top) == risky:
            least = self.top["risk"].min()
            top &= risks >= least
            # Of those at the edge few have a chance, and there may be very many: risk has an end.
            edge = np.flatnonzero(risks == least)
            top[edge] &= mixed(~hashes[edge]) < self.top["tie"][self.top["risk"] == least].max()
        if drawn and len(self.sample) == drawn:
            sample &= hashes < self.sample["hash"].max()
        return np.asarray(top | sample)

    def add(self, rows: npt.NDArray[Any], steps: int) -> None:
        """Take rows that have a chance, out of so many steps."""
        self.steps += steps
        if not len(rows):
            return
        rows = np.concatenate([self.top, rows])
        order = np.lexsort((rows["hash"], rows["tie"], -rows["risk"].astype(np.int64)))
        self.top = rows[order[: self.risky]]
        rest = np.concatenate([self.sample, rows[order[self.risky :]]])
        self.sample = rest[np.argsort(rest["hash"], kind="stable")[: self.drawn]]

    def cut(self, risky: int, drawn: int) -> None:
        """Keep fewer; never more, as steps that were let go cannot come back."""
        self.risky, self.drawn = min(self.risky, risky), min(self.drawn, drawn)
        top = self.top
        self.top = top[:0]
        self.add(top, 0)
        self.sample = self.sample[: self.drawn]


def joined(pools: Sequence[Pool]) -> Pool:
    """Return the pool of all steps of several."""
    used = [pool for pool in pools if pool.steps]
    risky = min((pool.risky for pool in used), default=0)
    drawn = min((pool.drawn for pool in used), default=0)
    found = Pool(risky, drawn)
    for pool in used:
        found.add(np.concatenate([pool.top, pool.sample]), pool.steps)
    return found


def rows_of(
    version: str,
    devices: npt.NDArray[Any],
    columns: tuple[
        U64, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]
    ],
    which: npt.NDArray[Any],
) -> npt.NDArray[Any]:
    """Return some steps as rows.

    Parameters
    ----------
    version : str
    devices : array of names
    columns : tuple of arrays
        Hash, risk in 1/65536, answer, boot, seq, time.
    which : array of places
    """
    found = np.empty(len(which), dtype=ROW_DTYPE)
    for name, values in zip(("hash", "risk", "answer", "boot", "seq", "time"), columns, strict=True):
        found[name] = values[which]
    found["tie"] = mixed(~found["hash"])
    found["version"] = version
    found["device"] = devices[which]
    return found


def as_lists(rows: npt.NDArray[Any]) -> list[list[Any]]:
    """Return rows as plain data, without `tie`, which follows from `hash`."""
    names = [name for name in ROW_DTYPE.names or () if name != "tie"]
    columns = [rows[name].tolist() for name in names]
    time = names.index("time")
    columns[time] = [None if value != value else value for value in columns[time]]
    return [list(row) for row in zip(*columns, strict=True)]


def from_lists(content: Sequence[Sequence[Any]]) -> npt.NDArray[Any]:
    """Return what `as_lists` gave, as it was."""
    found = np.empty(len(content), dtype=ROW_DTYPE)
    names = [name for name in ROW_DTYPE.names or () if name != "tie"]
    for at, name in enumerate(names):
        values = [row[at] for row in content]
        if name == "time":
            values = [np.nan if value is None else value for value in values]
        found[name] = np.array(values, dtype=ROW_DTYPE[name]) if content else []
    found["tie"] = mixed(~found["hash"])
    return found


def asked_rows(pool: Pool, day: int) -> list[dict[str, Any]]:
    """Return what is asked of a person, as plain data: the risk part first, each part by risk."""
    found = []
    for part, rows in (("risk", pool.top), ("random", pool.sample)):
        order = np.argsort(-rows["risk"].astype(np.int64), kind="stable")
        for row in rows[order]:
            found.append(
                {
                    "day": day,
                    "device": row["device"],
                    "version": row["version"],
                    "boot": int(row["boot"]),
                    "seq": int(row["seq"]),
                    "time": None if np.isnan(row["time"]) else float(row["time"]),
                    "risk": float(row["risk"]) / RISK_ONE,
                    "answer": int(row["answer"]),
                    "part": part,
                }
            )
    return found
