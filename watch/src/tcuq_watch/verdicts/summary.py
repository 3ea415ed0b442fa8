"""What an operator wants to know of a fleet: `summarize`."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.labels.accuracy import half_band
from tcuq.monitor.steps import NOT_MOVED, moved_name

from ..engine.labels import Labels
from ..engine.model_version import ModelVersion
from ..engine.tallies import MEAN_ONE, RISK_ONE
from .baseline import SPENT, Baseline, fleet_p, share_interval
from .versions import FALSE_SHARE, PEERS, VersionView, by_version, ranked_by, rollouts
from .words import ORDER

LISTED = 100  # silent devices, those silent for longest, and degraded ones; all are counted
LEAST_LOOKS = 8  # behind the expected accuracy of one device, however still it stands


def summarize(
    models: Mapping[str, ModelVersion] | Iterable[ModelVersion],
    refused: Mapping[str, int] | None = None,
    labels: Labels | None = None,
    now: float | None = None,
    worst: int = 20,
    baseline: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """Sum up a fleet as plain data; docs/FLEET_NUMBERS.md says what each number means.

    Several models of one version are shards of it. `baseline` is a time, from and to in seconds since 1970,
    in which this fleet was healthy: its alarms are the baseline then, in place of what the fit found in the
    lab.
    """
    shards = list(models.values() if isinstance(models, Mapping) else models)
    time = now if now is not None else last_heard(shards)
    views = by_version(shards, time, baseline)
    alone = len(views) == 1
    return {
        "time": time,
        "devices": len(views[0].names) if alone else len({name for view in views for name in view.names}),
        "steps": sum(view.steps for view in views),
        "silent": sum(int(view.silent.sum()) for view in views),
        **{name: sum(_total(view.places[name]) for view in views) for name in ORDER},
        "refused": {kind: int(count) for kind, count in (refused or {}).items()},
        "alarm": _alarm(views, SPENT),
        "need": sum(int((_urgency(view) < CALM).sum()) for view in views),
        "named": _named(views),
        "versions": [_version(view, SPENT / len(views)) for view in views],
        "rollouts": rollouts(views),
        "worst": _worst(views, max(0, worst)),
        "ranked_by": ranked_by(views),
        "classes": [row for view in views for row in _classes(view)],
        "over_time": [_over_time(view) for view in views],
        "silent_devices": _silent_devices(views),
        "labels": None if labels is None else labels.summary(),
    }


def last_heard(shards: Iterable[ModelVersion]) -> float | None:
    """Return the latest time that a device told."""
    last = [np.nanmax(heard) for heard in (shard.heard for shard in shards) if np.isfinite(heard).any()]
    return float(max(last)) if last else None


def _total(counts: npt.NDArray[Any]) -> int:
    """Return a sum; one device's nonsense must not make it come round to 0."""
    return int(np.minimum(counts.astype(np.uint64), 2**40).sum())


def _share(part: Any, whole: Any) -> float | None:
    return float(part) / float(whole) if whole else None


def _rates(sums: Any) -> dict[str, Any]:
    """Return what steps say on average, from their sums."""
    steps = int(sums["steps"])
    rates = {name: _share(sums[name], steps) for name in ("abstained", "flagged")}
    return {"steps": steps, **rates, "mean_risk": _share(sums["risk"] / RISK_ONE, steps)}


def _alarm(views: Sequence[VersionView], level: float) -> dict[str, Any]:
    """Compare the devices in alarm with what healthy ones have; `level` is the chance to be wrong."""
    active = [view for view in views if view.reports.any()]
    counts = [int(view.reports.sum()) for view in active]
    devices, steps = sum(counts), sum(view.steps for view in views)
    in_alarm = sum(int(view.in_alarm.sum()) for view in active)
    sources = [b.source if isinstance(b, Baseline) else b for b in (view.baseline for view in views)]
    alarm: dict[str, Any] = {
        "devices": in_alarm,
        "of": devices,
        "share": _share(in_alarm, devices),
        "interval": list(share_interval(in_alarm, devices)),
        "baseline_from": "; ".join(dict.fromkeys(sources)) or None,
        "unhealthy": False,
        **dict.fromkeys(("expected", "baseline", "p_always", "unhealthy_from")),
    }
    baselines = [view.baseline for view in active if isinstance(view.baseline, Baseline)]
    if not active or len(baselines) < len(active):
        return alarm
    share, expected = np.dot(counts, [(b.share, b.expected) for b in baselines]) / devices
    onsets, length = max(b.onsets for b in baselines), min(b.length for b in baselines)
    together = Baseline(float(share), onsets, length, float(expected), "")
    alarm |= {"expected": together.expected, "baseline": together.share}

    def chance(count: int) -> float:
        return fleet_p(count, devices, steps, together)

    if chance(devices) > level:  # no number of alarms could tell
        return alarm
    always = chance(in_alarm)
    first = bisect_left(range(devices), True, lo=1, key=lambda count: chance(count) <= level)
    return alarm | {"p_always": always, "unhealthy_from": first, "unhealthy": always <= level}


