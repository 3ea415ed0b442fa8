"""`tcuq report`: a decision log as one HTML page."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .common import (
    FORMATS,
    add_log_options,
    answer,
    check_named,
    declare,
    need_files,
    one_input,
    read_run_log,
)

if TYPE_CHECKING:
    from .common import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    example = "tcuq report decisions.csv -o report.html --params monitor.json --log input.csv"
    parser = declare(subparsers, "report", "show a decision log as one HTML page", example, command)
    parser.add_argument("decisions", metavar="DECISIONS", help="what `tcuq run` wrote")
    parser.add_argument("-o", "--output", metavar="OUT.html", required=True, help="page to write")
    parser.add_argument(
        "--format", choices=FORMATS, help="format of DECISIONS, if its extension does not say"
    )
    parser.add_argument("--params", metavar="PARAMS", help="parameter file, for the bounds")
    parser.add_argument("--log", metavar="LOG", help="input of the run, for labels and known shifts")
    add_log_options(parser)
    parser.add_argument("--title", metavar="T", help="title of the page")


def command(args: argparse.Namespace) -> int:
    """Write the page."""
    from ..io import read_decisions
    from ..io.sources import check_target
    from ..monitor.params import Params

    need_files(args, "--output", "--params")
    one_input(args, "DECISIONS", "--log")
    check_target(args.output)
    decisions = read_decisions(args.decisions, args.format)
    params = None if args.params is None else Params.load(args.params)
    if params is not None:
        check_named(args, decisions, params)
    log = None if args.log is None else read_run_log(args)
    if log is not None and len(log) != len(decisions):
        raise ValueError(
            f"{args.log}: has {len(log)} steps, expected {len(decisions)} as in {args.decisions}"
        )
    from ..report import write_report

    write_report(
        args.output,
        decisions.steps,
        params=params,
        log=log,
        signals=decisions.signals,
        title=args.title,
        first=decisions.first,
        names=decisions.names,
    )
    answer(args, {"report": args.output, "steps": len(decisions)}, f"wrote {args.output}")
    return 0
