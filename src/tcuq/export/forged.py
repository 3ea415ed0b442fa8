"""States in which one number differs: the last that a monitor loads, and the first that it refuses."""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

from ..monitor.monitor import Monitor
from ..monitor.params import Params

HEADER, CHECKSUM = 60, 4
"""Bytes of a state before its entries, and after all else (SPEC.md section 12)."""

COUNTERS = ((6, 2), *((at, 4) for at in range(20, 56, 4)), *((at, 1) for at in range(56, HEADER)))
"""Offset and size of the numbers of a header that do not say whose state it is."""

PLACES = 18
"""Numbers behind the header that are changed, evenly spread."""


class Forged(NamedTuple):
    """One number of a state, set to another value.

    Parameters
    ----------
    at, size : int
        Where it begins in the state, and its bytes.
    value : int
    loads : bool
        Whether a monitor takes over the state that this gives.
    """

    at: int
    size: int
    value: int
    loads: bool

    def apply(self, state: bytes) -> bytes:
        """Return the state with this value, and a checksum that says nothing of it."""
        new = self.value.to_bytes(self.size, "little")
        body = state[: self.at] + new + state[self.at + self.size : -CHECKSUM]
        return body + struct.pack("<I", zlib.crc32(body))


def forged(params: Params, state: bytes) -> list[Forged]:
    """Return changes of a sound state, at both ends of where each number is sound.

    Examples
    --------
    >>> of = Params(classes=3)
    >>> found = forged(of, Monitor(of).save())
    >>> Forged(at=20, size=4, value=1, loads=False) in found, len(found) < 100
    (True, True)
    """
    monitor = Monitor(params)
    last = len(state) - CHECKSUM - 2
    step = max(2, (last - HEADER) // PLACES // 2 * 2)
    places = [*COUNTERS, *((at, 2) for at in range(HEADER, last + 1, step))]
    found: list[Forged] = []
    for at, size in places:
        old = int.from_bytes(state[at : at + size], "little")
        for sign in (1, -1):
            found += _ends(monitor, state, at, size, old, sign)
    return list(dict.fromkeys(found))


def _ends(monitor: Monitor, state: bytes, at: int, size: int, old: int, sign: int) -> list[Forged]:
    """Return the first value on one side that is refused, and the one before it."""
    span = 256**size

    def tried(change: int) -> Forged:
        made = Forged(at, size, (old + sign * change) % span, True)
        try:
            monitor.load(made.apply(state))
        except ValueError:
            return made._replace(loads=False)
        return made

    reach = 1
    while reach < span // 2 and tried(reach).loads:
        reach *= 2
    good = reach // 2
    if tried(reach).loads:
        return []
    while reach - good > 1:
        middle = (good + reach) // 2
        good, reach = (middle, reach) if tried(middle).loads else (good, middle)
    return [tried(reach), *([tried(good)] if good else [])]
