"""Lines, stripes and edges of drawn digits, as MNIST-C has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .draws import Draws, Floats, scipy
from .filters import Marks, linked


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


EQUAL = 1e-9
"""Slopes that differ by less are equal: rounding must not choose between the two sides of an edge."""


def canny_edges(images: Floats, draws: Draws, setting: tuple[float, float, float]) -> Floats:
    """Keep white edges on black alone; blur in pixels, and the weak and the strong slope of an edge."""
    blur, weak, strong = setting
    edges = canny(images.mean(axis=3), blur, weak, strong)
    return np.repeat(edges[..., None].astype(np.float64), images.shape[3], axis=3)


def canny(pictures: Floats, blur: float, weak: float, strong: float) -> Marks:
    """Return where the edges of pictures are.

    Examples
    --------
    >>> square = np.zeros((1, 14, 14))
    >>> square[0, 4:10, 4:10] = 1
    >>> canny(square, 0.5, 0.1, 0.2)[0, 7].astype(int).tolist()
    [0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]
    """
    ndimage = scipy("ndimage")
    smooth = ndimage.gaussian_filter(pictures, (0, blur, blur), mode="constant")
    # Black beyond the edge must not look like a slope: divide by what the blur takes from a white picture.
    smooth /= ndimage.gaussian_filter(np.ones(pictures.shape[1:]), blur, mode="constant")
    # A Sobel filter in each picture; that of scipy would also blur from one picture into the next.
    across, down = (
        ndimage.correlate1d(ndimage.correlate1d(smooth, (-1, 0, 1), axis), (1, 2, 1), 3 - axis)
        for axis in (2, 1)
    )
    slope = np.hypot(across, down)
    ridge = _ridge(slope, across, down)
    return linked(ridge & (slope >= weak), slope >= strong)


def _ridge(slope: Floats, across: Floats, down: Floats) -> Marks:
    """Tell where a slope is not below those a step uphill and a step downhill, between pixels."""
    flat = np.abs(across) >= np.abs(down)
    large = np.where(flat, np.abs(across), np.abs(down))
    small = np.where(flat, np.abs(down), np.abs(across))
    part = np.divide(small, large, out=np.zeros_like(slope), where=large > 0)
    same = (across >= 0) == (down >= 0)
    framed = np.pad(slope, ((0, 0), (1, 1), (1, 1)))

    def beside(dy: int, dx: int) -> Floats:
        height, width = slope.shape[1:]
        return framed[:, 1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width]

    ridge = np.ones(slope.shape, dtype=bool)
    for way in (1, -1):
        straight = np.where(flat, beside(0, way), beside(way, 0))
        turned = np.where(flat, beside(-way, way), beside(way, -way))
        corner = np.where(same, beside(way, way), turned)
        ridge &= straight * (1 - part) + corner * part <= slope + EQUAL
    ridge[:, [0, -1]] = False
    ridge[:, :, [0, -1]] = False
    return ridge
