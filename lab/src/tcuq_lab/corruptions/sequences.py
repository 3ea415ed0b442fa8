"""Corruptions of text, and faults of a wrist-worn accelerometer; all are our own.

Text is chunks of bytes, and a setting is the share of places that are disturbed. Signals are windows
(n, samples, 1, axes) in [-1, 1]: their faults are what a sensor, its mounting or its driver does wrong.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .draws import Draws, Floats

Bytes = npt.NDArray[np.uint8]
SPACE, NEWLINE = 32, 10


def letter_noise(x: Bytes, draws: Draws, share: float) -> Bytes:
    """Replace a share of the bytes by printable ones.

    Examples
    --------
    >>> noisy = letter_noise(np.full((1, 64), 97, np.uint8), Draws(0, "x", np.array([0])), 0.5)
    >>> 10 < int((noisy != 97).sum()) < 54
    True
    """
    hit = draws.uniform(0, 1, x.shape[1:]) < share
    return np.where(hit, draws.integers(33, 127, x.shape[1:]), x).astype(np.uint8)


def capitals(x: Bytes, draws: Draws, share: float) -> Bytes:
    """Turn a share of the small letters into capitals."""
    small = (x >= ord("a")) & (x <= ord("z"))
    hit = draws.uniform(0, 1, x.shape[1:]) < share
    return np.where(small & hit, x - 32, x).astype(np.uint8)


def swapped_letters(x: Bytes, draws: Draws, share: float) -> Bytes:
    """Swap neighbors, in a share of the pairs of places 0 and 1, 2 and 3, and so on."""
    pairs = x.shape[1] // 2
    hit = draws.uniform(0, 1, (pairs,)) < share
    found = x.copy()
    first, second = x[:, : 2 * pairs : 2], x[:, 1 : 2 * pairs : 2]
    found[:, : 2 * pairs : 2] = np.where(hit, second, first)
    found[:, 1 : 2 * pairs : 2] = np.where(hit, first, second)
    return found


def lost_letters(x: Bytes, draws: Draws, share: float) -> Bytes:
    """Leave out a share of the bytes; what follows moves up, and spaces fill the end."""
    kept = draws.uniform(0, 1, x.shape[1:]) >= share
    order = np.argsort(~kept, axis=1, kind="stable")
    moved = np.take_along_axis(x, order, axis=1)
    filled = np.arange(x.shape[1]) < kept.sum(axis=1)[:, None]
    return np.where(filled, moved, SPACE).astype(np.uint8)


def blanked_words(x: Bytes, draws: Draws, share: float) -> Bytes:
    """Replace a share of the words, runs without a space or a new line, by spaces."""
    gap = (x == SPACE) | (x == NEWLINE)
    word = np.cumsum(gap, axis=1)  # the number of a place's word; a gap belongs to the one after it
    hit = np.take_along_axis(draws.uniform(0, 1, (x.shape[1] + 1,)), word, axis=1) < share
    return np.where(hit & ~gap, SPACE, x).astype(np.uint8)


def noise(x: Floats, draws: Draws, spread: float) -> Floats:
    """Add normal noise to every sample."""
    return x + spread * draws.normal(x.shape[1:])


def offset(x: Floats, draws: Draws, size: float) -> Floats:
    """Add a constant to the first axis: a zero that has drifted."""
    return x + size * np.array([1.0, 0.0, 0.0])


def clipped(x: Floats, draws: Draws, limit: float) -> Floats:
    """Cut at a smaller range than the one that was trained on."""
    return np.clip(x, -limit, limit)


def swapped_axes(x: Floats, draws: Draws, order: tuple[int, ...]) -> Floats:
    """Give the axes in another order: a device that is mounted otherwise."""
    return np.asarray(x[..., list(order)])


def other_wrist(x: Floats, draws: Draws, setting: None) -> Floats:
    """Mirror the first axis, as on the other wrist."""
    return np.asarray(x * np.array([-1.0, 1.0, 1.0]))


def sample_rate(x: Floats, draws: Draws, factor: float) -> Floats:
    """Play the window faster or slower around its middle; what is missing repeats the ends.

    Examples
    --------
    >>> ramp = np.arange(5.0).reshape(1, 5, 1, 1)
    >>> sample_rate(ramp, Draws(0, "x", np.array([0])), 2.0).ravel().tolist()
    [0.0, 0.0, 2.0, 4.0, 4.0]
    """
    last = x.shape[1] - 1
    places = np.clip(last / 2 + factor * (np.arange(last + 1) - last / 2), 0, last)
    low = np.floor(places).astype(np.int64)
    part = (places - low)[:, None, None]
    return np.asarray(x[:, low] * (1 - part) + x[:, np.minimum(low + 1, last)] * part)


def dropouts(x: Floats, draws: Draws, share: float) -> Floats:
    """Lose a share of the samples: the driver gives zeros in their place."""
    return np.where(draws.uniform(0, 1, (x.shape[1], 1, 1)) < share, 0.0, x)


def stuck(x: Floats, draws: Draws, share: float) -> Floats:
    """Let the sensor repeat one sample from some place of the window on to its end."""
    first = round((1 - share) * (x.shape[1] - 1))
    return np.where((np.arange(x.shape[1]) > first)[:, None, None], x[:, first : first + 1], x)
