"""`tcuq fleet page`: a fleet as one HTML file, or as a page that keeps itself up to date."""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.base.errors import InputError, one_line
from tcuq.cli.common import answer, note
from tcuq.cli.parser import declare
from tcuq.cli.process import UsageError

from .shared import add_server_options, ended_by_signals, serve_page

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers

FRESH = 2.0
"""Seconds for which what was read of a fleet serves all who look."""

OLD = 60.0
"""Seconds after which it serves nobody, even while it is read again."""


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
    add_tags(parser, "devices have sites or another group by which the page filters")
    option("--serve", action="store_true", help="serve the page and /metrics until Ctrl-C")
    add_server_options(parser, "with --serve: ")


def command(args: argparse.Namespace) -> int:
    """Write the page, or serve it."""
    if args.by is not None and args.tags is None:
        raise UsageError("--by is given without --tags")
    if args.serve == (args.output is not None):
        raise UsageError("one of -o OUT.html and --serve is needed")
    from tcuq.base.atomic_files import write_whole
    from tcuq.io.sources import check_target

    if args.serve:
        return _serve(args)
    check_target(args.output)
    look = Look(args)
    summary, content = look()[0], look.page()[0].encode()
    write_whole(args.output, content)
    wrote = {"page": args.output, "bytes": len(content), "devices": summary["devices"]}
    answer(args, wrote, f"wrote {args.output}: {len(content) / 1000:,.0f} KB")
    return 0


class Look:
    """Reads a fleet while another process writes it; what was read a moment ago is not read again."""

    def __init__(self, args: argparse.Namespace) -> None:
        from ..verdicts.groups import read_tags

        self._args, self._baseline = args, healthy(args)
        self._tags = {} if args.tags is None else read_tags(args.tags, args.by)[1]
        self._title = Path(args.folder).resolve().name or "Fleet"
        self._until, self._seen = 0.0, ({}, {})  # type: tuple[float, tuple[dict[str, Any], Any]]
        self._lock = threading.Lock()

    def __call__(self) -> tuple[dict[str, Any], Any]:
        """Return the summary and the days of the worst devices."""
        # While another reads, a scrape gets what was seen a moment ago, but not what is old.
        if not self._lock.acquire(blocking=time.monotonic() > self._until + OLD):
            return self._seen
        try:
            if time.monotonic() >= self._until:
                self._seen = self._read()
                self._until = time.monotonic() + FRESH
            return self._seen
        finally:
            self._lock.release()

    def _read(self, only: Any = None) -> tuple[dict[str, Any], Any]:
        from ..fleet.fleet import Fleet
        from ..pages.fleet_page import MATCHES, MOST, SHOWN, timelines
        from ..verdicts.metrics import process_of
        from ..verdicts.summary import Only

        with Fleet.open_read(self._args.folder) as fleet:
            only = only or Only(most=MOST)
            listed = SHOWN if only.all else MATCHES
            summary = fleet.summary(now(self._args), listed, self._baseline, self._tags, only)
            summary["process"] = process_of(fleet)
            return summary, timelines(fleet, summary["worst"], summary["time"])

    def page(self, asked: Mapping[str, str] | None = None) -> tuple[str, str]:
        """Return the page; one that is served lists devices that are asked for."""
        from ..pages.fleet_page import MATCHES, found, page
        from ..verdicts.summary import Only

        matches, only, sites = "", None, sorted({*self._tags.values()})
        if asked is not None:
            first = asked.get("from", "")
            place = int(first) if first.isdecimal() and len(first) < 9 else 0
            find, version, site = (asked.get(key, "") for key in ("find", "version", "site"))
            only = Only(find, version, site, MATCHES, place)
            if place or not only.all:
                matches = found(*self._read(only), only)
        return page(*self(), self._title, only, matches, sites)


def _serve(args: argparse.Namespace) -> int:
    from ..verdicts.metrics import metrics_text

    look = Look(args)
    look()  # a folder that holds no fleet is refused before anything is served

    def metrics() -> str:
        summary = look()[0]
        return metrics_text(summary, process=summary["process"])

    def unready() -> str:
        try:
            look()
        except (InputError, OSError) as error:
            return one_line(str(error))
        return ""

    parts = {"metrics": metrics, "ready": unready, "page": look.page, "mark": takes(args.folder)}
    server = serve_page(args, None, **parts)
    try:
        with ended_by_signals() as ended:
            note(args, f"serving {args.folder} at {server.url} (Ctrl-C ends it)")
            while not ended:
                time.sleep(0.2)
    finally:
        server.close()
    return 0


def takes(folder: str | Path) -> Callable[[Mapping[str, Any]], str]:
    """Return what takes a label of a step of a fleet, and says what has come of it."""
    from ..fleet.fleet import TAKEN
    from ..fleet.requests import ask
    from .fleet_labels import told_text

    def take(asked: Mapping[str, Any]) -> str:
        counts = ask(folder, {"tell": [dict(asked)]})
        if not any(counts.get(kind) for kind in TAKEN):
            name = asked.get("device")
            raise ValueError(f"no monitor remembers that step of {name!r}, and it was not asked for")
        return told_text(counts)

    return take


def add_tags(parser: Any, why: str) -> None:
    """Declare the file that says where devices stand."""
    parser.add_argument("--tags", metavar="FILE.csv", help=f"{why}: a CSV with device, site or more")
    parser.add_argument("--by", metavar="COLUMN", help="with --tags: column to take (default: the first)")


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
        given = " ".join(args.healthy)
        raise UsageError(f"--healthy is {given}, expected two times, such as 2026-11-01 2026-11-02T12:00Z")
    return first, last
