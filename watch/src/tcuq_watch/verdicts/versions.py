"""The shards of a version put together, and who of its devices is silent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tcuq.monitor.params import Params

from ..engine.tallies import DEVICE_DTYPE, MEAN_ONE, RISK_ONE, SEVERITY_WINDOW, Tallies
from .baseline import SPENT, Baseline, adjusted, device_p, from_fit, from_period

SILENT_PAUSES, SILENT_SECONDS = 4, 900.0
"""A device is silent after so many of its usual pauses, and after no less than so many seconds."""


class HasTallies(Protocol):
    """What is read of a model."""

    version: str
    devices: list[str]
    tallies: Tallies

    @property
    def places(self) -> npt.NDArray[Any]:
        """One row a slot: boot, seq, missing, late, duplicates, reboots, held."""
        ...

    @property
    def heard(self) -> npt.NDArray[np.float64]:
        """When devices were last heard of, by slot."""
        ...


@dataclass(frozen=True, eq=False)
class VersionView:
    """All shards of one version, one row a device."""

    name: str
    params: Params
    names: Sequence[str]
    rows: npt.NDArray[Any]
    places: npt.NDArray[Any]
    heard: npt.NDArray[np.float64]
    counts: Tallies
    silent: npt.NDArray[np.bool_]
    baseline: Baseline | str

    @property
    def steps(self) -> int:
        """Steps of all devices."""
        return int(self.rows["steps"].sum())

    @property
    def active(self) -> int:
        """Devices that are not silent."""
        return int((~self.silent).sum())

    @property
    def in_alarm(self) -> int:
        """Devices in alarm that are not silent."""
        return int(((self.rows["alarm"] > 0) & ~self.silent).sum())


def by_version(
    shards: Sequence[HasTallies], time: float | None, period: tuple[float, float] | None
) -> list[VersionView]:
    """Put shards of a version together, and find out who is silent."""
    found = []
    names = list(dict.fromkeys(shard.version for shard in shards))
    for name in names:
        mine = [shard for shard in shards if shard.version == name]
        params = mine[0].tallies.params
        rows = _together([shard.tallies.devices for shard in mine])
        heard = _together([shard.heard for shard in mine])
        counts = mine[0].tallies if len(mine) == 1 else Tallies.merged([shard.tallies for shard in mine])
        found.append(
            VersionView(
                name,
                params,
                mine[0].devices if len(mine) == 1 else [name for shard in mine for name in shard.devices],
                rows,
                _together([shard.places for shard in mine]),
                heard,
                counts,
                silence(rows, heard, time),
                from_fit(params, len(names))
                if period is None
                else from_period(counts.over_time(), counts.width, period, len(names)),
            )
        )
    return found


def _together(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def silence(
    rows: npt.NDArray[Any], heard: npt.NDArray[np.float64], now: float | None
) -> npt.NDArray[np.bool_]:
    """Say which devices have been quiet for longer than they use to be; one that never told a time is not."""
    if now is None:
        return np.zeros(len(rows), dtype=np.bool_)
    gaps = rows["gap"] / 1000.0
    known = gaps[gaps > 0]
    # A device that came once only is taken to be like the others.
    usual = np.where(gaps > 0, gaps, np.median(known) if len(known) else 0.0)
    return np.asarray(now - heard > np.maximum(SILENT_SECONDS, SILENT_PAUSES * usual))


def without_moved(versions: Sequence[VersionView]) -> list[npt.NDArray[np.int64]]:
    """Return the silent devices of each version, without those that now report under another one."""
    silent = [np.flatnonzero(v.silent) for v in versions]
    if len(versions) < 2 or not any(map(len, silent)):
        return silent
    last: dict[str, tuple[float, int]] = {}  # a device that is silent everywhere counts where it was last
    for own, version in enumerate(versions):
        heard = np.where(version.silent, version.heard, np.inf).tolist()
        for name, time in zip(version.names, heard, strict=True):
            last[name] = max(last.get(name, (-np.inf, own)), (time, own))
    return [
        np.array([slot for slot in slots.tolist() if last[version.names[slot]][1] == own], dtype=np.int64)
        for own, (version, slots) in enumerate(zip(versions, silent, strict=True))
    ]


Floats = npt.NDArray[np.float64]

FALSE_SHARE = 0.1
"""Share of healthy devices among those that are named at a look, on average, at most."""

PEERS = 8
"""Devices at least that one device is compared with."""

SPREAD = 0.05
"""Nats by which the severities of healthy devices differ at least."""

LISTED = 100
"""Named devices that are listed; all are counted."""


def severity_p(severity: Floats, steps: npt.NDArray[Any]) -> Floats:
    """Return the chance of so high a severity among devices of one version; 1 where it is not above 0.

    The middle of all devices and their median deviation stand for healthy ones, so fewer than half may be
    degraded. Clean streams differ more than normal variables do: the tail is that of Student's t with four
    degrees of freedom.

    Severity is in nats. Devices with fewer steps than a severity looks back are not compared.
    """
    found = np.ones(len(severity))
    known = np.asarray(steps >= SEVERITY_WINDOW)
    if known.sum() < PEERS:
        return found
    middle = np.median(severity[known])
    spread = max(SPREAD, 1.4826 * float(np.median(np.abs(severity[known] - middle))))
    high = known & (severity > max(0.0, middle))
    found[high] = _student_tail((severity[high] - middle) / spread)
    return found


def _student_tail(t: Floats) -> Floats:
    """Return the upper tail of Student's t with four degrees of freedom, for t above 0."""
    part = t / np.sqrt(t * t + 4)
    return np.asarray((1 - part) ** 2 * (2 + part) / 4)


