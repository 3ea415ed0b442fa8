"""`tcuq fleet page`: a fleet as one HTML file, or as a page that keeps itself up to date."""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.cli.common import answer, note
from tcuq.cli.parser import declare
from tcuq.cli.process import UsageError

from .fleet_folder import add_folder, clock, healthy

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
    look = Look(args.folder, clock(args), healthy(args))
    return _serve(args, look, title) if args.serve else _write(args, look, title)


def _write(args: argparse.Namespace, look: Look, title: str) -> int:
    from tcuq.io.sources import check_target

    from ..pages.fleet_page import write_page

    check_target(args.output)
    summary, lines = look()
    size = write_page(args.output, summary, lines, title)
    found = {"page": args.output, "bytes": size, "devices": summary["devices"]}
    answer(args, found, f"wrote {args.output}: {size / 1000:,.0f} KB")
    return 0


class Look:
    """Reads a fleet while another process writes it; what was read a moment ago is not read again."""

    def __init__(
        self,
        folder: str,
        clock: Callable[[], float | None],
        baseline: tuple[float, float] | None = None,
    ) -> None:
        self.folder, self.clock, self.baseline = folder, clock, baseline
        self._read: tuple[float, tuple[dict[str, Any], Any]] | None = None
        self._lock = threading.Lock()

    def __call__(self) -> tuple[dict[str, Any], Any]:
        """Return the summary and the timelines of the worst devices."""
        with self._lock:
            if self._read is None or time.monotonic() - self._read[0] > FRESH:
                found = self._looked()
                self._read = time.monotonic(), found
            return self._read[1]

    def _looked(self) -> tuple[dict[str, Any], Any]:
        from ..fleet.fleet import Fleet
        from ..pages.fleet_page import histograms, timelines
        from ..verdicts.metrics import process_of

        with Fleet.open_read(self.folder) as fleet:
            summary = fleet.summary(self.clock(), WORST, self.baseline)
            if "histogram" not in summary:
                summary["histogram"] = histograms(fleet)
            summary["process"] = process_of(fleet)
            return summary, timelines(fleet, summary["worst"])

    def data(self, find: str) -> dict[str, Any]:
        """Return what a served page asks for: its parts, or devices by name."""
        from ..fleet.fleet import Fleet
        from ..pages.fleet_page import find_devices, parts

        if not find:
            return {"parts": parts(*self(), "fleet")}
        with Fleet.open_read(self.folder) as fleet:
            return find_devices(fleet, find)


def _serve(args: argparse.Namespace, look: Look, title: str) -> int:
    from ..pages.fleet_page import page
    from ..pages.server import View, serve
    from ..verdicts.metrics import metrics_text

    look()  # a folder that holds no fleet is refused before anything is served
    view = View("fleet", title, lambda: page(*look(), title, served="fleet"), look.data)
    server = serve(
        None,
        host=args.host,
        port=args.port,
        token=os.environ.get("TCUQ_TOKEN") or None,
        metrics=lambda: metrics_text(summary := look()[0], process=summary["process"]),
        views=[view],
    )
    ended = threading.Event()
    before = {each: signal.signal(each, lambda *_: ended.set()) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        note(args, f"serving {args.folder} at {server.url} (Ctrl-C ends it)")
        while not ended.wait(1.0):
            pass
    finally:
        server.close()
        for each, handler in before.items():
            signal.signal(each, handler)
    return 0
