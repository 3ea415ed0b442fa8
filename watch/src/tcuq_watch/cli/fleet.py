"""`tcuq fleet`: take in events of many devices, and look at them."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.base.errors import InputError
from tcuq.cli.common import answer, note
from tcuq.cli.parser import declare, declare_group
from tcuq.cli.process import UsageError
from tcuq.cli.words import expect_params

from .fleet_labels import add as add_labels
from .fleet_page import add as add_page
from .fleet_page import add_folder, add_tags, healthy, now
from .outlets import FleetReports, add_outlets, check_outlets
from .shared import ended_by_signals

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers
    from tcuq.monitor.params import Params

    from ..fleet.run import RunStats


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    actions = declare_group(
        subparsers,
        "fleet",
        None,
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
    versions = "parameter file; several, each as NAME=FILE, where devices run different versions of a model"
    option = run.add_argument
    option("params", nargs="+", metavar="PARAMS", help=versions)
    events = "events: a Parquet or JSON lines file, a folder of them, - or mqtt://host:port/topic"
    option("source", metavar="SOURCE", help=events)
    option("--folder", metavar="DIR", required=True, help="where the fleet is kept; made if it is not there")
    option("--out", metavar="mqtt://HOST/TOPIC/{device}", help="send decisions there, too")
    option("--follow", action="store_true", help="wait for more lines and files at the end of SOURCE")
    batch = "events in a commit (default: a tenth of the devices, 50000 to 100000)"
    option("--batch", type=int, metavar="N", help=batch)
    option("--closed", metavar="FILE", help="accept only the devices named in this file, one per line")
    picked = "steps to pick for labeling each day, over all devices (default: none)"
    option("--labels-per-day", type=int, metavar="N", help=picked)
    newest = "decisions to keep, the newest: a size such as 500MB, days such as 30d, or 0 (default: 10GB)"
    option("--keep", default="10GB", metavar="SIZE|DAYS", help=newest)
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
    option = status.add_argument
    option("--device", metavar="NAME", help="print what is known of this device alone")
    add_tags(status, "also print a table by group")
    add_labels(actions)
    add_page(actions)


def run_fleet(args: argparse.Namespace) -> int:
    """Take in events until they end, or until a signal."""
    from ..fleet.fleet import Fleet
    from ..fleet.requests import answer_requests
    from ..fleet.run import run
    from ..fleet.sinks import MqttSink
    from ..sources import open_source
    from ..sources.mqtt import Address

    if args.batch is not None and not 1 <= args.batch <= 10**9:
        raise UsageError(f"--batch is {args.batch}, expected at least 1")
    check_outlets(args)
    folder, options = Path(args.folder), _kept(args.keep)
    if args.out is not None and not args.out.startswith(("mqtt://", "mqtts://")):
        kept = f"{args.folder}/decisions has all decisions, as Parquet"
        raise UsageError(f"--out is {args.out!r}, expected mqtt://HOST/TOPIC/{{device}}; {kept}")
    if args.out is not None and options.get("keep_bytes") == 0:
        raise UsageError("--keep is 0, expected a size or days: --out is given what it lacks from there")
    options |= {"labels_per_day": args.labels_per_day, "devices": _names(args.closed)}
    out = None if args.out is None else Address.of(args.out)
    params = _versions(args.params)
    with ExitStack() as stack:
        source = stack.enter_context(closing(open_source(args.source, folder=folder, follow=args.follow)))
        fleet = stack.enter_context(Fleet(params, folder, **options))
        stack.enter_context(ended_by_signals(source.stop))
        for remark in fleet.remarks:
            note(args, remark)
        sink = None if out is None else stack.enter_context(closing(MqttSink(out, folder)))
        before = Counter(fleet.refused)
        about = {"folder": str(fleet.folder)}
        reports = FleetReports(args, fleet, about, lambda text: note(args, text))
        stack.callback(reports.close)
        waits = source.waits

        def look(stats: RunStats) -> None:
            nonlocal waits
            if waits:  # the source is open by now, and the log of a service must not stay empty
                place = f"decisions are kept in {args.folder}{f' and go to {out}' if out else ''}"
                note(args, f"waiting for events of {source.where}; {place}; Ctrl-C ends this")
            waits = False
            answer_requests(fleet)
            reports.look()

        stats = run(fleet, source, sink, count=args.batch, flush=args.flush, look=look)
        if source.ended:
            reports.look(ended=True)
        refused = Counter(fleet.refused) - before
        devices = len({name for model in fleet.models.values() for name in model.devices})
    if source.restarted:
        note(args, f"{args.source}: read from its start; the fleet had read another source before")
    for kind, message in source.bad.last.items():
        note(args, f"refused {source.bad.counts[kind]:,} for {kind}; the last: {message}")
    for kind, count in (refused - Counter(source.bad.counts)).items():
        note(args, f"the fleet refused {count:,} for {kind}")
    if args.flush and not source.ended:
        note(args, "the input did not come to its end, so the events that are held stay held")
    rate = f", {stats.events / stats.seconds:,.0f} a second" if stats.events else ""
    states = f"; {stats.states:,} states" if stats.states else ""
    text = f"took {stats.events:,} events{rate}; {stats.decisions:,} decisions{states}"
    text += f"; the fleet has {devices:,} devices"
    answer(args, {**vars(stats), "devices": devices, "refused": dict(refused)}, text)
    return 0


def _kept(text: str) -> dict[str, Any]:
    """Return which decisions are kept, as `Fleet` takes it."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(d|[KMGT]B)|0", text.strip(), re.IGNORECASE)
    if match is None:
        raise UsageError(f"--keep is {text!r}, expected a size such as 500MB, days such as 30d, or 0")
    if match[1] is None:
        return {"keep_bytes": 0}
    unit = match[2][0].upper()
    if unit == "D":
        return {"keep_days": float(match[1])}
    return {"keep_bytes": int(float(match[1]) * 1000 ** (1 + "KMGT".index(unit)))}


def _names(path: str | None) -> list[str] | None:
    """Return the devices that a file names, None without one."""
    from tcuq.base.limits import read_limited

    if path is None:
        return None
    names = read_limited(path, "file").decode("utf-8-sig", "replace").split("\n")
    named = [name.strip() for name in names if name.strip()]
    if not named:
        raise InputError("missing", f"{path}: names no device, expected one per line")
    return named


def _versions(texts: list[str]) -> dict[str, Params]:
    """Return parameters by name; those without one are named by their fingerprint."""
    from tcuq.monitor.params import Params

    versions: dict[str, Params] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or Path(text).exists():
            name, path = "", text
        elif not name:
            raise UsageError(f"PARAMS is {text!r}, expected NAME=FILE")
        expect_params(path)
        params = Params.load(path)
        name = name or params.fingerprint
        if name in versions:
            raise UsageError(f"version {name!r} is given twice, expected once")
        versions[name] = params
    return versions


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
            report: dict[str, Any] = {"devices": rows}
            text = device_text(rows)
        else:
            report = fleet.summary(now(args), baseline=healthy(args), tags=tags)
            text = status_text(report)
            report |= {"commit": fleet.commit_number, "position": fleet.position}
        if tags is not None:
            rows = by_group(by_version(list(fleet.models.values()), report["time"], healthy(args)), tags)
            report["groups"] = {"by": column, "rows": rows}
            text += f"\n\n{groups_text(column, rows)}"
    answer(args, report, text)
    return 0
