"""`tcuq run`: decisions for a recorded or a live stream."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from .common import (
    FORMATS,
    Skipped,
    about,
    add_logits_options,
    keep_apart,
    logits_given,
    need_files,
    note,
    print_json,
)
from .edge import Stopped, UsageError
from .parser import declare
from .words import expect_log, expect_params, in_options, spoken

if TYPE_CHECKING:
    from ..monitor.monitor import Monitor
    from ..monitor.params import Params
    from .parser import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "run",
        "decide on each step of a recorded or live stream: accept, abstain, alarm",
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
        help="file for the decisions: .csv, .npz, .jsonl, .parquet or .arrow (default: standard output)",
    )
    add_logits_options(parser, "INPUT")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="format of standard input, or of INPUT if its extension does not say",
    )
    parser.add_argument(
        "--out-format",
        choices=FORMATS,
        help="format of the decisions, if the extension of OUT does not say (standard output: jsonl)",
    )
    parser.add_argument(
        "--signals", action="store_true", help="also write the value of each signal, and low_mass"
    )
    state = parser.add_argument_group("going on where another run ended")
    state.add_argument(
        "--state-in", metavar="FILE", help="continue from this saved state; add --new-segment after a gap"
    )
    state.add_argument(
        "--new-segment",
        action="store_true",
        help="INPUT starts a new segment: forget past outputs, keep rates and alarm",
    )
    state.add_argument(
        "--state-out",
        metavar="FILE",
        help="save the state here at the end, even if a live run is interrupted",
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
        raise ValueError(f"{error} (did you swap PARAMS and INPUT?)") from None


def command(args: argparse.Namespace) -> int:
    """Run the monitor and write its decisions."""
    from ..base.limits import read_limited
    from ..io import format_of
    from ..io.sources import check_target, put
    from ..monitor.monitor import Monitor

    need_files(args, "PARAMS", "--state-in", "--state-out")
    logits_given(args)
    # A state may replace its own.
    state = None if args.state_in == args.state_out else args.state_in
    keep_apart(
        {"PARAMS": args.params, "INPUT": args.input, "--state-in": state},
        {"OUT": args.output, "--state-out": args.state_out},
    )
    if args.json and args.output == "-" and args.out_format not in (None, "jsonl"):
        raise UsageError(f"--json on standard output is JSON lines; --out-format is {args.out_format}")
    monitor = Monitor(_load_params(args))
    if args.format is None:
        expect_log(args.input)
    kinds = _input_format(args.input, args.format), format_of(args.output, args.out_format)
    check_target(args.output)
    if args.state_out is not None:
        check_target(args.state_out)
    if args.state_in is not None:
        content = read_limited(args.state_in)
        with about(args.state_in):
            monitor.load(content)
    if args.new_segment:
        monitor.reset()

    def save() -> None:
        if args.state_out is not None:
            put(args.state_out, monitor.save())

    bad = Skipped()
    try:
        if (args.input, kinds[0], args.output) == ("-", "jsonl", "-") and kinds[1] in ("csv", "jsonl"):
            from .answer_lines import answer_lines

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
    from ..monitor.feature_format import format_notes
    from ..monitor.log import watch
    from ..monitor.quantize import refuse_logits

    params, where = monitor.params, shown(args.input)
    with spoken():
        log = read_log(args.input, kinds[0], bad if args.skip_bad else None, params, **logits_given(args))
    first = monitor.steps
    notes = [f"{where}: {in_options(each)}" for each in (*log.notes, *format_notes(log, params))]
    for each in notes:
        note(args, each)
    with spoken(), about(where):
        refuse_logits(log.probs)
        result = watch(monitor, log, signals=args.signals)
    told: dict[str, Any] = {"fingerprint": params.fingerprint, "names": params.names or log.names}
    if args.signals:
        decisions = Decisions(result[0], first, result[1], params.signals, **told)
    else:
        decisions = Decisions(result, first, **told)
    write_decisions(args.output, decisions, kinds[1])
    steps = decisions.steps
    return {
        "steps": len(steps),
        "flags": int(steps["flagged"].sum()),
        "abstentions": int(steps["abstain"].sum()),
        "alarm_steps": int((steps["alarm"] > 0).sum()),
        "notes": notes,
    }
