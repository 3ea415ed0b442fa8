"""Clouds: random heights that repeat at their borders, by the method of diamonds and squares."""

from __future__ import annotations

import numpy as np

from .draws import Floats


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
