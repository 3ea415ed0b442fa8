"""HYDRA: one body with several heads, each taught by one member of an ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .members import GRID, together
from .method import Cost, Recorded
from .rowwise import Rowwise


class Hydra(Rowwise):
    """The mean posterior of the heads, and the settings of `members.risk`."""

    name = "hydra"
    recipe = "hydra"
    bank = "hydra"
    grid = GRID

    def record(self, x: npt.NDArray[Any], device: str = "cpu") -> Recorded:
        """Run the body once and all heads."""
        from .passes import parts

        _, features, *heads = parts(self.networks[0], x, device)
        return together(np.stack(heads, axis=1), features, self.grid)

    def cost(self, shape: tuple[int, ...]) -> Cost:
        """Return the body and all heads."""
        from .counting import counted

        return counted(self.networks, shape)