def _named(views: Sequence[VersionView]) -> dict[str, Any]:
    """Return who looks degraded, how many of them are healthy, and how many alarms it takes."""
    names = sorted({name for view in views for name in view.called(view.named)})
    count = sum(len(view.judged) for view in views)
    shares = [v.baseline.expected for v in views if isinstance(v.baseline, Baseline) and v.reports.any()]
    return {
        "devices": names[:LISTED],
        "count": len(names),
        "of": count,
        "false_share": FALSE_SHARE,
        "from_alarms": max(1, math.ceil(2 * max(shares) * count / FALSE_SHARE)) if shares else None,
        "by_degradation": count >= PEERS and any(view.params.evidence is not None for view in views),
    }


def _version(view: VersionView, level: float) -> dict[str, Any]:
    rows = view.rows
    accuracy = rows["accuracy"][view.reports] / RISK_ONE
    expected = float(accuracy.mean()) if view.params.horizon and len(accuracy) else None
    return {
        "version": view.name,
        "fingerprint": view.params.fingerprint,
        "devices": len(rows),
        "silent": int(view.silent.sum()),
        **_rates({name: rows[name].sum() for name in ("steps", "abstained", "flagged", "risk")}),
        "expected_accuracy": expected,
        "accuracy_band": _band(view, expected),
        "alarm": _alarm([view], level),
    }


def _band(view: VersionView, expected: float | None) -> list[float] | None:
    """Return the band of the mean: devices share the error of the fit, not the chance of few new inputs."""
    if expected is None or view.params.accuracy_error is None:
        return None
    off, on = view.params.accuracy_error
    devices = int(view.reports.sum())
    share = view.in_alarm.sum() / devices
    error = math.sqrt((1 - share) * off**2 + share * on**2)
    half = float(half_band(np.array(expected), LEAST_LOOKS * devices, error))
    return [max(0.0, expected - half), min(1.0, expected + half)]


def _worst(views: Sequence[VersionView], count: int) -> list[dict[str, Any]]:
    """Return all devices that need someone, and others up to `count`: by degradation, else by risk."""
    key = ranked_by(views)
    ranked = []
    for view in views:
        urgency = _urgency(view)
        rank = np.where(urgency == SILENT, view.heard, -view.rows[key].astype(np.float64))  # longest first
        others = view.judged[urgency[view.judged] == CALM]
        fill = others[np.argsort(rank[others], kind="stable")[:count]]
        for slot in [*np.flatnonzero(urgency < CALM).tolist(), *fill.tolist()]:
            ranked.append((int(urgency[slot]), float(rank[slot]), view, slot))
    ranked.sort(key=lambda place: place[:2])
    needed = sum(place[0] < CALM for place in ranked)
    return [_device(view, slot) for _, _, view, slot in ranked[: max(needed, count)]]


DEGRADED, SILENT, ALARMED, CALM = range(4)


def _urgency(view: VersionView) -> npt.NDArray[np.int64]:
    """Say of every device how much it needs someone; statistics choose the word, never who is listed."""
    return np.asarray(np.select([view.silent, view.named, view.in_alarm], [SILENT, DEGRADED, ALARMED], CALM))


def _device(view: VersionView, slot: int) -> dict[str, Any]:
    row, params = view.rows[slot], view.params
    severe = params.evidence is not None or params.sight is not None
    times = {"alarm_since": row["alarm_since"], "last_time": view.heard[slot]}
    return {
        "device": view.names[slot],
        "version": view.name,
        "degradation": float(row["degradation"]) / RISK_ONE if severe else None,
        "recent_risk": float(row["recent_risk"]) / MEAN_ONE,
        **_rates(row),
        "alarm": int(row["alarm"]),
        "moved": moved_name(NOT_MOVED - int(row["cause"]), view.params.sight),
        "silent": bool(view.silent[slot]),
        **{key: float(at) if np.isfinite(at) else None for key, at in times.items()},
        "missing": int(view.places["missing"][slot]),
        "q": float(view.q[slot]),
        "worse": bool(view.worse[slot]),
        "named": bool(view.named[slot]),
    }


def _classes(view: VersionView) -> list[dict[str, Any]]:
    names = view.params.names or [str(number) for number in range(view.params.classes)]
    return [
        {"version": view.name, "class": number, "name": names[number], **_rates(row)}
        for number, row in enumerate(view.counts.classes)
    ]


def _over_time(view: VersionView) -> dict[str, Any]:
    series = view.counts.over_time()
    shown = ("time", "devices", "in_alarm", "steps", "abstained", "alarm_steps")
    risks = zip(series["risk"] / RISK_ONE, series["steps"], strict=True)
    return {
        "version": view.name,
        "width": view.counts.width,
        **{name: series[name].tolist() for name in shown},
        "mean_risk": [_share(risk, steps) for risk, steps in risks],
    }


def _silent_devices(views: Sequence[VersionView]) -> list[dict[str, Any]]:
    rows = []
    for view in views:
        slots = np.flatnonzero(view.silent)
        for slot in slots[np.argsort(view.heard[slots], kind="stable")[:LISTED]].tolist():
            time = float(view.heard[slot])
            rows.append({"device": view.names[slot], "version": view.name, "last_time": time})
    return sorted(rows, key=lambda row: (row["last_time"], row["device"]))[:LISTED]
