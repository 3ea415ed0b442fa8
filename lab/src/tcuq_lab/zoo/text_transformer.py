"""A small transformer over chunks of bytes, which slide over a running text."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tcuq.base.checks import integer

from .backbone import Backbone
from .transformer import learned, of_size, placed, places_of, stacked


class Bytes(nn.Module):
    """A token for every two bytes: a vector a byte, a convolution over four of them, learned positions."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        if integer("length", length, 2, 1 << 16) % 2:
            raise ValueError(f"length is {length}, expected an even number")
        self.size = (1, length)
        self.vectors = nn.Embedding(256, width)
        self.join = nn.Sequential(nn.Conv2d(width, width, (1, 4), (1, 2), (0, 1)), nn.ReLU())
        self.positions = learned(1, length // 2, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return (n, width, 1, length / 2) of bytes (n, 1, 1, length)."""
        values = of_size(x, self.size, "chunk")[:, 0, 0].long()
        joined: Tensor = self.join(placed(self.vectors(values)))
        return joined + placed(self.positions)


class Text(Backbone):
    """A backbone that takes uint8 chunks (n, length); bytes are symbols, so nothing is normalized."""

    symbols = True

    def prepare(self, x: Tensor) -> Tensor:
        """Turn chunks into a row of places with one channel, like all prepared batches of float type."""
        if x.ndim != 2 or x.dtype != torch.uint8:
            raise ValueError(f"input is {x.dtype} of shape {tuple(x.shape)}, expected uint8 (n, length)")
        return x[:, None, None].float()

    def fit_input(self, x: Tensor) -> None:
        """Measure nothing."""


def text(classes: int = 10, width: int = 64, depth: int = 3, heads: int = 4, length: int = 64) -> Text:
    """Return a classifier of chunks of bytes; the mean token after the last block is the feature vector."""
    stages = stacked(Bytes(width, length), width, depth, heads, first=False)
    return Text(stages, width, classes, 1, places_of(depth), size=(1, length))
