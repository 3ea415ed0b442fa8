"""Which troubles are told to people, and when: at once, not again and again, and when they are over."""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from tcuq.base.atomic_files import write_whole

from .versions import HasTallies, by_version, standing

HOLD_OFF = 300.0
"""Seconds after a message in which a trouble that comes back is not told again."""

LISTED = 20
"""Devices that a message names; all are counted."""

BEGINNINGS = {"alarm": "", "reminder": "still ", "cleared": "no longer "}


class Alerts:
    """Decide what to send of troubles that come, last and go.

    A new trouble is told at once, one that comes back within `hold_off` seconds of its last message when
    they are over. It is told again every `remind` seconds while it lasts, and once when it is over. `path`
    keeps what was told, so that a restart tells nothing twice.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        hold_off: float = HOLD_OFF,
        remind: float = math.inf,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path, self._hold_off, self._remind, self._clock = path, hold_off, remind, clock
        self._told: dict[str, dict[str, tuple[bool, float]]] = {}  # kind, name: told as lasting, and when
        if path is not None:
            with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
                for kind, names in json.loads(path.read_text(encoding="utf-8")).items():
                    self._told[kind] = {name: (bool(on), float(last)) for name, (on, last) in names.items()}

    def lasting(self, kind: str) -> set[str]:
        """Return what was told and is not over."""
        return {name for name, (on, _) in self._told.get(kind, {}).items() if on}

    def look(self, kind: str, names: Collection[str]) -> dict[str, list[str]]:
        """Take what is in trouble now; return what to send, by event."""
        now, told = self._clock(), self._told.setdefault(kind, {})
        found: dict[str, list[str]] = {}
        for name in names:
            on, last = told.get(name, (False, -math.inf))
            # The clock may have been set back.
            if abs(now - last) >= (self._remind if on else self._hold_off):
                found.setdefault("reminder" if on else "alarm", []).append(name)
        for name in told.keys() - set(names):
            on, last = told[name]
            if on:
                found.setdefault("cleared", []).append(name)
            elif abs(now - last) >= self._hold_off:
                del told[name]
        for event, some in found.items():
            some.sort()
            told.update(dict.fromkeys(some, (event != "cleared", now)))
        if found and self._path is not None:
            with contextlib.suppress(OSError):  # a full disk must not end what is watched
                write_whole(self._path, json.dumps(self._told))
        return dict(sorted(found.items()))


def fleet_messages(
    alerts: Alerts, models: Mapping[str, HasTallies], summary: Mapping[str, Any], silence: bool
) -> Iterator[dict[str, Any]]:
    """Yield what to send of a fleet, by its summary; without `silence`, not who is silent."""
    alarm, now = summary["alarm"], standing(by_version(list(models.values()), summary["time"], None))
    kinds = {
        "unhealthy": {"the fleet"} if alarm["unhealthy"] else set(),
        "degraded": now.named | alerts.lasting("degraded") & now.silent,  # silence is no recovery
        **({"silent": now.silent} if silence else {}),
    }
    for kind, names in kinds.items():
        for event, some in alerts.look(kind, names).items():
            more = f" and {len(some) - LISTED:,} more" if len(some) > LISTED else ""
            yield {
                "event": event,
                "kind": kind,
                "devices": [] if kind == "unhealthy" else some[:LISTED],
                "count": len(some),
                "total": len(names),
                "in_alarm": alarm["devices"],
                "of": summary["devices"],
                "text": f"{BEGINNINGS[event]}{kind}: {', '.join(some[:LISTED])}{more}",
            }
