"""Which steps of a day to have labeled: those of the highest risk, and a random sample of the rest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .tallies import RISK_ONE

U64 = npt.NDArray[np.uint64]

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


def device_keys(version: str, devices: Iterable[str]) -> U64:
    """Return a number for each device of a version, from which `Labels` makes one for each of its steps.

    Making it costs about a microsecond a device: keep it with the device where many steps are offered.

    Examples
    --------
    >>> first, again, other = device_keys("v1", ["door-1", "door-1", "door-2"]).tolist()
    >>> first == again, first == other
    (True, False)
    """
    start = version.encode() + b"\0"
    blake = hashlib.blake2b
    raw = (name.encode("utf-8", "surrogatepass") for name in devices)
    digests = b"".join(blake(start + name, digest_size=8).digest() for name in raw)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def mixed(values: U64) -> U64:
    """Return numbers that look random, each a function of its value alone (the finalizer of splitmix64)."""
    found = values + np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(found ^ (found >> np.uint64(31)), dtype=np.uint64)


def step_hashes(seed: int, keys: U64, boots: npt.NDArray[Any], seqs: npt.NDArray[Any]) -> U64:
    """Return a number for each step, from the seed and from what names the step.

    Examples
    --------
    >>> keys, zero = device_keys("v1", ["a", "a"]), np.zeros(2, dtype=np.int64)
    >>> np.unique(step_hashes(0, keys, zero, np.array([0, 1]))).size
    2
    """
    start = np.frombuffer(hashlib.blake2b(str(seed).encode(), digest_size=8).digest(), dtype="<u8")
    found = mixed(keys ^ start.astype(np.uint64))
    for part in (boots, seqs):
        found = mixed(found ^ mixed(np.asarray(part, dtype=np.int64).astype(np.uint64)))
    return found


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
