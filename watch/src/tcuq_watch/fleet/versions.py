"""The shards of a version put together, and who of its devices is silent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tcuq.monitor.params import Params

from .baseline import Baseline, from_fit, from_period
from .tallies import Tallies

SILENT_PAUSES, SILENT_SECONDS = 4, 900.0
"""A device is silent after so many of its usual pauses, and after no less than so many seconds."""


class HasTallies(Protocol):
    """What is read of a lane."""

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
