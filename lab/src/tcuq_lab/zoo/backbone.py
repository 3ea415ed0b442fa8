"""What all backbones share: stages in a row, a mean over places, a linear head."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Backbone(nn.Module):
    """Stages one after the other, then the mean over all places (the features) and a linear head.

    Input is normalized inside, so that a network takes what its dataset gives.
    """

    symbols = False  # whether inputs are symbols: they cannot be augmented, and have no gradient
    # Height and width of what it was trained on, the only ones that it takes then. Stages would take others
    # without a word, and answer what nobody has measured.
    trained: tuple[int, int] | None = None
    mean: Tensor
    std: Tensor

    def __init__(
        self,
        stages: Sequence[nn.Module],
        features: int,  # width of the last stage
        classes: int,
        channels: int,  # of the input
        places: tuple[int, ...],  # stages after which exits and dropout are put, unless a recipe says else
        dropout: float = 0.0,  # before the head
        size: tuple[int, int] = (64, 64),  # height and width of an input that all stages take
    ) -> None:
        super().__init__()
        self.places, self.size = places, size
        self.stages = nn.ModuleList(stages)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(features, classes)
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("std", torch.ones(channels))

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self.head.out_features

    @property
    def width(self) -> int:
        """Number of features."""
        return self.head.in_features

    def prepare(self, x: Tensor) -> Tensor:
        """Turn a batch of the dataset, channels last or without, into normalized channels first."""
        planes = x.unsqueeze(-1) if x.ndim == 3 else x
        right = planes.ndim == 4 and planes.shape[-1] == len(self.mean)
        if not right or self.trained not in (None, tuple(planes.shape[1:3])):
            height, width = self.trained or ("height", "width")
            wanted = f"(n, {height}, {width}, {len(self.mean)})"
            raise ValueError(f"input is {tuple(x.shape)}, expected {wanted}, without the last for one")
        scaled = planes.float() / 255 if planes.dtype == torch.uint8 else planes.float()
        return ((scaled - self.mean) / self.std).permute(0, 3, 1, 2)

    def taps(self, x: Tensor) -> list[Tensor]:
        """Return what every stage gives, for a prepared batch."""
        found = []
        for stage in self.stages:
            x = stage(x)
            found.append(x)
        return found

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits (n, classes) and features (n, width) of a prepared batch."""
        return self.top(self.taps(x)[-1])

    def top(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and features from what the last stage gives."""
        features = x.mean(dim=(2, 3))
        return self.head(self.drop(features)), features

    def fit_input(self, x: Tensor) -> None:
        """Measure mean and spread of the input on training data, and note its size."""
        planes = x.unsqueeze(-1) if x.ndim == 3 else x
        self.trained = (planes.shape[1], planes.shape[2])
        scale = 255.0 if planes.dtype == torch.uint8 else 1.0
        flat = planes.reshape(-1, planes.shape[-1])
        total, squares = torch.zeros(2, flat.shape[1], dtype=torch.float64)
        for at in range(0, len(flat), 1 << 20):  # float64 of all would take eight times the data
            part = flat[at : at + (1 << 20)].double() / scale
            total, squares = total + part.sum(0), squares + (part * part).sum(0)
        mean = total / len(flat)
        self.mean.copy_(mean)
        self.std.copy_((squares / len(flat) - mean * mean).clamp_min(1e-12).sqrt())


def conv_bn(
    inputs: int,
    outputs: int,
    kernel: int | tuple[int, int],
    stride: int = 1,
    groups: int = 1,
    bias: bool = True,
    padding: int | tuple[int, int, int, int] | None = None,
) -> list[nn.Module]:
    """Return a convolution and its batch norm."""
    size = (kernel, kernel) if isinstance(kernel, int) else kernel
    if padding is None:
        padding = size[0] // 2
    inner = padding if isinstance(padding, int) else 0
    pad = [] if isinstance(padding, int) else [nn.ZeroPad2d(padding)]
    conv = nn.Conv2d(inputs, outputs, size, stride, inner, groups=groups, bias=bias)
    return [*pad, conv, nn.BatchNorm2d(outputs)]
