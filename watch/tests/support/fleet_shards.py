"""As much of a model of a fleet as a summary reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

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
