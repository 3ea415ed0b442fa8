"""What is counted of each device and of the whole fleet while steps go by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

TALLY_DTYPE = np.dtype([("steps", "u8"), ("last_time", "f8"), ("alarm", "u1")])
"""Of one device."""


class Tallies:
    """Counts of one set of parameters. They do not depend on how steps are batched.

    Parameters
    ----------
    classes : int
    """

    def __init__(self, classes: int) -> None:
        self.classes = classes
        self.devices = np.zeros(0, dtype=TALLY_DTYPE)

    def grow(self, count: int) -> None:
        """Add new devices."""
        self.devices = np.concatenate([self.devices, np.zeros(count, dtype=TALLY_DTYPE)])

    def update(
        self,
        slots: npt.NDArray[np.int64],
        times: npt.NDArray[np.float64],
        boots: npt.NDArray[np.int64],
        seqs: npt.NDArray[np.int64],
        steps: npt.NDArray[Any],
    ) -> None:
        """Take in steps, in the order in which they were released."""
        np.add.at(self.devices["steps"], slots, 1)
        self.devices["last_time"][slots] = times
        self.devices["alarm"][slots] = steps["alarm"]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that must be kept."""
        return {"devices": self.devices}

    @classmethod
    def restored(cls, classes: int, arrays: Mapping[str, npt.NDArray[Any]]) -> Tallies:
        """Return what `arrays` gave, as it was."""
        found = cls(classes)
        found.devices = np.array(arrays["devices"])
        return found
