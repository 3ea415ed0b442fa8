"""Devices that play logs: who degrades, who gets a second version, what arrives when, and what was true."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from fleet_traffic import Network, boots_and_seqs, delivered

from tcuq import Log

TICK = 0.05
"""Seconds between two looks at the clock."""


@dataclass(frozen=True)
class Plan:
    """What is played."""

    devices: int = 100
    steps: int = 100
    period: float = 10.0
    degraded_share: float = 0.0
    degraded_from: float = 0.3
    degraded_until: float = 0.6
    second_share: float = 0.0
    versions: tuple[str, str] | None = None
    network: Network = field(default_factory=Network)
    seed: int = 0
    start: float = 1.7e9


@dataclass(frozen=True, eq=False)
class Played:
    """Every inference by number (device * steps + step), and which of them arrive when."""

    plan: Plan
    logs: tuple[Log, ...]
    boots: npt.NDArray[np.int64]
    seqs: npt.NDArray[np.int64]
    times: npt.NDArray[np.float64]
    source: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]
    which: npt.NDArray[np.int64]
    when: npt.NDArray[np.float64]

    def device(self, number: int) -> str:
        """Return the name of the device of an inference."""
        return f"device-{number // self.plan.steps:06d}"

    def version(self, number: int) -> str | None:
        """Return the version that an inference names."""
        return self.plan.versions[int(self.source[number] >= 2)] if self.plan.versions else None

    def message(self, number: int) -> dict[str, Any]:
        """Return an inference as it is sent, but for the name of its device."""
        log, row = self.logs[self.source[number]], self.row[number]
        found: dict[str, Any] = {"boot": int(self.boots[number]), "seq": int(self.seqs[number])}
        found["time"] = round(float(self.times[number]), 3)
        found["probs"] = _numbers(log.probs[row])
        if log.features is not None:
            found["features"] = _numbers(log.features[row])
        if self.plan.versions:
            found["version"] = self.version(number)
        return found

    def chunks(self, speed: float, most: int) -> Iterator[npt.NDArray[np.int64]]:
        """Yield inferences as they arrive: `speed` seconds of the fleet a second, 0: as fast as it goes."""
        if not speed:
            yield from (self.which[at : at + most] for at in range(0, len(self.which), most))
            return
        began, at = time.monotonic(), 0
        while at < len(self.which):
            due = self.plan.start + (time.monotonic() - began) * speed
            end = min(int(np.searchsorted(self.when, due, side="right")), at + most)
            if end > at:
                yield self.which[at:end]
                at = end
            if at < len(self.which) and self.when[at] > due:
                time.sleep(TICK)


def _numbers(row: npt.NDArray[Any]) -> list[float]:
    return [round(float(each), 5) for each in row] if row.dtype.kind == "f" else [int(each) for each in row]


def play(
    plan: Plan, clean: Log, degraded: Log | None = None, second: tuple[Log, Log] | None = None
) -> Played:
    """Let devices play logs.

    Each starts at a random row and goes round and round. The second version plays the same logs unless it
    has its own.
    """
    if degraded is None and clean.shifted is not None and clean.shifted.any():
        clean, degraded = _part(clean, ~clean.shifted), _part(clean, clean.shifted)
    if plan.degraded_share and degraded is None:
        raise ValueError("no degraded log is there, expected --degraded FILE or a log with shifted steps")
    logs = (clean, clean if degraded is None else degraded)
    logs += logs if second is None else second
    widths = {(log.classes, log.width) for log in logs}
    if len(widths) > 1:
        raise ValueError(f"logs have the shapes (classes, features) {sorted(widths)}, expected one shape")
    rng = np.random.default_rng(plan.seed)
    shape = (plan.devices, plan.steps)
    step = np.arange(plan.steps)
    turns = _turns(rng, plan, plan.degraded_share)
    moves = _turns(rng, plan, plan.second_share)
    restarts = (rng.random(shape) < plan.network.reboots) | (step == moves[:, None])
    boots, seqs = boots_and_seqs(restarts)
    source = ((step >= turns[:, None]) + 2 * (step >= moves[:, None])).astype(np.int64)
    lengths = np.array([len(log) for log in logs])
    row = (rng.integers(0, 2**31, plan.devices)[:, None] + step) % lengths[source]
    times = plan.start + plan.period * (step + rng.random(plan.devices)[:, None])
    which, when = delivered(times.ravel(), plan.network, rng)
    return Played(plan, logs, boots, seqs, times.ravel(), source.ravel(), row.ravel(), which, when)


def _turns(rng: np.random.Generator, plan: Plan, share: float) -> npt.NDArray[np.int64]:
    """Return from which step on something holds of each device; past the end for most of them."""
    chosen = np.zeros(plan.devices, dtype=bool)
    chosen[rng.permutation(plan.devices)[: round(share * plan.devices)]] = True
    at = rng.uniform(plan.degraded_from, plan.degraded_until, plan.devices) * plan.steps
    # A device always has a first step of its first state.
    return np.where(chosen, np.maximum(1, at.astype(np.int64)), plan.steps)


def _part(log: Log, which: npt.NDArray[np.bool_]) -> Log:
    some = {"features": log.features, "labels": log.labels}
    return Log(
        log.probs[which], **{name: None if all_ is None else all_[which] for name, all_ in some.items()}
    )


def write_truth(folder: Path, played: Played) -> None:
    """Write what was true: a row a device, and a row a step where the logs have labels."""
    plan, folder = played.plan, Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    arrived = np.bincount(played.which, minlength=len(played.times)).reshape(plan.devices, plan.steps)
    source = played.source.reshape(plan.devices, plan.steps)
    times = played.times.reshape(plan.devices, plan.steps)
    with open(folder / "devices.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["device", "degraded", "degraded_from", "version", "steps", "lost", "repeated"])
        for number in range(plan.devices):
            bad = source[number] % 2 == 1
            since = f"{times[number][bad][0]:.3f}" if bad.any() else ""
            last = number * plan.steps + plan.steps - 1
            counts = [plan.steps, int((arrived[number] == 0).sum()), int((arrived[number] > 1).sum())]
            rows.writerow([played.device(last), int(bad.any()), since, played.version(last) or "", *counts])
    if played.logs[0].labels is None:
        return
    with open(folder / "labels.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["device", "version", "boot", "seq", "label", "degraded"])
        for number in range(len(played.times)):
            log = played.logs[played.source[number]]
            label = "" if log.labels is None else int(log.labels[played.row[number]])
            place = [int(played.boots[number]), int(played.seqs[number])]
            degraded = int(played.source[number] % 2)
            rows.writerow([played.device(number), played.version(number) or "", *place, label, degraded])
