"""Moves of the whole picture about its center: shear, scale, rotate, translate."""

from __future__ import annotations

import numpy as np

from .draws import Draws, Floats
from .warp import sample


def shear(images: Floats, draws: Draws, setting: float) -> Floats:
    """Slant the pictures to the left or the right by an angle, in radians."""
    angle = setting * _signs(draws)
    zero = np.zeros_like(angle)
    return warp(images, _matrices(zero + 1, -np.sin(angle), zero, np.cos(angle)))


def scale(images: Floats, draws: Draws, setting: float) -> Floats:
    """Shrink what is drawn to a share of its size."""
    share = np.full(len(images), 1 / setting)
    return warp(images, _matrices(share, 0 * share, 0 * share, share))


def rotate(images: Floats, draws: Draws, setting: float) -> Floats:
    """Turn the pictures one way or the other by an angle, in radians."""
    angle = setting * _signs(draws)
    return warp(images, _matrices(np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)))


def translate(images: Floats, draws: Draws, setting: float) -> Floats:
    """Move the pictures by so many pixels along both axes, each one way or the other."""
    ones = np.ones(len(images))
    moves = setting * np.stack([_signs(draws), _signs(draws)], axis=1)
    return warp(images, _matrices(ones, 0 * ones, 0 * ones, ones), moves)


def warp(images: Floats, matrices: Floats, moves: Floats | None = None) -> Floats:
    """Return each picture as seen through a linear map about its center; black comes in from outside.

    Examples
    --------
    >>> picture = np.zeros((1, 3, 3, 1))
    >>> picture[0, 0, 1] = 1
    >>> quarter = np.array([[[0.0, -1.0], [1.0, 0.0]]])
    >>> warp(picture, quarter)[0, :, :, 0].tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    _, height, width, _ = images.shape
    center = (width - 1) / 2, (height - 1) / 2
    x, y = np.arange(width) - center[0], (np.arange(height) - center[1])[:, None]
    added = np.zeros((len(images), 2)) if moves is None else moves
    across, down = (
        matrices[:, row, 0, None, None] * x
        + matrices[:, row, 1, None, None] * y
        + (added[:, row] + center[row])[:, None, None]
        for row in (0, 1)
    )
    return sample(images, down, across, "black")


def _signs(draws: Draws) -> Floats:
    return np.where(draws.integers(0, 2) == 1, 1.0, -1.0)


def _matrices(xx: Floats, xy: Floats, yx: Floats, yy: Floats) -> Floats:
    return np.stack([xx, xy, yx, yy], axis=1).reshape(-1, 2, 2)
