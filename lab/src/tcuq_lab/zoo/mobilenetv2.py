"""MobileNetV2 for 64 x 64 pictures: inverted residuals, the first convolution at full resolution."""

from __future__ import annotations

from torch import Tensor, nn

from .backbone import Backbone, conv_bn

GROUPS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion, channels, blocks, stride of the first block."""


class Inverted(nn.Module):
    """Widen, filter each channel, narrow; beside a shortcut where shapes allow it."""

    def __init__(self, inputs: int, outputs: int, stride: int, expand: int) -> None:
        super().__init__()
        middle = inputs * expand
        wide = [] if expand == 1 else [*conv_bn(inputs, middle, 1, bias=False), nn.ReLU6()]
        depth = conv_bn(middle, middle, 3, stride, groups=middle, bias=False)
        self.body = nn.Sequential(*wide, *depth, nn.ReLU6(), *conv_bn(middle, outputs, 1, bias=False))
        self.plain = inputs == outputs and stride == 1

    def forward(self, x: Tensor) -> Tensor:
        """Return the body's output, added to the input where shapes allow it."""
        out: Tensor = self.body(x)
        return out + x if self.plain else out


def mobilenetv2(classes: int = 16, channels: int = 3, width: float = 1.0) -> Backbone:
    """Return a MobileNetV2; `width` scales all channels."""

    def scaled(count: int) -> int:
        # Multiples of 8, never less than nine tenths of what was asked: the paper of the network does so.
        near = max(8, int(count * width + 4) // 8 * 8)
        return near + 8 if near < 0.9 * count * width else near

    inputs = scaled(32)
    stem: list[nn.Module] = [*conv_bn(channels, inputs, 3, bias=False), nn.ReLU6()]
    stages: list[nn.Module] = []
    ends = []
    for expand, count, blocks, stride in GROUPS:
        outputs = scaled(count)
        for block in range(blocks):
            inner = Inverted(inputs, outputs, stride if block == 0 else 1, expand)
            stages.append(nn.Sequential(*stem, inner) if stem else inner)
            inputs, stem = outputs, []
        ends.append(len(stages) - 1)
    last = 1280 if width >= 1 else 4 * inputs
    stages.append(nn.Sequential(*conv_bn(inputs, last, 1, bias=False), nn.ReLU6()))
    return Backbone(stages, last, classes, channels, places=(ends[0], ends[2]), dropout=0.2)
