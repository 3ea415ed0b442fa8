"""`tcuq audit`: check a decision log after the fact."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .common import about, answer, check_fits, declare, read_state_file

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
        "--format", choices=("csv", "jsonl", "npz"), help="format of DECISIONS, over its extension"
    )
    parser.add_argument(
        "--log", metavar="LOG", help="input of that run: also run the monitor again and compare"
    )
    parser.add_argument("--state", metavar="F", help="saved state that the run went on from")


def command(args: argparse.Namespace) -> int:
    """Audit the log."""
    from ..audit import audit
    from ..io import read_decisions, read_log
    from ..params import Params
    from ..signals import FEATURE_BASED
    from ..state import state_for

    decisions = read_decisions(args.decisions, args.format)
    params = Params.load(args.params)
    log = None
    if args.log is not None:
        log = read_log(args.log)
        needed = any(s in FEATURE_BASED for s in params.signals)
        check_fits(log, args.log, params.classes, params.features, needed)
    state = None
    if args.state is not None:
        state = read_state_file(args.state)
        with about(args.state):
            state_for(params, state)
    found = audit(decisions, params, log, state)
    answer(args, found.to_dict(), found.text())
    return 0 if found.ok else 1
