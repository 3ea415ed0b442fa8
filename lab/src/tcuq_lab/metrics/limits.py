"""False alarms on clean time, and the limits of alarms that give as many of them as are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Bools, Floats

from ..harness.types import ASKED

SETTLE = 50
"""Clean steps after a shift in which an alarm is not called false; and steps within which one that comes back
is the same alarm."""
AGAIN = 150
"""Settled clean steps after which an alarm that lasts, or keeps coming back, counts once more: one that never
clears is no rare false alarm."""

RUN_LENGTH = ASKED
"""Clean steps per false alarm that every alarm is asked for."""
TRIED, ROUNDS, FINER = 32, 2, 8
"""Limits tried at first, then between two of them, twice."""

Watched = Callable[[npt.NDArray[np.float64]], Bools]
"""From limits (n,) to an alarm (n, K, T)."""


def recently(marked: Bools, steps: int = SETTLE) -> Bools:
    """Return where one of the last steps, before this one, is marked; (..., T)."""
    count = np.zeros((*marked.shape[:-1], marked.shape[-1] + 1), dtype=np.int32)
    np.cumsum(marked, axis=-1, out=count[..., 1:])
    back = np.maximum(np.arange(marked.shape[-1]) - steps, 0)
    return np.asarray(count[..., :-1] > count[..., back])


def false_starts(on: Bools, settled: Bools) -> Bools:
    """Return where a false alarm is counted, (..., K, T).

    It is where one begins, on a settled clean step after `SETTLE` steps without alarm, and after every
    `AGAIN` settled clean steps in which an alarm stays on or comes back, however it began.
    """
    before = recently(on)
    held = (on | before) & settled
    place = np.arange(on.shape[-1], dtype=np.int32)
    since = place - np.maximum.accumulate(np.where(held, np.int32(-1), place), axis=-1)
    again = held & (since > 1) & (since % AGAIN == 1)
    return np.asarray((on & settled & ~before) | again)


def candidates(values: Floats) -> Floats:
    """Return limits to begin with, rising: values that a statistic takes, dense where they are rare."""
    ordered = np.sort(values, axis=None)
    places = np.unique(np.geomspace(1, len(ordered), TRIED).astype(np.int64))
    top = float(ordered[-1])
    return np.unique([*ordered[len(ordered) - places], top + max(1e-9, 1e-6 * abs(top))])


def rested_sums(added: npt.NDArray[Any], settled: Bools) -> Floats:
    """Return what a sum without a cap reaches on clean steps, from 0 wherever they begin."""
    sums = np.zeros(added.shape)
    total = np.zeros(len(added))
    for step in range(added.shape[1]):
        total = np.where(settled[:, step], np.maximum(total + added[:, step], 0), 0.0)
        sums[:, step] = total
    return sums[settled]


def find_limit(watched: Watched, tried: Floats, settled: Bools, wanted: float = RUN_LENGTH) -> float:
    """Return the lowest limit at which false alarms are no more than asked for, as fine as it is tried."""
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
