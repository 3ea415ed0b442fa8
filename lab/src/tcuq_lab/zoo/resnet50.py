"""ResNet-50 for 64 x 64 pictures: bottleneck blocks, the first group at full resolution.

Two things differ from the network for 224 x 224 pictures: the stem is a 3 x 3 convolution of stride 1, and no
pooling follows it. Where a group halves the resolution, the 3 x 3 convolution of its first block does it.
"""

from __future__ import annotations

from torch import Tensor, nn

from .backbone import Backbone, conv_bn

GROUPS = ((1, 3, 1), (2, 4, 2), (4, 6, 2), (8, 3, 2))
"""Inner channels in units of the width, blocks, stride of the first block."""

EXPAND = 4
"""A block gives this many times its inner channels."""


class Bottleneck(nn.Module):
    """Narrow, filter, widen; beside a shortcut, which is a convolution where shapes differ."""

    def __init__(self, inputs: int, inner: int, stride: int) -> None:
        super().__init__()
        outputs = EXPAND * inner
        narrow = [*conv_bn(inputs, inner, 1, bias=False), nn.ReLU()]
        filters = [*conv_bn(inner, inner, 3, stride, bias=False), nn.ReLU()]
        self.body = nn.Sequential(*narrow, *filters, *conv_bn(inner, outputs, 1, bias=False))
        plain = inputs == outputs and stride == 1
        way = [] if plain else conv_bn(inputs, outputs, 1, stride, bias=False)
        self.shortcut = nn.Sequential(*way)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of both ways."""
        return nn.functional.relu(self.body(x) + self.shortcut(x))


def resnet50(classes: int = 16, channels: int = 3, width: int = 64) -> Backbone:
    """Return a ResNet-50 with 32 x width features."""
    stem: list[nn.Module] = [*conv_bn(channels, width, 3, bias=False), nn.ReLU()]
    stages: list[nn.Module] = []
    ends, inputs = [], width
    for wide, blocks, stride in GROUPS:
        for block in range(blocks):
            inner = Bottleneck(inputs, wide * width, stride if block == 0 else 1)
            stages.append(nn.Sequential(*stem, inner) if stem else inner)
            inputs, stem = EXPAND * wide * width, []
        ends.append(len(stages) - 1)
    return Backbone(stages, inputs, classes, channels, places=(ends[0], ends[2]))
