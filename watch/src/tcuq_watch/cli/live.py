"""`tcuq live`: watch one device while it runs."""

from __future__ import annotations

import argparse
import contextlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.base.errors import InputError, located
from tcuq.cli.common import add_logits_options, answer, logits_given, need_files, note
from tcuq.cli.parser import declare
from tcuq.cli.process import UsageError
from tcuq.cli.words import expect_params

from .outlets import LiveReports, add_outlets, check_outlets
from .shared import add_server_options, ended_by_signals, serve_page

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers
    from tcuq.monitor.params import Params

    from ..live.session import Session

TAKEN = {"busy": "another tcuq live writes there", "conflict": "holds a session of other parameters"}


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "live",
        None,
        "tcuq live monitor.json /dev/ttyUSB0@115200 --open",
        command,
        "tcuq live monitor.json monitor-live --merge field.npz",
        about="Reads steps of a device as they come. Shows risk, answers and alarm on a page, where you can "
        "mark wrong answers, and keeps every step in a folder. With --merge it writes what was kept, with "
        "your marks as labels, to a log for tcuq fit.",
    )
    parser.add_argument("params", metavar="PARAMS", help="parameter file, from tcuq fit")
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="where steps come from: - (standard input), a file that grows, /dev/ttyUSB0@115200, "
        "mqtt://HOST/TOPIC, tcp://HOST:PORT, or tcp-listen://HOST:PORT",
    )
    parser.add_argument(
        "--folder", metavar="DIR", help="where everything is kept, and continued (default: PARAMS-live)"
    )
    held = "steps to hold back while earlier ones may still come, 1 to 64 (default: 1)"
    parser.add_argument("--hold", type=int, metavar="N", help=held)
    picked = "steps to draw for labeling each day: labels of these say how accurate all answers are"
    parser.add_argument("--labels-per-day", type=int, metavar="N", help=picked)
    add_logits_options(parser, "SOURCE")
    page = parser.add_argument_group("page")
    page.add_argument("--device-name", metavar="NAME", help="what the device is called (default: SOURCE)")
    page.add_argument("--place", metavar="PLACE", help="where it stands, shown beside its name")
    page.add_argument("--open", action="store_true", help="open the page in a browser")
    add_server_options(page)
    page.add_argument("--no-page", action="store_true", help="keep and judge steps, without a page")
    home = "show the device in Home Assistant, through its MQTT broker"
    outlets = add_outlets(parser, "an alarm is raised")
    outlets.add_argument("--home-assistant", metavar="mqtt://HOST", help=home)
    merge = parser.add_argument_group("recorded steps as a log")
    labeled = "write the steps of the folder SOURCE, labeled where marked, to this log (.npz), and end"
    merge.add_argument("--merge", metavar="OUT", help=labeled)
    merge.add_argument("--steps", type=_span, metavar="A:B", help="with --merge: these steps, both included")


def command(args: argparse.Namespace) -> int:
    """Watch until told to stop."""
    from tcuq.monitor.params import Params

    need_files(args, "PARAMS")
    logits_given(args)
    check_outlets(args)
    if args.merge is not None and (args.webhook or args.otlp or args.home_assistant):
        raise UsageError("--merge sends nothing, expected it without --webhook, --otlp and --home-assistant")
    if args.steps is not None and args.merge is None:
        raise UsageError("--steps is given without --merge")
    expect_params(args.params)
    params = Params.load(args.params)
    if args.merge is not None:
        return _merge(args)
    with ended_by_signals() as ended:
        return _watch(args, params, ended)


def _watch(args: argparse.Namespace, params: Params, ended: list[int]) -> int:
    from ..live.session import DEVICE, Session
    from ..sources.opening import open_source

    folder = Path(args.folder or f"{Path(args.params).stem}-live")
    softmax = partial(_posteriors, args.logits_scale) if args.logits else None
    options: dict[str, Any] = {"folder": folder, "softmax": softmax, "names": params.names}
    source = open_source(args.source, follow=True, device=DEVICE, **options)
    show = partial(print, end="", flush=True) if args.json else None
    tell = [lambda kind, text, step: note(args, f"step {step:,}: {text}")]
    try:
        given = {"name": args.device_name, "place": args.place, "labels_per_day": args.labels_per_day}
        session = Session(params, folder, source.where, hold=args.hold, **given, tell=tell, decided=show)
    except InputError as error:
        if error.code not in TAKEN:
            raise
        problem = f"{folder}: {TAKEN[error.code]}; choose another folder with --folder"
        raise InputError(error.code, problem) from None
    with contextlib.ExitStack() as stack:
        stack.callback(session.close)
        stack.callback(source.close)
        source.open()
        page = None if args.no_page else _serve(args, session, stack)
        reports = LiveReports(args, session)
        stack.callback(reports.close)
        stack.callback(_summary, args, session)
        stack.callback(session.tick, source, now=True)  # also where a reader of decisions has gone away
        if page is not None:
            note(args, f"the page is at {page}")

        def stopped() -> bool:  # asked between two steps, also while none comes
            reports.look()
            return bool(ended)

        session.run(source, stopped, ends=page is None)
        reports.look(ended=True)
    return 1 if session.publisher.counts["unkept"] else 0


def _serve(args: argparse.Namespace, session: Session, stack: contextlib.ExitStack) -> str:
    from ..verdicts.metrics import metrics_text, process_of

    def metrics() -> str:
        publisher = session.publisher
        process = process_of(session.fleet)
        return metrics_text(device=publisher.status, about=publisher.feed.about, process=process)

    server = serve_page(
        args, session.publisher.feed, mark=session.mark, metrics=metrics, ready=session.unready
    )
    stack.callback(server.close)
    if args.open:
        import webbrowser

        webbrowser.open(server.url)
    return server.url


def _merge(args: argparse.Namespace) -> int:
    from tcuq.io import write_log
    from tcuq.io.logs import log_format

    from ..live.marks import labeled_log

    log_format(args.merge)
    first, last = args.steps or (0, None)
    with located(str(args.source)):
        log, marks = labeled_log(args.source, first, last)
    write_log(args.merge, log)
    labeled = 0 if log.labels is None else len(log) - log.unlabeled
    text = f"{len(log):,} steps in {args.merge}, {labeled:,} with a label, {marks:,} of these from marks"
    answer(args, {"log": args.merge, "steps": len(log), "labeled": labeled, "marks": marks}, text)
    return 0


def _span(text: str) -> tuple[int, int | None]:
    first, mark, last = text.partition(":")
    if not mark or not (first or "0").isdigit() or not (last or "0").isdigit():
        raise UsageError(f"--steps is {text!r}, expected A:B such as 1000:2000")
    return int(first or 0), int(last) if last else None


def _posteriors(scale: float | None, logits: Any) -> Any:
    from tcuq.log.logits import paired, softmax

    return softmax(paired(logits), scale)


def _summary(args: argparse.Namespace, session: Session) -> None:
    from tcuq.report.text import plural

    counts = session.publisher.counts
    words = {"steps": "step", "abstained": "abstention", "alarms": "alarm", "broken": "broken line"}
    shown = ", ".join(plural(counts[name], one) for name, one in words.items())
    lost = f", but {plural(counts['unkept'], 'step')} could not be written" if counts["unkept"] else ""
    note(args, f"{shown}; kept in {session.fleet.folder}{lost}")
