"""Weather: every function takes pictures (n, h, w, c) in [0, 1], draws and the setting."""

from __future__ import annotations

import numpy as np

from .clouds import clouds
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
    side = 1 << (max(height, width) - 1).bit_length()
    return veil(images, clouds(draws.uniform(-1, 1, (side, side)), decay)[:, :height, :width], thickness)


def veil(images: Floats, fog: Floats, thickness: float) -> Floats:
    """Add fog (n, h, w), and let the brightest value of each picture stay as bright as it was."""
    brightest = images.max(axis=(1, 2, 3), keepdims=True)
    return np.asarray((images + thickness * fog[..., None]) * brightest / (brightest + thickness))


def brightness(images: Floats, draws: Draws, more: float) -> Floats:
    """Raise the value of hue, saturation and value."""
    value = images.max(axis=3, keepdims=True)
    brighter = np.minimum(value + more, 1)
    # Black has no hue: it becomes gray.
    return np.asarray(np.where(value > 0, images * (brighter / np.where(value > 0, value, 1)), brighter))
