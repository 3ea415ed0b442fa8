"""Panes of ice, drawn from a fixed seed: ferns of needles on a cloudy ground."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .draws import Floats
from .needed import scipy

SIDE = 512
"""Pixels after which a pane repeats itself."""
SEED = 20_190_504


class Ice(NamedTuple):
    """What a pane looks like."""

    color: tuple[float, float, float]  # the mean
    contrast: float  # standard deviation of the brightness, as a share of the color
    nuclei: int  # points from which ferns grow
    length: float  # of a stem, in pixels


ICES = (
    Ice((0.79, 0.81, 0.85), 0.11, 150, 70.0),
    Ice((0.62, 0.67, 0.72), 0.19, 60, 90.0),
    Ice((0.45, 0.50, 0.55), 0.34, 90, 60.0),
    Ice((0.42, 0.64, 0.69), 0.16, 40, 110.0),
)
PANES = len(ICES)


@lru_cache(maxsize=2 * PANES)
def pane(number: int, scale: float) -> Floats:
    """Return a pane (side, side, 3) in [0, 1] that fits to itself at opposite borders.

    Examples
    --------
    >>> pane(0, 0.25).shape
    (128, 128, 3)
    """
    ice = _full(number)
    at = np.arange(round(SIDE * scale)) * (SIDE / round(SIDE * scale))
    low = at.astype(int)
    share = (at - low)[:, None]
    rows = ice[low] * (1 - share[..., None]) + ice[(low + 1) % SIDE] * share[..., None]
    small = rows[:, low] * (1 - share) + rows[:, (low + 1) % SIDE] * share
    # Whole steps of a picture file, so that the last bits of a library do not show.
    return np.asarray(np.rint(small * 255) / 255)


@lru_cache(maxsize=PANES)
def _full(number: int) -> Floats:
    blurred = scipy("ndimage").gaussian_filter
    ice = ICES[number]
    rng = np.random.default_rng([SEED, number])
    needles = 1 - np.exp(-0.4 * _ferns(rng, ice.nuclei, ice.length))
    ground = _standard(blurred(rng.standard_normal((SIDE, SIDE)), SIDE / 12, mode="wrap"))
    grain = _standard(blurred(rng.standard_normal((SIDE, SIDE)), 1.0, mode="wrap"))
    # Light from one side gives the needles a dark flank.
    flank = needles - np.roll(needles, (2, 2), axis=(0, 1))
    tone = _standard(_standard(needles) + 0.6 * _standard(flank) + 0.7 * ground + 0.25 * grain)
    return np.clip(np.array(ice.color) * (1 + ice.contrast * tone[..., None]), 0, 1)


def _standard(x: Floats) -> Floats:
    return np.asarray((x - x.mean()) / x.std())


def _ferns(rng: np.random.Generator, nuclei: int, length: float) -> Floats:
    """Return how many needles lie on each pixel: stems in fans, twigs on both sides, needles on those."""
    fan = rng.integers(3, 7, nuclei)
    count = int(fan.sum())
    start = np.repeat(rng.uniform(0, SIDE, (nuclei, 2)), fan, axis=0)
    angle = np.repeat(rng.uniform(0, 2 * np.pi, nuclei), fan) + rng.normal(0, 0.55, count)
    reach = length * rng.uniform(0.4, 1.2, count)
    ice = 2.0 * _lines(start, angle, reach)
    for children, share in ((26, 0.34), (10, 0.3)):
        along = rng.uniform(0.05, 1, (len(start), children))
        way = np.stack([np.sin(angle), np.cos(angle)], axis=1)[:, None]
        side = np.where(np.arange(children) % 2, 1, -1) * rng.normal(np.pi / 3, 0.12, along.shape)
        taper = share * (1.15 - along) * rng.uniform(0.5, 1.1, along.shape)
        start = (start[:, None] + along[..., None] * reach[:, None, None] * way).reshape(-1, 2)
        angle, reach = (angle[:, None] + side).ravel(), (reach[:, None] * taper).ravel()
        ice += _lines(start, angle, reach)
    return np.asarray(scipy("ndimage").gaussian_filter(ice, 0.6, mode="wrap"))


def _lines(start: Floats, angle: Floats, reach: Floats) -> Floats:
    """Count the points, one a pixel, of lines that leave on one side and come back on the other."""
    steps = np.arange(int(reach.max()) + 1)
    line, step = np.nonzero(steps <= reach[:, None])
    rows = np.rint(start[line, 0] + step * np.sin(angle[line])).astype(int) % SIDE
    columns = np.rint(start[line, 1] + step * np.cos(angle[line])).astype(int) % SIDE
    return np.bincount(rows * SIDE + columns, minlength=SIDE * SIDE).reshape(SIDE, SIDE).astype(np.float64)
