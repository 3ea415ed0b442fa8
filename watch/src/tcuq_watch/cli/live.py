"""`tcuq live`: watch one device while it runs."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.base.errors import InputError
from tcuq.cli.common import about, add_logits_options, answer, logits_given, need_files, note
from tcuq.cli.parser import declare
from tcuq.cli.process import UsageError
from tcuq.cli.words import expect_params

from .outlets import LiveReports, add_outlets, check_outlets

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers
    from tcuq.monitor.params import Params

    from ..live.session import Session

PORT = 8357


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "live",
        "watch one device while it runs, on a page in your browser",
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
    parser.add_argument(
        "--hold",
        type=int,
        metavar="N",
        help="steps to hold back while earlier ones may still come, 1 to 64 (default: 1)",
    )
    add_logits_options(parser, "SOURCE")
    page = parser.add_argument_group("page")
    page.add_argument("--open", action="store_true", help="open the page in a browser")
    page.add_argument(
        "--port", type=int, default=PORT, metavar="N", help=f"port of the page (default: {PORT})"
    )
    page.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address of the page (default: 127.0.0.1, this machine alone); another one needs a secret in "
        "the variable TCUQ_TOKEN, which the page then asks for",
    )
    page.add_argument("--no-page", action="store_true", help="keep and judge steps, without a page")
    tells = add_outlets(parser, "an alarm is raised")
    tells.add_argument(
        "--home-assistant",
        metavar="mqtt://HOST",
        help="show the device in Home Assistant, through its MQTT broker: alarm, risk, answer, expected "
        "accuracy, abstention share",
    )
    merge = parser.add_argument_group("recorded steps as a log")
    merge.add_argument(
        "--merge",
        metavar="OUT",
        help="write the received steps, with labels from your marks, to this log (.npz), and end; SOURCE is "
        "then the folder",
    )
    merge.add_argument("--steps", metavar="A:B", help="with --merge: these steps, A and B included")


def command(args: argparse.Namespace) -> int:
    """Watch until told to stop."""
    from tcuq.monitor.params import Params

    need_files(args, "PARAMS")
    logits_given(args)
    _check(args)
    expect_params(args.params)
    params = Params.load(args.params)
    if args.merge is not None:
        return _merge(args)
    if args.steps is not None:
        raise UsageError("--steps is given without --merge")
    with _ending() as stop:
        return _watch(args, params, stop)


def _check(args: argparse.Namespace) -> None:
    """Refuse options that cannot be, before anything is opened."""
    check_outlets(args)
    if args.home_assistant is not None:
        from ..live.home_assistant import broker

        broker(args.home_assistant)
    if args.merge is not None and (args.webhook or args.otlp or args.home_assistant):
        raise UsageError("--merge sends nothing, expected it without --webhook, --otlp and --home-assistant")


def _watch(args: argparse.Namespace, params: Params, stop: _Stop) -> int:
    from ..live.session import DEVICE
    from ..sources.opening import open_source

    folder = Path(args.folder or f"{Path(args.params).stem}-live")
    options: dict[str, Any] = {"folder": folder, "softmax": _softmax(args), "names": params.names}
    source, printer = open_source(args.source, follow=True, device=DEVICE, **options), _Printer()
    session = _opened(
        params,
        folder,
        source.where,
        key=source.key,
        hold=args.hold,
        tell=[lambda kind, text, step: _tell(args, kind, text, step)],
        decided=printer if args.json else None,
    )
    with contextlib.ExitStack() as stack:
        stack.callback(session.close)
        stack.callback(source.close)
        source.open()
        page = _serve(args, session, stack)
        reports = _connect(args, session, stack)
        stack.callback(_summary, args, session)
        if page:
            note(args, f"the page is at {page}")

        def stopped() -> bool:  # asked between two steps, also while none comes
            reports.look()
            return stop() or printer.broken is not None

        session.run(source, stopped, ends=not page)
        reports.look(ended=True)
    if printer.broken is not None:
        raise printer.broken
    return 1 if session.publisher.counts["unkept"] else 0


def _opened(params: Params, folder: Path, source: str, **options: Any) -> Session:
    """Open a session; say what is wrong with its folder in the words of the command line."""
    from ..live.session import Session

    other = "choose another folder with --folder, or move this one away"
    try:
        return Session(params, folder, source, **options)
    except InputError as error:
        if error.code == "busy":
            said = f"{folder}: another tcuq live writes there; end it, or choose another folder with --folder"
            raise InputError("busy", said) from None
        if (error.code, error.name) == ("conflict", "versions"):
            said = f"{folder}: holds a session of other parameters, expected {params.fingerprint}; {other}"
            raise InputError("conflict", said) from None
        raise
    except OSError as error:
        said = f"{folder}: {error.strerror}; choose another folder with --folder"
        raise InputError("failed", said) from None


def _serve(args: argparse.Namespace, session: Session, stack: contextlib.ExitStack) -> str | None:
    if args.no_page:
        return None
    from ..pages.server import serve
    from ..verdicts.metrics import metrics_text, process_of

    publisher = session.publisher

    def metrics() -> str:
        status, fleet = publisher.status, session.fleet
        refused = {kind: status["counts"][kind] for kind in ("broken", "others")}
        process = process_of(fleet.folder, fleet.commit_number, refused)
        return metrics_text(device=status, about=publisher.feed.about, process=process)

    server = serve(
        publisher.feed,
        host=args.host,
        port=args.port,
        token=os.environ.get("TCUQ_TOKEN") or None,
        mark=session.mark,
        metrics=metrics,
    )
    stack.callback(server.close)
    if args.open:
        import webbrowser

        webbrowser.open(server.url)
    return server.url


def _connect(args: argparse.Namespace, session: Session, stack: contextlib.ExitStack) -> LiveReports:
    """Connect what else is told of the session."""

    def tell(text: str) -> None:
        session.publisher.notices.now("note", text, session.step)

    reports = LiveReports(args, session, tell)
    stack.callback(reports.close)
    if args.home_assistant is not None:
        from ..live.home_assistant import HomeAssistant, broker

        home = HomeAssistant(broker(args.home_assistant), session, tell)
        stack.callback(home.close)
        reports.others.append(home.look)
    return reports


def _merge(args: argparse.Namespace) -> int:
    from tcuq.io import write_log
    from tcuq.io.logs import log_format

    from ..live.marks import labeled_log

    log_format(args.merge)
    first, last = _span(args.steps)
    with about(str(args.source)):
        log, marks = labeled_log(args.source, first, last)
    write_log(args.merge, log)
    merged = {"log": args.merge, "steps": len(log), "marks": marks, "errors": int(log.errors().sum())}
    text = (
        f"{len(log):,} steps with labels in {args.merge}, {marks:,} marked; steps not marked count as right"
    )
    answer(args, merged, text)
    return 0


def _span(text: str | None) -> tuple[int, int | None]:
    if text is None:
        return 0, None
    first, mark, last = text.partition(":")
    if not mark or not (first or "0").isdigit() or not (last or "0").isdigit():
        raise UsageError(f"--steps is {text!r}, expected A:B such as 1000:2000")
    return int(first or 0), int(last) if last else None


def _softmax(args: argparse.Namespace) -> Any:
    if not args.logits:
        return None
    from tcuq.monitor.logits import paired, softmax

    return lambda row: softmax(paired(row), args.logits_scale)


_SILENT = ("saved",)
"""Notices that a terminal is not told of."""


def _tell(args: argparse.Namespace, kind: str, text: str, step: int) -> None:
    if kind not in _SILENT:
        note(args, f"step {step:,}: {text}")


class _Printer:
    """Prints decisions; a reader that goes away ends the watching, between two steps."""

    def __init__(self) -> None:
        self.broken: BrokenPipeError | None = None

    def __call__(self, text: str) -> None:
        if self.broken is None:
            try:
                sys.stdout.write(text)
                sys.stdout.flush()
            except BrokenPipeError as error:
                self.broken = error


def _summary(args: argparse.Namespace, session: Session) -> None:
    from tcuq.report.text import NBSP, plural

    counts = session.publisher.counts
    lost = counts["unkept"]
    kept = f"kept in {session.fleet.folder}"
    kept += f", but {plural(lost, 'step')} could not be written" if lost else ""
    told = {"steps": "step", "abstained": "abstention", "alarms": "alarm", "broken": "broken line"}
    shown = ", ".join(plural(counts[name], one) for name, one in told.items())
    note(args, f"{shown}; {kept}".replace(NBSP, " "))


class _Stop:
    """Tells whether a signal asked to end. A second one ends at once."""

    def __init__(self) -> None:
        self._asked = False

    def __call__(self) -> bool:
        return self._asked

    def on_signal(self, number: int, frame: Any) -> None:
        if self._asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self._asked = True


@contextlib.contextmanager
def _ending() -> Iterator[_Stop]:
    """Let signals end the watching between two steps, so that nothing is half-done."""
    import threading

    stop = _Stop()
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    alone = threading.current_thread() is threading.main_thread()
    known = [getattr(signal, name) for name in names if hasattr(signal, name)] if alone else []
    before = {number: signal.signal(number, stop.on_signal) for number in known}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
