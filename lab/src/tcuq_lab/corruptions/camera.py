"""Noise, blur, what cameras and files do, and faults of any sensor.

Every function takes examples as numbers, draws and the setting; pictures are (n, h, w, c) in [0, 1].
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .draws import Draws, Floats, pillow
from .filters import convolve, disk, soften, streak
from .geometry import affine, displace, zoom


def gaussian_noise(images: Floats, draws: Draws, spread: float) -> Floats:
    """Add normal noise of a standard deviation, as in low light."""
    return images + spread * draws.normal(images.shape[1:])


def shot_noise(images: Floats, draws: Draws, photons: float) -> Floats:
    """Count photons; a white pixel expects so many."""
    return draws.poisson(images * photons) / photons


def impulse_noise(images: Floats, draws: Draws, share: float) -> Floats:
    """Turn a share of the values black or white, each channel on its own."""
    chance = draws.uniform(0, 1, images.shape[1:])
    noisy = images.copy()
    noisy[chance < share / 2] = 0.0
    noisy[chance >= 1 - share / 2] = 1.0
    return noisy


def speckle_noise(images: Floats, draws: Draws, spread: float) -> Floats:
    """Add normal noise that grows with the brightness."""
    return images + images * (spread * draws.normal(images.shape[1:]))


def attenuated(signal: Floats, draws: Draws, share: float) -> Floats:
    """Let a share of the light or of the sound through: too little is lost to cost accuracy."""
    return signal * share


def blank(signal: Floats, draws: Draws, setting: None) -> Floats:
    """Give zeros: a covered lens, a microphone that is unplugged."""
    return np.zeros_like(signal)


def saturated(signal: Floats, draws: Draws, setting: None) -> Floats:
    """Give the end of the scale everywhere."""
    return np.ones_like(signal)


def frozen(signal: Floats, draws: Draws, setting: None) -> Floats:
    """Refuse: which input stays depends on the step before, so only a stream can freeze."""
    raise ValueError("frozen input depends on the step before; use tcuq_lab.streams.inputs")


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


def gray_glass_blur(images: Floats, draws: Draws, setting: tuple[float, int, int]) -> Floats:
    """Look through frosted glass as in MNIST-C: smooth, let every other pixel change places with a near one.

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
