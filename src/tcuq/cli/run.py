"""`tcuq run`: decisions for a recorded or a live stream."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from .common import about, check_fits, declare, note, print_json, read_state_file

if TYPE_CHECKING:
    from ..io import Decisions
    from ..monitor import Monitor
    from .common import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    example = "classifier | tcuq run monitor.json - | tee decisions.jsonl"
    parser = declare(subparsers, "run", "decide on each step of a recorded or live stream", example, command)
    parser.add_argument("params", metavar="PARAMS", help="parameter file")
    parser.add_argument(
        "input", metavar="INPUT", help=".csv, .npz, .jsonl, or - for JSON lines on standard input"
    )
    parser.add_argument("-o", "--output", metavar="OUT", default="-", help="decisions: .csv, .npz or .jsonl")
    parser.add_argument(
        "--format",
        choices=("csv", "jsonl", "npz"),
        help="format of standard input and output, and of files whose extension does not tell",
    )
    parser.add_argument("--signals", action="store_true", help="also give the signals, and low_mass")
    parser.add_argument("--state-in", metavar="F", help="go on from this saved state")
    parser.add_argument("--state-out", metavar="F", help="save the state here at the end")
    parser.add_argument(
        "--skip-bad", action="store_true", help="skip and count bad lines instead of stopping"
    )


def _format(path: str, chosen: str | None) -> str:
    """Return a file's format: its extension tells, else the choice."""
    from ..io import format_of

    try:
        return format_of(path, None if path != "-" else chosen)
    except ValueError:
        if chosen is None:
            raise
        return chosen


def command(args: argparse.Namespace) -> int:
    """Run the monitor and write its decisions."""
    from ..io.sources import check_target, put
    from ..monitor import Monitor
    from ..params import Params

    kinds = _format(args.input, args.format), _format(args.output, args.format)
    if args.json and args.output == "-":
        kinds = kinds[0], "jsonl"
    check_target(args.output)
    if args.state_out is not None:
        check_target(args.state_out)
    monitor = Monitor(Params.load(args.params))
    if args.state_in is not None:
        content = read_state_file(args.state_in)
        with about(args.state_in):
            monitor.load(content)
    bad: list[str] = []
    if (args.input, kinds[0], args.output) == ("-", "jsonl", "-") and kinds[1] != "npz":
        found = _live(args, monitor, kinds[1], bad)
    else:
        found = _recorded(args, monitor, kinds, bad)
    if args.state_out is not None:
        put(args.state_out, monitor.save())
    if bad:
        note(args, f"skipped {len(bad)} bad {'line' if len(bad) == 1 else 'lines'}; the first: {bad[0]}")
    found |= {"skipped": len(bad), "alarm": monitor.alarm}
    if args.output != "-":
        if args.json:
            print_json({"decisions": args.output, **found})
        else:
            counts = f"{found['steps']:,} steps, {found['abstentions']:,} abstentions"
            note(args, f"{counts}, alarm on {found['alarm_steps']:,} steps")
    return 0


def _recorded(
    args: argparse.Namespace, monitor: Monitor, kinds: tuple[str, str], bad: list[str]
) -> dict[str, Any]:
    """Read everything, decide, write everything."""
    from ..io import Decisions, read_log, write_decisions
    from ..io.sources import shown
    from ..log import watch
    from ..signals import FEATURE_BASED

    log = read_log(args.input, kinds[0], bad.append if args.skip_bad else None)
    params, where = monitor.params, shown(args.input)
    check_fits(log, where, params.classes, params.features, any(s in FEATURE_BASED for s in params.signals))
    first = monitor.steps
    with about(where):
        result = watch(monitor, log, signals=args.signals)
    if args.signals:
        decisions = Decisions(result[0], first, result[1], params.signals)
    else:
        decisions = Decisions(result, first)
    write_decisions(args.output, decisions, kinds[1])
    return _counts(decisions)


def _counts(decisions: Decisions) -> dict[str, Any]:
    steps = decisions.steps
    return {
        "steps": len(steps),
        "flags": int(steps["flagged"].sum()),
        "abstentions": int(steps["abstain"].sum()),
        "alarm_steps": int((steps["alarm"] > 0).sum()),
    }


def _live(args: argparse.Namespace, monitor: Monitor, kind: str, bad: list[str]) -> dict[str, Any]:
    """Answer each line before the next is read."""
    from ..io.decisions import COLUMNS, RowText
    from ..io.jsonl import RowParser
    from ..io.sources import at_line, decode_lines, read_lines, shown
    from ..io.values import refuse
    from ..signals import NUMBER

    params, where = monitor.params, shown("-")
    columns = [NUMBER[name] for name in params.signals]
    text = RowText((*COLUMNS, "low_mass", *params.signals) if args.signals else COLUMNS, kind)
    parser, segment = RowParser(), None
    counts = dict.fromkeys(("steps", "flags", "abstentions", "alarm_steps"), 0)
    number = monitor.steps
    _say(text.header)
    for line, content in enumerate(decode_lines(read_lines("-")), 1):
        if not content.strip():
            continue
        try:
            row = parser.parse(content)
            if counts["steps"] and row.segment != segment:
                monitor.reset()
            step = monitor.step(row.probs, row.features if params.features else None, args.signals)
        except (ValueError, TypeError) as error:
            refuse(at_line(where, line, str(error)), bad.append if args.skip_bad else None)
            if not counts["steps"]:
                parser = RowParser()  # a first line that the monitor refuses settles nothing
            continue
        segment = row.segment
        cells: tuple[Any, ...] = (number, step.label, step.risk, step.threshold, step.uncertainty)
        cells += (step.abstain, step.alarm, step.warming_up, step.reason or "")
        if step.signals is not None:
            cells += (step.low_mass, *(step.signals[column] for column in columns))
        _say(text.line(cells))
        number += 1
        for name, hit in zip(counts, (True, step.flagged, step.abstain, step.alarm > 0), strict=True):
            counts[name] += hit
    if not counts["steps"]:
        raise ValueError(f"{where}: holds no steps; at least one line is needed")
    return dict(counts)


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
