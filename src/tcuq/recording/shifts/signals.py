"""What befalls signals of sensors: each takes (time, channels), a severity in (0, 1] and numbers.

A channel has mean 0 and standard deviation 1 over the data; what is added or cut is in these units.
"""

from __future__ import annotations

import math

import numpy as np

from ..model import Array, Floats


def noise(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Add normal noise."""
    return np.asarray(x + (0.1 + 0.9 * severity) * rng.standard_normal(x.shape))


def wander(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Let the baseline drift: an offset and a slow wave, another one for each channel."""
    offset, phase = rng.uniform(-1, 1, x.shape[1]), rng.uniform(0, 1, x.shape[1])
    turns = np.arange(len(x))[:, None] / len(x) * rng.uniform(0.5, 1.5) + phase
    return np.asarray(x + (0.3 + 1.7 * severity) * (offset + np.sin(2 * np.pi * turns)) / 1.5)


def gain(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Make the signal larger or smaller, at random: a sensor that ages or sits loose."""
    factor = 1.2 + 1.8 * severity
    return np.asarray(x * (factor if rng.random() < 0.5 else 1 / factor))


def stuck(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Let half of the channels, at least one, keep one value for 20 to 100 % of the time."""
    out = x.copy()
    length = min(len(x), max(1, math.ceil(len(x) * (0.2 + 0.8 * severity))))
    start = int(rng.random() * (len(x) - length + 1))
    chosen = np.argsort(rng.random(x.shape[1]), kind="stable")[: max(1, x.shape[1] // 2)]
    out[start : start + length, chosen] = x[start, chosen]
    return out


def clipping(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Cut off what lies more than 1.2 to 0.2 deviations from the mean."""
    limit = 1.2 - severity
    return np.asarray(np.clip(x, -limit, limit))


def dropouts(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Lose 10 to 60 % of the samples in three gaps; the last value stays until the next arrives."""
    width = max(1, int(len(x) * (0.1 + 0.5 * severity) / 3))
    out = x.copy()
    for part, place in enumerate(rng.random(3)):
        start = int((part + place) * (len(x) // 3) - place * width)
        out[start : start + width] = out[max(0, start - 1)]
    return out


def pace(x: Floats, severity: float, rng: np.random.Generator) -> Floats:
    """Run faster or slower by 4 to 34 %: another sampling rate; the ends are repeated."""
    factor = 1 + 0.04 + 0.3 * severity
    factor = factor if rng.random() < 0.5 else 1 / factor
    middle = (len(x) - 1) / 2
    return _read(x, middle + (np.arange(len(x)) - middle) * factor)


def _read(x: Floats, places: Array) -> Floats:
    """Return a signal read between its samples; beyond its ends they are repeated."""
    times = np.arange(len(x))
    return np.stack([np.interp(places, times, channel) for channel in x.T], axis=1)


def shaken(x: Floats, rng: np.random.Generator) -> Floats:
    """Return the signal as it comes again: a moment sooner or later, a little larger or smaller, noisy."""
    moved = _read(x, np.arange(len(x)) + rng.uniform(-0.02, 0.02) * len(x))
    return np.asarray(moved * rng.uniform(0.95, 1.05) + 0.05 * rng.standard_normal(x.shape))


KINDS = (noise, wander, gain, stuck, clipping, dropouts, pace)
