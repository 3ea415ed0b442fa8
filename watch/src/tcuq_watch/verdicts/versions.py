"""The shards of a version put together: who is silent, who looks degraded, and which version is worse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from ..engine.model_version import ModelVersion
from ..engine.tallies import DEGRADATION_WINDOW, HOUR, MEAN_ONE, RISK_ONE, Tallies
from .baseline import LEVEL, SPENT, Baseline, Floats, adjusted, device_p, from_fit, from_period

Mask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]
Period = tuple[float, float]

SILENT_PAUSES, SILENT_SECONDS = 4, 900.0  # after so many usual pauses, and no less than so many seconds
FALSE_SHARE = 0.1  # of healthy devices among those that are named at a look, on average, at most
PEERS = 8  # devices at least that one device is compared with
LEAST = {"sight": (0.5, 0.2), "evidence": (0.0, 0.05)}
"""Degradation that counts, and by how much healthy devices differ, at least: with `sight` in parts of the
alarm's limit, else in nats of the evidence."""
SUM = 2.11  # of 1 / (n ln(n)^2) over n from 2 on, rounded up


class VersionView:
    """All shards of one version, one row a device."""

    def __init__(
        self, shards: Sequence[ModelVersion], time: float | None, period: Period | None, versions: int
    ) -> None:
        first, alone = shards[0], len(shards) == 1
        self.name, self.params = first.version, first.tallies.params
        self.names = first.devices if alone else [name for shard in shards for name in shard.devices]
        self.counts = first.tallies if alone else Tallies.merged([shard.tallies for shard in shards])
        self.rows = _together([shard.tallies.devices for shard in shards])
        self.places = _together([shard.places for shard in shards])
        self.heard: Floats = _together([shard.heard for shard in shards])
        heads = [head for head in LEAST if getattr(self.params, head) is not None]
        self.unit = heads[0] if heads else None  # of degradations
        self.baseline = from_fit(self.params, versions)
        if period is not None:
            self.baseline = from_period(self.counts.over_time(), self.counts.width, period, versions)
        self.steps = int(self.rows["steps"].sum())
        self.silent = silence(self.rows, self.heard, time)
        self.reports = ~self.silent
        self.in_alarm = self.reports & (self.rows["alarm"] > 0)
        accuracy = self.rows["accuracy"] / RISK_ONE
        self.expected: Floats = np.where(accuracy > 0, accuracy, np.nan)
        calm = self.expected[self.reports & ~self.in_alarm & (accuracy > 0)]
        self.usual = float(np.median(calm)) if len(calm) else math.nan  # of devices that need nobody
        self.blind = sum(getattr(shard, "blind", 0) for shard in shards)
        self.judged = np.flatnonzero(self.reports & (self.rows["steps"] > 0))  # compared with others
        self.q = np.ones(len(self.rows))
        self.worse = np.zeros(len(self.rows), dtype=np.bool_)  # lately in alarm for too long, over all looks
        self.named = self.worse

    def called(self, mask: Mask) -> list[str]:
        """Return the names of some devices."""
        return [self.names[slot] for slot in np.flatnonzero(mask).tolist()]


def by_version(
    shards: Sequence[ModelVersion], time: float | None, period: Period | None
) -> list[VersionView]:
    """Put shards of a version together; find out who is silent, and who looks degraded."""
    versions: dict[str, list[ModelVersion]] = {}
    for shard in shards:
        versions.setdefault(shard.version, []).append(shard)
    views = [VersionView(mine, time, period, len(versions)) for mine in versions.values()]
    if len(views) > 1 and any(view.silent.any() for view in views):
        _leave_out_moved(views)
    if views:
        _judge(views)
    return views


