"""Numbers that look random, one a step, by which steps to label are drawn: no matter how they are batched."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]


def device_keys(version: str, devices: Iterable[str]) -> U64:
    """Return a number for each device of a version, from which `step_hashes` makes one for each of its steps.

    Making it costs about a microsecond a device: keep it with the device where many steps are offered.
    """
    start = version.encode() + b"\0"
    raw = (start + name.encode("utf-8", "surrogatepass") for name in devices)
    digests = b"".join(hashlib.blake2b(name, digest_size=8).digest() for name in raw)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def mixed(values: U64) -> U64:
    """Return numbers that look random, each a function of its value alone (the finalizer of splitmix64)."""
    found = values + np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(found ^ (found >> np.uint64(31)), dtype=np.uint64)


def step_hashes(seed: int, keys: U64, boots: npt.NDArray[Any], seqs: npt.NDArray[Any]) -> U64:
    """Return a number for each step, from the seed and from what names the step."""
    start = np.frombuffer(hashlib.blake2b(str(seed).encode(), digest_size=8).digest(), dtype="<u8")
    found = mixed(keys ^ start.astype(np.uint64))
    for part in (boots, seqs):
        found = mixed(found ^ mixed(np.asarray(part, dtype=np.int64).astype(np.uint64)))
    return found
