"""MC-DROPOUT: several passes through one network whose dropout stays on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer

from .members import GRID, together
from .method import MethodCost, Recorded
from .rowwise import Rowwise

if TYPE_CHECKING:
    from torch import nn


class McDropout(Rowwise):
    """The mean posterior of passes with dropout, and the settings of `members.risk`.

    What is dropped for an example depends on the seed, on its row among the examples that are recorded
    together, on the pass and on the layer; not on batches, nor on the device. So row k of two sources meets
    the same masks. Features are the mean over passes.
    """

    name = "mc_dropout"
    recipe = "dropout"
    bank = "mc_dropout"
    grid = GRID

    def __init__(self, networks: Sequence[nn.Module] = (), passes: int = 10, seed: int = 0) -> None:
        super().__init__(networks)
        self.passes = integer("passes", passes, 2, 1000)
        self.seed = integer("seed", seed, 0, 2**63 - 1)

    def record(self, x: npt.NDArray[Any], device: str = "cpu") -> Recorded:
        """Run the network `passes` times, each with masks of its own."""
        import torch

        from ..zoo.recipes import Dropped
        from .masks import sampled
        from .passes import batches

        network = self.network
        assert isinstance(network, Dropped)
        logits, features = [], []
        with torch.inference_mode():
            for first, inputs in batches(network, x, device):
                found = [sampled(network, inputs, first, each, self.seed) for each in range(self.passes)]
                logits.append(torch.stack([each[0].float() for each in found], dim=1).cpu().numpy())
                features.append(torch.stack([each[1].float() for each in found]).mean(0).cpu().numpy())
        return together(np.concatenate(logits), np.concatenate(features), self.grid)

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return all passes; masks are drawn by the device and are not counted."""
        from .counting import counted

        return counted(self.loaded(), shape, repeats=self.passes)
