"""DS-CNN of MLPerf Tiny: depthwise separable convolutions over 49 x 10 MFCC."""

from __future__ import annotations

from torch import nn

from .backbone import Backbone, conv_bn


def separable(width: int) -> nn.Sequential:
    """Return a depthwise 3 x 3 and a pointwise convolution."""
    depth = conv_bn(width, width, 3, groups=width)
    return nn.Sequential(*depth, nn.ReLU(), *conv_bn(width, width, 1), nn.ReLU())


def dscnn(classes: int = 10, channels: int = 1, width: int = 64) -> Backbone:
    """Return a DS-CNN."""
    # 49 x 10 becomes 25 x 5; the framework of the benchmark pads one more row below, columns evenly.
    stem = conv_bn(channels, width, (10, 4), 2, padding=(1, 1, 4, 5))
    first = nn.Sequential(*stem, nn.ReLU(), nn.Dropout(0.2), separable(width))
    return Backbone([first, *(separable(width) for _ in range(3))], width, classes, channels, (2,), 0.4)
