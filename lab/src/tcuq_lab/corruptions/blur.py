"""Blur: every function takes pictures (n, h, w, c) in [0, 1], draws and the setting."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .draws import Draws, Floats
from .filters import convolve, disk, soften, streak
from .geometry import zoom


def gaussian_blur(images: Floats, draws: Draws, sigma: float) -> Floats:
    """Smooth by a normal curve."""
    return soften(images, sigma)


def defocus_blur(images: Floats, draws: Draws, setting: tuple[float, float]) -> Floats:
    """Spread every pixel over a disk; the setting is its radius and the softness of its rim."""
    return convolve(images, disk(*setting))


def glass_blur(images: Floats, draws: Draws, setting: tuple[float, int, int]) -> Floats:
    """Look through frosted glass: smooth, scatter the pixels, smooth again.

    The setting is the deviation of the smoothing, the reach of the scattering and its rounds. A pixel
    takes over the value of a near one, which keeps its own: in the published pictures nothing is swapped.
    """
    sigma, reach, rounds = setting
    height, width = images.shape[1:3]
    jumps = draws.integers(-reach, reach, (rounds, 2, (height - 2 * reach) * (width - 2 * reach)))
    return soften(scatter(soften(images, sigma), reach, jumps), sigma)


def scatter(images: Floats, reach: int, jumps: npt.NDArray[np.int64], swap: bool = False) -> Floats:
    """Let pixels take over the value of a near one, from the lower right to the upper left."""
    count, height, width, channels = images.shape
    rows, columns = np.arange(height - reach, reach, -1), np.arange(width - reach, reach, -1)
    pixels = (rows[:, None] * width + columns).ravel()
    near = pixels + jumps[:, :, 0] * width + jumps[:, :, 1]
    flat = images.reshape(count, height * width, channels)
    scattered = np.empty_like(flat)
    order = pixels.tolist()
    for at in range(count):
        source = list(range(height * width))
        for targets in near[at].tolist():
            # One after the other: a later pixel may take over what an earlier one has got.
            for pixel, target in zip(order, targets, strict=True):
                if swap:
                    source[pixel], source[target] = source[target], source[pixel]
                else:
                    source[pixel] = source[target]
        scattered[at] = flat[at, source]
    return scattered.reshape(images.shape)


def motion_blur(images: Floats, draws: Draws, setting: tuple[int, float]) -> Floats:
    """Smear along an angle of up to 45 degrees; the setting is the radius and the deviation."""
    return streak(images, draws.uniform(-45, 45), *setting)


def zoom_blur(images: Floats, draws: Draws, setting: tuple[float, float]) -> Floats:
    """Move towards the picture while the shutter is open; the setting is the end and step of the zoom."""
    end, step = setting
    return zoom(images, (1.0, *np.arange(1, end, step).tolist()))
