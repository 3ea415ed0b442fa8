"""DEEP: an ensemble of networks that were trained alike from different seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .members import GRID, together
from .method import MethodCost, Recorded
from .rowwise import Rowwise


class Deep(Rowwise):
    """The mean posterior of five networks, and the settings of `members.risk`; features are of the first."""

    name = "deep"
    members = 5
    bank = "deep"
    grid = GRID

    def record(self, x: npt.NDArray[Any], device: str = "cpu") -> Recorded:
        """Run every member."""
        found = [self.heard(each, x, device) for each in self.loaded()]
        return together(np.stack([each.logits for each in found], axis=1), found[0].features, self.grid)

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return a pass a member."""
        from .counting import counted

        return counted(self.loaded(), shape)
