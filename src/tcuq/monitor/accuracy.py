"""How far the expected accuracy may be off: a band from the looks that it rests on and from the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from .params import Params

Floats = npt.NDArray[np.float64]

SHARE, DEVIATIONS = 0.9, 1.645
"""Of the truths that the band is to hold, and the deviations of a normal law that do."""


def looks_behind(look: npt.NDArray[Any], horizon: int) -> Floats:
    """Return how many looks each expected accuracy rests on: those of about two horizons.

    Each step is one where no evidence is weighed by looks: then `look` is 0.
    """
    ends = np.cumsum(np.where(look, look, 1), dtype=np.float64)
    before = np.concatenate([np.zeros(min(len(ends), 2 * horizon - 1)), ends[: -(2 * horizon - 1)]])
    return np.asarray(ends - before)


def half_band(expected: npt.NDArray[Any], looks: Any, error: Any) -> Floats:
    """Return half the width of the band.

    `error` is that of `Params.accuracy_error`, by whether the alarm is on.
    """
    chance = expected * (1 - expected) / np.maximum(looks, 1)
    return np.asarray(DEVIATIONS * np.sqrt(chance + error**2))


def accuracy_band(
    params: Params, steps: npt.NDArray[Any], looks: npt.NDArray[Any] | None = None
) -> tuple[Floats, Floats]:
    """Return the band in which 90 % of the accuracies lie, as far as the fit could tell.

    It has two sources: how few looks the last steps were, and how far the estimate was off on the log, each
    kind of shift left out of the fit in turn, with the alarm off or on as it is. Shifts that come more often
    or are unlike those of the log leave it more often.

    Parameters
    ----------
    params : Params
        Of the monitor.
    steps : Steps
        What it said, in order.
    looks : array, optional
        Looks of all steps so far, up to the last of these, where these are not the first.

    Returns
    -------
    tuple of two arrays
        Lower and upper end at each step; NaN where the fit had no labels or no kinds of shift.

    Examples
    --------
    >>> from tcuq import Params
    >>> params = Params(classes=2, horizon=16, expected_start=0.8, accuracy_error=(0.05, 0.2))
    >>> steps = np.zeros(60, dtype=[("expected_accuracy", "f8"), ("look", "f8"), ("alarm", "u1")])
    >>> steps["expected_accuracy"], steps["look"], steps["alarm"][-1] = 0.75, 1.0, 1
    >>> [each[-2:].round(2).tolist() for each in accuracy_band(params, steps)]
    [[0.6, 0.4], [0.9, 1.0]]
    """
    expected = np.asarray(steps["expected_accuracy"], dtype=np.float64)
    if params.accuracy_error is None:
        return np.full(len(expected), np.nan), np.full(len(expected), np.nan)
    error = np.where(np.asarray(steps["alarm"]) != 0, params.accuracy_error[1], params.accuracy_error[0])
    behind = looks_behind(steps["look"] if looks is None else looks, params.horizon)[-len(steps) :]
    half = half_band(expected, behind, error)
    return np.clip(expected - half, 0, 1), np.clip(expected + half, 0, 1)
