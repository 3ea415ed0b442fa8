"""`tcuq fleet`: take in events of many devices, and look at them."""

from __future__ import annotations

import argparse
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.base.errors import InputError
from tcuq.cli.common import answer, note, print_json
from tcuq.cli.parser import declare, declare_group
from tcuq.cli.process import UsageError, tell

from .fleet_folder import add_folder, clock, healthy, opened, versions
from .fleet_labels import add as add_labels
from .fleet_page import add as add_page
from .outlets import FleetReports, add_outlets, check_outlets

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers

    from ..fleet.run import RunStats
    from ..fleet.sinks import Sink
    from ..sources import Source

ENDINGS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that end a run after its commit."""


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    actions = declare_group(
        subparsers,
        "fleet",
        "watch many devices, and see which of them are in trouble",
        "tcuq fleet run monitor.json events.parquet --folder fleet",
        "tcuq fleet status fleet",
    )
    run = declare(
        actions,
        "run",
        "take in events of devices and decide on each, exactly once",
        "tcuq fleet run monitor.json events.parquet --folder fleet\n"
        "tcuq fleet run monitor.json mqtt://localhost/devices/+/steps --folder fleet",
        run_fleet,
        then="tcuq fleet status fleet",
        about="Reads events: one inference of one device each. Keeps decisions and the state of each device "
        "in a folder, and goes on there when it is started again.",
    )
    option = run.add_argument
    option(
        "params",
        nargs="+",
        metavar="PARAMS",
        help="parameter file; several, each as NAME=FILE, where devices run different versions of a model",
    )
    option(
        "source",
        metavar="SOURCE",
        help="events: a Parquet or JSON lines file, a folder of them, - or mqtt://host:port/topic",
    )
    option("--folder", metavar="DIR", required=True, help="where the fleet is kept; made if it is not there")
    option("--out", metavar="OUT", help="decisions also go to this folder, or to mqtt://host/topic/{device}")
    option(
        "--out-format",
        choices=("parquet", "jsonl"),
        help="format of the files in OUT (default: parquet, or jsonl without pyarrow)",
    )
    option("--follow", action="store_true", help="wait for more lines and files at the end of SOURCE")
    option("--batch", type=int, default=20_000, metavar="N", help="events in a commit (default: 20000)")
    option("--closed", metavar="FILE", help="accept only the devices named in this file, one a line")
    option(
        "--labels-per-day",
        type=int,
        metavar="N",
        help="steps to pick for labeling each day, over all devices (default: none)",
    )
    option(
        "--keep",
        default="10GB",
        metavar="SIZE|DAYS",
        help="decisions to keep, the newest: a size such as 500MB, days such as 30d, or 0 (default: 10GB)",
    )
    option("--flush", action="store_true", help="at the end, run the events that are still held")
    add_outlets(run, "devices come to look degraded or fall silent, or the fleet as a whole is unhealthy")
    status = declare(
        actions,
        "status",
        "print how a fleet is doing: alarms, worst devices, silent ones",
        "tcuq fleet status fleet",
        show_status,
        then="tcuq fleet page fleet -o fleet.html",
    )
    add_folder(status)
    status.add_argument("--device", metavar="NAME", help="print what is known of this device alone")
    status.add_argument(
        "--tags",
        metavar="FILE.csv",
        help="also print a table by group: a CSV file with a column device and others, such as site or batch",
    )
    status.add_argument(
        "--by", metavar="COLUMN", help="with --tags: column to group by (default: the first beside device)"
    )
    status.add_argument(
        "--worst", type=int, default=20, metavar="N", help="with --json: worst devices to list (default: 20)"
    )
    add_labels(actions)
    add_page(actions)


def run_fleet(args: argparse.Namespace) -> int:
    """Take in events until they end, or until a signal."""
    from ..fleet.requests import answer_requests
    from ..fleet.run import run
    from ..fleet.sinks import open_sink
    from ..sources import open_source

    if not 1 <= args.batch <= 10**9:
        raise UsageError(f"--batch is {args.batch}, expected at least 1")
    check_outlets(args)
    kept = _kept(args.keep)
    if args.out is not None and not kept.get("keep_bytes", 1):
        raise UsageError("--keep is 0, expected a size or days: --out is given what it lacks from there")
    folder = Path(args.folder)
    params = versions(args.params)
    source = open_source(args.source, folder=folder, follow=args.follow)
    given = kept if args.labels_per_day is None else {**kept, "labels_per_day": args.labels_per_day}
    devices = None if args.closed is None else _names(args.closed)
    sink: Sink | None = None
    with opened(args, params, devices, given) as fleet, _stopped_by_signals(source):
        for remark in getattr(fleet, "remarks", ()):
            note(args, remark)
        bar = _Progress(args, fleet, source)
        reports, waits = FleetReports(args, fleet, bar.say), True

        def idle() -> None:  # the source is open by now
            nonlocal waits
            if waits:
                _tell_begin(args, source, sink)
            waits = False
            answer_requests(fleet)
            reports.look()
            bar.look()

        try:
            sink = None if args.out is None else open_sink(args.out, folder, args.out_format)
            with _disk():
                done = run(
                    fleet,
                    source,
                    sink,
                    count=args.batch,
                    flush=args.flush,
                    told=bar,
                    idle=idle,
                )
            if source.ended:
                reports.look(ended=True)
        finally:
            bar.close()
            reports.close()
            source.close()
            if sink is not None:
                sink.close()
        seen = bar.devices()
    if getattr(source, "restarted", False):
        note(
            args, f"{args.source}: the fleet had read another source before, so this was read from its start"
        )
    for kind, message in source.bad.last.items():
        note(args, f"refused {source.bad.counts[kind]:,} for {kind}; the last: {message}")
    if done.turned_down:
        kinds = ", ".join(f"{number:,} for {kind}" for kind, number in done.turned_down.items())
        note(args, f"the fleet refused {kinds}")
    connections = [getattr(each, "connection", None) for each in (source, sink)]
    lost = [each.lost for each in connections if each is not None]
    if args.flush and not source.ended:
        note(args, "the input did not come to its end, so the events that are held stay held")
    answer(args, _found(done, seen, lost), _line(done, seen, lost))
    return 0


def _kept(text: str) -> dict[str, Any]:
    """Return which decisions are kept, as `Fleet` takes it."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(d|[KMGT]B)|0", text.strip(), re.IGNORECASE)
    if found is None:
        raise UsageError(f"--keep is {text!r}, expected a size such as 500MB, days such as 30d, or 0")
    if found[1] is None:
        return {"keep_bytes": 0}
    if found[2] in ("d", "D"):
        return {"keep_days": float(found[1])}
    return {"keep_bytes": int(float(found[1]) * 1000 ** (1 + "KMGT".index(found[2][0].upper())))}


