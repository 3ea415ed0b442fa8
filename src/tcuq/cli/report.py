"""`tcuq report`: a decision log as one HTML page."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..base.errors import InputError
from .common import add_logits_options, answer, check_named, keep_apart, need_files, one_input, read_run_log
from .parser import declare
from .words import expect_log, expect_params

if TYPE_CHECKING:
    from .parser import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "report",
        "show decisions as one HTML page",
        "tcuq report decisions.csv -o report.html --params monitor.json --log field.csv",
        command,
        "tcuq audit decisions.csv monitor.json --log field.csv",
        about="Reads the decisions that tcuq run wrote. Writes a page to open in a browser; it needs no "
        "other file. With --params it shows the guaranteed bounds, with --log also labels and known shifts.",
    )
    parser.add_argument("decisions", metavar="DECISIONS", help="decisions, as tcuq run wrote them")
    parser.add_argument("-o", "--output", metavar="OUT.html", required=True, help="page to write")
    parser.add_argument("--params", metavar="PARAMS", help="parameter file of the run, for the bounds")
    parser.add_argument("--log", metavar="LOG", help="input of the run, for labels and known shifts")
    add_logits_options(parser, "LOG")


def command(args: argparse.Namespace) -> int:
    """Write the page."""
    from ..io import read_decisions
    from ..io.sources import check_target
    from ..monitor.params import Params

    need_files(args, "--output", "--params")
    one_input(args, "DECISIONS", "--log")
    check_target(args.output)
    read = {"DECISIONS": args.decisions, "--params": args.params, "--log": args.log}
    keep_apart(read, {"OUT.html": args.output})
    hint = "; parameters are given with --params"
    expect_log(args.decisions, "decisions, as tcuq run writes them", hint)
    if args.params is not None:
        expect_params(args.params)
    decisions = read_decisions(args.decisions)
    params = None if args.params is None else Params.load(args.params)
    if params is not None:
        check_named(args, decisions, params)
    log = None if args.log is None else read_run_log(args)
    if log is not None and len(log) != len(decisions):
        raise InputError("conflict", f"{args.log}: has {len(log)} steps, expected {len(decisions)}")
    from ..report import write_report

    of = {name: getattr(decisions, name) for name in ("signals", "first", "names")}
    write_report(args.output, decisions.steps, params=params, log=log, **of)
    answer(args, {"report": args.output, "steps": len(decisions)}, f"wrote {args.output}")
    return 0
