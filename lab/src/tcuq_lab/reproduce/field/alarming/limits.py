"""Limits of alarms from the false alarms that they may give on clean time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Bools, Floats

from .counting import false_starts

RUN_LENGTH = 2000
"""Clean steps per false alarm that every alarm is asked for."""
TRIED, ROUNDS, FINER = 32, 2, 8
"""Limits tried at first, then between two of them, twice."""

Watched = Callable[[npt.NDArray[np.float64]], Bools]
"""From limits (n,) to an alarm (n, K, T)."""


def candidates(values: Floats) -> Floats:
    """Return limits to begin with, rising: values that a statistic takes, dense where they are rare.

    Parameters
    ----------
    values : array
        Of the statistic on clean time.
    """
    ordered = np.sort(values, axis=None)
    places = np.unique(np.geomspace(1, len(ordered), TRIED).astype(np.int64))
    top = float(ordered[-1])
    return np.unique([*ordered[len(ordered) - places], top + max(1e-9, 1e-6 * abs(top))])


def find_limit(watched: Watched, tried: Floats, settled: Bools, wanted: float = RUN_LENGTH) -> float:
    """Return the lowest limit from which on upwards false alarms are no more than asked for.

    Counts need not fall as the limit rises: an alarm that is always on has come once. So the limit is looked
    for from above, and the first one with too many false alarms ends the search.

    Parameters
    ----------
    watched : callable
    tried : array of limits, rising
    settled : array (K, T)
        Clean steps on which false alarms are counted.
    wanted : float
        Clean steps per false alarm.
    """
    allowed = int(settled.sum() / wanted)
    low, high = _bracket(watched, tried, settled, allowed)
    for _ in range(ROUNDS):
        if low is None:
            break
        low, high = _bracket(watched, np.linspace(low, high, FINER + 2)[1:], settled, allowed, low)
    return high


def _bracket(
    watched: Watched, tried: Floats, settled: Bools, allowed: int, below: float | None = None
) -> tuple[float | None, float]:
    """Return the highest limit with too many false alarms, and the next one tried above it."""
    while True:
        counts = false_starts(watched(tried), settled).sum(axis=(1, 2))
        many = np.flatnonzero(counts > allowed)
        if not len(many):
            return below, float(tried[0])
        last = int(many[-1])
        if last + 1 < len(tried):
            return float(tried[last]), float(tried[last + 1])
        tried = tried + max(float(tried[-1] - tried[0]), 1e-6 + abs(float(tried[-1])))  # all are too low
