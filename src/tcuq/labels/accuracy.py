"""Accuracy with its margin: what the monitor expects, and what labels of some steps tell."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.checks import number
from ..base.errors import InputError, wrong_value

if TYPE_CHECKING:
    from ..monitor.params import Params


Floats = npt.NDArray[np.float64]

SHARE, DEVIATIONS = 0.9, 1.645
"""Of the truths that the band is to hold, and the deviations of a normal law that do."""


def new_inputs(novelty: npt.NDArray[Any], horizon: int) -> Floats:
    """Return how many new inputs each expected accuracy rests on: those of about two horizons, or steps."""
    ends = np.cumsum(np.where(novelty, novelty, 1), dtype=np.float64)
    before = np.concatenate([np.zeros(min(len(ends), 2 * horizon - 1)), ends[: -(2 * horizon - 1)]])
    return np.asarray(ends - before)


def half_band(expected: npt.NDArray[Any], inputs: Any, error: Any) -> Floats:
    """Return half the width of the band."""
    chance = expected * (1 - expected) / np.maximum(inputs, 1)
    return np.asarray(DEVIATIONS * np.sqrt(chance + error**2))


def accuracy_band(
    params: Params, steps: npt.NDArray[Any], novelty: npt.NDArray[Any] | None = None
) -> tuple[Floats, Floats]:
    """Return the band in which 90 % of the accuracies lie, as far as the fit could tell.

    It has two sources: how few new inputs the last steps had, and how far the estimate was off on the log,
    each kind of shift left out of the fit in turn, with the alarm off or on as it is. Shifts that come more
    often or are unlike those of the log leave it more often.

    Parameters
    ----------
    params : Params
        Of the monitor.
    steps : Steps
        What it said, in order.
    novelty : array, optional
        Novelty of all steps so far, up to the last of these, where these are not the first.

    Returns
    -------
    tuple of two arrays
        Lower and upper end at each step; NaN where the fit had no labels or no kinds of shift.

    Examples
    --------
    >>> from tcuq import Params
    >>> params = Params(classes=2, horizon=16, expected_start=0.8, accuracy_error=(0.05, 0.2))
    >>> steps = np.zeros(60, dtype=[("expected_accuracy", "f8"), ("novelty", "f8"), ("alarm", "u1")])
    >>> steps["expected_accuracy"], steps["novelty"], steps["alarm"][-1] = 0.75, 1.0, 1
    >>> [each[-2:].round(2).tolist() for each in accuracy_band(params, steps)]
    [[0.6, 0.4], [0.9, 1.0]]
    """
    expected = np.asarray(steps["expected_accuracy"], dtype=np.float64)
    if params.accuracy_error is None:
        return np.full(len(expected), np.nan), np.full(len(expected), np.nan)
    error = np.where(np.asarray(steps["alarm"]) != 0, params.accuracy_error[1], params.accuracy_error[0])
    behind = new_inputs(steps["novelty"] if novelty is None else novelty, params.horizon)[-len(steps) :]
    half = half_band(expected, behind, error)
    return np.clip(expected - half, 0, 1), np.clip(expected + half, 0, 1)


Bools = npt.NDArray[np.bool_]
Summed = Callable[[Floats], Floats]

STAKES = 2.0 ** -np.arange(-1.0, 17.0)
"""Bets that the mixture holds, fixed beforehand: from few labels to some millions of steps."""

LEFT = 0.1
"""Share of itself that a bet keeps, about, when a label goes against it."""

ROUNDS = 12


class LabeledAccuracy(NamedTuple):
    """Accuracy and the two ends of its interval, one of each for every place that was asked for."""

    estimate: Floats
    low: Floats
    high: Floats


def accuracy_from_labels(
    steps: npt.NDArray[Any],
    asked: npt.ArrayLike,
    chance: npt.ArrayLike,
    labels: npt.ArrayLike,
    among: npt.ArrayLike | None = None,
    expected: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    at: npt.ArrayLike | None = None,
) -> LabeledAccuracy:
    r"""Return the share of right answers among all accepted steps, labeled or not, with an interval.

    **What holds.** Let y be 1 where the answer of a step is wrong, else 0, and c the chance that the step is
    asked for. Then, with a chance of at least `confidence`, the interval holds the mean of 1 - y so far after
    *every* step: look as often as you like and stop when you like. Errors may be of any kind, dependent, or
    chosen by an enemy who knows all past draws.

    **Where.** Given the past, each step is asked for with the chance c, whatever its answer and its truth;
    c, `expected` and `among` are known before the draw. `LabelSampler` does this. Marks where somebody
    noticed an error do not.

    **Why.** Let f be the expected error and r = y - f, which lies between -f and 1 - f. For a number s > 0
    multiply, over the steps, F = 1 - g / (1 - c) where no label was asked for, else
    F = 1 + (exp(s * r) - 1 + g) / c; g >= 0 is what keeps F above 0, and 0 where s is small. The mean of F
    over the draw is exp(s * r), whatever y is. So the product of all F, divided by exp(s * R) with R the sum
    of all r, is a martingale that begins at 1; so is a mean over several s. By Ville's inequality it ever
    reaches 2 / (1 - confidence) with a chance of at most (1 - confidence) / 2. R, of which all else is known,
    is therefore above where it would; -r gives the other end. The closer f is to y, the less F varies and the
    narrower the interval: the monitor's own uncertainty is put to work, and right or not, the interval holds.

    Parameters
    ----------
    steps : Steps
        Of one device, in their order.
    asked, chance : arrays of n
        As `LabelSampler.ask` gave them.
    labels : array of n numbers
        True classes; below 0 where none of the classes is right; NaN for a label that has not come, which
        may be either. Those of steps that were not asked for are not read.
    among : array of n booleans, optional
        The steps that count; default: those that were accepted. ``np.ones(n, bool)`` for all answers.
    expected : array of n numbers, optional
        Chance of an error of each step, before its label; default: its uncertainty. 0: labels alone.
    confidence : float, default 0.95
    at : array of integers, optional
        After how many of the steps that count to say it; default: after each.

    Returns
    -------
    LabeledAccuracy
        Arrays `estimate`, `low` and `high`.

    Examples
    --------
    >>> from tcuq import Monitor, Params, LabelSampler
    >>> rng = np.random.default_rng(0)
    >>> sure = rng.uniform(0.5, 1, 5000)
    >>> steps = Monitor(Params(classes=2)).run(np.stack([sure, 1 - sure], axis=1))
    >>> truth = (rng.random(5000) > sure).astype(int)
    >>> asked, chance = LabelSampler(rate=0.1, seed=0).ask(steps["uncertainty"])
    >>> labels = np.where(asked, truth, np.nan)
    >>> found = accuracy_from_labels(steps, asked, chance, labels, among=np.ones(5000, bool), at=[5000])
    >>> [round(float(end[0]), 2) for end in found], round(float(np.mean(steps["answer"] == truth)), 2)
    ([0.73, 0.66, 0.79], 0.74)
    """
    count = ~np.asarray(steps["abstain"], dtype=bool) if among is None else np.asarray(among, dtype=bool)
    guess = np.asarray(steps["uncertainty"] if expected is None else expected, dtype=np.float64)
    columns = {"asked": np.asarray(asked, dtype=bool), "chance": np.asarray(chance, dtype=np.float64)}
    columns |= {"labels": np.asarray(labels, dtype=np.float64), "among": count, "expected": guess}
    for name, values in columns.items():
        if values.shape != (len(steps),):
            raise InputError("value", f"{name} has shape {values.shape}, expected {len(steps)}, one per step")
    drawn, chances, given, guess = (columns[key][count] for key in ("asked", "chance", "labels", "expected"))
    if not ((chances > 0) & (chances <= 1)).all() or not ((guess >= 0) & (guess <= 1)).all():
        raise InputError("value", "chance or expected is out of range, expected above 0 to 1, and 0 to 1")
    places = np.arange(1, len(drawn) + 1) if at is None else np.asarray(at, dtype=np.int64)
    if places.size and not 1 <= places.min() <= places.max() <= len(drawn):
        raise InputError("value", f"at is {places.min()} to {places.max()}, expected 1 to {len(drawn)}")
    wrong = np.where(np.isnan(given), np.nan, given != np.asarray(steps["answer"])[count])
    return interval(drawn, chances, guess, wrong, confidence, lambda values: np.cumsum(values)[places - 1])


def interval(
    asked: Bools, chance: Floats, expected: Floats, wrong: Floats, confidence: float, summed: Summed
) -> LabeledAccuracy:
    """Do what `accuracy_from_labels` does, from steps, or from counts that `summed` adds up at each place."""
    inside = number("confidence", confidence, 0, 1)
    if not 0 < inside < 1:
        raise wrong_value("confidence", inside, "above 0 and below 1")
    known = asked & ~np.isnan(wrong)
    ends = []
    for sign in (1, -1):
        # A label that has not come is taken as what widens the interval.
        truth = np.where(known, wrong, float(sign < 0))
        off = sign * (truth - expected), -expected if sign > 0 else expected - 1
        logs = [summed(np.log1p(gain(stake, *off, asked, chance))) for stake in STAKES]
        ends.append(sign * _least(np.array(logs), math.log(2 * len(STAKES) / (1 - inside))))
    count, total = summed(np.ones(len(asked))), summed(expected)
    low = np.maximum(total + ends[0], summed((known & (wrong > 0)).astype(np.float64))) / count
    high = np.minimum(total + ends[1], count - summed((known & (wrong == 0)).astype(np.float64))) / count
    estimate = summed(expected + np.where(known, wrong - expected, 0) / chance) / count
    return LabeledAccuracy(1 - np.clip(estimate, low, high), 1 - high, 1 - low)


def gain(stake: float, off: Floats, least: Floats, asked: Bools, chance: Floats) -> Floats:
    """Return what a bet gains at each step, F - 1 of `accuracy_from_labels`; `off` is at least `least`."""
    fee = np.maximum(0, 1 - chance - (1 - LEFT * chance) * np.exp(stake * least))
    return np.where(asked, (np.expm1(stake * off) + fee) / chance, -fee / np.maximum(1 - chance, 1e-300))


def _least(logs: Floats, limit: float) -> Floats:
    """Return the least sum at which the mixture is below its limit, or a little less, one a column."""
    # The logarithm of the mixture is convex and falls: Newton's steps from below stay below.
    stakes = STAKES[:, None]
    sums = ((logs - limit) / stakes).max(axis=0)
    for _ in range(ROUNDS):
        each = logs - stakes * sums
        top = each.max(axis=0)
        parts = np.exp(each - top)
        whole = parts.sum(axis=0)
        sums = sums + np.maximum(0, top + np.log(whole) - limit) * whole / (stakes * parts).sum(axis=0)
    return np.asarray(sums)
