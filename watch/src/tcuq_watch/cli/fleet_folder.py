"""What the commands of a fleet share: which folder, up to when, and how a signal ends them."""

from __future__ import annotations

import argparse
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tcuq.cli.process import UsageError


def add_folder(parser: Any) -> None:
    """Declare which fleet is looked at, and up to when."""
    parser.add_argument("folder", metavar="DIR", help="folder of the fleet, from tcuq fleet run")
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


def now(args: argparse.Namespace) -> float | None:
    """Return the time up to which silence is judged; None is that of the last event."""
    return time.time() if args.now else None


def healthy(args: argparse.Namespace) -> tuple[float, float] | None:
    """Return from when to when the fleet was healthy, if that was told."""
    from ..sources.arrivals import seconds

    if args.healthy is None:
        return None
    plain = [float(text) if text.replace(".", "", 1).isdigit() else text for text in args.healthy]
    first, last = map(seconds, plain)
    if not first < last:  # nor if one of them is no time
        told = " ".join(args.healthy)
        raise UsageError(f"--healthy is {told}, expected two times, such as 2026-11-01 2026-11-02T12:00Z")
    return first, last


@contextmanager
def ended_by_signals(stop: Callable[[], Any]) -> Iterator[None]:
    """Let the first signal end the work where that loses nothing, and the second at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []

    def handle(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        stop()

    names = ("SIGINT", "SIGTERM", "SIGHUP")
    endings = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {ending: signal.signal(ending, handle) for ending in endings}
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)
