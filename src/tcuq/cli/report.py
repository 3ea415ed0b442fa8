"""`tcuq report` and `tcuq audit`: decisions as one HTML page, and whether they are right."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..base.errors import InputError, located
from .common import (
    add_logits_options,
    answer,
    check_named,
    keep_apart,
    need_files,
    one_input,
    read_run_log,
)
from .parser import declare
from .process import UsageError
from .words import expect_log, expect_params

if TYPE_CHECKING:
    from .parser import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "report",
        None,
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

    of = {name: getattr(decisions, name) for name in ("signals", "first", "names", "sighted")}
    write_report(args.output, decisions.steps, params=params, log=log, **of)
    answer(args, {"report": args.output, "steps": len(decisions)}, f"wrote {args.output}")
    return 0


def add_audit(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "audit",
        None,
        "tcuq audit decisions.csv monitor.json --log field.csv",
        run_audit,
        "tcuq export monitor.json firmware/ --name door",
        about="Reads the decisions that tcuq run wrote and the parameters that it used, derives every "
        "decision again and prints what was checked. With --log it also runs the monitor again and compares "
        "each value.",
    )
    parser.add_argument("decisions", metavar="DECISIONS", help="decisions, as tcuq run wrote them")
    parser.add_argument("params", metavar="PARAMS", help="parameter file of that run")
    parser.add_argument("--log", metavar="LOG", help="input of that run: run the monitor again and compare")
    add_logits_options(parser, "LOG")
    parser.add_argument("--state", metavar="FILE", help="saved state that the run began with, its --state-in")
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help="CSV of labels that the monitor received, in order: after (number of the last step then), "
        "step (which it is for) and label (the true class, right or wrong)",
    )


def _labels(path: str) -> list[list[int]]:
    """Read labels as `audit` takes them."""
    import csv

    codes = {"right": -2, "wrong": -1}
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        if not {"after", "step", "label"} <= set(rows.fieldnames or ()):
            raise UsageError(f"{path}: expected the columns after, step and label")
        try:
            labels = [(row["after"], row["step"], codes.get(row["label"], row["label"])) for row in rows]
            return [list(map(int, each)) for each in labels]
        except (TypeError, ValueError):
            raise UsageError(f"{path}: line {rows.line_num} is not three numbers, right or wrong") from None


def run_audit(args: argparse.Namespace) -> int:
    """Audit the log."""
    from ..audit.derive import audit, checked_state
    from ..base.limits import read_limited
    from ..io import read_decisions
    from ..monitor.params import Params

    need_files(args, "PARAMS", "--state", "--labels")
    one_input(args, "DECISIONS", "--log")
    swapped = " (did you swap DECISIONS and PARAMS?)"
    expect_log(args.decisions, "decisions, as tcuq run writes them", swapped)
    expect_params(args.params)
    decisions = read_decisions(args.decisions)
    params = Params.load(args.params)
    check_named(args, decisions, params)
    log = None if args.log is None else read_run_log(args, params)
    state = None
    if args.state is not None:
        state = read_limited(args.state)
        with located(args.state):
            checked_state(params, state)
    labels = None if args.labels is None else _labels(args.labels)
    result = audit(decisions, params, log, state, labels)
    answer(args, result.to_dict(), result.text())
    return 0 if result.ok else 1