def _tell_begin(args: argparse.Namespace, source: Source, sink: Sink | None) -> None:
    """Say what is waited for, where that may take forever: the log of a service must not stay empty."""
    address = getattr(source, "address", None)  # without a password that stands in SOURCE
    if address is None and args.source != "-" and not args.follow:
        return
    where = "standard input" if args.source == "-" else str(address or args.source)
    out = "" if sink is None else f" and go to {getattr(sink, 'address', args.out)}"
    note(args, f"waiting for events of {where}; decisions are kept in {args.folder}{out}; Ctrl-C ends this")


def _found(done: RunStats, devices: int, lost: list[int]) -> dict[str, Any]:
    refused = Counter(done.refused) + Counter(done.turned_down)
    found = {
        "events": done.events,
        "decisions": done.decisions,
        "states": done.states,
        "commits": done.commits,
        "devices": devices,
        "refused": dict(refused),
        "seconds": round(done.seconds, 3),
    }
    return {**found, "connections_lost": sum(lost)} if lost else found


def _line(done: RunStats, devices: int, lost: list[int]) -> str:
    from tcuq.report.text import NBSP, plural

    rate = f", {done.events / done.seconds:,.0f} a second" if done.seconds and done.events else ""
    states = f", {plural(done.states, 'state')} taken over" if done.states else ""
    refused = sum(done.refused.values())
    bad = f", {refused:,} could not be read" if refused else ""
    away = f"; the broker was lost {plural(sum(lost), 'time')}" if sum(lost) else ""
    return (
        f"took {done.events:,} events{rate}; {done.decisions:,} decisions{states}{bad}; "
        f"the fleet has {plural(devices, 'device')}{away}"
    ).replace(NBSP, " ")


