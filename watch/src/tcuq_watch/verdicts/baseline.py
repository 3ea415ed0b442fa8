"""How often healthy devices are in alarm, and tests against it that hold at every look."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from tcuq.monitor.params import Params
from tcuq.report.text import plural

from ..engine.tallies import ALARM_WINDOW

Floats = npt.NDArray[np.float64]


def binomial_tail(x: int, n: int, p: float) -> float:
    """Return the chance of x or more successes in n independent trials.

    Trials may differ in their chance: beyond the mean, the tail for their mean is at least as large.
    """
    return float(special.bdtrc(x - 1, n, p))


def share_interval(x: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) interval of a share, (0, 1) where n is 0."""
    side = (1 - level) / 2
    low = 0.0 if x <= 0 else float(special.betaincinv(x, n - x + 1, side))
    high = 1.0 if x >= n else float(special.betaincinv(x + 1, n - x, 1 - side))
    return low, high


def count_bounds(count: float, side: float) -> tuple[float, float]:
    """Return the lower and the upper bound of a Poisson mean, each missed with the chance `side`."""
    low = 0.0 if count <= 0 else float(special.gammaincinv(count, side))
    return low, float(special.gammainccinv(count + 1, side))


LEVEL = 0.05  # chance that a healthy fleet is ever called unhealthy, and a device of it ever worse
MISSED = SPENT = LEVEL / 2  # a baseline above its bound, counts above what chance allows
LENGTH = 32  # steps of a false alarm where none has been seen: a clean stream works one off in about 12
PART = 8  # looks within a window count as one: it sees one new alarm for so many that are there
FINE = 32  # steps of a fleet's size between two powers of two
COUNTED = ("steps", "onsets", "alarm_steps")


@dataclass(frozen=True)
class Baseline:
    """Alarms of healthy devices: counts, and bounds of what lies behind them.

    Onsets are taken to come at random, and lengths to vary no more than exponential ones do. All three bounds
    hold together with a chance of 1 - `MISSED`.
    """

    share: float  # chance that a healthy device is in alarm at some moment, at most
    onsets: float  # alarms that begin a step, at most
    length: float  # mean steps of an alarm, at most
    expected: float  # chance that a healthy device is in alarm at some moment, as counted: no bound
    source: str  # where this is from, in words

    @property
    def window(self) -> float:
        """Steps of a device in which all looks count as one."""
        return max(1.0, self.share / self.onsets / PART) if self.onsets else 1.0

    @classmethod
    def counted(cls, steps: int, onsets: int, alarm_steps: int, source: str, versions: int = 1) -> Baseline:
        """Return what clean steps show; `versions` share the chance to be missed."""
        side = MISSED / 3 / versions
        rate = min(1.0, count_bounds(onsets, side)[1] / steps)
        expected = min(1.0, max(alarm_steps, LENGTH) / steps)
        if not alarm_steps:
            return cls(min(1.0, rate * LENGTH), rate, LENGTH, expected, source)
        onsets = max(1, onsets)  # an alarm that was there before has begun somewhere
        # The rate is at most gamma(k + 1) / steps and the length alarm_steps / gamma(k): a ratio of two such
        # numbers is x / (1 - x) with x of a beta distribution.
        x = float(special.betaincinv(onsets + 1, onsets, 1 - side))
        share = alarm_steps / steps * x / (1 - x)
        length = alarm_steps / count_bounds(onsets, side)[0]
        return cls(min(1.0, share), rate, max(1.0, length), expected, source)


def from_fit(params: Params, versions: int = 1) -> Baseline | str:
    """Return the baseline that a fit found on held-out clean steps, or why there is none."""
    if params.alarm.rise is None and params.alarm.fall is None:
        return "the parameters set no alarm"
    fit = _mapping(params.notes.get("fit"))
    held_out, aim = _mapping(fit.get("run_length_elsewhere")), _count(fit.get("run_length"))
    if steps := _count(held_out.get("steps")):
        onsets = _count(held_out.get("false_alarms"))
        alarm_steps = _count(held_out.get("alarm_steps", onsets * LENGTH))
        source = f"the fit: {plural(onsets, 'false alarm')} in {steps:,} held-out clean steps"
        return Baseline.counted(steps, onsets, alarm_steps, source, versions)
    if aim:
        source = f"what the fit aimed at: a false alarm in {aim:,} clean steps, not measured"
        return Baseline.counted(aim, 1, LENGTH, source, versions)
    return "the parameters do not say how often false alarms come"


