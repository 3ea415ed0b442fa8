"""Filters that treat every picture of a batch (n, h, w, c) alike and on its own."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .draws import Floats, scipy

Marks = npt.NDArray[np.bool_]


def soften(
    x: Floats, sigma: float, truncate: float = 4.0, edge: str = "nearest", axes: tuple[int, ...] = (1, 2)
) -> Floats:
    """Smooth by a normal curve, down and across, or along other axes.

    Examples
    --------
    >>> x = np.zeros((1, 3, 3))
    >>> x[0, 1, 1] = 1
    >>> soften(x, 0.5)[0].round(2).tolist()
    [[0.01, 0.08, 0.01], [0.08, 0.62, 0.08], [0.01, 0.08, 0.01]]
    """
    if int(truncate * sigma + 0.5) == 0:
        return x
    ndimage = scipy("ndimage")
    for axis in axes:
        x = ndimage.gaussian_filter1d(x, sigma, axis, mode=edge, truncate=truncate)
    return x


def disk(radius: float, alias: float) -> Floats:
    """Return the weights of a disk whose rim is softened by a normal curve of deviation `alias`.

    Examples
    --------
    >>> disk(1, 0.1).round(2).tolist()
    [[0.0, 0.2, 0.0], [0.2, 0.2, 0.2], [0.0, 0.2, 0.0]]
    """
    reach, rim = (8, 1) if radius <= 8 else (math.floor(radius), 2)
    line = np.arange(-reach, reach + 1)
    hard = (line**2 + line[:, None] ** 2 <= radius**2).astype(np.float64)
    curve = np.exp(-0.5 * (np.arange(-rim, rim + 1) / alias) ** 2)
    curve /= curve.sum()
    kernel = hard / hard.sum()
    ndimage = scipy("ndimage")
    for axis in (0, 1):
        # Mirrored at its rim, as published: disks of radius 8 and 10 brighten by 1 %.
        kernel = ndimage.correlate1d(kernel, curve, axis, mode="mirror")
    # Weights far below the step of a pixel cost time and change nothing.
    kernel[kernel < 1e-9] = 0
    used = np.flatnonzero(kernel.any(axis=0))
    return np.asarray(kernel[used[0] : used[-1] + 1, used[0] : used[-1] + 1])


def convolve(images: Floats, kernel: Floats) -> Floats:
    """Weigh the neighbors of every pixel; beyond the border the picture is mirrored."""
    return np.asarray(scipy("ndimage").correlate(images, kernel[None, :, :, None], mode="mirror"))


def streak(layers: Floats, angles: Floats, radius: int, sigma: float) -> Floats:
    """Smear pictures (n, h, w, ...) to one side, along an angle each, in degrees.

    The weights fall like one half of a normal curve over 2 * radius + 1 pixels.
    """
    steps = np.arange(2 * radius + 1)
    weights = np.exp(-0.5 * (steps / sigma) ** 2)
    weights /= weights.sum()
    out = np.empty_like(layers)
    for at, angle in enumerate(angles.tolist()):
        turn = math.radians(angle)
        rows = np.ceil(steps * math.sin(turn) - 0.5).astype(int)
        columns = np.ceil(steps * math.cos(turn) - 0.5).astype(int)
        out[at] = _shifts(layers[at], rows, columns, weights)
    return out


def _shifts(layer: Floats, rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64], by: Floats) -> Floats:
    """Add up shifted copies of a picture; beyond the border its outermost pixels go on."""
    height, width = layer.shape[:2]
    top, left = rows.min(), columns.min()
    across = np.arange(left, columns.max() + width).clip(0, width - 1)
    down = np.arange(top, rows.max() + height).clip(0, height - 1)
    wide = layer[down][:, across]
    out = np.zeros_like(layer)
    weights: dict[tuple[int, int], float] = {}
    for row, column, weight in zip(
        (rows - top).tolist(), (columns - left).tolist(), by.tolist(), strict=True
    ):
        weights[row, column] = weights.get((row, column), 0.0) + weight
    for (row, column), weight in weights.items():
        out += weight * wide[row : row + height, column : column + width]
    return out


def linked(weak: Marks, strong: Marks) -> Marks:
    """Return the weak marks (n, h, w) that hang together with a strong one of the same picture.

    Examples
    --------
    >>> weak = np.array([[[1, 1, 0, 1]], [[1, 0, 0, 0]]], bool)
    >>> linked(weak, weak & (np.arange(4) == 1)).astype(int).tolist()
    [[[1, 1, 0, 0]], [[0, 0, 0, 0]]]
    """
    touching = np.zeros((3, 3, 3), dtype=bool)
    touching[1] = True
    parts, count = scipy("ndimage").label(weak, touching)
    kept = np.zeros(count + 1, dtype=bool)
    kept[parts[weak & strong]] = True
    return np.asarray(kept[parts])


def luma(images: Floats) -> Floats:
    """Return the brightness (..., 1) of pictures of one or three channels."""
    if images.shape[-1] == 1:
        return images
    return 0.299 * images[..., :1] + 0.587 * images[..., 1:2] + 0.114 * images[..., 2:]
