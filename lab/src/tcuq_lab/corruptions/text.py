"""Corruptions of text: how each disturbs chunks of bytes.

They are our own and simple: letters replaced, in capitals, swapped, lost; words blanked. A setting is the
share of places that are disturbed. A chunk meets the same random numbers at all severities, so that a
stronger one disturbs the same places and more.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .draws import Draws

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
    """Turn a share of the small letters into capitals.

    Examples
    --------
    >>> capitals(np.frombuffer(b"ab 1", np.uint8)[None], Draws(0, "x", np.array([0])), 1.0).tobytes()
    b'AB 1'
    """
    small = (x >= ord("a")) & (x <= ord("z"))
    hit = draws.uniform(0, 1, x.shape[1:]) < share
    return np.where(small & hit, x - 32, x).astype(np.uint8)


def swapped_letters(x: Bytes, draws: Draws, share: float) -> Bytes:
    """Swap neighbors, in a share of the pairs of places 0 and 1, 2 and 3, and so on.

    Examples
    --------
    >>> swapped_letters(np.frombuffer(b"abcde", np.uint8)[None], Draws(0, "x", np.array([0])), 1.0).tobytes()
    b'badce'
    """
    pairs = x.shape[1] // 2
    hit = draws.uniform(0, 1, (pairs,)) < share
    found = x.copy()
    first, second = x[:, : 2 * pairs : 2], x[:, 1 : 2 * pairs : 2]
    found[:, : 2 * pairs : 2] = np.where(hit, second, first)
    found[:, 1 : 2 * pairs : 2] = np.where(hit, first, second)
    return found


def lost_letters(x: Bytes, draws: Draws, share: float) -> Bytes:
    """Leave out a share of the bytes; what follows moves up, and spaces fill the end.

    Examples
    --------
    >>> lost_letters(np.frombuffer(b"abcd", np.uint8)[None], Draws(0, "x", np.array([0])), 1.0).tobytes()
    b'    '
    """
    kept = draws.uniform(0, 1, x.shape[1:]) >= share
    order = np.argsort(~kept, axis=1, kind="stable")
    moved = np.take_along_axis(x, order, axis=1)
    filled = np.arange(x.shape[1]) < kept.sum(axis=1)[:, None]
    return np.where(filled, moved, SPACE).astype(np.uint8)


def blanked_words(x: Bytes, draws: Draws, share: float) -> Bytes:
    """Replace a share of the words, runs without a space or a new line, by spaces.

    Examples
    --------
    >>> blanked_words(np.frombuffer(b"ab c", np.uint8)[None], Draws(0, "x", np.array([0])), 1.0).tobytes()
    b'    '
    """
    gap = (x == SPACE) | (x == NEWLINE)
    word = np.cumsum(gap, axis=1)  # the number of a place's word; a gap belongs to the one after it
    hit = np.take_along_axis(draws.uniform(0, 1, (x.shape[1] + 1,)), word, axis=1) < share
    return np.where(hit & ~gap, SPACE, x).astype(np.uint8)
