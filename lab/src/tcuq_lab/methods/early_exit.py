"""EARLY-EXIT: the exits of one network as an ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .members import GRID, KINDS, together
from .method import Floats, MethodCost, Recorded
from .rowwise import Rowwise


class EarlyExit(Rowwise):
    """The mean posterior of all exits and the head.

    The risk is taken over the same members or without the head; the answer is always that of all. What tells
    members apart keeps the head, since a network may have a single exit, and is tried on warmer posteriors.
    """

    name = "early_exit"
    recipe = "early_exit"
    bank = "early_exit"
    grid = (
        *({"kind": kind} for kind in KINDS),
        *({"kind": kind, "final": False} for kind in KINDS[:2]),
        *({"kind": kind, "temperature": 2.0} for kind in KINDS[2:]),
    )

    def members_of(self, final: Floats, exits: list[Floats]) -> list[Floats]:
        """Return the logits of the members, from those of the head and of the exits."""
        return [*exits, final]

    def record(self, x: npt.NDArray[Any], device: str = "cpu") -> Recorded:
        """Run the network once, with its exits."""
        from .passes import parts

        final, features, *exits = parts(self.network, x, device)
        return together(np.stack(self.members_of(final, exits), axis=1), features, self.grid)

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return the backbone and its exits."""
        from .counting import counted

        return counted(self.loaded(), shape)


class ExitsAlone(EarlyExit):
    """The mean posterior of the exits without the head, which shows what the head is worth to them."""

    name = "exits_alone"
    bank = "exits_alone"
    grid = GRID

    def members_of(self, final: Floats, exits: list[Floats]) -> list[Floats]:
        """Return the logits of the exits."""
        return exits
