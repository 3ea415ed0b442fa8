"""A CNN of four 3 x 3 convolutions for 28 x 28 digits."""

from __future__ import annotations

from torch import nn

from .backbone import Backbone, conv_bn


def cnn4(classes: int = 10, channels: int = 1, width: int = 16) -> Backbone:
    """Return a four-layer CNN with 2 x width features."""
    plan = ((channels, width, 1), (width, width, 2), (width, 2 * width, 1), (2 * width, 2 * width, 2))
    stages = [nn.Sequential(*conv_bn(a, b, 3, stride), nn.ReLU()) for a, b, stride in plan]
    return Backbone(stages, 2 * width, classes, channels, places=(2,))
