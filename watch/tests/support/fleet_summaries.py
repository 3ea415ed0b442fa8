"""Summaries of fleets that nobody has: figures of many devices, in the shape of `Fleet.summary`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tcuq_watch.verdicts.summary import summarize

NOW = 1_794_000_000.0
DAY = 86_400.0
CLASSES = ("idle", "walking", "running", "stairs", "fall", "cycling")


def alarm(devices: int, share: float, trouble: bool) -> dict[str, Any]:
    count = round(devices * share)
    wide = 2 * (share * (1 - share) / devices) ** 0.5
    return {
        "devices": count,
        "of": devices,
        "share": count / devices,
        "interval": [max(0.0, share - wide), min(1.0, share + wide)],
        "expected": 0.006,
        "baseline": 0.01,
        "baseline_from": "the fit: 4 false alarms in 20,000 held-out clean steps",
        "p": 1e-12 if trouble else 0.6,
        "p_always": 1e-9 if trouble else 1.0,
        "unhealthy_from": max(1, devices // 50),
        "unhealthy": trouble,
    }


def _over_time(version: str, devices: int, share: float, bins: int, seed: int, rise: float) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    heard = rng.binomial(devices, 0.96, bins)
    shares = share + rise * np.clip((np.arange(bins) - 0.6 * bins) / (0.4 * bins), 0, 1)
    hit = rng.binomial(heard, shares)
    return {
        "version": version,
        "width": 3600.0,
        "time": (NOW - bins * 3600 + 3600 * np.arange(bins)).tolist(),
        "devices": heard.tolist(),
        "in_alarm": hit.tolist(),
        "steps": (heard * 360).tolist(),
        "abstained": (heard * 11).tolist(),
        "mean_risk": (0.06 + 0.5 * shares).tolist(),
    }


def worst(count: int, devices: int, trouble: bool, seed: int = 3) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    rows = []
    for place in range(count):
        bad = trouble and place < 14
        rows.append(
            {
                "device": f"sensor-{int(rng.integers(0, max(1, devices))):06d}",
                "version": "v2" if bad and place % 3 else "v1",
                "severity": round(float((2.8 if bad else 0.4) * np.exp(-place / 12)), 3),
                "mean_risk": round(float((0.52 if bad else 0.14) * np.exp(-place / 30)), 4),
                "alarm": 1 if bad else int(place == 3),
                "alarm_since": NOW - 3600 * (1 + 3 * place) if bad or place == 3 else None,
                "abstained": 0.11 if bad else 0.03,
                "steps": int(rng.integers(800, 90_000)),
                "boot": place % 4,
                "seq": int(rng.integers(0, 9000)),
                "last_time": NOW - 40 * place,
                "missing": int(rng.integers(0, 40)),
                "q": 1e-5 * (place + 1) if bad else 0.4,
                "worse": bad,
                "named": bad,
            }
        )
    return rows


def summary(devices: int, *, trouble: bool = False, versions: int = 2, bins: int = 96) -> dict[str, Any]:
    """A fleet of so many devices; in trouble, version 2 fails."""
    names = ["v1", "v2", "v3"][:versions]
    split = [devices // versions] * versions
    split[0] += devices - sum(split)
    shares = [0.011, 0.071 if trouble else 0.0098, 0.012][:versions]
    steps = devices * 8_640
    rng = np.random.default_rng(1)
    edges = np.linspace(0, 1, 41)
    risk = np.concatenate([rng.beta(2, 26, devices), rng.beta(8, 9, devices // 40 if trouble else 0)])
    hit = sum(n * s for n, s in zip(split, shares, strict=True)) / max(1, devices)
    return {
        "time": NOW,
        "devices": devices,
        "steps": steps,
        "silent": devices // 300,
        "held": devices // 90,
        "missing": steps // 400,
        "late": steps // 90_000,
        "duplicates": steps // 700,
        "reboots": devices // 12,
        "refused": {"bad posterior": 12, "not JSON": 3, "unknown version": 41} if trouble else {},
        "alarm": alarm(devices, hit, trouble),
        "named": {
            "devices": sorted({row["device"] for row in worst(min(20, devices), devices, trouble)[:14]})
            if trouble
            else [],
            "count": 14 if trouble else 0,
            "of": devices,
            "false_share": 0.1,
            "from_alarms": max(1, round(0.12 * devices)),
            "by_severity": devices >= 8,
        },
        "histogram": {
            "mean_risk": {"edges": edges.tolist(), "counts": np.histogram(risk, edges)[0].tolist()}
        },
        "versions": [
            {
                "version": name,
                "fingerprint": f"{0x3A51C0DE + place:08x}",
                "devices": split[place],
                "silent": split[place] // 300,
                "steps": split[place] * 8_640,
                "abstained": 0.031 + 0.02 * (trouble and place == 1),
                "flagged": 0.052,
                "mean_risk": 0.071 + 0.06 * (trouble and place == 1),
                "expected_accuracy": 0.938 - 0.05 * (trouble and place == 1),
                "accuracy_band": None,
                "alarm": alarm(split[place], shares[place], trouble and place == 1),
            }
            for place, name in enumerate(names)
        ],
        "rollouts": [
            {
                "version": name,
                "before": before,
                "error": 0.05,
                "p_always": 1e-9 if trouble else 1.0,
                "worse": trouble,
                "time": NOW - 7200,
                "width": 3600,
                "devices": split[1],
                "in_alarm": round(split[1] * shares[1]),
                "devices_before": split[0],
                "in_alarm_before": round(split[0] * shares[0]),
            }
            for before, name in pairwise(names)
        ],
        "worst": worst(min(20, devices), devices, trouble),
        "classes": [
            {
                "version": name,
                "class": number,
                "name": word,
                "steps": steps // 6 // versions,
                "mean_risk": 0.03 + 0.03 * number + 0.1 * (trouble and number == 4 and name == "v2"),
                "abstained": 0.01 + 0.012 * number,
            }
            for name in names
            for number, word in enumerate(CLASSES)
        ],
        "over_time": [
            _over_time(name, split[place], shares[0], bins, place, shares[place] - shares[0])
            for place, name in enumerate(names)
        ],
        "silent_devices": [
            {"device": f"sensor-{place * 37:06d}", "version": "v1", "last_time": NOW - DAY * (1 + place)}
            for place in range(min(20, devices // 300))
        ],
        "labels": {
            "per_day": 200,
            "asked": 1400,
            "told": 1180,
            "estimate": 0.931 if trouble else 0.957,
            "interval": [0.908, 0.950] if trouble else [0.939, 0.971],
            "level": 0.95,
            "errors_found": 611 if trouble else 240,
        },
    }


def empty() -> dict[str, Any]:
    """A fleet that no device has spoken to."""
    return summarize([])


def timelines(rows: list[dict[str, Any]], cells: int = 60) -> dict[tuple[str, str], dict[str, list[Any]]]:
    """Mean risk over time of each of the worst devices."""
    rng = np.random.default_rng(0)
    found = {}
    for row in rows:
        level = row["mean_risk"]
        rise = np.clip((np.arange(cells) - cells * 0.5) / cells * 2, 0, 1) if row["worse"] else 0
        risk = np.clip(0.08 + level * rise + rng.normal(0, 0.02, cells), 0, 1)
        found[row["version"], row["device"]] = {
            "time": (NOW - DAY + DAY / cells * np.arange(cells)).tolist(),
            "mean_risk": risk.round(4).tolist(),
            "in_alarm": (risk > 0.3).tolist(),
        }
    return found
