"""Outlines instead of filled strokes: the edge detector of Canny (1986)."""

from __future__ import annotations

import numpy as np

from .draws import Draws, Floats
from .filters import Marks, linked
from .needed import scipy

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