def _together(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def silence(rows: npt.NDArray[Any], heard: Floats, now: float | None) -> Mask:
    """Say which devices have been quiet for longer than they use to be; one that never told a time is not."""
    if now is None:
        return np.zeros(len(rows), dtype=np.bool_)
    gaps = rows["gap"] / 1000.0
    known = gaps[gaps > 0]
    # A device that came once only is taken to be like the others.
    usual = np.where(gaps > 0, gaps, np.median(known) if len(known) else 0.0)
    return np.asarray(now - heard > np.maximum(SILENT_SECONDS, SILENT_PAUSES * usual))


def _leave_out_moved(views: Sequence[VersionView]) -> None:
    """Call a device silent only under the version that heard of it last, and not while another hears it."""
    last: dict[str, tuple[float, int]] = {}
    for number, view in enumerate(views):
        heard = np.where(view.silent, view.heard, np.inf).tolist()
        for name, time in zip(view.names, heard, strict=True):
            last[name] = max(last.get(name, (time, number)), (time, number))
    for number, view in enumerate(views):
        here = np.fromiter((last[name][1] == number for name in view.names), np.bool_, len(view.names))
        view.silent = view.silent & here


def ranked_by(views: Sequence[VersionView]) -> str:
    """Return what devices are ranked by: the degradation where all have one of the same unit."""
    units = {view.unit for view in views}
    return "degradation" if len(units) == 1 and None not in units else "recent_risk"


def _judge(views: Sequence[VersionView]) -> None:
    """Compare every device that reports with the baseline and with the others."""
    now, always = [], []
    for view in views:
        rows = view.rows[view.judged]
        by_alarm, by_degradation, for_long = np.ones((3, len(rows)))
        if isinstance(view.baseline, Baseline):
            by_alarm[rows["alarm"] > 0] = view.baseline.expected
            for_long = device_p(rows["recent_alarm"] / MEAN_ONE, rows["steps"], view.baseline)
        if view.unit is not None:
            least = LEAST[view.unit]
            by_degradation = degradation_p(rows["degradation"] / RISK_ONE, rows["steps"], *least)
        now.append(np.minimum(1.0, 2 * np.minimum(by_alarm, by_degradation)))  # two ways to be named
        always.append(for_long)
    ends = np.cumsum([len(p) for p in now])[:-1]
    q = np.split(adjusted(np.concatenate(now), any_dependence=False), ends)
    worse = np.split(adjusted(np.concatenate(always)) <= SPENT, ends)
    for view, mine, longer in zip(views, q, worse, strict=True):
        view.q[view.judged], view.worse[view.judged] = mine, longer
        view.named = (view.q <= FALSE_SHARE) | view.worse


def degradation_p(degradation: Floats, steps: npt.NDArray[Any], least: float, spread: float) -> Floats:
    """Return the chance of so high a degradation among devices of one version; 1 if not above `least`.

    The middle of all devices and their median deviation stand for healthy ones, so fewer than half may be
    degraded. Clean streams differ more than normal variables do: the tail is that of Student's t with four
    degrees of freedom. Devices with fewer steps than a degradation looks back are not compared.
    """
    chance = np.ones(len(degradation))
    known = np.asarray(steps >= DEGRADATION_WINDOW)
    if known.sum() < PEERS:
        return chance
    middle = np.median(degradation[known])
    spread = max(spread, 1.4826 * float(np.median(np.abs(degradation[known] - middle))))
    high = known & (degradation > max(least, middle))
    chance[high] = special.stdtr(4, (middle - degradation[high]) / spread)
    return chance


def worse_p(new: Counts, new_alarms: Counts, old: Counts, old_alarms: Counts, *, level: int = 0) -> Floats:
    """Return the chance of each part of the time, corrected for all parts that there may ever be.

    Counts are devices that were heard of and that were in alarm, a part of 2**level hours each. If versions
    do not differ and devices got theirs by chance, the alarms of the new one are hypergeometric (Fisher's
    exact test), however long they last and however much devices differ: the chance that any is ever at or
    below x is at most x.
    """
    from scipy.stats import hypergeom  # takes long to import

    p = hypergeom.sf(new_alarms - 1, new + old, new_alarms + old_alarms, new)
    n = np.arange(2, len(new) + 2)
    spent = (level + 1) * (level + 2) * SUM  # widths may double
    return np.asarray(np.minimum(1.0, p * spent * n * np.log(n) ** 2))


def rollouts(versions: Sequence[VersionView]) -> list[dict[str, Any]]:
    """Compare each version with the one that came before it, in order of first hearing."""
    begun = [(times[0], view) for view in versions if len(times := view.counts.over_time()["time"])]
    order = [view for _, view in sorted(begun, key=lambda pair: int(pair[0]))]
    return [_compared(new, old, len(order) - 1) for old, new in pairwise(order)]


def _compared(new: VersionView, old: VersionView, verdicts: int) -> dict[str, Any]:
    width = max(new.counts.width, old.counts.width)
    level = (width // HOUR).bit_length() - 1
    (times, *mine), (others, *theirs) = (view.counts.heard_of(level) for view in (new, old))
    shared, here, there = np.intersect1d(times[:-1], others, return_indices=True)  # the last is not over
    counts = np.array([*(column[here] for column in mine), *(column[there] for column in theirs)])
    both = (counts[0] > 0) & (counts[2] > 0)
    compared: dict[str, Any] = {"version": new.name, "before": old.name, "error": LEVEL, "width": width}
    if not both.any():
        return compared | {"worse": False, "p_always": None, "time": None}
    shared, counts = shared[both], counts[:, both]
    p = worse_p(*counts, level=level)
    part = len(p) - 1 - int(p[::-1].argmin())  # the part that tells most, or the last where none does
    chance = min(1.0, float(p[part]) * verdicts)
    keys = ("devices", "in_alarm", "devices_before", "in_alarm_before")
    compared |= dict(zip(keys, counts[:, part].tolist(), strict=True))
    return compared | {"p_always": chance, "worse": chance <= LEVEL, "time": float(shared[part])}
