"""As much of a model of a fleet as a summary reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq import Params
from tcuq.monitor.steps import STEP_DTYPE
from tcuq_watch.engine.tallies import Tallies

PLACE = np.dtype(
    [(name, "i8") for name in ("boot", "seq", "missing", "late", "duplicates", "reboots", "held")]
)


@dataclass(eq=False)
class Shard:
    version: str
    devices: list[str]
    tallies: Tallies
    places: npt.NDArray[Any]

    @property
    def heard(self) -> npt.NDArray[np.float64]:
        """Nothing is held here."""
        return self.tallies.devices["last_time"]


def played(version: str, names: list[str], params: Params, times: Iterable[float], **columns: Any) -> Any:
    """Return devices that all make a step at each of these times; columns of it may differ by device."""
    tallies, slots = Tallies(params), np.arange(len(names))
    tallies.grow(len(names))
    steps = np.zeros(len(names), dtype=STEP_DTYPE)
    for name, column in columns.items():
        steps[name] = column
    for time in times:
        tallies.update(slots, np.full(len(names), time), steps)
    return Shard(version, names, tallies, np.zeros(len(names), dtype=PLACE))
