"""Lines and stripes over drawn digits, as MNIST-C has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .draws import Draws, Floats


def identity(images: Floats, draws: Draws, setting: Any) -> Floats:
    """Leave the pictures as they are."""
    return images


def stripe(images: Floats, draws: Draws, setting: float) -> Floats:
    """Turn bright to dark and back in a share of the picture, at its left and at its right edge."""
    columns = np.arange(images.shape[2])
    edge = int(setting * images.shape[2])
    outer = (columns < edge) | (columns >= images.shape[2] - edge)
    return np.where(outer[:, None], 1 - images, images)


def dotted_line(images: Floats, draws: Draws, setting: tuple[int, float]) -> Floats:
    """Draw a dashed line from the left edge to the right one; dash and reach of the pen in pixels."""
    dash, reach = setting
    _, height, width, _ = images.shape
    ends = draws.integers(0, max(1, height - 1), (2,)).astype(np.float64)
    zero = np.zeros(len(images))
    ink = _line(height, width, reach, (zero, ends[:, 0]), (zero + width - 1, ends[:, 1]))
    ink *= np.arange(width) // dash % 2
    return images + ink[..., None]


def zigzag(images: Floats, draws: Draws, setting: tuple[float, float, int, int, float]) -> Floats:
    """Draw a zigzag across the picture, level or at a slant.

    The setting is half of the length of a tooth, its height, how far from the edges the line begins and
    ends, how much it may rise on the way, and the reach of the pen, all in pixels.
    """
    tooth, high, margin, rise, reach = setting
    _, height, width, _ = images.shape
    begin, run = min(margin, width // 2), max(1, width - 1 - 2 * margin)
    start = draws.integers(0, max(1, height - 1)).astype(np.float64)
    slant = np.arctan(draws.integers(-rise, rise) / run)
    length = run / np.cos(slant)
    # Corners along the line; those beyond its end fall on the end, where a segment without length draws none.
    most = int(np.hypot(run, rise) / (2 * tooth)) + 2
    at = np.minimum(np.r_[0, tooth * (2 * np.arange(most) + 1)], length[:, None])
    off = high * (1 - np.abs((at / tooth + 1) % 4 - 2))
    cos, sin = np.cos(slant)[:, None], np.sin(slant)[:, None]
    columns, rows = begin + at * cos - off * sin, start[:, None] + at * sin + off * cos
    drawn = images
    for one in range(most):
        ends = ((columns[:, each], rows[:, each]) for each in (one, one + 1))
        drawn = np.minimum(drawn + _line(height, width, reach, *ends)[..., None], 1)
    return drawn


def _line(
    height: int, width: int, reach: float, begin: tuple[Floats, Floats], end: tuple[Floats, Floats]
) -> Floats:
    """Return lines (n, height, width) between places (column, row), as dark as 1 + log(1 - distance / reach).

    The distance is that along the column, so that steep lines are thin ones.
    """
    run = end[0] - begin[0]
    slope = np.divide(end[1] - begin[1], run, out=np.zeros_like(run), where=run > 0)[:, None]
    columns = np.arange(width)
    rows = slope * (columns - begin[0][:, None]) + begin[1][:, None]
    distance = np.abs(np.arange(height)[:, None] - rows[:, None, :])
    beyond = reach * (1 - np.exp(-1.0))  # where the ink ends
    ink = 1 + np.log1p(-np.minimum(distance, beyond) / reach)
    inside = (columns >= np.floor(begin[0])[:, None]) & (columns < np.ceil(end[0])[:, None])
    ink = np.maximum(ink, 0) * (inside & (run > 0)[:, None])[:, None, :]
    return np.asarray(ink)
