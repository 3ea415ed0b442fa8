"""Faults of a wrist-worn accelerometer; signals lie in [-1, 1].

They are our own: what a sensor, its mounting or its driver does wrong, on windows (n, samples, 1, axes).
"""

from __future__ import annotations

import numpy as np

from .draws import Draws, Floats


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
