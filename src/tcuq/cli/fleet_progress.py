"""How far `tcuq fleet run` is, on one line of a terminal."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from .edge import tell

if TYPE_CHECKING:
    from ..fleet.pump import Pumped


class Progress:
    """One line on a terminal: events a second, devices, in alarm."""

    def __init__(self, args: argparse.Namespace, fleet: Any, source: Any) -> None:
        self._on = not (args.quiet or args.json) and sys.stderr.isatty()
        self._fleet, self._shown = fleet, ""
        self._connection = getattr(source, "connection", None)
        self._last = (time.monotonic(), 0)
        self._done: Pumped | None = None
        self._known: set[str] = set()
        self._looked: dict[str, int] = {}

    def devices(self) -> int:
        """Return how many devices there are; one that changed its version counts once."""
        lanes = self._fleet.lanes
        if len(lanes) == 1:
            return sum(len(lane.devices) for lane in lanes.values())
        for name, lane in lanes.items():
            self._known.update(lane.devices[self._looked.get(name, 0) :])
            self._looked[name] = len(lane.devices)
        return len(self._known)

    def __call__(self, done: Pumped) -> None:
        """Hear of a commit."""
        self._done = done
        self.look()

    def look(self) -> None:
        """Show the line anew, also while nothing arrives."""
        done, now = self._done, time.monotonic()
        before, events = self._last
        if not self._on or done is None or now - before < 0.5:
            return
        self._last = (now, done.events)
        lanes = self._fleet.lanes.values()
        devices = self.devices()
        hit = sum(int((lane.tallies.devices["alarm"] > 0).sum()) for lane in lanes)
        rate = (done.events - events) / (now - before)
        line = f"{done.events:,} events, {rate:,.0f} a second; {devices:,} devices, {hit:,} in alarm"
        if self._connection is not None and self._connection.away:
            line = f"the broker is away; {line}"
        line = line[:79]
        tell(f"\r{line:<{len(self._shown)}}", end="")
        self._shown = line

    def close(self) -> None:
        """Take the line away."""
        if self._shown:
            tell(f"\r{'':<{len(self._shown)}}\r", end="")
