"""Limits of alarms from the false alarms that they may give on clean time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def rested_sums(added: npt.NDArray[Any], settled: Bools) -> Floats:
    """Return what a sum without a cap reaches on clean steps, from 0 wherever they begin.

    Parameters
    ----------
    added : array (K, T)
        What each step adds.
    settled : array (K, T)

    Examples
    --------
    >>> rested_sums(np.array([[1.0, 9.0, 2.0, -1.0]]), np.array([[True, False, True, True]])).tolist()
    [1.0, 2.0, 1.0]
    """
    sums = np.zeros(added.shape)
    total = np.zeros(len(added))
    for step in range(added.shape[1]):
        total = np.where(settled[:, step], np.maximum(total + added[:, step], 0), 0.0)
        sums[:, step] = total
    return sums[settled]


def find_limit(watched: Watched, tried: Floats, settled: Bools, wanted: float = RUN_LENGTH) -> float:
    """Return the lowest limit at which false alarms are no more than asked for, as fine as it is looked for.

    Parameters
    ----------
    watched : callable
    tried : array of limits, rising
        None where clean time never lifts a sum above 0: then any limit does.
    settled : array (K, T)
        Clean steps on which false alarms are counted.
    wanted : float
        Clean steps per false alarm.
    """
    allowed = int(settled.sum() / wanted)
    low, high = _bracket(watched, tried if len(tried) else np.ones(1), settled, allowed)
    for _ in range(ROUNDS):
        if low is None:
            break
        low, high = _bracket(watched, np.linspace(low, high, FINER + 2)[1:], settled, allowed, low)
    return high


def _bracket(
    watched: Watched, tried: Floats, settled: Bools, allowed: int, below: float | None = None
) -> tuple[float | None, float]:
    """Return the lowest limit tried with few enough false alarms, after the one tried below it."""
    while True:
        counts = false_starts(watched(tried), settled).sum(axis=(1, 2))
        few = np.flatnonzero(counts <= allowed)
        if len(few):
            first = int(few[0])
            return (float(tried[first - 1]) if first else below), float(tried[first])
        below = float(tried[-1])
        step = max(1e-6, abs(below) / 8)
        tried = np.array([below + step * number for number in range(1, len(tried) + 1)])  # all are too low
