"""`tcuq fleet page`: a fleet as one HTML file, or as a page that keeps itself up to date."""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.cli.common import answer, note
from tcuq.cli.parser import declare
from tcuq.cli.process import UsageError

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers

WORST = 20
"""Devices that the page lists."""

FRESH = 2.0
"""Seconds for which what was read of a fleet serves all who look."""


def add(actions: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        actions,
        "page",
        "show a fleet as one HTML file, or serve it",
        "tcuq fleet page fleet -o fleet.html\ntcuq fleet page fleet --serve",
        command,
        "tcuq fleet labels fleet -o ask.csv",
    )
    option = parser.add_argument
    add_folder(parser)
    option("-o", "--output", metavar="OUT.html", help="page to write")
    option("--serve", action="store_true", help="serve the page and /metrics until Ctrl-C")
    option(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="with --serve: address (default: 127.0.0.1, this machine alone); another one needs a secret in "
        "the variable TCUQ_TOKEN, which the page then asks for",
    )
    option("--port", type=int, default=8357, metavar="N", help="with --serve: port (default: 8357)")


def command(args: argparse.Namespace) -> int:
    """Write the page, or serve it."""
    if args.serve == (args.output is not None):
        raise UsageError("one of -o OUT.html and --serve is needed")
    title = Path(args.folder).resolve().name or "Fleet"
    return _serve(args, title) if args.serve else _write(args, title)


def _write(args: argparse.Namespace, title: str) -> int:
    from tcuq.base.atomic_files import write_whole
    from tcuq.io.sources import check_target

    from ..pages.fleet_page import page

    check_target(args.output)
    summary, lines = Look(args)()
    content = page(summary, lines, title)[0].encode()
    write_whole(args.output, content)
    wrote = {"page": args.output, "bytes": len(content), "devices": summary["devices"]}
    answer(args, wrote, f"wrote {args.output}: {len(content) / 1000:,.0f} KB")
    return 0


class Look:
    """Reads a fleet while another process writes it; what was read a moment ago is not read again."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args, self._baseline = args, healthy(args)
        self._until, self._seen = 0.0, ({}, {})  # type: tuple[float, tuple[dict[str, Any], Any]]
        self._lock = threading.Lock()

    def __call__(self) -> tuple[dict[str, Any], Any]:
        """Return the summary and the timelines of the worst devices."""
        from ..fleet.fleet import Fleet
        from ..pages.fleet_page import timelines
        from ..verdicts.metrics import process_of

        with self._lock:
            if time.monotonic() < self._until:
                return self._seen
            with Fleet.open_read(self._args.folder) as fleet:
                summary = fleet.summary(now(self._args), WORST, self._baseline)
                summary["process"] = process_of(fleet)
                self._seen = summary, timelines(fleet, summary["worst"])
            self._until = time.monotonic() + FRESH
            return self._seen

    def page(self, title: str, find: str) -> tuple[str, str]:
        """Return the page that is served, with devices by name where some are asked for."""
        from ..fleet.fleet import Fleet
        from ..pages.fleet_page import find_devices, page

        matches = ""
        if find:
            with Fleet.open_read(self._args.folder) as fleet:
                matches = find_devices(fleet, find)
        return page(*self(), title, find, matches)


def _serve(args: argparse.Namespace, title: str) -> int:
    from ..pages.server import serve
    from ..verdicts.metrics import metrics_text

    look, ended = Look(args), threading.Event()
    look()  # a folder that holds no fleet is refused before anything is served
    server = serve(
        None,
        host=args.host,
        port=args.port,
        token=os.environ.get("TCUQ_TOKEN") or None,
        metrics=lambda: metrics_text(summary := look()[0], process=summary["process"]),
        page=lambda find: look.page(title, find),
    )
    try:
        with ended_by_signals(ended.set):
            note(args, f"serving {args.folder} at {server.url} (Ctrl-C ends it)")
            while not ended.wait(1.0):
                pass
    finally:
        server.close()
    return 0


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
