"""Convolutional backbones, and all backbones by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from tcuq.base.checks import integer, known, number

from .backbone import Backbone, conv_bn
from .transformer import text, vit


def cnn4(classes: int = 10, channels: int = 1, width: int = 16) -> Backbone:
    """Return a four-layer CNN with 2 x width features."""
    plan = ((channels, width, 1), (width, width, 2), (width, 2 * width, 1), (2 * width, 2 * width, 2))
    stages = [nn.Sequential(*conv_bn(a, b, 3, stride), nn.ReLU()) for a, b, stride in plan]
    return Backbone(stages, 2 * width, classes, channels, places=(2,))


def cnn1d(classes: int = 5, channels: int = 3, width: int = 24) -> Backbone:
    """Return four convolutions over time with 2 x width features."""
    plan = ((channels, width, 7), (width, width, 5), (width, 2 * width, 5), (2 * width, 2 * width, 3))
    stages = [
        nn.Sequential(*conv_bn(a, b, (kernel, 1), 2, padding=(0, 0, kernel // 2, kernel // 2)), nn.ReLU())
        for a, b, kernel in plan
    ]
    return Backbone(stages, 2 * width, classes, channels, places=(2,), dropout=0.3, size=(64, 1))


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


class Shortened(nn.Module):
    """A body beside a shortcut."""

    body: nn.Module
    shortcut: nn.Module

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of both ways."""
        return nn.functional.relu(self.body(x) + self.shortcut(x))


class Residual(Shortened):
    """Two 3 x 3 convolutions beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        first = conv_bn(inputs, outputs, 3, stride, padding=_same(3, stride))
        self.body = nn.Sequential(*first, nn.ReLU(), *conv_bn(outputs, outputs, 3))
        plain = inputs == outputs and stride == 1
        # The benchmark's shortcut has a bias and no norm.
        self.shortcut = nn.Identity() if plain else nn.Conv2d(inputs, outputs, 1, stride)


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


# Two things differ from the network for 224 x 224 pictures: the stem is a 3 x 3 convolution of stride 1, and
# no pooling follows it. Where a group halves the resolution, the 3 x 3 convolution of its first does so.
RESNET50_GROUPS = ((1, 3, 1), (2, 4, 2), (4, 6, 2), (8, 3, 2))
"""Inner channels in units of the width, blocks, stride of the first block."""

EXPAND = 4
"""A block gives this many times its inner channels."""


class Bottleneck(Shortened):
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


def resnet50(classes: int = 16, channels: int = 3, width: int = 64) -> Backbone:
    """Return a ResNet-50 with 32 x width features."""
    stem: list[nn.Module] = [*conv_bn(channels, width, 3, bias=False), nn.ReLU()]
    stages: list[nn.Module] = []
    ends, inputs = [], width
    for wide, blocks, stride in RESNET50_GROUPS:
        for block in range(blocks):
            inner = Bottleneck(inputs, wide * width, stride if block == 0 else 1)
            stages.append(nn.Sequential(*stem, inner) if stem else inner)
            inputs, stem = EXPAND * wide * width, []
        ends.append(len(stages) - 1)
    return Backbone(stages, inputs, classes, channels, places=(ends[0], ends[2]))


MOBILENET_GROUPS = (
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
    for expand, count, blocks, stride in MOBILENET_GROUPS:
        outputs = scaled(count)
        for block in range(blocks):
            inner = Inverted(inputs, outputs, stride if block == 0 else 1, expand)
            stages.append(nn.Sequential(*stem, inner) if stem else inner)
            inputs, stem = outputs, []
        ends.append(len(stages) - 1)
    last = 1280 if width >= 1 else 4 * inputs
    stages.append(nn.Sequential(*conv_bn(inputs, last, 1, bias=False), nn.ReLU6()))
    return Backbone(stages, last, classes, channels, places=(ends[0], ends[2]), dropout=0.2)


BACKBONES: dict[str, Callable[..., Backbone]] = {
    "cnn4": cnn4,
    "cnn1d": cnn1d,
    "dscnn": dscnn,
    "resnet8": resnet8,
    "mobilenetv2": mobilenetv2,
    "resnet50": resnet50,
    "vit": vit,
    "text": text,
}


def backbone(name: str, /, **options: Any) -> Backbone:
    """Return a backbone with fresh weights."""
    build = BACKBONES[known("backbone", name, BACKBONES)]
    accepted = inspect.signature(build).parameters
    for option, value in options.items():
        what = f"option {known(f'option of {name}', option, accepted)} of {name}"
        if isinstance(accepted[option].default, int):
            integer(what, value, 1, 4096)
        else:
            number(what, value, 0.01, 64)
    return build(**options)
