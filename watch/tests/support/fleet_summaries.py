"""Fleets that nobody has: as much of a model as a summary reads, and whole summaries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq import Params
from tcuq.monitor.alarm import Alarm, AlarmSide
from tcuq.monitor.heads import EvidenceHead
from tcuq.monitor.steps import STEP_DTYPE
from tcuq_watch.engine.tallies import RISK_ONE, Tallies
from tcuq_watch.verdicts.summary import summarize

NOW = 1_794_000_000.0 // 3600 * 3600
DAY, HOURS = 86_400.0, 24
DEGRADED = 14

CLEAN = {"steps": 10**7, "false_alarms": 6000, "alarm_steps": 60_000}
PARAMS = Params(
    classes=6,
    names=["idle", "walking", "running", "stairs", "fall", "cycling"],
    horizon=64,
    accuracy_error=(0.02, 0.05),
    signals=("odds",),
    evidence=EvidenceHead(coef={"odds": 1.0}, offsets=(0.0,) * 6),
    alarm=Alarm(0.1, AlarmSide(0.05, 2.0)),
    notes={"fit": {"run_length": 10_000, "run_length_elsewhere": CLEAN}},
)
LABELS = {"per_day": 200, "asked": 1400, "told": 1180, "errors_found": 611}
LABELS |= {"estimate": 0.931, "interval": [0.908, 0.950], "confidence": 0.95}


PLACE = np.dtype(
    [(name, "i8") for name in ("boot", "seq", "missing", "late", "duplicates", "reboots", "held")]
)


@dataclass(eq=False)
class Shard:
    version: str
    devices: list[str]
    tallies: Tallies
    places: npt.NDArray[Any]

    @property
    def heard(self) -> npt.NDArray[np.float64]:
        """Nothing is held here."""
        return self.tallies.devices["last_time"]


def played(version: str, names: list[str], params: Params, times: Iterable[float], **columns: Any) -> Any:
    """Return devices that all make a step at each of these times; columns of it may differ by device."""
    tallies, slots = Tallies(params), np.arange(len(names))
    tallies.grow(len(names))
    steps = np.zeros(len(names), dtype=STEP_DTYPE)
    for name, column in columns.items():
        steps[name] = column
    for time in times:
        tallies.update(slots, np.full(len(names), time), steps)
    return Shard(version, names, tallies, np.zeros(len(names), dtype=PLACE))


def _shard(version: str, devices: int, trouble: bool) -> Shard:
    """Devices that make a step an hour; in the last ones, some in alarm, and some silent."""
    rng, tallies = np.random.default_rng(devices), Tallies(PARAMS)
    tallies.grow(devices)
    steps = np.zeros(devices, dtype=STEP_DTYPE)
    steps["risk"], steps["expected_accuracy"] = rng.beta(2, 26, devices), 0.9
    steps["answer"] = np.arange(devices) % 6
    heard = np.arange(devices - devices // 300)
    for hour in range(HOURS):
        late = hour >= HOURS // 2
        steps["alarm"] = late & (np.arange(devices) < round((0.071 if trouble else 0.005) * devices))
        slots = heard if late else np.arange(devices)
        times = np.full(len(slots), NOW - 3600.0 * (HOURS - 1 - hour))
        tallies.update(slots, times, steps[slots])
    tallies.devices["steps"] += 500  # enough to compare degradations
    tallies.devices["degradation"] = rng.normal(-0.5, 0.01, devices) * RISK_ONE
    if trouble:
        tallies.devices["degradation"][:DEGRADED] = 3 * RISK_ONE
    places = np.zeros(devices, dtype=PLACE)
    places["missing"] = 2
    return Shard(version, [f"sensor-{version}-{n:06d}" for n in range(devices)], tallies, places)


def summary(devices: int, *, trouble: bool = False, versions: int = 2) -> dict[str, Any]:
    """A fleet of so many devices; in trouble, version 2 fails."""
    shards = [
        _shard(f"v{place + 1}", len(part), trouble and place == 1)
        for place, part in enumerate(np.array_split(np.arange(devices), versions))
    ]
    refused = {"bad posterior": 12, "not JSON": 3, "unknown version": 41} if trouble else {}
    asked = [
        ("v2", f"sensor-v2-{device:06d}", 1, seq, NOW, 0.2, 3, 0)
        for device in (0, devices)
        for seq in (41, 40)
    ]
    labels: Any = SimpleNamespace(summary=lambda: dict(LABELS), waiting=lambda: asked)
    models: Any = shards
    return summarize(models, refused, labels, NOW)


def empty() -> dict[str, Any]:
    """A fleet that no device has spoken to."""
    return summarize([])


def timelines(rows: list[dict[str, Any]], cells: int = 96) -> dict[tuple[str, str], dict[str, Any]]:
    """The last day of each of the worst devices."""
    return {
        (row["version"], row["device"]): {
            "time": NOW - DAY + DAY / cells * np.arange(cells + 1),
            "state": np.repeat([0, 1, 2, 3], cells // 4),
            "accuracy": np.linspace(0.9, 0.5, cells),
            "was": 0.9 if row["alarm"] else None,
        }
        for row in rows
    }
