"""What befalls pictures: each takes (height, width, channels) in [0, 1], a severity in (0, 1] and numbers."""

from __future__ import annotations

import math

import numpy as np

from ..model import Floats

SIDE = 32  # pixels of the shorter side to which lengths below refer; they grow with the picture


def _scale(x: Floats) -> float:
    return float(min(x.shape[:2]) / SIDE)


def noise(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Add normal noise to every value, as in low light."""
    return np.asarray(x + (0.03 + 0.2 * severity) * rng.standard_normal(x.shape))


def blur(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Smooth by a normal curve, as a lens out of focus does."""
    sigma = max(0.4, (0.5 + 1.8 * severity) * _scale(x))
    reach = max(1, math.ceil(3 * sigma))
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    weights /= weights.sum()
    for axis in (0, 1):
        size = x.shape[axis]
        places = np.clip(np.arange(size)[:, None] + np.arange(-reach, reach + 1), 0, size - 1)
        mixing = np.zeros((size, size))
        np.add.at(mixing, (np.arange(size)[:, None], places), weights)
        x = np.moveaxis(np.tensordot(mixing, x, axes=(1, axis)), 0, axis)
    return x


def contrast(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Keep a part of the distance from the mean color, as haze or a fogged lens does."""
    middle = x.mean(axis=(0, 1), keepdims=True)
    return np.asarray(middle + (x - middle) * (0.75 - 0.6 * severity))


def exposure(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Make the picture darker or brighter, at random."""
    left = 0.85 - 0.65 * severity
    return np.asarray(x * left if rng.random() < 0.5 else 1 - (1 - x) * left)


def pixels(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Show blocks of one color each, as a camera of low resolution does."""
    for axis in (0, 1):
        size = x.shape[axis]
        count = min(max(1, round(size * (0.6 - 0.4 * severity))), max(1, size - 1))
        edges = np.arange(count) * size // count
        sums = np.add.reduceat(x, edges, axis=axis)
        lengths = np.diff(np.append(edges, size))
        means = sums / lengths.reshape([-1 if each == axis else 1 for each in range(x.ndim)])
        x = np.repeat(means, lengths, axis=axis)
    return x


def cover(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Hide a part behind a gray rectangle, as dirt on the lens or something in the way does."""
    share = math.sqrt(0.06 + 0.34 * severity)
    height, width = (max(1, round(side * share)) for side in x.shape[:2])
    places = rng.random(2)
    top, left = int(places[0] * (x.shape[0] - height + 1)), int(places[1] * (x.shape[1] - width + 1))
    out = x.copy()
    out[top : top + height, left : left + width] = rng.uniform(0, 1)
    return out


def tilt(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Turn and move the picture, as a camera that was knocked does; its border is repeated."""
    sign, right, down = rng.uniform(-1, 1, 3)
    angle = math.copysign(math.radians(6 + 30 * severity), sign)
    height, width = x.shape[:2]
    rows, columns = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    rows, columns = rows - (height - 1) / 2, columns - (width - 1) / 2
    away = 3 * severity * _scale(x)
    across = math.cos(angle) * columns - math.sin(angle) * rows + (width - 1) / 2 + away * right
    along = math.sin(angle) * columns + math.cos(angle) * rows + (height - 1) / 2 + away * down
    return _between(x, along, across)


def _between(x: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return a picture read between its pixels."""
    rows, columns = np.clip(rows, 0, x.shape[0] - 1), np.clip(columns, 0, x.shape[1] - 1)
    top, left = rows.astype(np.int64), columns.astype(np.int64)
    bottom, right = np.minimum(top + 1, x.shape[0] - 1), np.minimum(left + 1, x.shape[1] - 1)
    down, side = (rows - top)[..., None], (columns - left)[..., None]
    upper = (1 - side) * x[top, left] + side * x[top, right]
    lower = (1 - side) * x[bottom, left] + side * x[bottom, right]
    return np.asarray((1 - down) * upper + down * lower)


def shaken(x: Floats, rng: np.random.Generator) -> Floats:
    """Return what a camera that is not quite still sees next: moved, a little brighter or darker, noisy."""
    # By no pixel where one is a large part of the side: the features would be those of another object.
    reach = [round(side / 16) for side in x.shape[:2]]
    for axis, most in enumerate(reach):
        size = x.shape[axis]
        by = int(rng.integers(-most, most + 1))
        x = np.take(x, np.clip(np.arange(size) + by, 0, size - 1), axis=axis)
    light = rng.uniform(0.93, 1.07)
    return np.asarray(light * x + 4 / 255 * rng.standard_normal(x.shape))


KINDS = (noise, blur, contrast, exposure, pixels, cover, tilt)
