"""Weather: every function takes pictures (n, h, w, c) in [0, 1], draws and the setting."""

from __future__ import annotations

import numpy as np

from .draws import Draws, Floats
from .filters import luma, streak
from .texture import PANES, pane
from .warp import zoom


def snow(
    images: Floats, draws: Draws, setting: tuple[float, float, float, float, int, float, float]
) -> Floats:
    """Let flakes fall through a paler picture.

    The setting is the mean and deviation of the flakes, their size, the least brightness of one, the
    radius and deviation of their fall, and the share of the picture that does not pale.
    """
    mean, spread, size, least, radius, sigma, kept = setting
    flakes = zoom(mean + spread * draws.normal((*images.shape[1:3], 1)), (size,))
    flakes[flakes < least] = 0
    falling = streak(flakes.clip(0, 1), draws.uniform(-135, -45), radius, sigma)
    pale = kept * images + (1 - kept) * np.maximum(images, 1.5 * luma(images) + 0.5)
    return pale + falling + falling[:, ::-1, ::-1]


def frost(images: Floats, draws: Draws, setting: tuple[float, float, float]) -> Floats:
    """Cover with ice; the setting is the share of the picture, of the ice, and the scale of its crystals."""
    gain, amount, scale = setting
    height, width, channels = images.shape[1:]
    chosen = draws.integers(0, PANES)
    corner = draws.uniform(0, 1, (2,))
    iced = np.empty_like(images)
    for at, (which, (down, right)) in enumerate(zip(chosen.tolist(), corner.tolist(), strict=True)):
        ice = pane(which, scale)
        side = len(ice)
        rows, columns = int(down * side) + np.arange(height), int(right * side) + np.arange(width)
        cut = ice[rows[:, None] % side, columns % side]
        iced[at] = gain * images[at] + amount * (luma(cut) if channels == 1 else cut)
    return iced


def fog(images: Floats, draws: Draws, setting: tuple[float, float]) -> Floats:
    """Add clouds; the setting is their thickness and how quickly their small parts fade."""
    thickness, decay = setting
    height, width = images.shape[1:3]
    brightest = images.max(axis=(1, 2, 3), keepdims=True)
    foggy = images + thickness * _clouds(draws, max(height, width), decay)[:, :height, :width, None]
    return np.asarray(foggy * brightest / (brightest + thickness))


def brightness(images: Floats, draws: Draws, more: float) -> Floats:
    """Raise the value of hue, saturation and value."""
    value = images.max(axis=3, keepdims=True)
    brighter = np.minimum(value + more, 1)
    # Black has no hue: it becomes grey.
    return np.asarray(np.where(value > 0, images * (brighter / np.where(value > 0, value, 1)), brighter))


def _clouds(draws: Draws, side: int, decay: float) -> Floats:
    """Return random heights (n, 2**k, 2**k) from 0 to 1 that repeat at their borders.

    Midpoints of ever smaller squares get the mean of their neighbours and a chance that fades.
    """
    size = 1 << (side - 1).bit_length()
    chance = draws.uniform(-1, 1, (size, size))
    heights = np.zeros_like(chance)
    step, strength = size, 100.0
    while step >= 2:
        half = step // 2
        # Strength counts twice, as in the published fog: as a factor and as the range of the chance.
        push = strength**2
        corners = heights[:, ::step, ::step]
        pairs = corners + np.roll(corners, -1, axis=1)
        middles = (pairs + np.roll(pairs, -1, axis=2)) / 4 + push * chance[:, half::step, half::step]
        heights[:, half::step, half::step] = middles
        across = corners + np.roll(corners, -1, axis=2) + middles + np.roll(middles, 1, axis=1)
        heights[:, ::step, half::step] = across / 4 + push * chance[:, ::step, half::step]
        down = corners + np.roll(corners, -1, axis=1) + middles + np.roll(middles, 1, axis=2)
        heights[:, half::step, ::step] = down / 4 + push * chance[:, half::step, ::step]
        step, strength = half, strength / decay
    heights -= heights.min(axis=(1, 2), keepdims=True)
    return np.asarray(heights / heights.max(axis=(1, 2), keepdims=True))
