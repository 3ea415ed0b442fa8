"""Pictures (n, h, w, c) seen at other places: zooms, affine maps and free displacements."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .draws import Floats

try:
    from scipy import sparse
except ImportError:
    raise ImportError("scipy is needed to corrupt pictures: pip install 'tcuq[vision]'") from None


def zoom(images: Floats, factors: tuple[float, ...]) -> Floats:
    """Return the mean of pictures that are enlarged about their centre by each of the factors."""
    count, height, width, channels = images.shape
    # Sparse rows are added up in a fixed order, which BLAS would not promise for every batch size.
    columns = np.ascontiguousarray(images.reshape(count, height * width, channels).transpose(1, 0, 2))
    seen = _zooms(height, width, factors) @ columns.reshape(height * width, -1)
    return np.ascontiguousarray(seen.reshape(height * width, count, channels).transpose(1, 0, 2)).reshape(
        images.shape
    )


@lru_cache(maxsize=16)
def _zooms(height: int, width: int, factors: tuple[float, ...]) -> Any:
    """Return the linear map of `zoom` for pictures of one size."""
    total = sparse.csr_matrix((height * width, height * width))
    for factor in factors:
        total = total + sparse.kron(_zoom_line(height, factor), _zoom_line(width, factor), format="csr")
    return (total / len(factors)).tocsr()


def _zoom_line(size: int, factor: float) -> Any:
    """Return the map (size, size) that enlarges a line: its middle is cut out, stretched and trimmed."""
    cut = math.ceil(size / factor)
    stretched = max(round(cut * factor), size)
    places = np.arange(size) + (stretched - size) // 2
    at = places * ((cut - 1) / max(stretched - 1, 1))
    low = np.minimum(np.floor(at).astype(int), max(cut - 2, 0))
    share = at - low
    first = (size - cut) // 2
    rows = np.concatenate([np.arange(size), np.arange(size)])
    columns = np.concatenate([low, np.minimum(low + 1, cut - 1)]) + first
    return sparse.csr_matrix((np.concatenate([1 - share, share]), (rows, columns)), shape=(size, size))


def affine(images: Floats, moves: Floats) -> Floats:
    """Move three corners of a square about the centre, and everything else with them.

    Parameters
    ----------
    images : array (n, h, w, c)
    moves : array (n, 3, 2)
        How far each corner goes to the right and down, in pixels.
    """
    height, width = images.shape[1:3]
    half = min(height, width) // 3
    centre = np.array([width // 2, height // 2])
    corners = centre + half * np.array([[1, 1], [1, -1], [-1, -1]])
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
    """Return pictures at places (n, h, w) between their pixels.

    Parameters
    ----------
    images : array (n, h, w, c)
    rows, columns : arrays (n, h, w)
    edge : str
        Beyond the border: "mirror" repeats all but the outermost pixels, "reflect" those as well.
    """
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


def _fold(places: Floats, size: int, edge: str) -> npt.NDArray[np.int64]:
    """Return whole places inside of a line for those beyond its ends.

    Examples
    --------
    >>> _fold(np.arange(-2.0, 5), 3, "mirror").tolist(), _fold(np.arange(-2.0, 5), 3, "reflect").tolist()
    ([2, 1, 0, 1, 2, 1, 0], [1, 0, 0, 1, 2, 2, 1])
    """
    last = 2 * size - 2 if edge == "mirror" else 2 * size - 1
    folded = np.mod(places.astype(np.int64), last if edge == "mirror" else last + 1)
    return np.asarray(np.minimum(folded, last - folded))
