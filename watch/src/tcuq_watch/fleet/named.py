"""Which devices look degraded now: by their alarm, and by their severity beside the other devices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .baseline import SPENT, Baseline, adjusted, device_p
from .tallies import DEVICE_DTYPE, MEAN_ONE, RISK_ONE, SEVERITY_WINDOW
from .versions import VersionView

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

    Examples
    --------
    >>> severity = np.array([-0.6, -0.5, -0.5, -0.4, -0.5, -0.6, -0.4, 0.9])
    >>> severity_p(severity, np.full(8, 500)).round(4).tolist()[-2:]
    [1.0, 0.0004]
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
