"""A small vision transformer for 32 x 32 pictures."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tcuq.base.checks import integer

from .backbone import Backbone
from .transformer import learned, listed, of_size, placed, places_of, stacked


class Patches(nn.Module):
    """A class token, then a token a patch, with learned positions."""

    def __init__(self, channels: int, width: int, size: int, patch: int) -> None:
        super().__init__()
        if size % integer("patch", patch, 1, size):
            raise ValueError(f"patch is {patch}, expected a divisor of the side, {size}")
        self.size = (size, size)
        self.cut = nn.Conv2d(channels, width, patch, patch)
        self.token = learned(1, 1, width)
        self.positions = learned(1, 1 + (size // patch) ** 2, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return (n, width, 1, 1 + patches)."""
        patches = listed(self.cut(of_size(x, self.size, "picture")))
        token = self.token.expand(len(x), -1, -1).to(patches.dtype)
        return placed(torch.cat([token, patches], 1) + self.positions)


def vit(
    classes: int = 10,
    channels: int = 3,
    width: int = 64,
    depth: int = 4,
    heads: int = 4,
    size: int = 32,
    patch: int = 4,
) -> Backbone:
    """Return a vision transformer; the class token after the last block is the feature vector.

    Exits take the mean of all tokens, the class token among them.
    """
    stages = stacked(Patches(channels, width, size, patch), width, depth, heads, first=True)
    return Backbone(stages, width, classes, channels, places_of(depth), size=(size, size))
