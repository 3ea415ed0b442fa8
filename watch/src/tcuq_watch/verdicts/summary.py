"""What an operator wants to know of a fleet: `summarize`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tcuq.monitor.accuracy import half_band

from ..engine.tallies import MEAN_ONE, RISK_ONE
from .baseline import SPENT, Baseline, fleet_p, share_interval
from .rollout import rollouts
from .versions import HasTallies, Named, VersionView, by_version, find_named, without_moved

SILENT_LISTED = 100
"""Silent devices that are named, those silent for longest; all are counted."""

LEAST_LOOKS = 8
"""Behind the expected accuracy of one device, however still it stands."""

ORDER = ("held", "missing", "late", "duplicates", "reboots")

WORSE = "more devices in alarm than a healthy fleet has"
FINE = "no more devices in alarm than a healthy fleet may have"
WIDE = "too little is known of healthy devices to tell"


class HasSummary(Protocol):
    """What is read of the labels."""

    def summary(self) -> dict[str, Any]:
        """Return what labels say so far."""
        ...


def summarize(
    models: Mapping[str, HasTallies] | Iterable[HasTallies],
    refused: Mapping[str, int] | None = None,
    labels: HasSummary | None = None,
    now: float | None = None,
    worst: int = 20,
    baseline: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """Sum up a fleet as plain data; docs/FLEET.md says what each number means.

    Several models of one version are shards of it. `baseline` is a time, from and to in seconds since 1970,
    in which this fleet was healthy: its alarms are the baseline then, in place of what the fit found in the
    lab.
    """
    shards = list(models.values() if isinstance(models, Mapping) else models)
    time = now if now is not None else last_heard(shards)
    versions = by_version(shards, time, baseline)
    steps, active = sum(v.steps for v in versions), sum(v.active for v in versions)
    several = len(versions) > 1
    silent, judged = without_moved(versions), find_named(versions)
    return {
        "time": time,
        "devices": len(set().union(*(v.names for v in versions))) if several else _devices(versions),
        "steps": steps,
        "silent": sum(map(len, silent)),
        **{name: sum(_total(v.places[name]) for v in versions) for name in ORDER},
        "refused": {kind: int(count) for kind, count in (refused or {}).items()},
        "alarm": _alarm(versions, active, sum(v.in_alarm for v in versions), steps, 1),
        "named": judged.summary(versions),
        "versions": [_version(v, len(s), len(versions)) for v, s in zip(versions, silent, strict=True)],
        "rollouts": rollouts(versions),
        "worst": _worst(versions, judged, worst),
        "classes": [row for v in versions for row in _classes(v)],
        "over_time": [_over_time(v) for v in versions],
        "silent_devices": _silent_devices(versions, silent),
        "labels": None if labels is None else labels.summary(),
    }


def last_heard(shards: Iterable[HasTallies]) -> float | None:
    """Return the latest time that a device told."""
    last = [np.nanmax(heard) for heard in (shard.heard for shard in shards) if np.isfinite(heard).any()]
    return float(max(last)) if last else None


def _total(counts: npt.NDArray[Any]) -> int:
    """Return a sum; one device's nonsense must not make it come round to 0."""
    return int(np.minimum(counts.astype(np.uint64), 2**40).sum())


def _devices(versions: Sequence[VersionView]) -> int:
    return sum(len(v.names) for v in versions)


def _silent_devices(
    versions: Sequence[VersionView], silent: Sequence[npt.NDArray[np.int64]]
) -> list[dict[str, Any]]:
    found = []
    for version, slots in zip(versions, silent, strict=True):
        times = version.heard[slots]
        for at in np.argsort(times, kind="stable")[:SILENT_LISTED].tolist():
            name = version.names[int(slots[at])]
            found.append({"device": name, "version": version.name, "last_time": float(times[at])})
    return sorted(found, key=lambda row: (row["last_time"], row["device"]))[:SILENT_LISTED]


def _alarm(
    versions: Sequence[VersionView], devices: int, in_alarm: int, steps: int, verdicts: int
) -> dict[str, Any]:
    """Compare the devices in alarm with what healthy ones have; `verdicts` share the chance to be wrong."""
    known = [v for v in versions if isinstance(v.baseline, Baseline) and v.active]
    found: dict[str, Any] = {
        "devices": in_alarm,
        "of": devices,
        "share": in_alarm / devices if devices else None,
        "interval": list(share_interval(in_alarm, devices)),
        "baseline": None,
        "unhealthy_from": None,
        "baseline_from": "; ".join(dict.fromkeys(_source(v.baseline) for v in versions)) or None,
        "p": None,
        "p_always": None,
        "verdict": "no device reports" if not devices else "no baseline to compare with",
        "unhealthy": False,
    }
    if not devices or len(known) < sum(1 for v in versions if v.active):
        return found
    weights = np.array([v.active / devices for v in known])
    parts = [v.baseline for v in known if isinstance(v.baseline, Baseline)]
    together = Baseline(
        float(weights @ [b.share for b in parts]),
        float(max(b.onsets for b in parts)),
        min(b.length for b in parts),
        float(weights @ [b.expected for b in parts]),
        "",
    )
    if fleet_p(devices, devices, steps, together)[1] > SPENT / verdicts:
        return found | {"baseline": together.share, "verdict": WIDE}
    now, always = fleet_p(in_alarm, devices, steps, together)
    unhealthy = always <= SPENT / verdicts
    return found | {
        "baseline": together.share,
        "unhealthy_from": _first_unhealthy(devices, steps, together, SPENT / verdicts),
        "p": now,
        "p_always": always,
        "verdict": WORSE if unhealthy else FINE,
        "unhealthy": unhealthy,
    }


