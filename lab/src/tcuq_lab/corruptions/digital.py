"""What cameras and files do: every function takes pictures (n, h, w, c) in [0, 1], draws and the setting."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from .draws import Draws, Floats, pillow
from .filters import soften
from .geometry import affine, displace


def contrast(images: Floats, draws: Draws, share: float) -> Floats:
    """Keep a share of the distance from the mean color."""
    # A picture at a time: how a sum over a batch is rounded could depend on the batch.
    means = [each.reshape(-1, images.shape[3]).mean(axis=0) for each in images]
    middle = np.reshape(means, (len(images), 1, 1, images.shape[3]))
    return (images - middle) * share + middle


def saturate(images: Floats, draws: Draws, setting: tuple[float, float]) -> Floats:
    """Change the saturation by a factor and an offset; gray pictures have none and stay as they are."""
    factor, more = setting
    if images.shape[3] == 1:
        return images
    value = images.max(axis=3, keepdims=True)
    color = value - images.min(axis=3, keepdims=True)
    gray, black = color == 0, value == 0
    before = color / np.where(black, 1, value)
    after = np.clip(before * factor + more, 0, 1)
    # Gray pixels have hue 0, which is red.
    reddish = value * (1 - after * np.array([0.0, 1.0, 1.0]))
    tinted = value - (value - images) * (after / np.where(gray, 1, before))
    return np.asarray(np.where(gray, reddish, tinted))


def elastic_transform(images: Floats, draws: Draws, setting: tuple[float, float, float]) -> Floats:
    """Stretch like rubber: an affine map, then waves.

    The setting is the height and the width of the waves and the move of three corners, all as shares of
    the shorter side.
    """
    height, width = images.shape[1:3]
    waves, sigma, corners = (each * min(height, width) for each in setting)
    moved = affine(images, draws.uniform(-1, 1, (3, 2)) * corners) if corners else images
    if not waves:
        return moved
    right, down = draws.uniform(-1, 1, (2, height, width)).transpose(1, 0, 2, 3)
    right, down = (waves * soften(each, sigma, 3.0, "reflect") for each in (right, down))
    return displace(moved, down, right)


def pixelate(images: Floats, draws: Draws, share: float) -> Floats:
    """Shrink both sides to a share, and enlarge again without smoothing."""
    box = pillow().Resampling.BOX

    def coarse(picture: Any) -> Any:
        small = tuple(max(1, int(side * share)) for side in picture.size)
        return picture.resize(small, box).resize(picture.size, box)

    return _each(images, coarse)


def jpeg_compression(images: Floats, draws: Draws, quality: int) -> Floats:
    """Save as JPEG of a quality from 1 to 95, and read it again."""

    def again(picture: Any) -> Any:
        file = io.BytesIO()
        picture.save(file, "JPEG", quality=quality)
        return pillow().open(file)

    return _each(images, again)


def _each(images: Floats, change: Callable[[Any], Any]) -> Floats:
    """Return what becomes of every picture as one of Pillow's."""
    image = pillow()
    pixels = np.rint(images * 255).astype(np.uint8)
    changed = np.empty_like(pixels)
    for at, each in enumerate(pixels):
        picture = image.fromarray(each if each.shape[2] == 3 else each[..., 0])
        changed[at] = np.asarray(change(picture)).reshape(each.shape)
    return changed / 255.0