class Named(NamedTuple):
    """The devices that report, and which of them look degraded."""

    places: npt.NDArray[np.int64]  # number of the version, and slot
    rows: npt.NDArray[Any]
    q: Floats
    worse: npt.NDArray[np.bool_]  # in alarm for longer lately than the baseline allows, over all looks

    @property
    def named(self) -> npt.NDArray[np.bool_]:
        """Which devices are named: those of either kind."""
        return np.asarray((self.q <= FALSE_SHARE) | self.worse)

    def summary(self, versions: Sequence[VersionView]) -> dict[str, Any]:
        """Return who is named, and how often healthy devices are."""
        names = [versions[at].names[slot] for at, slot in self.places[self.named].tolist()]
        severe = any(v.params.evidence is not None for v in versions)
        shares = [v.baseline.expected for v in versions if isinstance(v.baseline, Baseline) and v.active]
        share, count = max(shares, default=None), len(self.q)
        return {
            "devices": sorted(set(names))[:LISTED],
            "count": len(set(names)),
            "of": count,
            "false_share": FALSE_SHARE,
            "clean_share": share,
            "from_alarms": None if share is None else max(1, math.ceil(2 * share * count / FALSE_SHARE)),
            "by_severity": severe and count >= PEERS,
        }


def find_named(versions: Sequence[VersionView]) -> Named:
    """Judge every device that reports."""
    places, rows, now, always = [], [], [], []
    for number, version in enumerate(versions):
        slots = np.flatnonzero(~version.silent & (version.rows["steps"] > 0))
        mine, baseline = version.rows[slots], version.baseline
        by_alarm, by_severity, for_long = np.ones((3, len(slots)))
        if isinstance(baseline, Baseline):
            by_alarm[mine["alarm"] > 0] = baseline.expected
            _, for_long = device_p(mine["recent_alarm"] / MEAN_ONE, mine["steps"], baseline)
        if version.params.evidence is not None:
            by_severity = severity_p(mine["severity"] / RISK_ONE, mine["steps"])
        places.append(np.stack([np.full(len(slots), number), slots], axis=1))
        rows.append(mine)
        now.append(np.minimum(1.0, 2 * np.minimum(by_alarm, by_severity)))  # two ways to be named
        always.append(for_long)
    if not places:
        return Named(
            np.zeros((0, 2), np.int64), np.zeros(0, DEVICE_DTYPE), np.zeros(0), np.zeros(0, np.bool_)
        )
    worse = adjusted(np.concatenate(always)) <= SPENT
    q = adjusted(np.concatenate(now), any_dependence=False)
    return Named(np.concatenate(places), np.concatenate(rows), q, worse)


class Standing(NamedTuple):
    """Names of devices by how they are doing; one that changed its version is in a set once."""

    silent: set[str]
    in_alarm: set[str]
    named: set[str]


def standing(versions: Sequence[VersionView]) -> Standing:
    """Return who is silent, in alarm, and named."""
    judged, found = find_named(versions), Standing(set(), set(), set())
    for number, (version, silent) in enumerate(zip(versions, without_moved(versions), strict=True)):
        mine = judged.places[judged.named & (judged.places[:, 0] == number), 1]
        alarm = np.flatnonzero((version.rows["alarm"] > 0) & ~version.silent)
        for names, slots in zip(found, (silent, alarm, mine), strict=True):
            names.update(version.names[slot] for slot in slots.tolist())
    return found
