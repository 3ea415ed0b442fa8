"""Drops of water or mud on the lens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .draws import Draws, Floats
from .filters import linked, luma, soften
from .needed import scipy

Ints = npt.NDArray[np.int32]
Edge = Literal["constant", "edge", "reflect"]

WATER = (175, 238, 238)
MUD = (63, 42, 20)
FARTHEST = 20
"""Pixels from the rim of a drop beyond which its light does not change."""
WEAK, STRONG = 50, 150
"""Gradients of a rim: all that is above the first and touches something above the second."""
LIGHT = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])
"""Light falls from the upper left."""


def spatter(images: Floats, draws: Draws, setting: tuple[float, float, float, float, float, str]) -> Floats:
    """Spatter drops; takes pictures (n, h, w, c) in [0, 1].

    The setting is the mean and deviation of the liquid, its smoothness, the level above which it shows,
    the brightness of water or the softness of mud, and which of the two it is.
    """
    mean, spread, smooth, level, strength, what = setting
    liquid = soften(mean + spread * draws.normal(images.shape[1:3]), smooth)
    liquid[liquid < level] = 0
    if what == "water":
        return images + strength * _shine(liquid)[..., None] * _color(WATER, images.shape[3])
    mask = soften((liquid > level).astype(np.float64), strength)
    mask[mask < 0.8] = 0
    return images * (1 - mask[..., None]) + mask[..., None] * _color(MUD, images.shape[3])


def _color(rgb: tuple[int, int, int], channels: int) -> Floats:
    color = np.array(rgb) / 255.0
    return color if channels == 3 else luma(color)


def _shine(liquid: Floats) -> Floats:
    """Return the light (n, h, w) of drops, 1 where it is brightest."""
    drops = (liquid * 255).clip(0, 255).astype(np.int32)
    far = np.stack([_distance(each) for each in rims(drops)])
    relief = _equalise(np.floor(sum(_around(far, "reflect")) / 9).astype(np.int32))
    lit = sum(weight * each for weight, each in zip(LIGHT.ravel(), _around(relief, "reflect"), strict=True))
    light = np.rint(sum(_around(np.clip(lit, 0, 255), "reflect")) / 9) * drops
    brightest = light.max(axis=(1, 2), keepdims=True)
    return np.asarray(light / np.maximum(brightest, 1))


def _around(x: npt.NDArray[Any], edge: Edge) -> Iterator[npt.NDArray[Any]]:
    """Yield the nine neighbors of every pixel of (n, h, w), row by row."""
    height, width = x.shape[1:]
    wide = np.pad(x, ((0, 0), (1, 1), (1, 1)), mode=edge)
    for row in range(3):
        for column in range(3):
            yield wide[:, row : row + height, column : column + width]


def _distance(rim: npt.NDArray[np.bool_]) -> Floats:
    if not rim.any():
        return np.full(rim.shape, float(FARTHEST))
    return np.asarray(np.minimum(scipy("ndimage").distance_transform_edt(~rim), FARTHEST))


def _equalise(relief: Ints) -> Ints:
    """Spread whole numbers from 0 to FARTHEST over 0 to 255, so that each range is as frequent as another."""
    counts = np.stack([(relief == value).sum(axis=(1, 2)) for value in range(FARTHEST + 1)], axis=1)
    below = counts.cumsum(axis=1)
    first = below[np.arange(len(relief)), (counts > 0).argmax(axis=1)][:, None]
    others = below[:, -1:] - first
    spread = np.rint((below - first) * 255 / np.maximum(others, 1)).astype(np.int32)
    table = np.where(others > 0, spread.clip(0, 255), np.arange(FARTHEST + 1))
    return table[np.arange(len(relief))[:, None, None], relief]


def rims(drops: Ints) -> npt.NDArray[np.bool_]:
    """Return where whole numbers (n, h, w) change steeply, one pixel wide (Canny's method).

    Examples
    --------
    >>> drops = np.zeros((1, 3, 6), np.int32)
    >>> drops[:, :, 3:] = 200
    >>> rims(drops)[0].astype(int).tolist()
    [[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0]]
    """
    a, b, c, d, _, f, g, h, i = _around(drops, "edge")
    right, down = (c - a) + 2 * (f - d) + (i - g), (g - a) + 2 * (h - b) + (i - c)
    steep = np.abs(right) + np.abs(down)
    a, b, c, d, _, f, g, h, i = _around(steep, "constant")
    # tan 22.5 and tan 67.5 degrees part the four directions.
    flat = np.abs(down) < 0.41421356 * np.abs(right)
    upright = np.abs(down) > 2.41421356 * np.abs(right)
    rising = (right ^ down) < 0
    one = np.select([flat, upright, rising], [d, b, c], a)
    two = np.select([flat, upright, rising], [f, h, g], i)
    crest = (steep > one) & np.where(flat | upright, steep >= two, steep > two)
    return linked((steep > WEAK) & crest, steep > STRONG)
