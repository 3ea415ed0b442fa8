"""What an operator wants to know of a fleet: `summarize`."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

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

HOUR = 3600.0
LISTED = 100  # silent devices, those silent for longest, and degraded ones; all are counted
NEXT, EACH = 10, 3  # devices to label next, and steps of each that are shown
PICKED = ("boot", "seq", "time", "risk", "answer")  # of a step that is asked for
LEAST_LOOKS = 8  # behind the expected accuracy of one device, however still it stands


def summarize(
    models: Mapping[str, ModelVersion] | Iterable[ModelVersion],
    refused: Mapping[str, int] | None = None,
    labels: Labels | None = None,
    now: float | None = None,
    worst: int = 20,
    baseline: tuple[float, float] | None = None,
    tags: Mapping[str, str] | None = None,
    only: Only | None = None,
) -> dict[str, Any]:
    """Sum up a fleet as plain data; docs/FLEET.md says what each number means.

    Several models of one version are shards of it. `baseline` is a time, from and to in seconds since 1970,
    in which this fleet was healthy: its alarms are the baseline then, in place of what the fit found in the
    lab. `tags` are the sites of devices, or another group of each; `only` chooses who is listed.
    """
    shards = list(models.values() if isinstance(models, Mapping) else models)
    time = now if now is not None else last_heard(shards)
    views = by_version(shards, time, baseline)
    alone = len(views) == 1
    worst_rows = _worst(views, max(0, worst), time, tags or {}, only or Only())
    promises = [(shard.version, shard.promise.summary()) for shard in shards if hasattr(shard, "promise")]
    return {
        "time": time,
        "devices": len(views[0].names) if alone else len({name for view in views for name in view.names}),
        "steps": sum(view.steps for view in views),
        "silent": sum(int(view.silent.sum()) for view in views),
        **{name: sum(_total(view.places[name]) for view in views) for name in ORDER},
        "refused": {kind: int(count) for kind, count in (refused or {}).items()},
        "alarm": _alarm(views, SPENT),
        "need": sum(int((_urgency(view) < CALM).sum()) for view in views),
        "together": together(views, tags or {}),
        "named": _named(views),
        "versions": [_version(view, SPENT / len(views)) for view in views],
        "rollouts": rollouts(views),
        **worst_rows,
        "ranked_by": ranked_by(views),
        "classes": [row for view in views for row in _classes(view)],
        "over_time": [_over_time(view) for view in views],
        "silent_devices": _silent_devices(views),
        "labels": None
        if labels is None
        else {**labels.summary(), "next": _next(labels, worst_rows["worst"], views)},
        "promises": [{"version": name, **row} for name, row in promises if row is not None],
    }


def _next(
    labels: Labels, worst: Sequence[Mapping[str, Any]], views: Sequence[VersionView]
) -> list[dict[str, Any]]:
    """Return the devices to label next: those that need someone first, then those with most steps asked for.

    Only steps that are asked for count: labels of others say nothing of the accuracy.
    """
    waiting: dict[tuple[str, str], list[Any]] = {}
    for row in labels.waiting():
        waiting.setdefault((row[0], row[1]), []).append(row)
    urgent = [
        (row["version"], row["device"]) for row in worst if row["alarm"] or row["silent"] or row["named"]
    ]
    names = {view.name: dict(enumerate(view.params.names or ())) for view in views}
    order = {key: place for place, key in enumerate(urgent)}
    keys = sorted(waiting, key=lambda key: (order.get(key, len(order)), -len(waiting[key]), key))[:NEXT]
    found = []
    for version, device in keys:
        steps = [dict(zip(PICKED, row[2:], strict=False)) for row in waiting[version, device][:EACH]]
        for step in steps:
            step["answer_name"] = (names.get(version) or {}).get(step["answer"], str(step["answer"]))
        counts = {"steps": len(waiting[version, device]), "needs": (version, device) in order}
        found.append({"version": version, "device": device, **counts, "newest": steps})
    return found


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
        "by_degradation": count >= PEERS and any(view.unit is not None for view in views),
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
        "without_gauges": view.blind,
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


class Only(NamedTuple):
    """Who is listed: devices with a text in their names, of a version, with a tag; and how many of them."""

    find: str = ""
    version: str = ""
    tag: str = ""
    most: int | None = None
    first: int = 0

    @property
    def all(self) -> bool:
        """Whether nobody is left out."""
        return not (self.find or self.version or self.tag)

    def mask(self, view: VersionView, tags: Mapping[str, str]) -> Any:
        """Return which devices of a version are meant, None for all."""
        wanted = self.find.strip().lower()
        if self.all or self.version not in ("", view.name):
            return None if self.all else np.zeros(len(view.names), dtype=np.bool_)
        named = (
            wanted in name.lower() and (not self.tag or tags.get(name) == self.tag) for name in view.names
        )
        return np.fromiter(named, np.bool_, len(view.names))


def _worst(
    views: Sequence[VersionView], count: int, time: float | None, tags: Mapping[str, str], only: Only
) -> dict[str, Any]:
    """Return devices that need someone, worst first, and others up to `count`; how many are meant by `only`.

    Within an urgency by the drop of the expected accuracy, then by degradation, or by risk, then by duration.
    """
    key, parts, needed, meant = ranked_by(views), [], 0, 0
    for number, view in enumerate(views):
        urgency, mask = _urgency(view, time), only.mask(view, tags)
        listed = np.arange(len(urgency)) if mask is None else np.flatnonzero(mask)
        calm = (
            listed[urgency[listed] == CALM] if mask is not None else view.judged[urgency[view.judged] == CALM]
        )
        worst = np.argsort(-view.rows[key][calm].astype(np.float64), kind="stable")[:count]
        slots = np.concatenate([listed[urgency[listed] < CALM], calm[worst]])
        needed, meant = needed + int((urgency[listed] < CALM).sum()), meant + len(listed)
        silent = urgency[slots] == SILENT
        since = np.where(silent, view.heard[slots], view.rows["alarm_since"][slots])
        drop = np.where(silent, 0.0, np.nan_to_num(view.usual - view.expected[slots]))
        drop[urgency[slots] == CALM] = 0.0
        rank = np.where(silent, 0.0, view.rows[key][slots].astype(np.float64))
        parts.append((np.full(len(slots), number), slots, since, -rank, -drop, urgency[slots]))
    if not parts:
        return {"worst": [], "meant": 0}
    of, slots, *keys = map(np.concatenate, zip(*parts, strict=True))
    shown = max(needed, count) if only.all else meant
    if only.most is not None:
        shown = min(shown, only.first + only.most)
    order = np.lexsort(keys)[only.first : shown].tolist()
    rows = [_device(views[of[place]], int(slots[place]), tags) for place in order]
    return {"worst": rows, "meant": meant}


DEGRADED, SILENT, LONG, ALARMED, CALM = range(5)


def _urgency(view: VersionView, time: float | None = None) -> npt.NDArray[np.int64]:
    """Say of every device how much it needs someone; statistics choose the word, never who is listed."""
    with np.errstate(invalid="ignore"):
        long = view.in_alarm & ((time or 0.0) - view.rows["alarm_since"] > HOUR)
    states = [view.silent, view.named, long, view.in_alarm]
    return np.asarray(np.select(states, [SILENT, DEGRADED, LONG, ALARMED], CALM))


def together(views: Sequence[VersionView], tags: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what most devices in alarm or silent have in common, and other devices have not as often.

    A version or a tag counts where it holds half of them, and more than one and a half times its share of
    the fleet; a cause, or two hours in which it began, where half of those in alarm have it.
    """
    trouble, whole, causes, begun, hurt = Counter[Any](), Counter[Any](), Counter[str](), [np.zeros(0)], 0
    for view in views:
        need, devices = np.flatnonzero(_urgency(view) < CALM), len(view.names)
        trouble["version", view.name] += len(need)
        whole["version", view.name] += devices
        if tags:
            trouble.update(("tag", tags.get(view.names[slot], "")) for slot in need.tolist())
            whole.update(("tag", tags.get(name, "")) for name in view.names)
        rows = view.rows[view.in_alarm]
        for code, number in zip(*np.unique(rows["cause"], return_counts=True), strict=True):
            causes[moved_name(NOT_MOVED - int(code), view.params.sight)] += int(number)
        begun.append(rows["alarm_since"][np.isfinite(rows["alarm_since"])])
        hurt += len(need)
    devices, facts, since = sum(len(view.names) for view in views), [], np.sort(np.concatenate(begun))
    for (kind, value), number in trouble.items():
        of = whole[kind, value]
        if value and 3 <= number >= hurt / 2 and number * devices > 1.5 * hurt * of:
            facts.append({"kind": kind, "value": value, "devices": number, "of": hurt, "all": of})
    in_alarm = sum(causes.values())
    for name, number in causes.items():
        if name and 3 <= number >= in_alarm / 2:
            facts.append({"kind": "cause", "value": name, "devices": number, "of": in_alarm})
    if len(since) >= 3:
        ends = np.searchsorted(since, since + 2 * HOUR, side="right") - np.arange(len(since))
        most = int(ends.argmax())
        if 3 <= ends[most] >= in_alarm / 2:
            span = [float(since[most]), float(since[most + ends[most] - 1])]
            facts.append({"kind": "began", "value": span, "devices": int(ends[most]), "of": in_alarm})
    return facts


def _device(view: VersionView, slot: int, tags: Mapping[str, str]) -> dict[str, Any]:
    row = view.rows[slot]
    times = {"alarm_since": row["alarm_since"], "last_time": view.heard[slot]}
    figures = {"expected_accuracy": view.expected[slot], "usual_accuracy": view.usual, **times}
    return {
        "device": view.names[slot],
        "version": view.name,
        "tag": tags.get(view.names[slot]),
        "degradation": float(row["degradation"]) / RISK_ONE if view.unit is not None else None,
        "recent_risk": float(row["recent_risk"]) / MEAN_ONE,
        **_rates(row),
        "alarm": int(row["alarm"]),
        "moved": moved_name(NOT_MOVED - int(row["cause"]), view.params.sight),
        "silent": bool(view.silent[slot]),
        **{key: float(value) if np.isfinite(value) else None for key, value in figures.items()},
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
