"""`tcuq run`: decisions for a recorded or a live stream."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .common import Skipped, about, declare, need_files, note, odd_posteriors, print_json
from .edge import Stopped, UsageError

if TYPE_CHECKING:
    from ..monitor.monitor import Monitor
    from ..monitor.params import Params
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
    formats = ("csv", "jsonl", "npz")
    parser.add_argument(
        "--format",
        choices=formats,
        help="format of standard input, or of INPUT whose extension does not tell",
    )
    parser.add_argument(
        "--out-format",
        choices=formats,
        help="format of the decisions, over the extension of OUT (default on standard output: jsonl)",
    )
    parser.add_argument("--signals", action="store_true", help="also give the signals, and low_mass")
    parser.add_argument(
        "--state-in", metavar="F", help="go on from this saved state; see --new-segment where a segment ended"
    )
    parser.add_argument(
        "--new-segment",
        action="store_true",
        help="INPUT begins a new segment: forget the steps before it (rates and alarm go on)",
    )
    parser.add_argument(
        "--state-out",
        metavar="F",
        help="save the state here at the end, also of a live run that is interrupted",
    )
    parser.add_argument(
        "--skip-bad", action="store_true", help="skip and count bad lines instead of stopping"
    )


def _input_format(path: str, chosen: str | None) -> str:
    """Return the format of the input: its extension tells, else the choice."""
    from ..io import format_of

    try:
        return format_of(path, None if path != "-" else chosen)
    except ValueError:
        if chosen is None:
            raise
        return chosen


def _load_params(args: argparse.Namespace) -> Params:
    from ..monitor.params import Params

    try:
        return Params.load(args.params)
    except ValueError as error:
        try:
            Params.load(args.input)
        except (ValueError, OSError):
            raise error from None
        raise ValueError(f"{error} (did you swap PARAMS and INPUT?)") from None


def _keep_apart(args: argparse.Namespace) -> None:
    """Refuse to write over what is read, or two things to one place; a state may replace its own."""
    read = {"PARAMS": args.params, "INPUT": args.input}
    outputs = {"OUT": args.output, "--state-out": args.state_out}
    taken = {os.path.realpath(path): name for name, path in read.items() if path != "-"}
    if args.state_in is not None and args.state_in != args.state_out:
        taken[os.path.realpath(args.state_in)] = "--state-in"
    for name, path in outputs.items():
        if path is None or path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
            continue
        other = taken.setdefault(os.path.realpath(path), name)
        if other != name:
            raise UsageError(f"{name} and {other} are both {path!r}; one would be lost")


def command(args: argparse.Namespace) -> int:
    """Run the monitor and write its decisions."""
    from ..io import format_of
    from ..io.sources import check_target, put
    from ..monitor.monitor import Monitor

    need_files(args, "PARAMS", "--state-in", "--state-out")
    _keep_apart(args)
    if args.json and args.output == "-" and args.out_format not in (None, "jsonl"):
        raise UsageError(f"--json on standard output is JSON lines; --out-format is {args.out_format}")
    monitor = Monitor(_load_params(args))
    kinds = _input_format(args.input, args.format), format_of(args.output, args.out_format)
    check_target(args.output)
    if args.state_out is not None:
        check_target(args.state_out)
    if args.state_in is not None:
        content = Path(args.state_in).read_bytes()
        with about(args.state_in):
            monitor.load(content)
    if args.new_segment:
        monitor.reset()

    def save() -> None:
        if args.state_out is not None:
            put(args.state_out, monitor.save())

    bad = Skipped()
    try:
        if (args.input, kinds[0], args.output) == ("-", "jsonl", "-") and kinds[1] != "npz":
            from .live import answer_lines

            found = answer_lines(args, monitor, kinds[1], bad, save)
        else:
            found = _recorded(args, monitor, kinds, bad)
            save()
    except (KeyboardInterrupt, Stopped, BrokenPipeError):
        if bad.count:
            note(args, str(bad))
        raise
    if bad.count:
        note(args, str(bad))
    found |= {"skipped": bad.count, "alarm": monitor.alarm}
    if args.output != "-":
        if args.json:
            print_json({"decisions": args.output, **found})
        else:
            counts = f"{found['steps']:,} steps, {found['abstentions']:,} abstentions"
            note(args, f"{counts}, alarm on {found['alarm_steps']:,} steps")
    return 0


def _recorded(
    args: argparse.Namespace, monitor: Monitor, kinds: tuple[str, str], bad: Skipped
) -> dict[str, Any]:
    """Read everything, decide, write everything."""
    from ..io import Decisions, read_log, write_decisions
    from ..io.sources import shown
    from ..monitor.log import watch

    params, where = monitor.params, shown(args.input)
    log = read_log(args.input, kinds[0], bad if args.skip_bad else None, params)
    notes = odd_posteriors(args, where, log.probs)
    first = monitor.steps
    with about(where):
        result = watch(monitor, log, signals=args.signals)
    if args.signals:
        decisions = Decisions(result[0], first, result[1], params.signals)
    else:
        decisions = Decisions(result, first)
    write_decisions(args.output, decisions, kinds[1])
    steps = decisions.steps
    return {
        "steps": len(steps),
        "flags": int(steps["flagged"].sum()),
        "abstentions": int(steps["abstain"].sum()),
        "alarm_steps": int((steps["alarm"] > 0).sum()),
        "notes": notes,
    }
