"""Kinds that MNIST-C makes in another way than the suites of natural pictures do."""

from __future__ import annotations

import numpy as np

from . import liquid
from .draws import Draws, Floats
from .filters import soften

WIDER = 8
"""The clouds that a picture is cut from are so many times as wide as the picture."""


def glass_blur(images: Floats, draws: Draws, setting: tuple[float, int, int]) -> Floats:
    """Look through frosted glass: smooth, let every other pixel change places with a near one, smooth again.

    The setting is the deviation of the smoothing, the reach of a change and the rounds.
    """
    sigma, reach, rounds = setting
    count, height, width, channels = images.shape
    rows, columns = np.arange(height - reach, reach, -1), np.arange(width - reach, reach, -1)
    pixels = (rows[:, None] * width + columns).ravel()
    chosen = draws.integers(0, 2, (rounds, len(pixels)))
    jumps = draws.integers(-reach, reach, (rounds, 2, len(pixels)))
    near = pixels + chosen * (jumps[:, :, 0] * width + jumps[:, :, 1])
    # Pixels come first and pictures last: one step changes the same pixel of all pictures.
    source = np.repeat(np.arange(height * width)[:, None], count, axis=1)
    each = np.arange(count)
    for targets in near.transpose(1, 2, 0):
        for pixel, target in zip(pixels.tolist(), targets, strict=True):
            kept = source[pixel].copy()
            source[pixel] = source[target, each]
            source[target, each] = kept
    smooth = soften(images, sigma).reshape(count, height * width, channels)
    scattered = np.take_along_axis(smooth, source.T[..., None], axis=1)
    return soften(scattered.reshape(images.shape), sigma)


def spatter(images: Floats, draws: Draws, setting: tuple[float, float, float, float, float, str]) -> Floats:
    """Spatter mud as `liquid.spatter` does; on grey pictures it is as bright as its red part in colour."""
    if images.shape[3] == 3:
        return liquid.spatter(images, draws, setting)
    return liquid.spatter(np.repeat(images, 3, axis=3), draws, setting)[..., :1]


def fog(images: Floats, draws: Draws, setting: tuple[float, float]) -> Floats:
    """Add a small part of wide clouds; the setting is their thickness and how quickly small parts fade."""
    thickness, decay = setting
    height, width = images.shape[1:3]
    brightest = images.max(axis=(1, 2, 3), keepdims=True)
    clouds = _clouds(draws, max(height, width), decay)
    foggy = images + thickness * clouds[:, :height, :width, None]
    return np.asarray(foggy * brightest / (brightest + thickness))


def _clouds(draws: Draws, side: int, decay: float) -> Floats:
    """Return a part (n, s, s), s at least `side`, of heights from 0 to 1 that are `WIDER` times as wide."""
    size = max(WIDER, 1 << (side - 1).bit_length())
    heights, strength = np.zeros((len(draws), 1, 1)), 1.0
    while heights.shape[1] < size:
        heights = _finer(heights, draws, strength)
        strength /= decay**2
    low, high = (limit(axis=(1, 2), keepdims=True) for limit in (heights.min, heights.max))
    # What follows is finer than a picture: only the part that is shown, and a rim, are worked out.
    heights = heights[:, : 2 * size // WIDER, : 2 * size // WIDER]
    for _ in range(WIDER.bit_length() - 1):
        heights = _finer(heights, draws, strength)
        strength /= decay**2
    middle = slice(size // 2, size // 2 + size)
    return np.asarray(np.clip((heights[:, middle, middle] - low) / (high - low), 0, 1))


def _finer(heights: Floats, draws: Draws, strength: float) -> Floats:
    """Return heights (n, 2 k, 2 k): new ones are the mean of their neighbours and a chance."""
    count, side, _ = heights.shape
    chance = strength * draws.uniform(-1, 1, (3, side, side))
    below, right = np.roll(heights, -1, axis=1), np.roll(heights, -1, axis=2)
    middles = (heights + below + right + np.roll(below, -1, axis=2)) / 4 + chance[:, 0]
    fine = np.empty((count, 2 * side, 2 * side))
    fine[:, ::2, ::2], fine[:, 1::2, 1::2] = heights, middles
    fine[:, ::2, 1::2] = (heights + right + middles + np.roll(middles, 1, axis=1)) / 4 + chance[:, 1]
    fine[:, 1::2, ::2] = (heights + below + middles + np.roll(middles, 1, axis=2)) / 4 + chance[:, 2]
    return fine
