"""Weather over a scene: snow, frost, fog, brightness, and drops on the lens."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .draws import Draws, Floats, scipy
from .filters import linked, luma, soften, streak
from .geometry import zoom


def clouds(chance: Floats, decay: float) -> Floats:
    """Return heights from 0 to 1; midpoints of ever smaller squares get the mean of their neighbors.

    Examples
    --------
    >>> clouds(np.array([[[0.0, 0.5], [-0.5, 1.0]]]), 2.0).round(2).tolist()
    [[[0.0, 1.0], [0.0, 1.0]]]
    """
    heights = np.zeros_like(chance)
    step, strength = chance.shape[1], 100.0
    while step >= 2:
        half = step // 2
        # Strength counts twice, as in the published fog: as a factor and as the range of the chance.
        push = strength**2
        corners = heights[:, ::step, ::step]
        pairs = corners + np.roll(corners, -1, axis=1)
        middles = (pairs + np.roll(pairs, -1, axis=2)) / 4 + push * chance[:, half::step, half::step]
        heights[:, half::step, half::step] = middles
        across = corners + np.roll(corners, -1, axis=2) + middles + np.roll(middles, 1, axis=1)
        heights[:, ::step, half::step] = across / 4 + push * chance[:, ::step, half::step]
        down = corners + np.roll(corners, -1, axis=1) + middles + np.roll(middles, 1, axis=2)
        heights[:, half::step, ::step] = down / 4 + push * chance[:, half::step, ::step]
        step, strength = half, strength / decay
    heights -= heights.min(axis=(1, 2), keepdims=True)
    return np.asarray(heights / heights.max(axis=(1, 2), keepdims=True))


WIDE = 256
"""Side of the clouds that pictures of MNIST-C are cut from, in pixels."""
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


Ints = npt.NDArray[np.int32]
Edge = Literal["constant", "edge", "reflect"]

WATER = (175, 238, 238)
MUD = (63, 42, 20)
FARTHEST = 20
"""Pixels from the rim of a drop beyond which its light does not change."""
WEAK, STRONG = 50, 150
"""Gradients of a rim: all that is above the first and touches something above the second."""
LIGHT = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])
"""Light falls from the upper left."""


def spatter(images: Floats, draws: Draws, setting: tuple[float, float, float, float, float, str]) -> Floats:
    """Spatter drops; takes pictures (n, h, w, c) in [0, 1].

    The setting is the mean and deviation of the liquid, its smoothness, the level above which it shows,
    the brightness of water or the softness of mud, and which of the two it is.
    """
    mean, spread, smooth, level, strength, what = setting
    liquid = soften(mean + spread * draws.normal(images.shape[1:3]), smooth)
    liquid[liquid < level] = 0
    if what == "water":
        return images + strength * _shine(liquid)[..., None] * _color(WATER, images.shape[3])
    mask = soften((liquid > level).astype(np.float64), strength)
    mask[mask < 0.8] = 0
    return images * (1 - mask[..., None]) + mask[..., None] * _color(MUD, images.shape[3])


def _color(rgb: tuple[int, int, int], channels: int) -> Floats:
    color = np.array(rgb) / 255.0
    return color if channels == 3 else luma(color)


def _shine(liquid: Floats) -> Floats:
    """Return the light (n, h, w) of drops, 1 where it is brightest."""
    drops = (liquid * 255).clip(0, 255).astype(np.int32)
    far = np.stack([_distance(each) for each in rims(drops)])
    relief = _equalise(np.floor(sum(_around(far, "reflect")) / 9).astype(np.int32))
    lit = sum(weight * each for weight, each in zip(LIGHT.ravel(), _around(relief, "reflect"), strict=True))
    light = np.rint(sum(_around(np.clip(lit, 0, 255), "reflect")) / 9) * drops
    brightest = light.max(axis=(1, 2), keepdims=True)
    return np.asarray(light / np.maximum(brightest, 1))


def _around(x: npt.NDArray[Any], edge: Edge) -> Iterator[npt.NDArray[Any]]:
    """Yield the nine neighbors of every pixel of (n, h, w), row by row."""
    height, width = x.shape[1:]
    wide = np.pad(x, ((0, 0), (1, 1), (1, 1)), mode=edge)
    for row in range(3):
        for column in range(3):
            yield wide[:, row : row + height, column : column + width]


def _distance(rim: npt.NDArray[np.bool_]) -> Floats:
    if not rim.any():
        return np.full(rim.shape, float(FARTHEST))
    return np.asarray(np.minimum(scipy("ndimage").distance_transform_edt(~rim), FARTHEST))


def _equalise(relief: Ints) -> Ints:
    """Spread whole numbers from 0 to FARTHEST over 0 to 255, so that each range is as frequent as another."""
    counts = np.stack([(relief == value).sum(axis=(1, 2)) for value in range(FARTHEST + 1)], axis=1)
    below = counts.cumsum(axis=1)
    first = below[np.arange(len(relief)), (counts > 0).argmax(axis=1)][:, None]
    others = below[:, -1:] - first
    spread = np.rint((below - first) * 255 / np.maximum(others, 1)).astype(np.int32)
    table = np.where(others > 0, spread.clip(0, 255), np.arange(FARTHEST + 1))
    return table[np.arange(len(relief))[:, None, None], relief]


def rims(drops: Ints) -> npt.NDArray[np.bool_]:
    """Return where whole numbers (n, h, w) change steeply, one pixel wide (Canny's method).

    Examples
    --------
    >>> drops = np.zeros((1, 3, 6), np.int32)
    >>> drops[:, :, 3:] = 200
    >>> rims(drops)[0].astype(int).tolist()
    [[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0]]
    """
    a, b, c, d, _, f, g, h, i = _around(drops, "edge")
    right, down = (c - a) + 2 * (f - d) + (i - g), (g - a) + 2 * (h - b) + (i - c)
    steep = np.abs(right) + np.abs(down)
    a, b, c, d, _, f, g, h, i = _around(steep, "constant")
    # tan 22.5 and tan 67.5 degrees part the four directions.
    flat = np.abs(down) < 0.41421356 * np.abs(right)
    upright = np.abs(down) > 2.41421356 * np.abs(right)
    rising = (right ^ down) < 0
    one = np.select([flat, upright, rising], [d, b, c], a)
    two = np.select([flat, upright, rising], [f, h, g], i)
    crest = (steep > one) & np.where(flat | upright, steep >= two, steep > two)
    return linked((steep > WEAK) & crest, steep > STRONG)


def snow(
    images: Floats, draws: Draws, setting: tuple[float, float, float, float, int, float, float]
) -> Floats:
    """Let flakes fall through a paler picture.

    The setting is the mean and deviation of the flakes, their size, the least brightness of one, the
    radius and deviation of their fall, and the share of the picture that does not pale.
    """
    mean, spread, size, least, radius, sigma, kept = setting
    flakes = zoom(mean + spread * draws.normal((*images.shape[1:3], 1)), (size,))
    flakes[flakes < least] = 0
    falling = streak(flakes.clip(0, 1), draws.uniform(-135, -45), radius, sigma)
    pale = kept * images + (1 - kept) * np.maximum(images, 1.5 * luma(images) + 0.5)
    return pale + falling + falling[:, ::-1, ::-1]


def frost(images: Floats, draws: Draws, setting: tuple[float, float, float]) -> Floats:
    """Cover with ice; the setting is the share of the picture, of the ice, and the scale of its crystals."""
    gain, amount, scale = setting
    height, width, channels = images.shape[1:]
    chosen = draws.integers(0, PANES)
    corner = draws.uniform(0, 1, (2,))
    iced = np.empty_like(images)
    for at, (which, (down, right)) in enumerate(zip(chosen.tolist(), corner.tolist(), strict=True)):
        ice = pane(which, scale)
        side = len(ice)
        rows, columns = int(down * side) + np.arange(height), int(right * side) + np.arange(width)
        cut = ice[rows[:, None] % side, columns % side]
        iced[at] = gain * images[at] + amount * (luma(cut) if channels == 1 else cut)
    return iced


def fog(images: Floats, draws: Draws, setting: tuple[float, float]) -> Floats:
    """Add clouds; the setting is their thickness and how quickly their small parts fade."""
    thickness, decay = setting
    height, width = images.shape[1:3]
    side = 1 << (max(height, width) - 1).bit_length()
    return veil(images, clouds(draws.uniform(-1, 1, (side, side)), decay)[:, :height, :width], thickness)


def veil(images: Floats, fog: Floats, thickness: float) -> Floats:
    """Add fog (n, h, w), and let the brightest value of each picture stay as bright as it was."""
    brightest = images.max(axis=(1, 2, 3), keepdims=True)
    return np.asarray((images + thickness * fog[..., None]) * brightest / (brightest + thickness))


def brightness(images: Floats, draws: Draws, more: float) -> Floats:
    """Raise the value of hue, saturation and value."""
    value = images.max(axis=3, keepdims=True)
    brighter = np.minimum(value + more, 1)
    # Black has no hue: it becomes gray.
    return np.asarray(np.where(value > 0, images * (brighter / np.where(value > 0, value, 1)), brighter))


def gray_spatter(
    images: Floats, draws: Draws, setting: tuple[float, float, float, float, float, str]
) -> Floats:
    """Spatter mud as `spatter` does; on gray pictures it is as bright as its red part in color."""
    if images.shape[3] == 3:
        return spatter(images, draws, setting)
    return spatter(np.repeat(images, 3, axis=3), draws, setting)[..., :1]


def gray_fog(images: Floats, draws: Draws, setting: tuple[float, float]) -> Floats:
    """Add the corner of wide clouds; the setting is their thickness and how quickly small parts fade."""
    thickness, decay = setting
    height, width = images.shape[1:3]
    side = max(WIDE, 1 << (max(height, width) - 1).bit_length())
    # One after the other: the clouds are far larger than the pictures.
    whole = (clouds(own.uniform(-1, 1, (1, side, side)), decay) for own in draws.generators)
    return veil(images, np.concatenate([each[:, :height, :width].copy() for each in whole]), thickness)
