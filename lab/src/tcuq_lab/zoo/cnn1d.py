"""A CNN over time, for windows of an accelerometer: 64 samples of three axes."""

from __future__ import annotations

from torch import nn

from .backbone import Backbone, conv_bn


def cnn1d(classes: int = 5, channels: int = 3, width: int = 24) -> Backbone:
    """Return four convolutions over time with 2 x width features."""
    plan = ((channels, width, 7), (width, width, 5), (width, 2 * width, 5), (2 * width, 2 * width, 3))
    stages = [
        nn.Sequential(*conv_bn(a, b, (kernel, 1), 2, padding=(0, 0, kernel // 2, kernel // 2)), nn.ReLU())
        for a, b, kernel in plan
    ]
    return Backbone(stages, 2 * width, classes, channels, places=(2,), dropout=0.3, size=(64, 1))
