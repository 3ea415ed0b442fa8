"""`tcuq audit`: check a decision log after the fact."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .common import (
    FORMATS,
    about,
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
    example = "tcuq audit decisions.csv monitor.json --log input.csv"
    help = "derive every decision again and certify the rates; exit 1 when something is wrong"
    parser = declare(subparsers, "audit", help, example, command)
    parser.add_argument("decisions", metavar="DECISIONS", help="what `tcuq run` wrote")
    parser.add_argument("params", metavar="PARAMS", help="parameter file of that run")
    parser.add_argument(
        "--format", choices=FORMATS, help="format of DECISIONS, if its extension does not say"
    )
    parser.add_argument(
        "--log", metavar="LOG", help="input of that run: also run the monitor again and compare"
    )
    add_log_options(parser)
    parser.add_argument("--state", metavar="F", help="saved state that the run went on from")
    parser.add_argument("--new-segment", action="store_true", help="the run had --new-segment")


def command(args: argparse.Namespace) -> int:
    """Audit the log."""
    from ..audit.derive import audit, checked_state
    from ..base.limits import read_limited
    from ..io import read_decisions
    from ..monitor.params import Params

    need_files(args, "PARAMS", "--state")
    one_input(args, "DECISIONS", "--log")
    decisions = read_decisions(args.decisions, args.format)
    params = Params.load(args.params)
    check_named(args, decisions, params)
    log = None if args.log is None else read_run_log(args, params)
    state = None
    if args.state is not None:
        state = read_limited(args.state)
        with about(args.state):
            checked_state(params, state)
    found = audit(decisions, params, log, state, args.new_segment)
    answer(args, found.to_dict(), found.text())
    return 0 if found.ok else 1