def _names(path: str) -> list[str]:
    from tcuq.base.limits import read_limited

    try:
        lines = read_limited(path, "file").decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError("damaged", f"{path}: is no text, expected one name of a device a line") from None
    names = [line.strip() for line in lines if line.strip()]
    if not names:
        raise InputError("missing", f"{path}: names no device, expected one a line")
    return names


@contextmanager
def _disk() -> Iterator[None]:
    """Say what an error of the disk means here; standard output has nothing to do with it."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        said = str(error.strerror or error).partition("; call commit()")[0]
        raise InputError("failed", f"{said}; run this again when that is fixed: nothing is lost") from None


@contextmanager
def _stopped_by_signals(source: Source) -> Iterator[None]:
    """Let the first signal end the run after its commit, and the second at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []

    def handle(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        source.stop()

    before = {ending: signal.signal(ending, handle) for ending in ENDINGS}
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)


class _Progress:
    """One line on a terminal: events a second, devices, in alarm."""

    def __init__(self, args: argparse.Namespace, fleet: Any, source: Any) -> None:
        self._args = args
        self._on = not (args.quiet or args.json) and sys.stderr.isatty()
        self._fleet, self._shown = fleet, ""
        self._connection = getattr(source, "connection", None)
        self._last = (time.monotonic(), 0)
        self._done: RunStats | None = None
        self._known: set[str] = set()
        self._looked: dict[str, int] = {}

    def devices(self) -> int:
        """Return how many devices there are; one that changed its version counts once."""
        models = self._fleet.models
        if len(models) == 1:
            return sum(len(model.devices) for model in models.values())
        for name, model in models.items():
            self._known.update(model.devices[self._looked.get(name, 0) :])
            self._looked[name] = len(model.devices)
        return len(self._known)

    def __call__(self, done: RunStats) -> None:
        """Hear of a commit."""
        self._done = done
        self.look()

    def look(self) -> None:
        """Show the line again, also while nothing arrives."""
        done, now = self._done, time.monotonic()
        before, events = self._last
        if not self._on or done is None or now - before < 0.5:
            return
        self._last = (now, done.events)
        models = self._fleet.models.values()
        devices = self.devices()
        hit = sum(int((model.tallies.devices["alarm"] > 0).sum()) for model in models)
        rate = (done.events - events) / (now - before)
        line = f"{done.events:,} events, {rate:,.0f} a second; {devices:,} devices, {hit:,} in alarm"
        if self._connection is not None and self._connection.away:
            line = f"the broker is away; {line}"
        line = line[:79]
        tell(f"\r{line:<{len(self._shown)}}", end="")
        self._shown = line

    def say(self, text: str) -> None:
        """Print a note in place of the line."""
        self.close()
        note(self._args, text)

    def close(self) -> None:
        """Take the line away."""
        if self._shown:
            tell(f"\r{'':<{len(self._shown)}}\r", end="")


def show_status(args: argparse.Namespace) -> int:
    """Say how a fleet is doing."""
    from ..fleet.fleet import Fleet
    from ..pages.fleet_page import one_device
    from ..verdicts.groups import by_group, groups_text, read_tags
    from ..verdicts.status import device_text, status_text
    from ..verdicts.versions import by_version

    if args.by is not None and args.tags is None:
        raise UsageError("--by is given without --tags")
    if args.device is not None and args.tags is not None:
        raise UsageError("--device and --tags are given, expected one of them")
    column, tags = ("", None) if args.tags is None else read_tags(args.tags, args.by)
    with Fleet.open_read(args.folder) as fleet:
        if args.device is not None:
            rows = one_device(fleet, args.device)
            if not rows:
                raise InputError("unknown", f"{args.folder}: no device is called {args.device!r}")
            answer(args, {"devices": rows}, device_text(rows))
            return 0
        summary = fleet.summary(clock(args)(), max(1, args.worst), healthy(args))
        text = status_text(summary)
        if tags is not None:
            views = by_version(list(fleet.models.values()), summary["time"], healthy(args))
            rows = by_group(views, tags)
            summary["groups"] = {"by": column, "rows": rows}
            text += f"\n\n{groups_text(column, rows)}"
        if args.json:
            print_json({**summary, "commit": fleet.commit_number, "position": fleet.position})
        elif not args.quiet:
            print(text)
    return 0
