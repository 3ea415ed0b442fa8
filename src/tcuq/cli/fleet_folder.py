"""Which fleet is looked at, and how: what `tcuq fleet status` and `tcuq fleet page` share."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from .edge import UsageError


def add_folder(parser: Any) -> None:
    """Declare which fleet is looked at, and up to when."""
    parser.add_argument("folder", metavar="DIR", help="folder that `tcuq fleet run` writes")
    parser.add_argument(
        "--now", action="store_true", help="judge silence by the clock of this machine, not by the last event"
    )
    parser.add_argument(
        "--healthy",
        nargs=2,
        metavar=("FROM", "TO"),
        help="compare alarms with those between these times, when the fleet was healthy, not with what the "
        "fit found: ISO 8601 or seconds since 1970, at least one whole hour",
    )


def clock(args: argparse.Namespace) -> Callable[[], float | None]:
    """Return what tells the time up to which silence is judged; None is the time of the last event."""
    return time.time if args.now else lambda: None


def healthy(args: argparse.Namespace) -> tuple[float, float] | None:
    """Return from when to when the fleet was healthy, if that was told."""
    from ..fleet.arrivals import seconds

    if args.healthy is None:
        return None
    plain = [float(text) if text.replace(".", "", 1).isdigit() else text for text in args.healthy]
    first, last = map(seconds, plain)
    if not first < last:  # nor if one of them is no time
        told = " ".join(args.healthy)
        raise UsageError(f"--healthy is {told}, expected two times, such as 2026-11-01 2026-11-02T12:00Z")
    return first, last
