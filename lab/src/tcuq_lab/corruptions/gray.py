"""Kinds that MNIST-C makes in another way than the suites of natural pictures do."""

from __future__ import annotations

import numpy as np

from . import weather
from .blur import scatter
from .draws import Draws, Floats
from .filters import soften

WIDE = 256
"""Side of the clouds that pictures are cut from, in pixels."""


def glass_blur(images: Floats, draws: Draws, setting: tuple[float, int, int]) -> Floats:
    """Look through frosted glass: smooth, let every other pixel change places with a near one, smooth again.

    The setting is the deviation of the smoothing, the reach of a change and the rounds. As in the published
    pictures, it smooths downwards alone: the width of a gray picture was taken for its colors there.
    """
    sigma, reach, rounds = setting
    height, width = images.shape[1:3]
    pixels = (height - 2 * reach) * (width - 2 * reach)
    chosen = draws.integers(0, 2, (rounds, 1, pixels))
    jumps = chosen * draws.integers(-reach, reach, (rounds, 2, pixels))
    scattered = scatter(soften(images, sigma, axes=(1,)), reach, jumps, swap=True)
    return soften(scattered, sigma, axes=(1,))


def spatter(images: Floats, draws: Draws, setting: tuple[float, float, float, float, float, str]) -> Floats:
    """Spatter mud as `weather.spatter` does; on gray pictures it is as bright as its red part in color."""
    if images.shape[3] == 3:
        return weather.spatter(images, draws, setting)
    return weather.spatter(np.repeat(images, 3, axis=3), draws, setting)[..., :1]


def fog(images: Floats, draws: Draws, setting: tuple[float, float]) -> Floats:
    """Add the corner of wide clouds; the setting is their thickness and how quickly small parts fade."""
    thickness, decay = setting
    height, width = images.shape[1:3]
    side = max(WIDE, 1 << (max(height, width) - 1).bit_length())
    # One after the other: the clouds are far larger than the pictures.
    whole = (weather.clouds(own.uniform(-1, 1, (1, side, side)), decay) for own in draws.generators)
    return weather.veil(
        images, np.concatenate([each[:, :height, :width].copy() for each in whole]), thickness
    )
