"""ResNet-8 of MLPerf Tiny: three residual blocks for 32 x 32 pictures."""

from __future__ import annotations

from torch import Tensor, nn

from .backbone import Backbone, conv_bn


class Residual(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        first = conv_bn(inputs, outputs, 3, stride, padding=_same(3, stride))
        self.body = nn.Sequential(*first, nn.ReLU(), *conv_bn(outputs, outputs, 3))
        plain = inputs == outputs and stride == 1
        # The benchmark's shortcut has a bias and no norm.
        self.shortcut = nn.Identity() if plain else nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of both ways."""
        return nn.functional.relu(self.body(x) + self.shortcut(x))


def resnet8(classes: int = 10, channels: int = 3, width: int = 16) -> Backbone:
    """Return a ResNet-8."""
    stem = nn.Sequential(*conv_bn(channels, width, 3), nn.ReLU())
    stages = [
        nn.Sequential(stem, Residual(width, width, 1)),
        Residual(width, 2 * width, 2),
        Residual(2 * width, 4 * width, 2),
    ]
    return Backbone(stages, 4 * width, classes, channels, places=(0, 1))


def _same(kernel: int, stride: int) -> int | tuple[int, int, int, int]:
    """Return the padding of an even input: with stride 2 the benchmark's framework pads right and below."""
    if stride == 1:
        return kernel // 2
    spare = kernel - stride
    return (spare // 2, spare - spare // 2, spare // 2, spare - spare // 2)
