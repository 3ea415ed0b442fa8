"""`tcuq run`: decisions for a recorded or a live stream."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..base.errors import InputError, located, placed
from . import common
from .common import Skipped, logits_given, note, odd_posteriors
from .parser import declare
from .process import Stopped
from .words import expect_log, expect_params, spoken

if TYPE_CHECKING:
    from ..io.decisions import Decisions
    from ..monitor.monitor import Monitor
    from ..monitor.params import Params
    from .parser import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "run",
        None,
        "tcuq run monitor.json field.csv -o decisions.csv\nclassifier | tcuq run monitor.json -",
        command,
        "tcuq report decisions.csv -o report.html --params monitor.json --log field.csv",
        about="Reads the parameter file of tcuq fit and a log of your model's outputs; labels are not "
        "needed. Writes one row for each step: the answer to act on, its risk, whether to abstain, and the "
        "alarm (0 is quiet).",
    )
    parser.add_argument("params", metavar="PARAMS", help="parameter file, from tcuq fit")
    parser.add_argument(
        "input",
        metavar="INPUT",
        help="log to decide on: .csv, .npz, .jsonl, .parquet or .arrow; - answers JSON lines on standard "
        "input one by one",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        default="-",
        help="file for the decisions: .csv, .npz, .jsonl, .parquet or .arrow (default: - for JSON lines on "
        "standard output)",
    )
    common.add_logits_options(parser, "INPUT")
    parser.add_argument("--skip-bad", action="store_true", help="count and skip bad lines")
    state = parser.add_argument_group("going on where another run ended")
    state.add_argument("--state-in", metavar="FILE", help="continue from this saved state")
    saved = "save the state here at the end, even if a live run is interrupted"
    state.add_argument("--state-out", metavar="FILE", help=saved)


def _load_params(args: argparse.Namespace) -> Params:
    from ..monitor.params import Params

    if os.path.isdir(args.params):
        expect_params(args.params)
    try:
        return Params.load(args.params)
    except ValueError as error:
        try:
            Params.load(args.input)
        except (ValueError, OSError):
            expect_params(args.params)
            raise error from None
        raise InputError("conflict", f"{error} (did you swap PARAMS and INPUT?)") from None


def command(args: argparse.Namespace) -> int:
    """Run the monitor and write its decisions."""
    from ..base.limits import read_limited
    from ..io import format_of
    from ..io.sources import check_target, put
    from ..monitor.monitor import Monitor

    common.need_files(args, "PARAMS", "--state-in", "--state-out")
    logits_given(args)
    # A state may replace its own.
    state = None if args.state_in == args.state_out else args.state_in
    read = {"PARAMS": args.params, "INPUT": args.input, "--state-in": state}
    common.keep_apart(read, {"OUT": args.output, "--state-out": args.state_out})
    monitor = Monitor(_load_params(args))
    expect_log(args.input)
    format_of(args.input)
    kind = format_of(args.output)
    check_target(args.output)
    if args.state_out is not None:
        check_target(args.state_out)
    if args.state_in is not None:
        content = read_limited(args.state_in)
        with located(args.state_in):
            monitor.load(content)

    def save() -> None:
        if args.state_out is not None:
            put(args.state_out, monitor.save())

    bad = Skipped()
    try:
        with spoken(args, "fit"):
            if args.input == args.output == "-":
                result = answer_lines(args, monitor, bad, save)
            else:
                result = _recorded(args, monitor, kind, bad)
                save()
    except (KeyboardInterrupt, Stopped, BrokenPipeError):
        if bad.count:
            note(args, str(bad))
        raise
    if bad.count:
        note(args, str(bad))
    result |= {"skipped": bad.count, "alarm": monitor.alarm}
    if args.output != "-":
        if args.json:
            common.print_json({"decisions": args.output, **result})
        else:
            counts = f"{result['steps']:,} steps, {result['abstentions']:,} abstentions"
            note(args, f"{counts}, alarm on {result['alarm_steps']:,} steps")
    return 0


def _recorded(args: argparse.Namespace, monitor: Monitor, kind: str, bad: Skipped) -> dict[str, Any]:
    """Read, decide and write a part at a time."""
    from ..io.decisions import decision_pieces
    from ..io.sources import put

    result: dict[str, Any] = {**dict.fromkeys(COUNTED, 0), "notes": []}
    failed: list[OSError] = []

    def pieces() -> Iterator[bytes]:
        try:
            yield from decision_pieces(_decided(args, monitor, bad, result), kind)
        except OSError as error:  # of the input: what writes would take it for one of the output
            failed.append(error)
            raise InputError("failed", str(error)) from None

    try:
        put(args.output, pieces())
    except ValueError:
        if failed:
            raise failed[0] from None
        raise
    return result


def _decided(
    args: argparse.Namespace, monitor: Monitor, bad: Skipped, result: dict[str, Any]
) -> Iterator[Decisions]:
    """Yield the decisions on each part of the input; count them in `result`."""
    from ..io.decisions import Decisions
    from ..io.logs import read_parts
    from ..io.sources import shown
    from ..log.quantize import refuse_logits
    from ..monitor.monitor import format_notes, run_over

    params, where, segment = monitor.params, shown(args.input), None
    for log in read_parts(args.input, bad if args.skip_bad else None, params, **logits_given(args)):
        if not result["steps"]:
            names = params.names or log.names
            noted = (*log.notes, *format_notes(log, params))
            result["notes"] = [f"{where}: {each}" for each in noted]
            for each in result["notes"]:
                note(args, each)
        first = monitor.steps
        with located(where):
            if not result["steps"]:
                refuse_logits(log.probs)
            if log.segments is not None:
                if result["steps"] and log.segments[0] != segment:
                    monitor.reset()
                segment = log.segments[-1]
            steps = run_over(monitor, log)
        sums = (len(steps), steps["flagged"].sum(), steps["abstain"].sum(), (steps["alarm"] > 0).sum())
        for name, hits in zip(COUNTED, sums, strict=True):
            result[name] += int(hits)
        yield Decisions(steps, first, fingerprint=params.fingerprint, names=names, sight=params.sight)


# Signals by which a supervisor or a closed terminal ends a live run.
ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
LOOKED_AT = 100  # steps after which the posteriors of a stream that may never end are judged
COUNTED = ("steps", "flags", "abstentions", "alarm_steps")


def answer_lines(
    args: argparse.Namespace, monitor: Monitor, bad: Skipped, save: Callable[[], None]
) -> dict[str, Any]:
    """Answer JSON lines on standard input: each before the next is read. The state is saved at any end."""
    import numpy as np

    from ..io.decisions import RowText, decision_columns
    from ..io.log_rows import JsonRows
    from ..io.rows import refuse
    from ..io.sources import STANDARD, check_length, read_lines, shown
    from ..io.values import Shape
    from ..log.log import posteriors
    from ..log.logits import paired, softmax
    from ..monitor.monitor import blind_notes
    from ..monitor.steps import moved_name

    params, where = monitor.params, shown(STANDARD)
    options = logits_given(args)
    apply = (lambda row: softmax(paired(row), options["logits_scale"])) if options["logits"] else None
    rows, segment = JsonRows(Shape.of(params), apply, where), None
    counts = dict.fromkeys(COUNTED, 0)
    number, seen, notes = monitor.steps, [], None
    blind: list[str] = []
    names, text = params.names, None
    alone = threading.current_thread() is threading.main_thread()  # no other thread may set signal handlers
    before = {ending: signal.signal(ending, _stop) for ending in ENDINGS} if alone else {}
    try:
        for line, content in read_lines(STANDARD):
            if not content.strip():
                continue
            try:
                check_length(content)
                columns = rows.read([content], [line])
                if columns is None:  # names of the classes
                    continue
                probs, features = posteriors(columns["probs"], apply)[0], columns.get("features", [None])[0]
                gauges = columns.get("gauges")
                if gauges is not None and params.sight is not None:
                    gauges = params.sight.own(gauges, rows.gauge_names)
                begins = columns.get("segment", [None])[0]
                if counts["steps"] and begins != segment:
                    monitor.reset()
                step = monitor.step(probs, features, gauges=None if gauges is None else gauges[0])
            except (ValueError, TypeError) as error:
                refuse(placed(error, f"{where}, line {line}"), bad if args.skip_bad else None)
                continue
            if text is None:  # the stream itself may name its classes, before its first step
                names = params.names or rows.names
                text = RowText(
                    decision_columns(None, True, names is not None, params.sight is not None), "jsonl"
                )
                if gauges is None:
                    blind = [f"{where}: {each}" for each in blind_notes(rows.gauge_names or (), params)]
                    for each in blind:
                        note(args, each)
            for name, hit in zip(counts, (True, step.flagged, step.abstain, step.alarm > 0), strict=True):
                counts[name] += hit
            segment = begins
            cells: tuple[Any, ...] = (number, step.prediction, step.answer, step.risk, step.threshold)
            cells += (step.uncertainty, step.abstain, step.alarm, step.warming_up, step.reason or "")
            cells += (step.persistence, step.novelty, step.degradation, step.expected_accuracy)
            cells += (step.action, step.changed, step.moved)
            if names is not None:
                cells += (names[step.answer],)
            if params.sight is not None:
                cells += (moved_name(step.moved, params.sight),)
            print(text.line((*cells, params.fingerprint)), end="", flush=True)
            number += 1
            if notes is None:
                seen.append(probs)
                if len(seen) == LOOKED_AT:
                    notes = odd_posteriors(args, where, np.array(seen))
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)
        if counts["steps"]:
            save()
    if not counts["steps"]:
        skipped = f" ({bad})" if bad.count else ""
        raise InputError("missing", f"{where}: holds no steps; at least one line is needed{skipped}")
    odd = odd_posteriors(args, where, np.array(seen)) if notes is None else notes
    return {**counts, "notes": [*blind, *odd]}


def _stop(number: int, frame: Any) -> None:
    raise Stopped(number)