def _mapping(value: Any) -> Mapping[str, Any]:
    """Return a part of the notes; they are anyone's to write."""
    return value if isinstance(value, Mapping) else {}


def _count(value: Any) -> int:
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else 0


def from_period(
    series: Mapping[str, npt.NDArray[Any]], width: int, period: tuple[float, float], versions: int = 1
) -> Baseline | str:
    """Return the baseline of the buckets in a time in which the fleet was healthy, or why there is none."""
    inside = (series["time"] >= period[0]) & (series["time"] + width <= period[1])
    steps, onsets, alarm_steps = (int(series[name][inside].sum()) for name in COUNTED)
    if not steps:
        return f"the healthy period has no steps in whole parts of {width // 3600:,} h"
    hours = int(inside.sum()) * width // 3600
    source = f"{hours:,} hours declared healthy: {plural(onsets, 'alarm')} in {steps:,} steps of this fleet"
    return Baseline.counted(steps, onsets, alarm_steps, source, versions)


def spending(steps: npt.ArrayLike, window: float, choices: int = 1) -> Floats:
    """Return the share of a level that is spent on one of the `choices` of tests for the window of a step.

    Windows are of `window` steps, rounded down to a power of two; shares over all windows of all such sizes
    add up to at most 1. So a test at this share of a level, at any step one likes, errs with that level.
    """
    octave = np.floor(np.log2(np.maximum(1.0, np.asarray(steps, dtype=np.float64))))
    size = np.minimum(octave, math.floor(math.log2(max(1.0, window))))
    chosen = (octave + 1) * (octave + 2) * (size + 1) * (size + 2)
    return np.asarray(1 / (chosen * 2.0 ** (octave - size) * choices))


def fleet_p(in_alarm: int, devices: int, steps: int, baseline: Baseline) -> float:
    """Return a bound of the chance of so many devices in alarm in a healthy fleet, over all looks.

    Devices must be independent while they are healthy; they may differ. The chance that it is ever at or
    below x, however often one looks, is at most x.
    """
    if not devices:
        return 1.0
    now = binomial_tail(in_alarm, devices, baseline.share)
    grid = math.ceil(FINE * math.log2(devices))
    most = max(devices, math.ceil(2 ** (grid / FINE)))
    window = 2 ** (grid // FINE) * baseline.window
    # In alarm within the window: at its beginning, or an alarm begins in it.
    share = baseline.share + baseline.onsets * window / most
    always = binomial_tail(in_alarm, most, min(1.0, share)) / float(spending(steps, window, FINE))
    return min(1.0, max(now, always))


def device_p(recent_alarm: Floats, steps: npt.NDArray[Any], baseline: Baseline) -> Floats:
    """Return the chance that a healthy device was in alarm so long lately, over all looks.

    Alarms that begin at random, last exponentially long and are forgotten exponentially add up to a gamma
    variable.
    """
    shape = max(1e-9, baseline.onsets * ALARM_WINDOW)
    amount = recent_alarm * ALARM_WINDOW / baseline.length
    window = min(baseline.window, ALARM_WINDOW / PART)
    # Within a window the share falls by no more than this.
    lower = special.gammaincc(shape, amount * (1 - window / ALARM_WINDOW))
    return np.asarray(np.minimum(1.0, lower / spending(steps, window)))


def adjusted(p: Floats, any_dependence: bool = True) -> Floats:
    """Return p values corrected for their number, after Benjamini and Yekutieli: valid for any dependence.

    Without `any_dependence` after Benjamini and Hochberg: for p values that are independent or rise together.
    Of those at or below x, at most a share of x is false on average. Where all are healthy, any is found with
    a chance of at most x.
    """
    order, ranks = np.argsort(p, kind="stable"), np.arange(1, len(p) + 1)
    scaled = p[order] * len(p) / ranks * ((1 / ranks).sum() if any_dependence else 1.0)
    q = np.empty(len(p))
    q[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return q
