"""Pictures seen from elsewhere: shear, scale, rotate, translate, zoom, and maps from pixel to pixel."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .draws import Draws, Floats, scipy

Ints = npt.NDArray[np.int64]
Row = tuple[Floats | float, Floats | float]
SMALL = 64 * 64
"""Pixels of a picture up to which a whole zoom is kept as one map, of some 2 MB; quick, but quadratic."""


def zoom(images: Floats, factors: tuple[float, ...]) -> Floats:
    """Return the mean of pictures that are enlarged about their center by each of the factors."""
    count, height, width, channels = images.shape
    if height * width > SMALL:
        return _by_lines(images, factors)
    # Sparse rows are added up in a fixed order, which BLAS would not promise for every batch size.
    columns = np.ascontiguousarray(images.reshape(count, height * width, channels).transpose(1, 0, 2))
    seen = _zooms(height, width, factors) @ columns.reshape(height * width, -1)
    return np.ascontiguousarray(seen.reshape(height * width, count, channels).transpose(1, 0, 2)).reshape(
        images.shape
    )


def _by_lines(images: Floats, factors: tuple[float, ...]) -> Floats:
    """Return what `zoom` does, without a map of all pixels: rows and columns are stretched in turn."""
    total = np.zeros_like(images)
    for factor in factors:
        seen = images
        for axis in (1, 2):
            before, after, share = _zoom_line(images.shape[axis], factor)
            share = share.reshape(-1, *(1,) * (3 - axis))
            seen = np.take(seen, before, axis) * (1 - share) + np.take(seen, after, axis) * share
        total += seen
    return total / len(factors)


@lru_cache(maxsize=16)
def _zooms(height: int, width: int, factors: tuple[float, ...]) -> Any:
    """Return the linear map of `zoom` for small pictures of one size."""
    sparse = scipy("sparse")

    def line(size: int, factor: float) -> Any:
        before, after, share = _zoom_line(size, factor)
        rows = np.tile(np.arange(size), 2)
        columns = np.concatenate([before, after])
        return sparse.csr_matrix((np.concatenate([1 - share, share]), (rows, columns)), shape=(size, size))

    total = sparse.csr_matrix((height * width, height * width))
    for factor in factors:
        total = total + sparse.kron(line(height, factor), line(width, factor), format="csr")
    return (total / len(factors)).tocsr()


def _zoom_line(size: int, factor: float) -> tuple[Ints, Ints, Floats]:
    """Return how a line is enlarged: its middle is cut out, stretched and trimmed.

    Each new pixel lies between two old ones; the third is the share of the second of them.
    """
    cut = math.ceil(size / factor)
    stretched = max(round(cut * factor), size)
    places = np.arange(size) + (stretched - size) // 2
    at = places * ((cut - 1) / max(stretched - 1, 1))
    low = np.minimum(np.floor(at).astype(np.int64), max(cut - 2, 0))
    first = (size - cut) // 2
    return low + first, np.minimum(low + 1, cut - 1) + first, at - low


def affine(images: Floats, moves: Floats) -> Floats:
    """Move three corners of a square about the center, and everything else with them."""
    height, width = images.shape[1:3]
    half = min(height, width) // 3
    center = np.array([width // 2, height // 2])
    corners = center + half * np.array([[1, 1], [1, -1], [-1, -1]])
    goals = corners + moves
    across = (goals[:, 1] - goals[:, 2]) / (2 * half)
    down = (goals[:, 0] - goals[:, 1]) / (2 * half)
    area = across[:, 0] * down[:, 1] - across[:, 1] * down[:, 0]
    x = np.arange(width) - goals[:, 0, 0, None, None]
    y = np.arange(height)[:, None] - goals[:, 0, 1, None, None]
    a, b, c, d = (each[:, None, None] / area[:, None, None] for each in (*across.T, *down.T))
    return sample(images, corners[0, 1] - b * x + a * y, corners[0, 0] + d * x - c * y, "mirror")


def displace(images: Floats, down: Floats, right: Floats) -> Floats:
    """Show at every pixel what lies so many pixels (n, h, w) further down and to the right."""
    height, width = images.shape[1:3]
    return sample(images, np.arange(height)[:, None] + down, np.arange(width) + right, "reflect")


def sample(images: Floats, rows: Floats, columns: Floats, edge: str) -> Floats:
    """Return pictures at places (n, h, w) between their pixels."""
    if edge == "black":
        images = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    count, height, width, channels = images.shape
    top, left = np.floor(rows), np.floor(columns)
    low, near = (rows - top)[..., None], (columns - left)[..., None]
    first = np.arange(count)[:, None, None] * height
    upper = (first + _fold(top, height, edge)) * width
    lower = (first + _fold(top + 1, height, edge)) * width
    before, after = _fold(left, width, edge), _fold(left + 1, width, edge)
    flat = images.reshape(-1, channels)
    above = flat[upper + before] * (1 - near) + flat[upper + after] * near
    below = flat[lower + before] * (1 - near) + flat[lower + after] * near
    return np.asarray(above * (1 - low) + below * low)


def _fold(places: Floats, size: int, edge: str) -> Ints:
    """Return whole places inside of a line for those beyond its ends; "black" lines have a frame of 1.

    Examples
    --------
    >>> _fold(np.arange(-2.0, 5), 3, "mirror").tolist(), _fold(np.arange(-2.0, 5), 3, "reflect").tolist()
    ([2, 1, 0, 1, 2, 1, 0], [1, 0, 0, 1, 2, 2, 1])
    >>> _fold(np.arange(-2.0, 5), 5, "black").tolist()
    [0, 0, 1, 2, 3, 4, 4]
    """
    if edge == "black":
        return (np.clip(places, -1, size - 2) + 1).astype(np.int64)
    last = 2 * size - 2 if edge == "mirror" else 2 * size - 1
    folded = np.mod(places.astype(np.int64), last if edge == "mirror" else last + 1)
    return np.asarray(np.minimum(folded, last - folded))


def shear(images: Floats, draws: Draws, setting: float) -> Floats:
    """Slant the pictures to the left or the right by an angle, in radians."""
    angle = setting * _signs(draws)
    return warp(images, (1, -np.sin(angle)), (0, np.cos(angle)))


def scale(images: Floats, draws: Draws, setting: float) -> Floats:
    """Shrink what is drawn to a share of its size."""
    return warp(images, (1 / setting, 0), (0, 1 / setting))


def rotate(images: Floats, draws: Draws, setting: float) -> Floats:
    """Turn the pictures one way or the other by an angle, in radians."""
    angle = setting * _signs(draws)
    return warp(images, (np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle)))


def translate(images: Floats, draws: Draws, setting: float) -> Floats:
    """Move the pictures by so many pixels along both axes, each one way or the other."""
    return warp(images, (1, 0), (0, 1), (setting * _signs(draws), setting * _signs(draws)))


def warp(images: Floats, across: Row, down: Row, moves: Row = (0.0, 0.0)) -> Floats:
    """Return each picture as seen through a linear map about its center; black comes in from outside.

    Examples
    --------
    >>> picture = np.zeros((1, 3, 3, 1))
    >>> picture[0, 0, 1] = 1
    >>> warp(picture, (0.0, -1.0), (1.0, 0.0))[0, :, :, 0].tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    count, height, width, _ = images.shape
    center = (width - 1) / 2, (height - 1) / 2
    x, y = np.arange(width) - center[0], (np.arange(height) - center[1])[:, None]
    places = []
    for (a, b), move, middle in zip((across, down), moves, center, strict=True):
        a, b, start = (np.broadcast_to(each, count)[:, None, None] for each in (a, b, move + middle))
        places.append(a * x + b * y + start)
    return sample(images, places[1], places[0], "black")


def _signs(draws: Draws) -> Floats:
    return np.where(draws.integers(0, 2) == 1, 1.0, -1.0)
