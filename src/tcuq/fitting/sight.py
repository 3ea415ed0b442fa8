"""The alarm that sees the input: means, covariance and limit of its distance, from clean steps alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..log.gauges import KINDS
from ..log.log import Log
from ..monitor.alarm import Alarm, AlarmSide
from ..monitor.heads import Sight
from ..monitor.monitor import Monitor, run_over
from ..monitor.params import Params
from .signal_table import Flags, Floats

Z_MOST, CLASS_MOST = 6.0, 7.9
"""Deviations at which numbers are clipped, and which the mean of a class may be off."""

FEW = 30  # new inputs that the mean of all counts as, beside those of a class
SLOW, STAY, NEWEST = 21 / 256, 11 / 256, 48 / 256
"""Rates of the slow means and of those of a stay for a new input, and what the least new one counts as."""

STAY_FROM, STAY_MOST = 3.0, 1.0
"""New inputs from which on a stay has a mean, and the most that it takes off."""

WARM = 200  # steps of each clean stretch in which slow means are still on their way
HARMLESS = 0.1  # share of the covariance of one step that the slow means may be displaced by
LEAST_DEVIATION, OF_CONSTANT = 2.0, 0.05
"""Of a gauge: so many units of the core, and such a share of the size of one that never changes."""

ODDS_WEIGHT, LEAST_ODDS = 0.6, 0.25
LIMIT, UNSEEN_LIMIT, ALONE_LIMIT = 1.7, 1.25, 1.5
CHANGED, DECADE, RUN_LENGTH = 0.82, 0.4, 10_000
"""Distance, in .99 quantiles of clean data, at the usual run length between false alarms: with gauges;
without, where features show less of a shift; and of posteriors alone. The share of it that is `changed`; and
what a run length of ten times as many steps adds."""

ENOUGH, MOST_FOR_FEW = 3000, 1.6
"""New clean inputs below which the log has not seen the rare, and the most that the limit is raised."""

CAP, CLEAR = 64.0, 0.8
"""Largest distance that counts, and where an alarm ends, in limits."""

BASELINE = 120  # new inputs of a device that set its baseline
QUANTILE, LEAST_LENGTH = 0.99, 0.01
"""Where clean data end, and the least length there, of outputs that hardly ever vary."""


_OF_INPUTS = {name for names in KINDS.values() for name in names}
"""Gauges that the core takes of an input."""


class Numbers(NamedTuple):
    """What the alarm looks at on some steps, in the order of the core, each in its own unit."""

    inputs: npt.NDArray[Any]  # (T, G): gauges, or without any the sums of the features
    others: Floats  # (T, 1 or 2): odds, and distance where that signal is used
    subject: npt.NDArray[Any]
    novelty: Floats  # up to 1


class Shown(NamedTuple):
    """Means and deviations of numbers, and those of each class in deviations."""

    mean: Floats
    deviation: Floats
    classes: Floats

    def of(self, values: npt.NDArray[Any], subject: npt.NDArray[Any]) -> Floats:
        """Return values in deviations, less the mean of the class."""
        scaled = np.clip((values - self.mean) / self.deviation, -Z_MOST, Z_MOST)
        return np.asarray(scaled - self.classes[subject])


def gauge_scales(gauges: npt.NDArray[Any], names: Sequence[str]) -> tuple[float, ...]:
    """Return what 1.0 of each gauge is in the core: 256 for those of an input, what others leave room for."""
    most = np.maximum(np.abs(gauges).max(axis=0, initial=0.0), 1e-6)
    # A device has those of an input in 1/256, and none is larger; others leave room for more than the log.
    known = np.array([name.rstrip("_0123456789") in _OF_INPUTS or name in _OF_INPUTS for name in names], bool)
    most = np.where(known & (most <= 128), 32767 / 256, 2 * most)
    return tuple(2.0 ** math.floor(math.log2(32767 / each)) for each in most.tolist())


def shown_by(values: npt.NDArray[Any], numbers: Numbers, least: Floats, classes: int) -> Shown:
    """Return means and deviations of some columns; those of a class lean on those of all."""
    weights = numbers.novelty
    mean = np.average(values, axis=0, weights=weights)
    deviation = np.sqrt(np.average(np.square(values - mean), axis=0, weights=weights))
    constant = deviation < least / 8
    deviation = np.where(constant, OF_CONSTANT * np.maximum(1, np.abs(mean)), np.maximum(deviation, least))
    own = np.zeros((classes, values.shape[1]))
    scaled = np.clip((values - mean) / deviation, -Z_MOST, Z_MOST)
    for each in np.unique(numbers.subject):
        rows = numbers.subject == each
        own[each] = weights[rows] @ scaled[rows] / (FEW + weights[rows].sum())
    return Shown(mean, deviation, np.clip(own, -CLASS_MOST, CLASS_MOST))


def gauge_distance(z: Floats) -> Floats:
    """Return the distance of the gauges as the core has it: a logarithm of their squares."""
    return np.asarray(np.log2(np.square(64 * z).sum(1) + 1) / 24)[:, None]


def gaps_of(z: Floats, numbers: Numbers, starts: Flags) -> tuple[Floats, Floats]:
    """Return the slow means less those of the stay, as the core keeps them, and the slow odds."""
    slow, stay = np.zeros(z.shape[1]), np.zeros(z.shape[1])
    place, length, last = numbers.inputs.shape[1], 0.0, -1
    odds: Any = 0.0
    gaps, slow_odds = np.empty_like(z), np.empty(len(z))
    rates = np.maximum(numbers.novelty, NEWEST)
    for step, (row, new, rate, subject) in enumerate(
        zip(z, numbers.novelty.tolist(), rates.tolist(), numbers.subject.tolist(), strict=True)
    ):
        if starts[step]:
            slow, stay, odds = np.zeros_like(slow), np.zeros_like(stay), 0.0
        if subject != last or starts[step]:
            slow, odds, length, last = slow - stay, odds - stay[place], 0.0, subject
            stay = np.zeros_like(stay)
        slow = slow + SLOW * rate * (row - slow)
        if length >= STAY_FROM:
            stay = np.clip(stay + STAY * rate * (row - stay), -STAY_MOST, STAY_MOST)
        odds += STAY * rate * (float(row[place]) - odds)
        length += new
        gaps[step] = slow - stay
        slow_odds[step] = odds - stay[place]
    return gaps, slow_odds


def _covariance(rows: Floats, least: float) -> Floats:
    """Return a covariance, leaning on its diagonal."""
    found = np.atleast_2d(np.cov(rows.T))
    kept = 0.8 * found + 0.2 * np.diag(np.diag(found))
    return np.asarray(kept + least * np.eye(len(kept)))


def fit_sight(
    params: Params,
    log: Log,
    runs: Sequence[slice],
    numbers: Numbers,
    *,
    names: Sequence[str],
    reach: int,
    frozen: float,
    baseline: int,
    run_length: int,
) -> tuple[Sight, Alarm]:
    """Fit the alarm to clean stretches, of which the numbers are; `params` have no alarm yet."""
    inputs, scales = numbers.inputs, gauge_scales(numbers.inputs, names) if names else ()
    least = LEAST_DEVIATION / np.array(scales or np.ones(inputs.shape[1]))
    shown = [shown_by(inputs, numbers, least, params.classes)] if inputs.size else []
    shown.append(shown_by(numbers.others, numbers, np.full(numbers.others.shape[1], 0.002), params.classes))
    z = [shown[0].of(inputs, numbers.subject)] if inputs.size else []
    z.append(shown[-1].of(numbers.others, numbers.subject))
    if inputs.size:
        values = gauge_distance(z[0])
        shown.append(shown_by(values, numbers, np.full(1, 0.002), params.classes))
        z.append(shown[-1].of(values, numbers.subject))
    every = np.concatenate(z, axis=1)
    starts = np.zeros(len(every), dtype=bool)
    ends = np.cumsum([run.stop - run.start for run in runs])
    starts[np.concatenate([[0], ends[:-1]])] = True
    gaps, odds = gaps_of(every, numbers, starts)
    since = np.arange(len(every)) - np.maximum.accumulate(np.where(starts, np.arange(len(every)), 0))
    warm = since >= min(WARM, len(every) // (10 * len(runs)))
    spread = _covariance(gaps[warm], 0.003) + HARMLESS * _covariance(every, 0.01)
    lower = np.linalg.cholesky(np.linalg.inv(spread))
    lengths = np.sqrt(np.square(gaps[warm] @ lower).sum(1))
    unit = max(float(np.quantile(lengths, QUANTILE)), LEAST_LENGTH)
    odds_unit = max(float(np.quantile(odds[warm], QUANTILE)), LEAST_ODDS)
    alone = len(lower) == 1  # then odds that are surer, as another pace brings, are no fault
    weight = 1.0 if alone else ODDS_WEIGHT
    sight = Sight(
        means=np.concatenate([each.mean for each in shown]).tolist(),
        deviations=np.concatenate([each.deviation for each in shown]).tolist(),
        class_means=np.concatenate([each.classes for each in shown], axis=1).tolist(),
        matrix=(lower.T / unit)[np.triu_indices(len(lower))].tolist(),
        gauges=tuple(names),
        gauge_scales=scales,
        reach=reach,
        frozen=frozen,
        baseline=baseline,
        odds_weight=min(16.0, weight / odds_unit),
        clear_weight=min(max(1.0, unit * unit), 255.0),
        changed=0.25,
    )
    for _ in range(2):  # rounding, and what the core keeps besides, move the quantile a little
        sight = _calibrated(params, log, runs, sight, warm)
    new = float(numbers.novelty.sum())
    limit = (LIMIT if names else ALONE_LIMIT if alone else UNSEEN_LIMIT) + DECADE * math.log10(
        run_length / RUN_LENGTH
    )
    limit = max(CHANGED, limit) * min(max(1.0, (ENOUGH / max(new, 1.0)) ** 0.2), MOST_FOR_FEW)
    alarm = Alarm(rise=AlarmSide(0.0, limit, cap=CAP, clear=CLEAR * limit))
    return replace(sight, changed=CHANGED * limit), alarm


def _calibrated(params: Params, log: Log, runs: Sequence[slice], sight: Sight, warm: Flags) -> Sight:
    """Return the same with lengths of 1, in the core, at the end of what clean steps show."""
    plain = replace(sight, odds_weight=0.0, baseline=0)
    distance = np.concatenate([distances(params, log.take(run), plain) for run in runs])
    unit = float(np.quantile(distance[warm], QUANTILE))
    if not unit:
        return sight
    matrix = tuple(each / unit for each in sight.matrix)
    return replace(sight, matrix=matrix, clear_weight=min(max(1.0, sight.clear_weight * unit**2), 255.0))


def distances(params: Params, log: Log, sight: Sight) -> Floats:
    """Return the distance at each step of a log, under an alarm that is never raised."""
    alarm = Alarm(rise=AlarmSide(0.0, CAP, cap=CAP))
    steps = run_over(Monitor(params.replace(sight=replace(sight, frozen=0.0), alarm=alarm)), log)
    return np.asarray(steps["degradation"] * CAP)