def _first_unhealthy(devices: int, steps: int, baseline: Baseline, level: float) -> int:
    """Return how many devices in alarm make the fleet unhealthy; all of them do."""
    low, high = 0, devices
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fleet_p(middle, devices, steps, baseline)[1] <= level else (middle, high)
    return high


def _source(baseline: Baseline | str) -> str:
    return baseline.source if isinstance(baseline, Baseline) else baseline


def _band(version: VersionView, expected: float | None, devices: int) -> list[float] | None:
    """Return the band of the mean: devices share the error of the fit, not the chance of few looks."""
    if expected is None or version.params.accuracy_error is None:
        return None
    off, on = version.params.accuracy_error
    share = float((version.rows["alarm"][~version.silent] != 0).mean())
    error = float(np.sqrt((1 - share) * off**2 + share * on**2))
    half = float(half_band(np.array(expected), LEAST_LOOKS * devices, error))
    return [max(0.0, expected - half), min(1.0, expected + half)]


def _version(version: VersionView, silent: int, verdicts: int) -> dict[str, Any]:
    rows, steps = version.rows, version.steps
    reporting = rows["accuracy"][~version.silent] / RISK_ONE
    expected = float(reporting.mean()) if version.params.horizon and len(reporting) else None
    return {
        "version": version.name,
        "fingerprint": version.params.fingerprint,
        "devices": len(rows),
        "silent": silent,
        "steps": steps,
        "untimed": version.counts.untimed,
        "abstained": _share(rows["abstained"].sum(), steps),
        "flagged": _share(rows["flagged"].sum(), steps),
        "mean_risk": _share(rows["risk"].sum() / RISK_ONE, steps),
        "expected_accuracy": expected,
        "accuracy_band": _band(version, expected, len(reporting)),
        "alarm": _alarm([version], version.active, version.in_alarm, steps, verdicts),
    }


def _share(part: Any, whole: Any) -> float | None:
    return float(part) / float(whole) if whole else None


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _worst(versions: Sequence[VersionView], judged: Named, count: int) -> list[dict[str, Any]]:
    """Return the worst devices: named ones, then by severity where every version has it, else by risk."""
    severe = bool(versions) and all(v.params.evidence is not None for v in versions)
    key = judged.rows["severity" if severe else "recent_risk"].astype(np.int64)
    found = []
    for row in np.lexsort((-key, ~judged.named))[: max(0, count)].tolist():
        at, slot = judged.places[row].tolist()
        told = {"q": float(judged.q[row]), "worse": bool(judged.worse[row]), "named": bool(judged.named[row])}
        found.append(_device(versions[at], slot) | told)
    return found


def _device(version: VersionView, slot: int) -> dict[str, Any]:
    row, place = version.rows[slot], version.places[slot]
    return {
        "device": version.names[slot],
        "version": version.name,
        "severity": float(row["severity"]) / RISK_ONE if version.params.evidence is not None else None,
        "mean_risk": _share(row["risk"] / RISK_ONE, row["steps"]),
        "recent_risk": float(row["recent_risk"]) / MEAN_ONE,
        "expected_accuracy": float(row["accuracy"]) / RISK_ONE if version.params.horizon else None,
        "alarm": int(row["alarm"]),
        "alarm_since": _number(row["alarm_since"]),
        "alarm_steps": int(row["alarm_steps"]),
        "onsets": int(row["onsets"]),
        "abstained": _share(row["abstained"], row["steps"]),
        "steps": int(row["steps"]),
        "boot": int(place["boot"]),
        "seq": int(place["seq"]),
        "last_time": _number(version.heard[slot]),
        "missing": int(place["missing"]),
    }


def _classes(version: VersionView) -> list[dict[str, Any]]:
    names = version.params.names
    return [
        {
            "version": version.name,
            "class": number,
            "name": str(number) if names is None else names[number],
            "steps": int(row["steps"]),
            "predictions": int(row["predictions"]),
            "mean_risk": _share(row["risk"] / RISK_ONE, row["steps"]),
            "flagged": _share(row["flagged"], row["steps"]),
            "abstained": _share(row["abstained"], row["steps"]),
        }
        for number, row in enumerate(version.counts.classes)
    ]


def _over_time(version: VersionView) -> dict[str, Any]:
    found = version.counts.over_time()
    steps = found["steps"].tolist()
    return {
        "version": version.name,
        "width": version.counts.width,
        **{name: found[name].tolist() for name in ("time", "devices", "in_alarm", "steps", "abstained")},
        "alarm_steps": found["alarm_steps"].tolist(),
        "mean_risk": [_share(r / RISK_ONE, n) for r, n in zip(found["risk"].tolist(), steps, strict=True)],
        "expected_accuracy": [
            _share(a / RISK_ONE, n) if version.params.horizon else None
            for a, n in zip(found["accuracy"].tolist(), steps, strict=True)
        ],
    }
